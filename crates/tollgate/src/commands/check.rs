//! `tollgate check`: reports everything that is wrong with a plan, without running it.

use std::path::Path;

use clap::Args;

use crate::cli_error::CommandResult;
use crate::exit::Exit;
use crate::input_file;
use crate::screen;
use app::display_text::count;
use app::findings::{count_errors, execution_order, findings_json, render_finding};
use app::plan_service::{PlanCheck, check_plan};
use app::settings::Settings;
use app::toolset::Toolset;
use app::vault_context::{VaultContext, find_vault};
use plan::PlanFinding;

/// Checks a plan: every finding with its step, its place and what to write instead
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tollgate check plan.json\n  generate-plan | tollgate check - --json")]
pub(crate) struct CheckCommand {
    /// The plan: a file, or `-` for standard input
    plan: String,
    /// Answer in JSON: {"ok", "findings", "planHash", "order"}
    #[arg(long)]
    pub(crate) json: bool,
}

impl CheckCommand {
    pub(crate) fn run(self, vault: Option<&Path>) -> CommandResult {
        // A plan can be checked anywhere. A vault that is named or found brings its limits and its servers.
        let (settings, tools) = match (vault, find_vault(vault)) {
            (None, Err(_)) => (Settings::cautious(), Toolset::without_vault()?),
            (_, found) => {
                let context = VaultContext::find(Some(&found?))?;
                let tools = Toolset::for_listing(&context)?;
                (context.settings, tools)
            }
        };
        let text = input_file::read_input(&self.plan, "plan")?;
        let surface = tools.surface;
        let PlanCheck { findings: found, plan } = check_plan(&text, &surface, &settings);
        if self.json {
            screen::json(&findings_json(&found, plan.as_ref()));
        } else {
            print_findings(&found);
            if let Some(plan) = &plan {
                let steps = count(plan.steps.len() as u64, "step");
                screen::print(format_args!(
                    "The plan can run: {steps}, {}, {}",
                    plan.plan.risk_level, plan.hash
                ));
                screen::print(format_args!("Order: {}", execution_order(plan).join(", ")));
            }
        }
        Ok(if plan.is_some() { Exit::Done } else { Exit::BadInput })
    }
}

/// Prints the findings to standard output, with a count at the end.
pub(super) fn print_findings(findings: &[PlanFinding]) {
    for finding in findings {
        screen::print(render_finding(finding, screen::stdout_paint()));
    }
    let errors = count_errors(findings);
    let warnings = findings.len() - errors;
    if errors + warnings > 0 {
        screen::print(format_args!(
            "{}, {}",
            count(errors as u64, "error"),
            count(warnings as u64, "warning")
        ));
    }
}
