//! One call as a plan of one step, so that it is checked, recorded, verified and replayed like any other plan.

use envelope::{PLAN_VERSION, SchemasOnly, ToolCatalog, ToolDecl, nearest_tool};
use plan::{CheckLimits, CheckedPlan, FindingCode, PlanFinding, TemplateScope};
use serde_json::{Value, json};
use toolkit::Surface;

use crate::display_text::escape_line;
use crate::error::AppError;
use crate::findings;
use crate::settings::{CONFIG_FILE, Settings};

/// Id of the one step.
const CALL_STEP: &str = "call";

/// Finds a tool by its name or alias. Fails, and names the nearest one, if it does not exist.
pub fn known_tool<'a>(surface: &'a Surface, name: &str) -> Result<&'a ToolDecl, AppError> {
    surface.tool(name).ok_or_else(|| {
        let hint = match nearest_tool(name, surface.names()) {
            Some(meant) => format!("did you mean `{meant}`? `tollgate tools` lists them all"),
            None => "`tollgate tools` lists them all".to_owned(),
        };
        AppError::bad_input("unknown_tool", format!("no tool is named `{name}`")).hint(hint)
    })
}

/// Arguments of a call: the text and its value.
pub struct CallArguments {
    text: String,
    pub value: Value,
}

impl CallArguments {
    /// Parses the text of a JSON object.
    pub fn parse(text: String) -> Result<CallArguments, AppError> {
        let value: Value = serde_json::from_str(&text).map_err(|error| {
            AppError::bad_input("not_json", format!("the arguments are not JSON: {error}")).hint(
                "quote them for the shell: '{\"path\": \"Inbox.md\"}', or put them in a file and give @FILE",
            )
        })?;
        if value.is_object() {
            Ok(CallArguments { text, value })
        } else {
            Err(AppError::bad_input("not_an_object", "the arguments are not a JSON object")
                .hint("write them as {\"name\": value}"))
        }
    }

    /// Fails if two parsers could read the text differently, such as with a doubled key. The plan checker has the strict
    /// parser, so the arguments are checked as part of a plan.
    pub fn refuse_ambiguous(&self, surface: &Surface, decl: &ToolDecl) -> Result<(), AppError> {
        let text = format!("{{\"steps\":[{{\"args\":{}}}]}}", self.text);
        let limits = Settings::cautious().check_limits();
        let mut found = plan::check(&text, surface, &limits).findings;
        found.retain(|finding| {
            matches!(
                finding.code,
                FindingCode::NotJson | FindingCode::DuplicateKey | FindingCode::NumberNotExact
            )
        });
        if found.is_empty() { Ok(()) } else { Err(rejected(decl, found)) }
    }
}

/// Fails if the budget of a receipt is larger than the settings allow.
pub fn check_budget(budget: Option<u32>, settings: &Settings) -> Result<(), AppError> {
    let most = settings.policy.receipts.max_tokens;
    match budget.filter(|budget| *budget > most) {
        Some(budget) => Err(AppError::bad_input(
            "budget_too_large",
            format!("a receipt of {budget} tokens is more than the {most} that the settings allow"),
        )
        .hint(format!("ask for at most {most}, or raise `receipts.max_tokens` in {CONFIG_FILE}"))),
        None => Ok(()),
    }
}

/// Returns the plan with one step that makes this call. Fails if the arguments do not match the tool's schema.
pub fn one_step(
    surface: &Surface,
    decl: &ToolDecl,
    args: &Value,
    limits: &CheckLimits,
) -> Result<CheckedPlan, AppError> {
    let text = json!({
        "version": PLAN_VERSION,
        "goal": format!("Call {}", decl.name),
        "riskLevel": decl.risk_level,
        "steps": [{ "id": CALL_STEP, "tool": decl.name, "args": plan::literal(args, &TemplateScope::default()) }],
    })
    .to_string();
    let report = plan::check(&text, &SchemasOnly(surface), limits);
    report.plan.ok_or_else(|| rejected(decl, report.findings))
}

fn rejected(decl: &ToolDecl, found: Vec<PlanFinding>) -> AppError {
    // The user wrote arguments, not a plan: pointers are relative to the arguments.
    let mut found = findings::sort_findings(found);
    for finding in &mut found {
        finding.step = None;
        if let Some(inside) = finding.pointer.strip_prefix("/steps/0/args") {
            finding.pointer = inside.to_owned();
        }
    }
    let listed: String = found.iter().map(in_arguments).collect();
    AppError::bad_input("invalid_arguments", format!("{} cannot be called like this:{listed}", decl.name))
        .hint(format!("`tollgate tools {}` shows what it takes", decl.name))
        .details(json!({ "findings": found }))
}

fn in_arguments(finding: &PlanFinding) -> String {
    let place = if finding.pointer.is_empty() { "arguments" } else { &finding.pointer };
    let hint = finding.hint.as_deref().map(|hint| format!(" ({hint})")).unwrap_or_default();
    format!("\n  {}", escape_line(&format!("{place}: {}{hint}", finding.message)))
}
