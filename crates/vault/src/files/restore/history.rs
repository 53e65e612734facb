//! Groups a list of changes by the file or folder that they affect.
//!
//! Several changes can affect one note: created, edited, moved, deleted. After a crash, or if an intended
//! change never happened, the vault can be in any state between. So the list is first read as histories: the
//! names that an entry has in turn, and its contents. This module does not read the disk.
//!
//! An entry that comes out of the trash also has a record of its backup in the store. A folder gets a history
//! for each entry that was in it, so that whatever is missing from the trash can be created again.

use envelope::{EntryKind, FileState, Hash, KeptEntry, VaultChange};

use super::path_map::{MapLookup, PathMap};
use crate::file_layer::TRASH;

/// Index of a history.
pub(super) type HistoryId = usize;

/// History of one file or folder, from before the first change until after the last.
#[derive(Debug)]
pub(super) struct EntryHistory {
    pub(super) kind: EntryKind,
    /// Names of the entry, in order.
    pub(super) names: Vec<String>,
    /// Contents that the entry may have; empty if no change names one, so that any content matches.
    pub(super) contents: Vec<Hash>,
    /// Content of the file when it was first moved outside of the trash, if that was read.
    pub(super) moved: Option<Hash>,
    /// Content of the file that a move to the trash is about, if that was read.
    pub(super) trashes: Option<Hash>,
    /// Content after the last change; `None` if no change names one.
    pub(super) target: Option<FileState>,
    /// Mode after the last change, if a change sets it.
    pub(super) mode: Option<u32>,
    /// The entry does not exist before the first change.
    pub(super) created: bool,
    /// Folder in which it is created, if known.
    pub(super) parent: Option<HistoryId>,
    /// The entry does not exist after the last change.
    pub(super) deleted: bool,
    /// Record of an entry that comes out of the trash.
    pub(super) trashed: TrashRecord,
    /// Content of the folder when it was last moved to the trash; empty if that is unknown.
    pub(super) deleted_with: Vec<KeptEntry>,
}

/// Identity and backup of an entry that was in the trash.
#[derive(Debug, Default)]
pub(super) struct TrashRecord {
    /// State of the file when it was moved to the trash. Other content means another file.
    pub(super) held: Option<FileState>,
    /// Backup of the file in the store.
    pub(super) backup: Option<FileState>,
    /// The store has a backup of everything that was in the folder.
    pub(super) complete: bool,
    /// Backup of everything that was in the folder. Its files identify it.
    pub(super) inside: Vec<KeptEntry>,
    /// Folder that contained the entry when that was moved to the trash.
    pub(super) trashed_folder: Option<HistoryId>,
}

/// A change of names, in the order of the list.
#[derive(Debug)]
pub(super) enum NameEvent {
    Created {
        history: HistoryId,
        path: String,
    },
    Deleted {
        history: HistoryId,
        path: String,
    },
    /// `name`: index of the new name in the history.
    Moved {
        history: HistoryId,
        from: String,
        to: String,
        name: usize,
    },
}

/// The histories of a list of changes.
#[derive(Default)]
pub(super) struct EntryHistories {
    pub(super) all: Vec<EntryHistory>,
    pub(super) events: Vec<NameEvent>,
    /// Changes that repeat an earlier one: the call was interrupted twice.
    pub(super) repeated: usize,
    now: PathMap<HistoryId>,
}

impl EntryHistories {
    pub(super) fn read(changes: &[VaultChange]) -> EntryHistories {
        let mut histories = EntryHistories::default();
        for change in changes {
            if histories.add_change(change).is_none() {
                histories.repeated += 1;
            }
        }
        histories
    }

