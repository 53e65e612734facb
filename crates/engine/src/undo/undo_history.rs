//! The history of undos: which runs undid which.

use std::collections::HashMap;

use envelope::{RunId, Timestamp};
use journal::{RunKind, RunState, RunSummary};
use plan::RunStatus;

/// The active undos and redos of a vault.
///
/// An undo is active until it is itself undone. A run is undone if an active undo of it has succeeded. An undo that
/// failed, was cancelled or interrupted may have undone a part, and so has one that was limited to some paths: the run
/// can be undone again, which does the rest, and a redo reverts both.
pub struct UndoHistory<'a> {
    runs: &'a [RunSummary],
    by_id: HashMap<&'a RunId, &'a RunSummary>,
    undone_by: HashMap<&'a RunId, &'a RunSummary>,
    /// Active undos of each run that may have changed something, newest first.
    takers: HashMap<&'a RunId, Vec<&'a RunSummary>>,
}

impl<'a> UndoHistory<'a> {
    /// Builds the history from the list of all runs, newest first.
    pub fn of(runs: &'a [RunSummary]) -> UndoHistory<'a> {
        let by_id = runs.iter().map(|run| (&run.run_id, run)).collect();
        let mut history = UndoHistory { runs, by_id, undone_by: HashMap::new(), takers: HashMap::new() };
        for run in runs.iter().filter(|run| run.kind.is_undo()) {
            // Any run that could have undone this one is newer and was visited before.
            if history.undone_by.contains_key(&run.run_id) || has_status(run, RunStatus::Declined) {
                continue;
            }
            for undone in &run.undoes {
                history.takers.entry(undone).or_default().push(run);
                if has_status(run, RunStatus::Ok) && run.kind == RunKind::Undo {
                    history.undone_by.entry(undone).or_insert(run);
                }
            }
        }
        history
    }

    /// Returns the run that undid this one.
    pub fn undone_by(&self, run: &RunId) -> Option<&'a RunSummary> {
        self.undone_by.get(run).copied()
    }

    /// Returns every run that a redo must undo, newest first.
    pub fn active_undos(&self, run: &RunId) -> &[&'a RunSummary] {
        self.takers.get(run).map_or(&[], Vec::as_slice)
    }

    /// Returns a time before which none of the changes of a run that stand now was made: when its newest undo began that was
    /// complete and is redone, or when it began itself.
    pub fn made_at(&self, run: &RunSummary) -> Timestamp {
        let is_redone = |undo: &&RunSummary| {
            undo.kind == RunKind::Undo
                && has_status(undo, RunStatus::Ok)
                && undo.undoes.contains(&run.run_id)
                && self.undone_by(&undo.run_id).is_some()
        };
        self.runs.iter().find(is_redone).map_or(run.created_at, |undo| undo.created_at)
    }

    /// Returns the active undos that have succeeded, also in part, newest first.
    pub fn undo_runs(&self) -> impl Iterator<Item = &'a RunSummary> {
        self.runs.iter().filter(|run| {
            run.kind.is_undo()
                && self.undone_by(&run.run_id).is_none()
                && has_status(run, RunStatus::Ok)
                && run
                    .undoes
                    .first()
                    .and_then(|undone| self.get(undone))
                    .is_some_and(|undone| !undone.kind.is_undo())
        })
    }

    /// Returns all runs, newest first.
    pub fn runs(&self) -> &'a [RunSummary] {
        self.runs
    }

    /// Puts runs of this history into its order, newest first.
    pub fn sort_newest_first(&self, runs: &mut [&RunSummary]) {
        let places: HashMap<&RunId, usize> =
            self.runs.iter().enumerate().map(|(place, run)| (&run.run_id, place)).collect();
        runs.sort_by_key(|run| places.get(&run.run_id).copied());
    }

    pub fn get(&self, run: &RunId) -> Option<&'a RunSummary> {
        self.by_id.get(run).copied()
    }

    /// Returns the original run: of an undo, the run that was undone; of a redo, the run that was redone.
    pub fn root_run(&self, run: &'a RunSummary) -> &'a RunSummary {
        let mut root = run;
        // An undo names only older runs, so this ends; the bound guards against a damaged list.
        for _ in 0..self.runs.len() {
            match root.undoes.first().and_then(|older| self.get(older)) {
                Some(older) => root = older,
                None => break,
            }
        }
        root
    }

    /// Returns a run with every run that it continues and every one that continues it, newest first. They made the
    /// calls of one plan, so they are undone together.
    pub fn connected_runs(&self, run: &'a RunSummary) -> Vec<&'a RunSummary> {
        let mut oldest = run;
        // A run continues only older runs, so this ends; the bound guards against a damaged list.
        for _ in 0..self.runs.len() {
            match oldest.continues.as_ref().and_then(|older| self.get(older)) {
                Some(older) => oldest = older,
                None => break,
            }
        }
        let mut found = vec![oldest];
        for newer in self.runs.iter().rev().filter(|newer| newer.continues.is_some()) {
            let continues = |known: &&RunSummary| newer.continues.as_ref() == Some(&known.run_id);
            if found.iter().any(continues) && !found.iter().any(|known| known.run_id == newer.run_id) {
                found.push(newer);
            }
        }
        found.reverse();
        found
    }

    /// Returns the newest run that continues this one.
    pub fn continued_by(&self, run: &RunId) -> Option<&'a RunSummary> {
        self.runs.iter().find(|newer| newer.continues.as_ref() == Some(run))
    }

    /// Returns the candidates of `undo last`, newest first: runs that are neither undos nor undone. A run that is
    /// active or damaged is always a candidate: its changes are unknown, so it must not be skipped.
    pub fn undoable(&self) -> impl Iterator<Item = &'a RunSummary> {
        self.runs.iter().filter(|run| {
            let matters = !run.kind.is_undo() || is_unreadable(&run.state);
            matters && self.undone_by(&run.run_id).is_none()
        })
    }

    /// Returns the run of the newest active undo.
    pub fn last_undone(&self) -> Option<&'a RunSummary> {
        let undo = self.runs.iter().find(|run| {
            let stands = run.kind.is_undo() && self.undone_by(&run.run_id).is_none();
            stands && has_status(run, RunStatus::Ok) && run.undoes.first() == Some(&self.root_run(run).run_id)
        })?;
        Some(self.root_run(undo))
    }
}

