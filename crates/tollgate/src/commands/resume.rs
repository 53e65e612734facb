//! `tollgate resume`: continues an interrupted run and repeats no finished call.

use std::path::Path;
use std::sync::Arc;

use app::AppError;
use app::resume::resume_tools;
use clap::Args;
use engine::{Forecaster, ResumeRequest};

use crate::cli_error::CommandResult;
use crate::exit::Exit;
use crate::progress::Progress;
use crate::prompt::TerminalApprover;
use crate::runtime::{self, InterruptSignal};
use crate::screen;
use crate::summary;
use crate::terminal_observer::TerminalObserver;
use app::preview::OverlayForecaster;
use app::toolset;
use app::vault_context::VaultContext;

/// Continues an interrupted run without repeating a finished call
///
/// If it can be shown whether a call that was running at the interruption happened, you are not asked about it.
/// Otherwise you decide; with --yes the call is left as it is and reported as unknown, and never run again unseen.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tollgate resume last")]
pub(crate) struct ResumeCommand {
    /// The run: an id, the beginning of one, or `last`
    run: String,
    /// Approve in advance what is still to be confirmed; uncertain calls are left and reported
    #[arg(long)]
    yes: bool,
    /// Answer in JSON: the report of the run
    #[arg(long)]
    pub(crate) json: bool,
}

impl ResumeCommand {
    pub(crate) fn run(self, vault: Option<&Path>) -> CommandResult {
        let context = VaultContext::find(vault)?;
        let run_dir = context.run_dir(&self.run)?;
        let tools = Arc::new(resume_tools(&context, &run_dir)?);
        let progress = Arc::new(Progress::new(self.json));
        let watcher = TerminalObserver::of_run(progress.clone());
        let interrupts = InterruptSignal::new(self.json);
        let forecaster = (!self.yes).then(|| {
            Arc::new(OverlayForecaster::new(&context.settings, &tools).painted(screen::stderr_paint()))
        });
        let approver = TerminalApprover::new(self.yes, progress.clone(), interrupts.clone())
            .with_forecaster(forecaster.clone());
        let engine =
            toolset::build_engine(&context, &tools, Arc::new(approver), watcher.clone(), forecaster.clone())?;
        let forecaster = forecaster.map(|forecaster| forecaster as Arc<dyn Forecaster>);
        let request = ResumeRequest { run_dir, cancel: interrupts.cancel(), forecaster };
        let report = runtime::block_on(&interrupts, engine.resume(request))?.map_err(AppError::from)?;
        progress.end();
        if self.json {
            screen::json(&report);
        } else {
            summary::show(&report, &watcher, &context);
        }
        Ok(Exit::of_report(&report))
    }
}