    /// Adds one change; returns `None` if it repeats an earlier one.
    fn add_change(&mut self, change: &VaultChange) -> Option<()> {
        match change {
            VaultChange::FolderCreated { path, mode } => match self.now.get(path) {
                MapLookup::Present(_) => return None,
                MapLookup::Absent | MapLookup::Below(..) | MapLookup::Unknown => {
                    let history = self.begin_created(path, EntryKind::Folder);
                    self.all[history].mode = *mode;
                }
            },
            VaultChange::FileCreated { path, after } => {
                let history = match self.now.get(path) {
                    MapLookup::Present(&history) if self.all[history].kind == EntryKind::File => history,
                    MapLookup::Present(_) => return None,
                    MapLookup::Absent | MapLookup::Below(..) | MapLookup::Unknown => {
                        self.begin_created(path, EntryKind::File)
                    }
                };
                self.record_content(history, after);
                self.all[history].mode = Some(after.mode);
            }
            VaultChange::FileReplaced { path, before, after } => {
                let history = self.find(path, EntryKind::File)?;
                self.all[history].contents.push(before.hash);
                self.record_content(history, after);
                if before.mode != after.mode {
                    self.all[history].mode = Some(after.mode);
                }
            }
            VaultChange::FileRemoved { path, before } => {
                let history = self.find(path, EntryKind::File)?;
                self.all[history].contents.push(before.hash);
                self.end(history, path);
            }
            VaultChange::FolderRemoved { path, .. } => {
                let history = self.find(path, EntryKind::Folder)?;
                self.end(history, path);
            }
            VaultChange::Moved { from, to, kind, state, kept } => {
                let history = self.find(from, *kind)?;
                let read = state.filter(|_| *kind == EntryKind::File).map(|state| state.hash);
                let entry = &mut self.all[history];
                match (in_trash(from), in_trash(to)) {
                    (true, _) => self.was_trashed(history, from, *state, kept),
                    (false, true) => {
                        entry.trashes = read;
                        if *kind == EntryKind::Folder {
                            entry.deleted_with.clone_from(kept);
                        }
                    }
                    (false, false) if entry.moved.is_none() => entry.moved = read,
                    (false, false) => {}
                }
                self.rename(history, from, to);
            }
        }
        Some(())
    }

    /// Records the state that an entry had when it was moved to the trash.
    fn was_trashed(&mut self, history: HistoryId, from: &str, held: Option<FileState>, kept: &[KeptEntry]) {
        if self.all[history].kind == EntryKind::File {
            let backup = kept.first().and_then(|entry| entry.state);
            self.all[history].trashed = TrashRecord { held, backup, ..TrashRecord::default() };
            return;
        }
        self.all[history].trashed =
            TrashRecord { complete: !kept.is_empty(), inside: kept.to_vec(), ..TrashRecord::default() };
        for entry in kept.iter().filter(|entry| !entry.path.is_empty()) {
            let path = format!("{from}/{}", entry.path);
            let folder = match path.rsplit_once('/').map(|(folder, _)| self.now.get(folder)) {
                Some(MapLookup::Present(&folder)) => folder,
                Some(MapLookup::Below(..) | MapLookup::Absent | MapLookup::Unknown) | None => continue,
            };
            let kind = if entry.state.is_some() { EntryKind::File } else { EntryKind::Folder };
            if let Some(inner) = self.find(&path, kind) {
                let (backup, complete, trashed_folder) = (entry.state, entry.state.is_none(), Some(folder));
                self.all[inner].trashed =
                    TrashRecord { held: None, backup, complete, inside: Vec::new(), trashed_folder };
            }
        }
    }

    fn end(&mut self, history: HistoryId, path: &str) {
        self.all[history].deleted = true;
        self.now.remove(path);
        self.events.push(NameEvent::Deleted { history, path: path.to_owned() });
    }

    fn record_content(&mut self, history: HistoryId, state: &FileState) {
        self.all[history].contents.push(state.hash);
        self.all[history].target = Some(*state);
    }

    fn begin(&mut self, kind: EntryKind, names: Vec<String>, created: bool) -> HistoryId {
        let (contents, target, mode, parent) = (Vec::new(), None, None, None);
        let (deleted, trashed) = (false, TrashRecord::default());
        self.all.push(EntryHistory {
            kind,
            names,
            contents,
            moved: None,
            trashes: None,
            target,
            mode,
            created,
            parent,
            deleted,
            trashed,
            deleted_with: Vec::new(),
        });
        self.all.len() - 1
    }

    fn begin_created(&mut self, path: &str, kind: EntryKind) -> HistoryId {
        let history = self.begin(kind, vec![path.to_owned()], true);
        let folder = path.rsplit_once('/').map(|(folder, _)| self.now.get(folder));
        self.all[history].parent = match folder {
            Some(MapLookup::Present(&folder) | MapLookup::Below(&folder, _)) => Some(folder),
            Some(MapLookup::Absent | MapLookup::Unknown) | None => None,
        };
        self.now.insert(path, history);
        self.events.push(NameEvent::Created { history, path: path.to_owned() });
        history
    }

