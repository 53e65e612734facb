//! `tollgate run`: checks a plan, previews it, asks once, runs it with progress, records and summarises it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use app::plan_service::{PlanCheck, PlanWork, check_plan, confirm_saved_preview, run_plan};
use clap::Args;
use engine::ForecastCall;
use plan::CheckedPlan;
use toolkit::Surface;

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
use app::preview::{ForecastRules, ForecastRun, OverlayForecaster, SavedPreview};
use app::toolset::{self, Toolset};
use app::vault_context::VaultContext;

/// Checks a plan, shows what it would do, asks once, runs it and records everything
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  tollgate run plan.json --vault ~/Notes\n  tollgate run plan.json --previewed seen.json\n  generate-plan | tollgate run - --yes --json"
)]
pub(crate) struct RunCommand {
    /// The plan: a file, or `-` for standard input
    plan: String,
    /// Approve in advance the plan and every call that would be asked about
    #[arg(long)]
    yes: bool,
    /// Run what this preview showed (saved with `preview --out`); if the vault has changed, show how and ask
    #[arg(long, value_name = "FILE")]
    previewed: Option<PathBuf>,
    /// Show every difference in full in the question
    #[arg(long)]
    full: bool,
    /// Answer in JSON: the report of the run
    #[arg(long)]
    pub(crate) json: bool,
}

impl RunCommand {
    pub(crate) fn run(self, vault: VaultChoice<'_>) -> CommandResult {
        let context = vault.context()?;
        let text = input_file::read_input(&self.plan, "plan")?;
        let tools = Arc::new(Toolset::open(&context, ProcessLifetime::Run)?);
        let plan = checked(&text, &tools.surface, &context, self.json)?;
        let saved = self.previewed.as_deref().map(read_preview).transpose()?;
        let progress = Arc::new(Progress::new(self.json));
        let watcher = TerminalObserver::of_run(progress.clone());
        let interrupts = InterruptSignal::new(self.json);
        // With an approval in advance no question is shown, so nothing is forecast for it.
        let full = self.full || saved.as_ref().is_some_and(SavedPreview::is_full);
        let forecaster = (!self.yes).then(|| {
            let forecaster = OverlayForecaster::new(&context.settings, &tools)
                .in_full(full)
                .painted(screen::stderr_paint());
            Arc::new(forecaster.previewed(saved.clone()))
        });
        let approver = TerminalApprover::new(self.yes, progress.clone(), interrupts.clone())
            .with_forecaster(forecaster.clone());
        let engine =
            toolset::build_engine(&context, &tools, Arc::new(approver), watcher.clone(), forecaster.clone())?;
        // With or without a question: exactly the preview is run, or nothing.
        let approved = match saved.filter(|_| self.yes || !engine.needs_confirmation(&plan)) {
            Some(saved) => {
                let rehearsal = ForecastRun::new(&ForecastRules::of(&context.settings), tools, &plan);
                Some(confirm(&rehearsal, &saved, &interrupts)?)
            }
            None => None,
        };
        let work = PlanWork { forecaster, approved, ..PlanWork::new(plan) };
        let report = runtime::block_on(&interrupts, run_plan(&engine, work, &context, interrupts.cancel()))??;
        progress.end();
        if self.json {
            screen::json(&report);
        } else {
            summary::show_plan_run(&report, &watcher, &context);
        }
        Ok(Exit::of_report(&report))
    }
}

/// Reads a preview that was saved with `preview --out`.
pub(super) fn read_preview(file: &Path) -> Result<SavedPreview, CliError> {
    let name = file.to_string_lossy();
    Ok(SavedPreview::parse(&name, &input_file::read_input(&name, "saved preview")?)?)
}

/// Returns the calls of the saved preview if the plan would still do exactly that.
fn confirm(
    rehearsal: &ForecastRun,
    saved: &SavedPreview,
    interrupts: &InterruptSignal,
) -> Result<Vec<ForecastCall>, CliError> {
    let confirmed =
        runtime::block_on(interrupts, confirm_saved_preview(rehearsal, saved, interrupts.cancel()))?;
    if interrupts.is_interrupted() {
        return Err(CliError::new(Exit::Cancelled, "cancelled", "cancelled before anything was run"));
    }
    Ok(confirmed?)
}

/// Returns a plan that passed the checker. Otherwise prints all findings and returns an error; nothing is recorded.
pub(super) fn checked(
    text: &str,
    surface: &Surface,
    context: &VaultContext,
    json: bool,
) -> Result<CheckedPlan, CliError> {
    let PlanCheck { findings: found, plan } = check_plan(text, surface, &context.settings);
    if let Some(plan) = plan {
        if !json {
            for finding in &found {
                screen::notice(app::findings::render_finding(finding, screen::stderr_paint()));
            }
        }
        return Ok(plan);
    }
    let errors = app::findings::count_errors(&found);
    if !json {
        super::check::print_findings(&found);
    }
    let message =
        format!("the plan has {}; nothing was run", app::display_text::count(errors as u64, "error"));
    Err(CliError::bad_input("plan_rejected", message)
        .hint("fix what the findings name, then run it again")
        .details(app::findings::findings_json(&found, None)))
}
