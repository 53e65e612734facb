//! `tollgate run`: check, preview, ask once, run with progress, record, summarise.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use engine::{Foresight, RunPlace, RunReport, RunRequest};
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
use crate::preview::{Rehearsal, SavedPreview, Seer};
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
        let rehearsal = || Rehearsal::new(&place, tools.clone(), &plan);
        let progress = Arc::new(Progress::new(self.json));
        let watcher = Watcher::of_run(progress.clone());
        let interrupts = Interrupts::new(self.json);
        // With a yes in advance nobody looks, so nothing is foreseen.
        let seer = (!self.yes).then(|| Arc::new(Seer::new(rehearsal(), saved.clone())));
        let asker = Asker::new(self.yes, progress.clone(), interrupts.clone()).showing(seer.clone());
        let engine = wiring::engine(&place, &tools, Arc::new(asker), watcher.clone())?;
        if let Some(saved) = saved.filter(|_| self.yes || !engine.asks_about(&plan)) {
            refuse_other(&rehearsal(), &saved, &interrupts)?;
        }
        let report = carry(&engine, plan, (RunKind::Plan, seer), &place, &interrupts, None)?;
        progress.end();
        if self.json {
            screen::json(&report);
        } else {
            summary::show(&report, &watcher, &place);
        }
        Ok(Exit::of_report(&report))
    }
}

/// Runs a checked plan to its end, with what is foreseen in the question about it. It is recorded in the vault's
/// state folder.
pub(super) fn carry(
    engine: &engine::Engine,
    plan: CheckedPlan,
    (kind, seer): (RunKind, Option<Arc<Seer>>),
    place: &Place,
    interrupts: &Interrupts,
    budget: Option<u32>,
) -> Result<RunReport, Stop> {
    let place = RunPlace::Disk(place.prepare_runs()?);
    let request = RunRequest {
        plan,
        place,
        kind,
        planner_version: None,
        cancel: interrupts.cancel(),
        foresight: seer.map(|seer| seer as Arc<dyn Foresight>),
        budget,
    };
    drive::to_end(interrupts, engine.run_plan(request))?.map_err(|error| match error {
        engine::RunError::Journal(error) => Stop::from(error),
    })
}

/// Where nobody is asked, nobody can be asked again: what was previewed is run, or nothing.
fn refuse_other(rehearsal: &Rehearsal, saved: &SavedPreview, interrupts: &Interrupts) -> Result<(), Stop> {
    let work = rehearsal.perform(Limits::screen(), interrupts.cancel());
    let now = drive::to_end(interrupts, work)??;
    if interrupts.were_heard() {
        return Err(Stop::new(Exit::Cancelled, "cancelled", "cancelled before anything was run"));
    }
    let differences = rehearsal.differences(saved, &now);
    if differences.is_empty() {
        return Ok(());
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
