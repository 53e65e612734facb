//! The order of the changes of several runs, and the notes that another program edited between them.
//!
//! A session is a run of single calls with plans that ran between them, so the changes of its runs are interleaved. Each run
//! has its own order. Between runs the times of the calls decide; they are whole milliseconds, so the states of the files
//! decide about equal times: a change follows the one that left what it found.

use std::collections::{BTreeMap, VecDeque};

use envelope::{EntryKind, Hash, Timestamp, VaultChange};

/// The changes of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CallChanges {
    pub(super) ended_at: Timestamp,
    pub(super) changes: Vec<VaultChange>,
    /// True if some of the changes may never have been made.
    pub(super) is_uncertain: bool,
}

/// All changes in order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct OrderedChanges {
    pub(super) changes: Vec<VaultChange>,
    /// Files that differed from how the change before had left them, each once, by the name after the last change.
    pub(super) edited_between: Vec<String>,
}

/// Puts the calls of several runs into one order. The runs come oldest first, each with its calls in order.
pub(super) fn order_calls(runs: Vec<Vec<CallChanges>>) -> OrderedChanges {
    let mut runs: Vec<VecDeque<CallChanges>> = runs.into_iter().map(VecDeque::from).collect();
    let mut known = KnownFiles::default();
    let mut ordered = OrderedChanges::default();
    while let Some(run) = next_run(&runs, &known) {
        let Some(call) = runs[run].pop_front() else { break };
        for change in &call.changes {
            let fits = known.apply(change, call.is_uncertain);
            if let VaultChange::Moved { from, to, .. } = change {
                follow_move(&mut ordered.edited_between, from, to);
            }
            let path = last_path(change);
            if !fits && !ordered.edited_between.iter().any(|edited| edited == path) {
                ordered.edited_between.push(path.to_owned());
            }
        }
        ordered.changes.extend(call.changes);
    }
    ordered
}

/// Returns the run with the next call; `None` when no call is left.
fn next_run(runs: &[VecDeque<CallChanges>], known: &KnownFiles) -> Option<usize> {
    let mut heads: Vec<(usize, &CallChanges)> =
        runs.iter().enumerate().filter_map(|(run, calls)| Some((run, calls.front()?))).collect();
    if heads.len() < 2 {
        return heads.first().map(|(run, _)| *run);
    }
    let earliest = heads.iter().map(|(_, call)| call.ended_at).min()?;
    heads.retain(|(_, call)| call.ended_at == earliest);
    let must_wait = |(run, call): &(usize, &CallChanges)| {
        heads.iter().any(|(other_run, other)| {
            other_run != run && !known.allows(&[call, other]) && known.allows(&[other, call])
        })
    };
    let first = heads.iter().find(|head| !must_wait(head)).or(heads.first());
    first.map(|(run, _)| *run)
}

/// What the changes so far have left at each path.
#[derive(Debug, Clone, Default)]
struct KnownFiles {
    /// The contents that a file can have, `None` if it can be absent. More than one after a change that may never have been
    /// made; a path without an entry can have any.
    contents: BTreeMap<String, Vec<Option<Hash>>>,
}

impl KnownFiles {
    /// Returns whether these calls, in this order, find what the calls before have left.
    fn allows(&self, calls: &[&CallChanges]) -> bool {
        let mut excerpt = KnownFiles::default();
        for path in calls.iter().flat_map(|call| &call.changes).flat_map(VaultChange::paths) {
            let below = format!("{path}/");
            let inside =
                self.contents.range(below.clone()..).take_while(|(known, _)| known.starts_with(&below));
            let at = self.contents.get_key_value(path);
            let found = at.into_iter().chain(inside).map(|(path, contents)| (path.clone(), contents.clone()));
            excerpt.contents.extend(found);
        }
        calls
            .iter()
            .flat_map(|call| call.changes.iter().map(|change| (change, call.is_uncertain)))
            .all(|(change, is_uncertain)| excerpt.apply(change, is_uncertain))
    }

