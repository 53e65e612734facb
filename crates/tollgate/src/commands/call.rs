//! `tollgate call`: one call through the gate, recorded like a plan of one step.

use std::path::Path;
use std::sync::Arc;

use clap::Args;
use engine::{Receipts, RunReport};
use envelope::{Catalog, PLAN_VERSION, ToolDecl, ToolResult, nearest};
use journal::RunKind;
use plan::{CheckLimits, CheckedPlan, Finding, FindingCode};
use serde_json::{Value, json};
use toolkit::Surface;

use shell::Lifetime;

use crate::ask::Asker;
use crate::drive::Interrupts;
use crate::exit::Exit;
use crate::findings;
use crate::place::Place;
use crate::plan_text;
use crate::preview::OverlayForecaster;
use crate::progress::Progress;
use crate::screen;
use crate::settings::{CONFIG_FILE, Settings};
use crate::stop::{Outcome, Stop};
use crate::summary;
use crate::visible::{one_line, visible};
use crate::watch::Watcher;
use crate::wiring::{self, Toolset};

/// Calls one tool through the gate and prints its receipt
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  tollgate call vault.readFile '{\"path\": \"Inbox.md\"}' --vault ~/Notes\n  tollgate call vault.createFile @note.json --yes --json\n  tollgate call vault.readFile '{\"path\": \"Inbox.md\"}' --budget 300"
)]
pub(crate) struct Call {
    /// The tool, as `tollgate tools` lists it
    tool: String,
    /// Its arguments as JSON text, `@FILE`, or `-` for standard input
    args: String,
    /// Say yes in advance
    #[arg(long)]
    yes: bool,
    /// Show every difference in full in the question
    #[arg(long)]
    full: bool,
    /// Tokens that the receipt may have [default: what its family has, see `tollgate tools NAME`]
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(i64::from(Receipts::LEAST)..))]
    budget: Option<u32>,
    /// Answer in JSON: the result with its canonical form, receipt and phases
    #[arg(long)]
    pub(crate) json: bool,
}

/// The one step of the plan that a call becomes.
const STEP: &str = "call";

impl Call {
    pub(crate) fn run(self, vault: Option<&Path>) -> Outcome {
        let place = Place::find(vault)?;
        within_policy(self.budget, &place.settings)?;
        let tools = Arc::new(Toolset::open(&place, Lifetime::Run)?);
        let surface = &tools.surface;
        let decl = known_tool(surface, &self.tool)?;
        let args = read_args(&self.args)?;
        refuse_ambiguous(surface, decl, &args)?;
        let plan = one_step(surface, decl, &args.value, &wiring::check_limits(&place.settings))?;
        // With a yes in advance nobody looks, so nothing is forecast.
        let forecaster =
            (!self.yes).then(|| Arc::new(OverlayForecaster::new(&place.settings, &tools).in_full(self.full)));
        let progress = Arc::new(Progress::new(true));
        let watcher = Watcher::of_call(progress.clone());
        let interrupts = Interrupts::new(self.json);
        let asker = Asker::new(self.yes, progress, interrupts.clone()).showing(forecaster.clone());
        let engine = wiring::engine(&place, &tools, Arc::new(asker), watcher.clone(), forecaster.clone())?;
        let work = super::run::Carried {
            plan,
            kind: RunKind::Call,
            forecaster,
            approved: None,
            budget: self.budget,
        };
        let report = super::run::carry(&engine, work, &place, &interrupts)?;
        match watcher.take_last() {
            Some(result) if result.error.is_some() || result.ok => {
                let exit = self.show(&result);
                Ok(if exit == Exit::Done { kept(&report, &place) } else { exit })
            }
            Some(_) | None => Err(declined(&report)),
        }
    }

    fn show(&self, result: &ToolResult) -> Exit {
        if self.json {
            screen::json(result);
        } else {
            let said = result.receipt.as_deref().or(result.user_message.as_deref()).unwrap_or_default();
            screen::say(visible(said));
        }
        let failure = result.error.as_ref().map(|error| error.kind);
        match failure {
            Some(Some(kind)) => Exit::of_failure(kind),
            Some(None) => Exit::Failures,
            None => Exit::Done,
        }
    }
}

/// A call that went well is not done before its record is.
fn kept(report: &RunReport, place: &Place) -> Exit {
    if let Some(error) = &report.journal_error {
        screen::note(format_args!("error: the record is incomplete: {}", one_line(error)));
    }
    if let Some(way_out) = summary::way_out(report, &place.vault_words()) {
        screen::note(format_args!("hint: {way_out}"));
    }
    Exit::of_report(report)
}

