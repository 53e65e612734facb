//! `tollgate run`: check, ask once, run with progress, record, summarise.

use std::path::Path;
use std::sync::Arc;

use clap::Args;
use engine::{RunPlace, RunReport, RunRequest};
use journal::RunKind;
use plan::CheckedPlan;
use toolkit::Surface;

use crate::ask::Asker;
use crate::drive::{self, Interrupts};
use crate::exit::Exit;
use crate::findings;
use crate::place::Place;
use crate::plan_text;
use crate::progress::Progress;
use crate::screen;
use crate::stop::{Outcome, Stop};
use crate::summary;
use crate::watch::Watcher;
use crate::wiring::{self, Toolset};

/// Checks a plan, asks once, runs it and records everything
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  tollgate run plan.json --vault ~/Notes\n  generate-plan | tollgate run - --yes --json"
)]
pub(crate) struct Run {
    /// The plan: a file, or `-` for standard input
    plan: String,
    /// Say yes in advance to the plan and to every call that would be asked about
    #[arg(long)]
    yes: bool,
    /// Answer in JSON: the report of the run
    #[arg(long)]
    pub(crate) json: bool,
}

impl Run {
    pub(crate) fn run(self, vault: Option<&Path>) -> Outcome {
        let place = Place::find(vault)?;
        let text = plan_text::read(&self.plan, "plan")?;
        let surface = Toolset::open(&place.vault)?.surface;
        let plan = checked(&text, &surface, &place, self.json)?;
        let progress = Arc::new(Progress::new(self.json));
        let watcher = Watcher::of_run(progress.clone());
        let interrupts = Interrupts::new(self.json);
        let asker = Arc::new(Asker::new(self.yes, progress.clone(), interrupts.clone()));
        let engine = wiring::engine(&place, &surface, asker, watcher.clone())?;
        let report = carry(&engine, plan, RunKind::Plan, &place, &interrupts)?;
        progress.end();
        if self.json {
            screen::json(&report);
        } else {
            summary::show(&report, &watcher, &place);
        }
        Ok(Exit::of_report(&report))
    }
}

/// Runs a checked plan to its end, recorded in the vault's state folder.
pub(super) fn carry(
    engine: &engine::Engine,
    plan: CheckedPlan,
    kind: RunKind,
    place: &Place,
    interrupts: &Interrupts,
) -> Result<RunReport, Stop> {
    let place = RunPlace::Disk(place.prepare_runs()?);
    let request = RunRequest {
        plan,
        place,
        kind,
        planner_version: None,
        cancel: interrupts.cancel(),
        foresight: None,
    };
    drive::to_end(interrupts, engine.run_plan(request))?.map_err(|error| match error {
        engine::RunError::Journal(error) => Stop::from(error),
    })
}

/// A plan that may run. A wrong one ends the command with all its findings; nothing is recorded.
fn checked(text: &str, surface: &Surface, place: &Place, json: bool) -> Result<CheckedPlan, Stop> {
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