    /// Applies a change. Returns whether it found what is known.
    fn apply(&mut self, change: &VaultChange, is_uncertain: bool) -> bool {
        match change {
            VaultChange::FileCreated { path, after } => self.set(path, None, Some(after.hash), is_uncertain),
            VaultChange::FileReplaced { path, before, after } => {
                self.set(path, Some(before.hash), Some(after.hash), is_uncertain)
            }
            VaultChange::FileRemoved { path, before } => {
                self.set(path, Some(before.hash), None, is_uncertain)
            }
            VaultChange::Moved { from, to, kind: EntryKind::File, state, .. } => {
                let known = self.contents.remove(from);
                self.contents.remove(to);
                let fits = match (&known, state) {
                    (Some(known), Some(state)) => known.contains(&Some(state.hash)),
                    (Some(known), None) => known.iter().any(Option::is_some),
                    (None, _) => true,
                };
                if !is_uncertain {
                    self.contents.insert(from.clone(), vec![None]);
                    if let Some(contents) = state.map(|state| vec![Some(state.hash)]).or(known) {
                        self.contents.insert(to.clone(), contents);
                    }
                }
                fits
            }
            VaultChange::Moved { from, to, kind: EntryKind::Folder, .. } => {
                self.move_folder(from, to, is_uncertain);
                true
            }
            VaultChange::FolderCreated { .. } | VaultChange::FolderRemoved { .. } => true,
        }
    }

    fn set(&mut self, path: &str, before: Option<Hash>, after: Option<Hash>, is_uncertain: bool) -> bool {
        let known = self.contents.remove(path);
        let fits = known.as_ref().is_none_or(|known| known.contains(&before));
        let mut contents = vec![after];
        if is_uncertain {
            contents.extend(known.unwrap_or_else(|| vec![before]));
        }
        self.contents.insert(path.to_owned(), contents);
        fits
    }

    fn move_folder(&mut self, from: &str, to: &str, is_uncertain: bool) {
        let below = format!("{from}/");
        let inside: Vec<String> = self
            .contents
            .range(below.clone()..)
            .map(|(path, _)| path)
            .take_while(|path| path.starts_with(&below))
            .cloned()
            .collect();
        for path in inside {
            if let Some(contents) = self.contents.remove(&path)
                && !is_uncertain
            {
                self.contents.insert(format!("{to}/{}", &path[below.len()..]), contents);
            }
        }
    }
}

/// Renames the files that a move takes along.
fn follow_move(edited: &mut [String], from: &str, to: &str) {
    for path in edited {
        match path.strip_prefix(from) {
            Some("") => to.clone_into(path),
            Some(rest) if rest.starts_with('/') => *path = format!("{to}{rest}"),
            Some(_) | None => {}
        }
    }
}

