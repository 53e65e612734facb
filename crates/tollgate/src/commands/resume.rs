//! `tollgate resume`: goes on where an interrupted run stopped, repeating nothing that finished.

use std::path::Path;
use std::sync::Arc;

use clap::Args;
use engine::{Forecaster, ResumeError, ResumeRequest, UndoHistory};
use journal::{RunFolder, RunKind};

use shell::Lifetime;

use crate::ask::Asker;
use crate::drive::{self, Interrupts};
use crate::exit::Exit;
use crate::findings;
use crate::place::Place;
use crate::preview::OverlayForecaster;
use crate::progress::Progress;
use crate::screen;
use crate::stop::{Outcome, Stop};
use crate::summary;
use crate::visible::one_line;
use crate::watch::Watcher;
use crate::wiring::{self, Toolset};

/// Continues an interrupted run without repeating a finished call
///
/// A call that was under way when the run was interrupted is looked at: if it can be shown that it happened,
/// or that it did not, nobody is asked. Otherwise the person decides; with --yes it is left as it is and
/// reported as unknown, never run blindly.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tollgate resume last")]
pub(crate) struct Resume {
    /// The run: an id, the beginning of one, or `last`
    run: String,
    /// Say yes in advance to what is still to be confirmed; uncertain calls are left and reported
    #[arg(long)]
    yes: bool,
    /// Answer in JSON: the report of the run
    #[arg(long)]
    pub(crate) json: bool,
}

impl Resume {
    pub(crate) fn run(self, vault: Option<&Path>) -> Outcome {
        let place = Place::find(vault)?;
        let run_dir = place.run_dir(&self.run)?;
        refuse_undone(&place, &run_dir)?;
        let tools = tools(&place, &run_dir)?;
        let progress = Arc::new(Progress::new(self.json));
        let watcher = Watcher::of_run(progress.clone());
        let interrupts = Interrupts::new(self.json);
        let tools = Arc::new(tools);
        let forecaster = (!self.yes).then(|| Arc::new(OverlayForecaster::new(&place.settings, &tools)));
        let asker = Asker::new(self.yes, progress.clone(), interrupts.clone()).showing(forecaster.clone());
        let engine = wiring::engine(&place, &tools, Arc::new(asker), watcher.clone(), forecaster.clone())?;
        let forecaster = forecaster.map(|forecaster| forecaster as Arc<dyn Forecaster>);
        let request = ResumeRequest { run_dir, cancel: interrupts.cancel(), forecaster };
        let report = drive::to_end(&interrupts, engine.resume(request))?.map_err(why_not)?;
        progress.end();
        if self.json {
            screen::json(&report);
        } else {
            summary::show(&report, &watcher, &place);
        }
        Ok(Exit::of_report(&report))
    }
}

/// An undo goes on with the tool that it was begun with.
fn tools(place: &Place, run_dir: &Path) -> Result<Toolset, Stop> {
    match RunFolder::open(run_dir)?.header().kind {
        RunKind::Undo => Toolset::open_with_restore(place),
        RunKind::Plan | RunKind::Call | RunKind::Session => Toolset::open(place, Lifetime::Run),
    }
}

/// What was taken back would be half done again.
fn refuse_undone(place: &Place, run_dir: &Path) -> Result<(), Stop> {
    let runs = place.runs()?.list()?;
    let run = runs.iter().find(|run| run.dir == run_dir);
    match run.and_then(|run| UndoHistory::of(&runs).undone_by(&run.run_id)) {
        Some(undo) => Err(Stop::bad_input("undone", format!("the run is undone, by run {}", undo.run_id))
            .hint("run its plan again; it is in run.json under `plan`")),
        None => Ok(()),
    }
}

fn why_not(error: ResumeError) -> Stop {
    let message = error.to_string();
    match error {
        ResumeError::Journal(error) => Stop::from(error),
        ResumeError::Finished => Stop::bad_input("finished", message)
            .hint("`tollgate show` tells how it ended; run the plan again for more"),
        ResumeError::Changed { .. } => Stop::new(Exit::Denied, "changed", message)
            .hint("the plan is in run.json under `plan`; a new run asks for a new yes"),
        ResumeError::PlanRejected(found) => {
            let listed: Vec<String> =
                found.iter().map(|finding| format!("\n  {}", one_line(&finding.to_string()))).collect();
            Stop::bad_input("plan_rejected", format!("{message}:{}", listed.concat()))
                .details(findings::answer(&found, None))
        }
        ResumeError::Diverged { .. } => Stop::new(Exit::Damaged, "diverged", message)
            .hint("`tollgate verify` and `tollgate replay` say where"),
    }
}