/// More than the owner of the vault allows is refused rather than quietly made less.
fn within_policy(budget: Option<u32>, settings: &Settings) -> Result<(), Stop> {
    let most = settings.policy.receipts.max_tokens;
    match budget.filter(|budget| *budget > most) {
        Some(budget) => Err(Stop::bad_input(
            "budget_too_large",
            format!("a receipt of {budget} tokens is more than the {most} that the settings allow"),
        )
        .hint(format!("ask for at most {most}, or raise `receipts.max_tokens` in {CONFIG_FILE}"))),
        None => Ok(()),
    }
}

/// A call that never started: nobody said yes, or it was cancelled first.
fn declined(report: &RunReport) -> Stop {
    let exit = Exit::of_report(report);
    let reason = report.reason.clone().unwrap_or_else(|| format!("the call ended as {}", report.status));
    Stop::new(exit, "declined", reason)
}

pub(super) fn known_tool<'a>(surface: &'a Surface, name: &str) -> Result<&'a ToolDecl, Stop> {
    surface.tool(name).ok_or_else(|| {
        let hint = match nearest(name, surface.names()) {
            Some(meant) => format!("did you mean `{meant}`? `tollgate tools` lists them all"),
            None => "`tollgate tools` lists them all".to_owned(),
        };
        Stop::bad_input("unknown_tool", format!("no tool is named `{name}`")).hint(hint)
    })
}

/// Arguments as they were written, and what that means.
struct Arguments {
    text: String,
    value: Value,
}

fn read_args(given: &str) -> Result<Arguments, Stop> {
    let text = match given.strip_prefix('@') {
        Some(file) => plan_text::read(file, "arguments")?,
        None if given == "-" => plan_text::read(given, "arguments")?,
        None => given.to_owned(),
    };
    let value: Value = serde_json::from_str(&text).map_err(|error| {
        Stop::bad_input("not_json", format!("the arguments are not JSON: {error}")).hint(
            "quote them for the shell: '{\"path\": \"Inbox.md\"}', or put them in a file and give @FILE",
        )
    })?;
    if value.is_object() {
        Ok(Arguments { text, value })
    } else {
        Err(Stop::bad_input("not_an_object", "the arguments are not a JSON object")
            .hint("write them as {\"name\": value}"))
    }
}

/// Refuses what two readers could read as two different calls, such as a doubled key. The arguments are
/// judged as they stand in a plan: there is one strict reader, and it is the checker's.
fn refuse_ambiguous(surface: &Surface, decl: &ToolDecl, args: &Arguments) -> Result<(), Stop> {
    let text = format!("{{\"steps\":[{{\"args\":{}}}]}}", args.text);
    let limits = wiring::check_limits(&Settings::cautious());
    let mut found = plan::check(&text, surface, &limits).findings;
    found.retain(|finding| {
        matches!(finding.code, FindingCode::NotJson | FindingCode::DuplicateKey | FindingCode::NumberNotExact)
    });
    if found.is_empty() { Ok(()) } else { Err(rejected(decl, found)) }
}

/// The call as a plan, so that it is recorded, verified and replayed like any other.
pub(crate) fn one_step(
    surface: &Surface,
    decl: &ToolDecl,
    args: &Value,
    limits: &CheckLimits,
) -> Result<CheckedPlan, Stop> {
    let text = json!({
        "version": PLAN_VERSION,
        "goal": format!("Call {}", decl.name),
        "riskLevel": decl.risk_level,
        "steps": [{ "id": STEP, "tool": decl.name, "args": plan::literal(args) }],
    })
    .to_string();
    let report = plan::check(&text, surface, limits);
    report.plan.ok_or_else(|| rejected(decl, report.findings))
}

fn rejected(decl: &ToolDecl, found: Vec<Finding>) -> Stop {
    // The person wrote arguments, not a plan: pointers are given as seen from there.
    let mut found = findings::sorted(found);
    for finding in &mut found {
        finding.step = None;
        if let Some(inside) = finding.pointer.strip_prefix("/steps/0/args") {
            finding.pointer = inside.to_owned();
        }
    }
    let listed: String = found.iter().map(in_arguments).collect();
    Stop::bad_input("invalid_arguments", format!("{} cannot be called like this:{listed}", decl.name))
        .hint(format!("`tollgate tools {}` shows what it takes", decl.name))
        .details(json!({ "findings": found }))
}

fn in_arguments(finding: &Finding) -> String {
    let place = if finding.pointer.is_empty() { "arguments" } else { &finding.pointer };
    let hint = finding.hint.as_deref().map(|hint| format!(" ({hint})")).unwrap_or_default();
    format!("\n  {}", one_line(&format!("{place}: {}{hint}", finding.message)))
}