    /// Returns the history of a path and begins one if it is missing. Returns `None` if the entry was deleted.
    fn find(&mut self, path: &str, kind: EntryKind) -> Option<HistoryId> {
        let names = match self.now.get(path) {
            MapLookup::Present(&history) if self.all[history].kind == kind => return Some(history),
            MapLookup::Present(_) | MapLookup::Absent => return None,
            // It came with its folder, from any of the folder's earlier names.
            MapLookup::Below(&folder, rest) if !self.all[folder].created => {
                self.all[folder].names.iter().map(|name| format!("{name}/{rest}")).collect()
            }
            MapLookup::Below(..) | MapLookup::Unknown => vec![path.to_owned()],
        };
        let history = self.begin(kind, names, false);
        self.now.insert_existing(path, history);
        Some(history)
    }

    fn rename(&mut self, history: HistoryId, from: &str, to: &str) {
        let below: Vec<(HistoryId, String)> =
            self.now.below(from).map(|(rest, &history)| (history, format!("{to}/{rest}"))).collect();
        for (inner, name) in below {
            self.all[inner].names.push(name);
        }
        self.all[history].names.push(to.to_owned());
        self.now.rename(from, to, history);
        let name = self.all[history].names.len() - 1;
        self.events.push(NameEvent::Moved { history, from: from.to_owned(), to: to.to_owned(), name });
    }
}

/// Returns true if `undone` takes back every change of `made`: each entry is under its first name with its first content
/// again. Both lists are in the order in which the changes were made. Reads nothing: what happened otherwise does not count.
pub fn is_taken_back(made: &[VaultChange], undone: &[VaultChange]) -> bool {
    let mut histories = EntryHistories::read(made);
    let entries = histories.all.len();
    for change in undone {
        histories.add_change(change);
    }
    let EntryHistories { all, now, .. } = &histories;
    all.iter().take(entries).enumerate().all(|(id, history)| {
        let first = &history.names[0];
        // The undo of a part leaves the trash.
        if history.created {
            return history.deleted || (history.kind == EntryKind::Folder && first == TRASH);
        }
        let MapLookup::Present(&there) = now.get(first) else { return false };
        let (entry, content) = (&all[there], history.contents.first().or(history.trashes.as_ref()));
        let has_content = match (entry.target, there == id) {
            (Some(target), _) => content.is_none_or(|content| *content == target.hash),
            (None, is_it) => is_it || history.kind == EntryKind::Folder,
        };
        entry.kind == history.kind && !entry.deleted && has_content
    })
}

pub(super) fn in_trash(path: &str) -> bool {
    path.split('/').next() == Some(TRASH)
}

#[cfg(test)]
mod tests {
    use envelope::{EntryKind, FileState, Hash, VaultChange};

    use super::is_taken_back;

    fn state(text: &str) -> FileState {
        FileState { hash: Hash::of(text.as_bytes()), bytes: text.len() as u64, mode: 0o644 }
    }

    fn replaced(path: &str, before: &str, after: &str) -> VaultChange {
        VaultChange::FileReplaced { path: path.to_owned(), before: state(before), after: state(after) }
    }

    fn moved(from: &str, to: &str) -> VaultChange {
        let (from, to) = (from.to_owned(), to.to_owned());
        VaultChange::Moved { from, to, kind: EntryKind::File, state: None, kept: Vec::new() }
    }

    #[test]
    fn a_run_is_taken_back_when_its_parts_are() {
        let gone = VaultChange::FileRemoved { path: "gone.md".to_owned(), before: state("g") };
        let new = VaultChange::FileCreated { path: "new.md".to_owned(), after: state("n") };
        let made = [
            replaced("a.md", "0", "1"),
            moved("b.md", "c.md"),
            replaced("a.md", "1", "2"),
            moved("c.md", "d.md"),
            gone.clone(),
            new.clone(),
        ];
        let parts = [
            vec![replaced("a.md", "2", "0")],
            vec![replaced("other.md", "x", "y"), moved("d.md", "b.md")],
            vec![gone.inverse()],
            vec![new.inverse()],
        ];
        for left_out in 0..parts.len() {
            let some = parts.iter().enumerate().filter(|(part, _)| *part != left_out);
            let some: Vec<VaultChange> = some.flat_map(|(_, part)| part.clone()).collect();
            assert!(!is_taken_back(&made, &some), "without part {left_out}");
        }
        assert!(is_taken_back(&made, &parts.concat()));
        assert!(!is_taken_back(&made, &[parts.concat(), vec![replaced("a.md", "0", "2")]].concat()));
    }
}
