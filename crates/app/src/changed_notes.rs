//! Finds the runs that changed a note, by its path or name, also before and after it was renamed.

use std::collections::HashSet;
use std::path::Path;

use engine::RunChanges;
use envelope::{EntryKind, VaultChange};
use journal::RunFolder;

/// Returns for each run, newest first as given, whether it changed the note. Reads the records of every run; one that
/// is damaged counts as far as it can be read at all.
pub(crate) fn runs_that_changed(runs_newest_first: &[&Path], note: &str) -> Vec<bool> {
    let changes: Vec<Vec<VaultChange>> = runs_newest_first.iter().map(|run| changes_of(run)).collect();
    note_changes(&changes, note)
}

fn changes_of(run: &Path) -> Vec<VaultChange> {
    let read = RunFolder::open(run).and_then(|folder| RunChanges::read(&folder));
    read.map(|found| found.changes).unwrap_or_default()
}

/// Follows the names of the note through the changes of all runs, newest first: from the oldest run on to later names,
/// and from the newest one back to earlier names.
fn note_changes(runs: &[Vec<VaultChange>], note: &str) -> Vec<bool> {
    let mut found = vec![false; runs.len()];
    let mut later = NoteNames::new(note);
    for (changes, found) in runs.iter().zip(&mut found).rev() {
        for change in changes {
            *found |= later.follow(change);
        }
    }
    let mut earlier = NoteNames::new(note);
    for (changes, found) in runs.iter().zip(&mut found) {
        for change in changes.iter().rev() {
            *found |= earlier.follow(&change.inverse());
        }
    }
    found
}

/// The paths that a note has had so far, in one direction of time.
struct NoteNames {
    wanted: String,
    paths: HashSet<String>,
}

impl NoteNames {
    fn new(note: &str) -> NoteNames {
        let wanted = note.trim_end_matches('/').to_lowercase();
        NoteNames { paths: HashSet::from([wanted.clone()]), wanted }
    }

    /// Returns whether the change concerns the note, and learns its next path from a move.
    fn follow(&mut self, change: &VaultChange) -> bool {
        if let VaultChange::Moved { from, to, kind, .. } = change {
            return self.follow_move(from, to, *kind);
        }
        change.paths().any(|path| self.is_note(path))
    }

    fn follow_move(&mut self, from: &str, to: &str, kind: EntryKind) -> bool {
        let (old, new) = (from.to_lowercase(), to.to_lowercase());
        let is_its_own = self.is_note(from) || self.is_note(to);
        if self.is_note(from) {
            self.paths.remove(&old);
            self.paths.insert(new.clone());
        }
        if kind == EntryKind::File {
            return is_its_own;
        }
        let below = format!("{old}/");
        let inside: Vec<String> =
            self.paths.iter().filter(|path| path.starts_with(&below)).cloned().collect();
        for path in &inside {
            self.paths.remove(path);
            self.paths.insert(format!("{new}/{}", &path[below.len()..]));
        }
        is_its_own || !inside.is_empty()
    }

    /// Returns whether a path is the note: its path or its name, with or without `.md`, in either case.
    fn is_note(&self, path: &str) -> bool {
        let path = path.to_lowercase();
        let name = path.rsplit('/').next().unwrap_or_default();
        let bare = |text: &str| text.strip_suffix(".md").map(str::to_owned);
        self.paths.contains(&path)
            || name == self.wanted
            || bare(&path).as_ref() == Some(&self.wanted)
            || bare(name).as_ref() == Some(&self.wanted)
    }
}

#[cfg(test)]
mod tests {
    use envelope::{EntryKind, FileState, Hash, VaultChange};

    use super::note_changes;

    fn changed(path: &str) -> Vec<VaultChange> {
        let state = FileState { hash: Hash::of(b"x"), bytes: 1, mode: 0o644 };
        vec![VaultChange::FileReplaced { path: path.to_owned(), before: state, after: state }]
    }

    fn moved(from: &str, to: &str, kind: EntryKind) -> Vec<VaultChange> {
        vec![VaultChange::Moved { from: from.into(), to: to.into(), kind, state: None, kept: Vec::new() }]
    }

    /// The numbers of the runs that changed the note; the oldest run is 0.
    fn runs(oldest_first: &[Vec<VaultChange>], note: &str) -> Vec<usize> {
        let newest_first: Vec<_> = oldest_first.iter().rev().cloned().collect();
        let mut found = note_changes(&newest_first, note);
        found.reverse();
        (0..found.len()).filter(|run| found[*run]).collect()
    }

    #[test]
    fn a_note_is_found_by_path_and_by_name() {
        let history = [changed("Projects/Boat.md"), changed("Boats.md"), changed("Projects/Car.md")];
        for note in ["Projects/Boat.md", "projects/boat", "Boat.md", "boat"] {
            assert_eq!(runs(&history, note), [0], "{note}");
        }
        assert!(runs(&history, "Projects").is_empty());
    }

    #[test]
    fn a_note_is_found_under_each_of_its_names() {
        let history = [
            changed("a.md"),
            moved("a.md", "b.md", EntryKind::File),
            changed("b.md"),
            moved("b.md", "Old/c.md", EntryKind::File),
            moved("Old", "New", EntryKind::Folder),
            changed("New/c.md"),
            changed("other.md"),
        ];
        for note in ["a.md", "b", "Old/c.md", "New/c.md"] {
            assert_eq!(runs(&history, note), [0, 1, 2, 3, 4, 5], "{note}");
        }
    }

    #[test]
    fn another_note_that_later_takes_the_name_does_not_lead_on() {
        let history = [
            moved("a.md", "b.md", EntryKind::File),
            moved("b.md", "c.md", EntryKind::File),
            changed("b.md"),
            changed("c.md"),
        ];
        assert_eq!(runs(&history, "a"), [0, 1, 3]);
    }
}
