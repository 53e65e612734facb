//! `tollgate call`: one call with the usual checks, recorded like a plan of one step.

use std::sync::Arc;

use app::plan_service::{PlanWork, run_plan};
use app::single_call::{CallArguments, check_budget, known_tool, one_step};
use clap::Args;
use engine::{ReceiptLimits, RunReport};
use envelope::ToolResult;
use journal::RunKind;

use shell::ProcessLifetime;

use crate::cli::VaultChoice;
use crate::cli_error::{CliError, CommandResult};
use crate::exit::Exit;
use crate::input_file;
use crate::progress::Progress;
use crate::prompt::TerminalApprover;
use crate::runtime::{self, InterruptSignal};
use crate::screen;
use crate::summary;
use crate::terminal_observer::TerminalObserver;
use app::display_text::{escape_line, escape_text};
use app::preview::OverlayForecaster;
use app::toolset::{self, Toolset};
use app::vault_context::VaultContext;

/// Calls one tool with the usual checks and prints its receipt
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  tollgate call vault.readFile '{\"path\": \"Inbox.md\"}' --vault ~/Notes\n  tollgate call vault.createFile @note.json --yes --json\n  tollgate call vault.readFile '{\"path\": \"Inbox.md\"}' --budget 300"
)]
pub(crate) struct CallCommand {
    /// The tool, as `tollgate tools` lists it
    tool: String,
    /// Its arguments as JSON text, `@FILE`, or `-` for standard input
    args: String,
    /// Approve in advance
    #[arg(long)]
    yes: bool,
    /// Show every difference in full in the question
    #[arg(long)]
    full: bool,
    /// Token budget of the receipt [default: that of its family, see `tollgate tools NAME`]
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(i64::from(ReceiptLimits::MIN_TOKENS)..))]
    budget: Option<u32>,
    /// Answer in JSON: the result with its canonical form, receipt and phases
    #[arg(long)]
    pub(crate) json: bool,
}

impl CallCommand {
    pub(crate) fn run(self, vault: VaultChoice<'_>) -> CommandResult {
        let context = vault.context()?;
        check_budget(self.budget, &context.settings)?;
        let tools = Arc::new(Toolset::open(&context, ProcessLifetime::Run)?);
        let surface = &tools.surface;
        let decl = known_tool(surface, &self.tool)?;
        let args = read_args(&self.args)?;
        args.refuse_ambiguous(surface, decl)?;
        let plan = one_step(surface, decl, &args.value, &context.settings.check_limits())?;
        // With an approval in advance no question is shown, so nothing is forecast.
        let forecaster = (!self.yes).then(|| {
            Arc::new(
                OverlayForecaster::new(&context.settings, &tools)
                    .in_full(self.full)
                    .painted(screen::stderr_paint()),
            )
        });
        let progress = Arc::new(Progress::new(true));
        let watcher = TerminalObserver::of_call(progress.clone());
        let interrupts = InterruptSignal::new(self.json);
        let approver =
            TerminalApprover::new(self.yes, progress, interrupts.clone()).with_forecaster(forecaster.clone());
        let engine =
            toolset::build_engine(&context, &tools, Arc::new(approver), watcher.clone(), forecaster.clone())?;
        let work = PlanWork { kind: RunKind::Call, forecaster, budget: self.budget, ..PlanWork::new(plan) };
        let report = runtime::block_on(&interrupts, run_plan(&engine, work, &context, interrupts.cancel()))??;
        match watcher.take_last() {
            Some(result) if result.error.is_some() || result.ok => {
                let exit = self.show(&result);
                Ok(if exit == Exit::Done { exit_after_record(&report, &context) } else { exit })
            }
            Some(_) | None => Err(declined_error(&report)),
        }
    }

    fn show(&self, result: &ToolResult) -> Exit {
        if self.json {
            screen::json(result);
        } else {
            let text = result.receipt.as_deref().or(result.user_message.as_deref()).unwrap_or_default();
            screen::print_unwrapped(escape_text(text));
            if let Some(incomplete) = &result.incomplete {
                screen::notice(format_args!("warning: {}", escape_line(incomplete)));
            }
        }
        let failure = result.error.as_ref().map(|error| error.kind);
        match failure {
            Some(Some(kind)) => Exit::of_failure(kind),
            Some(None) => Exit::Failures,
            None => Exit::Done,
        }
    }
}

/// Returns the exit code of a call that succeeded. An incomplete record makes it a failure.
fn exit_after_record(report: &RunReport, context: &VaultContext) -> Exit {
    if let Some(error) = &report.journal_error {
        screen::notice(format_args!("error: the record is incomplete: {}", escape_line(error)));
    }
    if let Some(hint) = summary::incomplete_record_hint(report, context) {
        screen::notice(format_args!("hint: {hint}"));
    }
    Exit::of_report(report)
}

/// The error for a call that never started: it was declined, or cancelled first.
fn declined_error(report: &RunReport) -> CliError {
    let exit = Exit::of_report(report);
    let reason = report.reason.clone().unwrap_or_else(|| format!("the call ended as {}", report.status));
    CliError::new(exit, "declined", reason)
}

fn read_args(given: &str) -> Result<CallArguments, CliError> {
    let text = match given.strip_prefix('@') {
        Some(file) => input_file::read_input(file, "arguments")?,
        None if given == "-" => input_file::read_input(given, "arguments")?,
        None => given.to_owned(),
    };
    Ok(CallArguments::parse(text)?)
}
