//! `tollgate resume`: continues an interrupted run and repeats no finished call.

use std::path::Path;
use std::sync::Arc;

use app::AppError;
use app::plan_service::{PlanWork, run_plan};
use app::resume::resume_tools;
use app::retry::{PreparedRetry, prepare_retry, uncertain_error};
use clap::Args;
use engine::{Forecaster, ResumeRequest};
use journal::{RunFolder, RunKind};

use crate::cli::VaultChoice;
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

/// Continues an interrupted or failed run without repeating a call that succeeded
///
/// If it can be shown whether a call that was running at the interruption happened, you are not asked about it.
/// Otherwise you decide; with --yes the call is left as it is and reported as unknown, and never run again unseen.
///
/// A run that has ended is continued with --retry-failed, by a new run that names it: you are shown and asked about the
/// calls that are left, and `undo` takes back both runs.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tollgate resume last\n  tollgate resume last --retry-failed")]
pub(crate) struct ResumeCommand {
    /// The run: an id, the beginning of one, or `last`
    run: String,
    /// The run has ended: make its failed calls again, and those that were skipped or never reached
    #[arg(long)]
    retry_failed: bool,
    /// Approve in advance what is still to be confirmed; uncertain calls are left and reported
    #[arg(long)]
    yes: bool,
    /// Answer in JSON: the report of the run
    #[arg(long)]
    pub(crate) json: bool,
}

impl ResumeCommand {
    pub(crate) fn run(self, vault: VaultChoice<'_>) -> CommandResult {
        let context = vault.context()?;
        let run_dir = context.run_dir(&self.run)?;
        if self.retry_failed {
            return self.retry(&context, &run_dir);
        }
        let folder = RunFolder::open(&run_dir).map_err(AppError::from)?;
        let header = folder.header().clone();
        // The question about a continued run was not answered yet, so `--yes` would answer it unseen.
        let is_unanswered = self.yes && folder.confirmation().is_none();
        if let Some(error) = header.continues.as_ref().filter(|_| is_unanswered).and_then(uncertain_error) {
            return Err(error.into());
        }
        drop(folder);
        let tools = Arc::new(resume_tools(&context, &run_dir)?);
        let progress = Arc::new(Progress::new(self.json));
        let watcher = TerminalObserver::of_run(progress.clone());
        let interrupts = InterruptSignal::new(self.json);
        let forecaster = (!self.yes).then(|| {
            let forecaster =
                OverlayForecaster::new(&context.settings, &tools).painted(screen::stderr_paint());
            Arc::new(forecaster.continuing(header.continues.clone()))
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
            match header.kind {
                RunKind::Plan | RunKind::Call => summary::show_plan_run(&report, &watcher, &context),
                RunKind::Undo | RunKind::PartialUndo | RunKind::Session => {
                    summary::show_run(&report, &watcher, &context);
                }
            }
        }
        Ok(Exit::of_report(&report))
    }

    /// Makes the calls that are left of a run that has ended.
    fn retry(self, context: &VaultContext, run_dir: &Path) -> CommandResult {
        let PreparedRetry { tools, plan, kind, planner, continues } = prepare_retry(context, run_dir)?;
        if let Some(error) = uncertain_error(&continues).filter(|_| self.yes) {
            return Err(error.into());
        }
        let progress = Arc::new(Progress::new(self.json));
        let watcher = TerminalObserver::of_run(progress.clone());
        let interrupts = InterruptSignal::new(self.json);
        let forecaster = (!self.yes).then(|| {
            let forecaster =
                OverlayForecaster::new(&context.settings, &tools).painted(screen::stderr_paint());
            Arc::new(forecaster.continuing(Some(continues.clone())))
        });
        let approver = TerminalApprover::new(self.yes, progress.clone(), interrupts.clone())
            .with_forecaster(forecaster.clone());
        let engine =
            toolset::build_engine(context, &tools, Arc::new(approver), watcher.clone(), forecaster.clone())?;
        let work = PlanWork { kind, planner, forecaster, continues: Some(continues), ..PlanWork::new(plan) };
        let report = runtime::block_on(&interrupts, run_plan(&engine, work, context, interrupts.cancel()))??;
        progress.end();
        if self.json {
            screen::json(&report);
        } else {
            summary::show_plan_run(&report, &watcher, context);
        }
        Ok(Exit::of_report(&report))
    }
}
