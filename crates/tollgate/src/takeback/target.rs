//! Which run is meant, and whether it can be taken back.

use engine::{Irreversible, RunChanges, UndoHistory};
use envelope::{Change, RunId};
use journal::{JournalError, RunFolder, RunKind, RunState, RunSummary};

use crate::exit::Exit;
use crate::place::Place;
use crate::stop::Stop;

/// Something that is to be taken back.
pub(crate) struct Target {
    /// `Undo` or `Redo`.
    pub(super) verb: &'static str,
    /// The run that a person would name.
    pub(super) run_id: RunId,
    pub(super) goal: String,
    /// The runs whose changes are taken back, newest first.
    pub(super) undoes: Vec<RunId>,
    /// What they changed, in order.
    pub(super) made: Vec<Change>,
    pub(super) irreversible: Vec<Irreversible>,
    /// Any of them: all runs of a vault share what was kept.
    pub(super) folder: RunFolder,
}

/// The run to undo: an id, the beginning of one, or `last`.
pub(crate) fn undo_target(place: &Place, wanted: &str) -> Result<Target, Stop> {
    let runs = place.runs()?.list()?;
    let history = UndoHistory::of(&runs);
    if wanted == "last" {
        return newest(place, &history);
    }
    let run = find(place, &runs, wanted)?;
    if let Some(undo) = history.undone_by(&run.run_id) {
        return Err(Stop::bad_input(
            "already_undone",
            format!("run {} is undone already, by run {}", run.run_id, undo.run_id),
        )
        .hint(format!("`tollgate redo {}` does it again", run.run_id)));
    }
    if run.kind == RunKind::Undo {
        return Err(is_an_undo(&history, run));
    }
    undoing(place, &history, run)
}

/// The run to do again: an id, the beginning of one, or `last`.
pub(crate) fn redo_target(place: &Place, wanted: &str) -> Result<Target, Stop> {
    let runs = place.runs()?.list()?;
    let history = UndoHistory::of(&runs);
    let run = match wanted {
        "last" => history.last_undone().ok_or_else(|| {
            Stop::bad_input("not_undone", "no run is undone; there is nothing to do again")
                .hint("`tollgate runs` tells what is undone by what")
        })?,
        wanted => history.root(find(place, &runs, wanted)?),
    };
    if history.undone_by(&run.run_id).is_none() {
        return Err(Stop::bad_input(
            "not_undone",
            format!("run {} is not undone; there is nothing to do again", run.run_id),
        )
        .hint(format!("`tollgate undo {}` takes it back", run.run_id)));
    }
    let takers = history.takers(&run.run_id);
    let (mut made, mut irreversible) = (Vec::new(), Vec::new());
    for taker in takers.iter().rev() {
        let changes = changes_of(place, taker)?;
        made.extend(changes.changes);
        irreversible.extend(changes.irreversible);
    }
    let newest = takers.first().map_or(&run.dir, |taker| &taker.dir);
    Ok(Target {
        verb: "Redo",
        run_id: run.run_id.clone(),
        goal: goal("Redo", run),
        undoes: takers.iter().map(|taker| taker.run_id.clone()).collect(),
        made,
        irreversible,
        folder: RunFolder::open(newest)?,
    })
}

/// The newest run that changed something and is not undone. Undos are passed over: `undo last` twice takes back
/// two runs, and `redo` takes back an undo. A run of which nobody can tell what it changed is never passed over:
/// an older one would be taken back in its place.
fn newest(place: &Place, history: &UndoHistory<'_>) -> Result<Target, Stop> {
    for run in history.undoable() {
        match &run.state {
            RunState::Running => return Err(still_running(run)),
            RunState::Damaged(why) => {
                let why = why.as_deref().unwrap_or("its record cannot be read");
                return Err(unknown(run, Stop::new(Exit::Damaged, "journal_damaged", why)));
            }
            RunState::Interrupted | RunState::Finished(_) => {}
        }
        let changes = RunFolder::open(&run.dir)
            .and_then(|folder| RunChanges::read(&folder))
            .map_err(|error| unknown(run, error.into()))?;
        if !changes.is_empty() {
            return undoing(place, history, run);
        }
        // A record with a piece missing also says that nothing was changed.
        refuse_damaged(run)?;
    }
    Err(Stop::bad_input("nothing_to_undo", "nothing to undo: no run here has changes that are not undone")
        .hint("`tollgate runs` lists what there is"))
}