/// Returns the path of a change; for a move, the new one.
fn last_path(change: &VaultChange) -> &str {
    change.paths().last().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use envelope::{EntryKind, FileState, Hash, Timestamp, VaultChange};
    use expect_test::{Expect, expect};

    use super::{CallChanges, order_calls};

    fn state(text: &str) -> FileState {
        FileState { hash: Hash::of(text.as_bytes()), bytes: 1, mode: 0o644 }
    }

    /// Writes `path` from one content to another; an empty one stands for no file.
    fn write(path: &str, before: &str, after: &str) -> VaultChange {
        let path = path.to_owned();
        match (before, after) {
            ("", after) => VaultChange::FileCreated { path, after: state(after) },
            (before, "") => VaultChange::FileRemoved { path, before: state(before) },
            (before, after) => VaultChange::FileReplaced { path, before: state(before), after: state(after) },
        }
    }

    fn moved(from: &str, to: &str, kind: EntryKind) -> VaultChange {
        VaultChange::Moved { from: from.to_owned(), to: to.to_owned(), kind, state: None, kept: Vec::new() }
    }

    fn call(millis: i64, changes: &[VaultChange]) -> CallChanges {
        let ended_at = Timestamp::from_millisecond(millis).unwrap();
        CallChanges { ended_at, changes: changes.to_vec(), is_uncertain: false }
    }

    /// Compares the order of the changes, by the content that each leaves, and what was edited between them.
    #[track_caller]
    fn check(runs: &[&[CallChanges]], expected: &Expect) {
        let contents = |hash: Hash| {
            ["1", "2", "3", "4", "5", "9"].into_iter().find(|text| Hash::of(text.as_bytes()) == hash)
        };
        let ordered = order_calls(runs.iter().map(|calls| calls.to_vec()).collect());
        let mut lines: Vec<String> = ordered
            .changes
            .iter()
            .map(|change| match change {
                VaultChange::FileCreated { path, after } | VaultChange::FileReplaced { path, after, .. } => {
                    format!("{path}={}", contents(after.hash).unwrap_or("?"))
                }
                VaultChange::FileRemoved { path, .. } => format!("-{path}"),
                VaultChange::Moved { from, to, .. } => format!("{from}>{to}"),
                VaultChange::FolderCreated { path, .. } | VaultChange::FolderRemoved { path, .. } => {
                    path.clone()
                }
            })
            .collect();
        lines.extend(ordered.edited_between.iter().map(|path| format!("edited {path}")));
        expected.assert_eq(&lines.join(" "));
    }

    #[test]
    fn calls_of_several_runs_are_ordered_by_their_times() {
        let session = [call(1, &[write("a", "1", "2")]), call(5, &[write("a", "3", "4")])];
        let plan = [call(3, &[write("a", "2", "3")])];
        check(&[&session, &plan], &expect!["a=2 a=3 a=4"]);
        check(&[&plan, &session], &expect!["a=2 a=3 a=4"]);
    }

    #[test]
    fn the_states_of_files_decide_about_equal_times() {
        let session = [call(1, &[write("a", "2", "3")]), call(1, &[write("a", "4", "5")])];
        let plan = [call(1, &[write("a", "1", "2")])];
        let other = [call(1, &[write("a", "3", "4"), write("b", "", "1")])];
        for runs in [[&session[..], &plan, &other], [&other, &session, &plan], [&plan, &other, &session]] {
            let ordered = order_calls(runs.iter().map(|calls| calls.to_vec()).collect());
            assert_eq!(ordered.edited_between, Vec::<String>::new());
        }
        check(&[&session, &plan], &expect!["a=2 a=3 a=5 edited a"]);
    }

    #[test]
    fn a_file_that_another_program_edited_between_two_calls_is_named_once() {
        let session = [
            call(1, &[write("a", "1", "2")]),
            call(2, &[write("a", "9", "3")]),
            call(3, &[write("a", "9", "4")]),
        ];
        check(&[&session], &expect!["a=2 a=3 a=4 edited a"]);
        let removed = [call(1, &[write("a", "", "2")]), call(2, &[write("a", "", "3")])];
        check(&[&removed], &expect!["a=2 a=3 edited a"]);
        // What happened to a note before the first change is not between two of them.
        check(&[&[call(1, &[write("a", "9", "1")])]], &expect!["a=1"]);
    }

    #[test]
    fn a_file_is_followed_through_its_names() {
        let session = [
            call(1, &[write("F/a", "1", "2")]),
            call(2, &[moved("F", "G", EntryKind::Folder)]),
            call(3, &[moved("G/a", "b", EntryKind::File)]),
            call(4, &[write("b", "2", "3")]),
            call(5, &[write("b", "9", "4")]),
            call(6, &[moved("b", "c", EntryKind::File)]),
        ];
        check(&[&session], &expect!["F/a=2 F>G G/a>b b=3 b=4 b>c edited c"]);
    }

    #[test]
    fn a_change_that_may_never_have_been_made_is_no_edit() {
        let uncertain = CallChanges { is_uncertain: true, ..call(1, &[write("a", "1", "2")]) };
        check(&[&[uncertain.clone(), call(2, &[write("a", "1", "3")])]], &expect!["a=2 a=3"]);
        check(&[&[uncertain, call(2, &[write("a", "2", "3")])]], &expect!["a=2 a=3"]);
    }
}