fn has_status(run: &RunSummary, status: RunStatus) -> bool {
    matches!(&run.state, RunState::Finished(Some(said)) if *said == status.to_string())
}

/// Whether the changes of a run are unknown as long as it is in this state.
fn is_unreadable(state: &RunState) -> bool {
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
            kind: match (undoes.is_empty(), *status) {
                (true, _) => RunKind::Plan,
                (false, "partial") => RunKind::PartialUndo,
                (false, _) => RunKind::Undo,
            },
            undoes: undoes.iter().map(|undone| id(undone)).collect(),
            session: None,
            continues: None,
            goal: None,
            vault: None,
            state: match *status {
                "running" => RunState::Running,
                "interrupted" => RunState::Interrupted,
                "damaged" => RunState::Damaged(None),
                "partial" => RunState::Finished(Some("ok".to_owned())),
                status => RunState::Finished(Some(status.to_owned())),
            },
        };
        made.iter().enumerate().map(run).rev().collect()
    }

    /// Renders which run undid `a`, its active undos, and the meaning of `last`.
    fn told(made: &[(&str, &str, &[&str])]) -> String {
        let runs = runs(made);
        let history = UndoHistory::of(&runs);
        let name = |run: &RunSummary| run.run_id.to_string();
        let names = |runs: &[&RunSummary]| runs.iter().map(|run| name(run)).collect::<Vec<_>>().join("+");
        let undone = history.undone_by(&id("a")).map(name);
        let undoable = history.undoable().next().map(name);
        let redoable = history.last_undone().map(name);
        format!(
            "{undone:?} by {}, undo {undoable:?}, redo {redoable:?}",
            names(history.active_undos(&id("a")))
        )
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
    fn runs_that_continue_each_other_belong_together() {
        let mut runs =
            runs(&[("a", "failed", &[]), ("x", "ok", &[]), ("b", "failed", &[]), ("c", "ok", &[])]);
        for (run, continues) in [(0, "b"), (1, "a")] {
            runs[run].continues = Some(id(continues));
        }
        let history = UndoHistory::of(&runs);
        for name in ["a", "b", "c"] {
            let run = history.get(&id(name)).unwrap();
            let found = history.connected_runs(run);
            assert_eq!(found.iter().map(|run| run.run_id.as_str()).collect::<Vec<_>>(), ["c", "b", "a"]);
        }
        let alone = history.get(&id("x")).unwrap();
        assert_eq!(history.connected_runs(alone), [alone]);
        assert_eq!(history.continued_by(&id("b")).unwrap().run_id, id("c"));
        assert_eq!(history.continued_by(&id("c")), None);
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
    fn a_run_that_is_undone_in_part_can_be_undone_further_and_redone() {
        let mut made: Vec<(&str, &str, &[&str])> = vec![("a", "ok", &[]), ("u1", "partial", &["a"])];
        assert_eq!(told(&made), r#"None by u1, undo Some("a"), redo Some("a")"#);
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
