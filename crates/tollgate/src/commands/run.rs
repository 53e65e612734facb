//! `tollgate run`: check, preview, ask once, run with progress, record, summarise.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use engine::{ForecastCall, Forecaster, RunPlace, RunReport, RunRequest};
use journal::RunKind;
use plan::CheckedPlan;
use toolkit::Surface;

use shell::Lifetime;

use crate::ask::Asker;
use crate::diff::Limits;
use crate::drive::{self, Interrupts};
use crate::exit::Exit;
use crate::findings;
use crate::place::Place;
use crate::plan_text;
use crate::preview::{ForecastRules, OverlayForecaster, Rehearsal, SavedPreview};
use crate::progress::Progress;
use crate::screen;
use crate::stop::{Outcome, Stop};
use crate::summary;
use crate::watch::Watcher;
use crate::wiring::{self, Toolset};

/// Checks a plan, shows what it would do, asks once, runs it and records everything
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  tollgate run plan.json --vault ~/Notes\n  tollgate run plan.json --previewed seen.json\n  generate-plan | tollgate run - --yes --json"
)]
pub(crate) struct Run {
    /// The plan: a file, or `-` for standard input
    plan: String,
    /// Say yes in advance to the plan and to every call that would be asked about
    #[arg(long)]
    yes: bool,
    /// Run what this preview showed, kept with `preview --out`; if the vault has changed, say how and ask
    #[arg(long, value_name = "FILE")]
    previewed: Option<PathBuf>,
    /// Show every difference in full in the question
    #[arg(long)]
    full: bool,
    /// Answer in JSON: the report of the run
    #[arg(long)]
    pub(crate) json: bool,
}

impl Run {
    pub(crate) fn run(self, vault: Option<&Path>) -> Outcome {
        let place = Place::find(vault)?;
        let text = plan_text::read(&self.plan, "plan")?;
        let tools = Arc::new(Toolset::open(&place, Lifetime::Run)?);
        let plan = checked(&text, &tools.surface, &place, self.json)?;
        let saved = self.previewed.as_deref().map(SavedPreview::read).transpose()?;
        let progress = Arc::new(Progress::new(self.json));
        let watcher = Watcher::of_run(progress.clone());
        let interrupts = Interrupts::new(self.json);
        // With a yes in advance nobody looks, so nothing is forecast for a question.
        let full = self.full || saved.as_ref().is_some_and(SavedPreview::is_full);
        let forecaster = (!self.yes).then(|| {
            let forecaster = OverlayForecaster::new(&place.settings, &tools).in_full(full);
            Arc::new(forecaster.previewed(saved.clone()))
        });
        let asker = Asker::new(self.yes, progress.clone(), interrupts.clone()).showing(forecaster.clone());
        let engine = wiring::engine(&place, &tools, Arc::new(asker), watcher.clone(), forecaster.clone())?;
        // Whether or not there will be a question: what was previewed is run, or nothing.
        let approved = match saved.filter(|_| self.yes || !engine.asks_about(&plan)) {
            Some(saved) => {
                let rehearsal = Rehearsal::new(&ForecastRules::of(&place.settings), tools, &plan);
                Some(refuse_other(&rehearsal, &saved, &interrupts)?)
            }
            None => None,
        };
        let work = Carried { plan, kind: RunKind::Plan, forecaster, approved, budget: None };
        let report = carry(&engine, work, &place, &interrupts)?;
        progress.end();
        if self.json {
            screen::json(&report);
        } else {
            summary::show(&report, &watcher, &place);
        }
        Ok(Exit::of_report(&report))
    }
}

/// A checked plan with all that its run needs.
pub(super) struct Carried {
    pub(super) plan: CheckedPlan,
    pub(super) kind: RunKind,
    /// Tells what the plan would do, for the question about it.
    pub(super) forecaster: Option<Arc<OverlayForecaster>>,
    /// A forecast that was approved before.
    pub(super) approved: Option<Vec<ForecastCall>>,
    pub(super) budget: Option<u32>,
}

/// Runs a checked plan to its end. It is recorded in the vault's state folder.
pub(super) fn carry(
    engine: &engine::Engine,
    work: Carried,
    place: &Place,
    interrupts: &Interrupts,
) -> Result<RunReport, Stop> {
    let request = RunRequest {
        plan: work.plan,
        place: RunPlace::Disk(place.prepare_runs()?),
        kind: work.kind,
        planner_version: None,
        cancel: interrupts.cancel(),
        forecaster: work.forecaster.map(|forecaster| forecaster as Arc<dyn Forecaster>),
        approved: work.approved,
        budget: work.budget,
    };
    drive::to_end(interrupts, engine.run_plan(request))?.map_err(|error| match error {
        engine::RunError::Journal(error) => Stop::from(error),
    })
}

/// Returns the calls that the saved preview shows, if the plan would still do exactly that. Where nobody is asked,
/// nobody can be asked again: what was previewed is run, or nothing.
fn refuse_other(
    rehearsal: &Rehearsal,
    saved: &SavedPreview,
    interrupts: &Interrupts,
) -> Result<Vec<ForecastCall>, Stop> {
    let limits = if saved.is_full() { Limits::full() } else { Limits::screen() };
    let now = drive::to_end(interrupts, rehearsal.perform(limits, interrupts.cancel()))??;
    if interrupts.were_heard() {
        return Err(Stop::new(Exit::Cancelled, "cancelled", "cancelled before anything was run"));
    }
    let differences = rehearsal.differences(saved, &now);
    if differences.is_empty() {
        return Ok(now.calls);
    }
    let lines: Vec<String> = differences.iter().map(|line| format!("\n  {line}")).collect();
    Err(Stop::new(
        Exit::Denied,
        "not_as_previewed",
        format!("the plan would not do what was previewed; nothing was run{}", lines.concat()),
    )
    .hint("look at a new preview, then run that")
    .details(serde_json::json!({ "differences": differences })))
}

/// A plan that may run. A wrong one ends the command with all its findings; nothing is recorded.
pub(super) fn checked(text: &str, surface: &Surface, place: &Place, json: bool) -> Result<CheckedPlan, Stop> {
    let report = plan::check(text, surface, &wiring::check_limits(&place.settings));
    let found = findings::sorted(report.findings);
    if let Some(plan) = report.plan {
        if !json {
            for finding in &found {
                screen::note(findings::lines(finding, screen::Paint::stderr()));
            }
        }
        return Ok(plan);
    }
    let errors = findings::errors(&found);
    if !json {
        findings::show(&found);
    }
    let message = format!("the plan has {}; nothing was run", crate::visible::count(errors as u64, "error"));
    Err(Stop::bad_input("plan_rejected", message)
        .hint("mend what the findings name, then run it again")
        .details(findings::answer(&found, None)))
}
