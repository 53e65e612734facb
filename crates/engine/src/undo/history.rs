//! Which runs took back which.

use std::collections::HashMap;

use envelope::RunId;
use journal::{RunKind, RunState, RunSummary};
use plan::RunStatus;

/// What stands of all undos and redos of a vault.
///
/// An undo stands until it is itself taken back. A run is undone when an undo of it stands that came to a good
/// end. One that failed, was cancelled or interrupted has perhaps taken back a part: the run can be undone
/// again, which does the rest, and a redo takes back both.
pub struct UndoHistory<'a> {
    runs: &'a [RunSummary],
    undone_by: HashMap<&'a RunId, &'a RunSummary>,
    /// Every standing undo of a run that may have changed something, newest first.
    takers: HashMap<&'a RunId, Vec<&'a RunSummary>>,
}

impl<'a> UndoHistory<'a> {
    /// From the list of all runs, newest first.
    pub fn of(runs: &'a [RunSummary]) -> UndoHistory<'a> {
        let mut history = UndoHistory { runs, undone_by: HashMap::new(), takers: HashMap::new() };
        for run in runs.iter().filter(|run| run.kind == RunKind::Undo) {
            // Whatever could have taken this one back is newer and was looked at before.
            if history.undone_by.contains_key(&run.run_id) || has_status(run, RunStatus::Declined) {
                continue;
            }
            for undone in &run.undoes {
                history.takers.entry(undone).or_default().push(run);
                if has_status(run, RunStatus::Ok) {
                    history.undone_by.entry(undone).or_insert(run);
                }
            }
        }
        history
    }

    /// The run that took this one back, if it is undone.
    pub fn undone_by(&self, run: &RunId) -> Option<&'a RunSummary> {
        self.undone_by.get(run).copied()
    }

    /// Every run that has to be taken back for a redo, newest first.
    pub fn takers(&self, run: &RunId) -> &[&'a RunSummary] {
        self.takers.get(run).map_or(&[], Vec::as_slice)
    }

    pub fn get(&self, run: &RunId) -> Option<&'a RunSummary> {
        self.runs.iter().find(|known| known.run_id == *run)
    }

    /// The run that it is all about: of an undo, the run that was undone; of a redo, the run that was redone.
    pub fn root(&self, run: &'a RunSummary) -> &'a RunSummary {
        let mut root = run;
        // An undo names older runs only, so this comes to an end; a list that says otherwise is cut here.
        for _ in 0..self.runs.len() {
            match root.undoes.first().and_then(|older| self.get(older)) {
                Some(older) => root = older,
                None => break,
            }
        }
        root
    }

    /// The runs that `undo last` looks at, newest first: no undos, and nothing that is undone. One that is running
    /// or damaged is among them whatever it is: what it changed is not known, so nobody may pass it over.
    pub fn undoable(&self) -> impl Iterator<Item = &'a RunSummary> {
        self.runs.iter().filter(|run| {
            let matters = run.kind != RunKind::Undo || is_out_of_reach(&run.state);
            matters && self.undone_by(&run.run_id).is_none()
        })
    }

    /// The run whose undo is the newest that stands.
    pub fn last_undone(&self) -> Option<&'a RunSummary> {
        let undo = self.runs.iter().find(|run| {
            let stands = run.kind == RunKind::Undo && self.undone_by(&run.run_id).is_none();
            stands && has_status(run, RunStatus::Ok) && run.undoes.first() == Some(&self.root(run).run_id)
        })?;
        Some(self.root(undo))
    }
}

fn has_status(run: &RunSummary, status: RunStatus) -> bool {
    matches!(&run.state, RunState::Finished(Some(said)) if *said == status.to_string())
}