fn undoing(place: &Place, history: &UndoHistory<'_>, run: &RunSummary) -> Result<Target, Stop> {
    refuse_half_undone(history, run)?;
    let changes = changes_of(place, run)?;
    Ok(Target {
        verb: "Undo",
        run_id: run.run_id.clone(),
        goal: goal("Undo", run),
        undoes: vec![run.run_id.clone()],
        made: changes.changes,
        irreversible: changes.irreversible,
        folder: RunFolder::open(&run.dir)?,
    })
}

/// An undo that is under way, or was until it was interrupted, comes to its end first.
fn refuse_half_undone(history: &UndoHistory<'_>, run: &RunSummary) -> Result<(), Stop> {
    for undo in history.takers(&run.run_id) {
        match undo.state {
            RunState::Interrupted => {
                return Err(Stop::bad_input(
                    "undo_interrupted",
                    format!("an undo of run {} was interrupted: run {}", run.run_id, undo.run_id),
                )
                .hint(format!("`tollgate resume {}` goes on with it", undo.run_id)));
            }
            RunState::Running => return Err(still_running(undo)),
            RunState::Finished(_) | RunState::Damaged(_) => {}
        }
    }
    Ok(())
}

fn find<'a>(place: &Place, runs: &'a [RunSummary], wanted: &str) -> Result<&'a RunSummary, Stop> {
    let dir = place.run_dir(wanted)?;
    runs.iter().find(|run| run.dir == dir).ok_or_else(|| {
        Stop::bad_input("no_such_run", format!("no run is named `{wanted}`"))
            .hint("`tollgate runs` lists them; name one by its id, the beginning of it, or `last`")
    })
}

/// What a run changed. Only a record that is whole, of a run that is over, can be trusted with this.
fn changes_of(place: &Place, run: &RunSummary) -> Result<RunChanges, Stop> {
    if run.state == RunState::Running || place.is_running(&run.dir)? {
        return Err(still_running(run));
    }
    refuse_damaged(run)?;
    Ok(RunChanges::read(&RunFolder::open(&run.dir)?)?)
}

fn refuse_damaged(run: &RunSummary) -> Result<(), Stop> {
    let found = journal::verify(&run.dir, None).map_err(|error| unknown(run, error.into()))?;
    match found.problems.into_iter().next() {
        Some(first) => Err(unknown(run, JournalError::Damaged(Box::new(first)).into())),
        None => Ok(()),
    }
}

fn still_running(run: &RunSummary) -> Stop {
    Stop::new(Exit::Failures, "running", format!("run {} is still running", run.run_id))
        .hint("wait until it ends, or end it with Ctrl-C where it runs")
}

/// Nobody can tell what a run changed.
fn unknown(run: &RunSummary, stop: Stop) -> Stop {
    let id = &run.run_id;
    let stop =
        Stop { message: format!("the record of run {id} cannot be trusted: {}", stop.message), ..stop };
    stop.hint(format!("`tollgate verify {id}` lists every problem; another run is taken back by its id"))
}

fn is_an_undo(history: &UndoHistory<'_>, run: &RunSummary) -> Stop {
    let undone = run.undoes.first().and_then(|undone| history.get(undone));
    let root = history.root(undone.unwrap_or(run));
    let (what, verb) = match undone {
        Some(undone) if undone.kind == RunKind::Undo => ("a redo", "undo"),
        Some(_) | None => ("an undo", "redo"),
    };
    Stop::bad_input("is_an_undo", format!("run {} is itself {what}", run.run_id))
        .hint(format!("`tollgate {verb} {}` takes it back", root.run_id))
}

fn goal(verb: &str, run: &RunSummary) -> String {
    match &run.goal {
        Some(goal) => format!("{verb} run {}: {goal}", run.run_id),
        None => format!("{verb} run {}", run.run_id),
    }
}