/// Whether a run cannot be undone as it is.
fn is_out_of_reach(state: &RunState) -> bool {
    match state {
        RunState::Running | RunState::Damaged(_) => true,
        RunState::Interrupted | RunState::Finished(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use envelope::{RunId, Timestamp};
    use journal::{RunKind, RunState, RunSummary};

    use super::UndoHistory;

    fn id(name: &str) -> RunId {
        RunId::parse(name).unwrap()
    }

    /// Runs in the order in which they were made: a name, how it ended, what it takes back.
    fn runs(made: &[(&str, &str, &[&str])]) -> Vec<RunSummary> {
        let run = |(second, (name, status, undoes)): (usize, &(&str, &str, &[&str]))| RunSummary {
            run_id: id(name),
            dir: name.into(),
            created_at: Timestamp::from_second(second as i64).unwrap(),
            kind: if undoes.is_empty() { RunKind::Plan } else { RunKind::Undo },
            undoes: undoes.iter().map(|undone| id(undone)).collect(),
            goal: None,
            vault: None,
            state: match *status {
                "running" => RunState::Running,
                "interrupted" => RunState::Interrupted,
                "damaged" => RunState::Damaged(None),
                status => RunState::Finished(Some(status.to_owned())),
            },
        };
        made.iter().enumerate().map(run).rev().collect()
    }

    /// What is undone by what, what a redo takes back, and what `last` means.
    fn told(made: &[(&str, &str, &[&str])]) -> String {
        let runs = runs(made);
        let history = UndoHistory::of(&runs);
        let name = |run: &RunSummary| run.run_id.to_string();
        let names = |runs: &[&RunSummary]| runs.iter().map(|run| name(run)).collect::<Vec<_>>().join("+");
        let undone = history.undone_by(&id("a")).map(name);
        let undoable = history.undoable().next().map(name);
        let redoable = history.last_undone().map(name);
        format!("{undone:?} by {}, undo {undoable:?}, redo {redoable:?}", names(history.takers(&id("a"))))
    }

    #[test]
    fn an_undo_stands_until_it_is_taken_back() {
        let mut made: Vec<(&str, &str, &[&str])> = vec![("a", "ok", &[])];
        assert_eq!(told(&made), r#"None by , undo Some("a"), redo None"#);
        made.push(("u1", "ok", &["a"]));
        assert_eq!(told(&made), r#"Some("u1") by u1, undo None, redo Some("a")"#);
        made.push(("r1", "ok", &["u1"]));
        assert_eq!(told(&made), r#"None by , undo Some("a"), redo None"#);
        made.push(("u2", "ok", &["a"]));
        assert_eq!(told(&made), r#"Some("u2") by u2, undo None, redo Some("a")"#);
    }

    #[test]
    fn an_undo_that_stopped_midway_is_taken_back_with_the_one_that_did_the_rest() {
        let mut made: Vec<(&str, &str, &[&str])> = vec![("a", "ok", &[]), ("u1", "interrupted", &["a"])];
        assert_eq!(told(&made), r#"None by u1, undo Some("a"), redo None"#);
        made.push(("u2", "ok", &["a"]));
        assert_eq!(told(&made), r#"Some("u2") by u2+u1, undo None, redo Some("a")"#);
        made.push(("r", "ok", &["u2", "u1"]));
        assert_eq!(told(&made), r#"None by , undo Some("a"), redo None"#);
    }

    #[test]
    fn an_undo_that_nobody_allowed_is_none() {
        let made: [(&str, &str, &[&str]); 2] = [("a", "ok", &[]), ("u1", "declined", &["a"])];
        assert_eq!(told(&made), r#"None by , undo Some("a"), redo None"#);
    }

    #[test]
    fn the_last_one_is_the_newest_that_is_no_undo_and_not_undone() {
        let made: [(&str, &str, &[&str]); 4] =
            [("a", "ok", &[]), ("b", "failed", &[]), ("c", "ok", &[]), ("u", "ok", &["c"])];
        assert_eq!(told(&made), r#"None by , undo Some("b"), redo Some("c")"#);
    }

    #[test]
    fn what_is_running_or_damaged_is_not_passed_over() {
        for state in ["running", "damaged"] {
            let made: [(&str, &str, &[&str]); 2] = [("a", "ok", &[]), ("b", state, &[])];
            assert_eq!(told(&made), r#"None by , undo Some("b"), redo None"#);
            let made: [(&str, &str, &[&str]); 4] =
                [("a", "ok", &[]), ("b", "ok", &[]), ("u", "ok", &["b"]), ("r", state, &["u"])];
            assert_eq!(told(&made), r#"None by , undo Some("r"), redo Some("b")"#);
        }
    }
}
