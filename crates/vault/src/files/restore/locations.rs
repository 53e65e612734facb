//! Finds the current name and content of each entry.
//!
//! Usually no change is applied yet, and every entry has its first name. But some changes may have been applied
//! before a crash, and intended changes may never have happened, so any name and any content of the history
//! matches. If the disk allows two interpretations, "nothing is applied" is tried first, and "all is applied"
//! if that one has conflicts. A move does not record the content, so a list in which equal notes swap names
//! stays ambiguous after a crash in the middle of it.

use std::cell::RefCell;
use std::collections::HashMap;

use envelope::{EntryKind, Failure, Fault, FileState, VaultPath};

use super::history::{EntryHistory, HistoryId, in_trash};
use crate::file_layer::{IoContext, PathState, Vault};

/// State of the paths in the vault, each read once.
pub(super) struct PathStateCache<'a> {
    pub(super) vault: &'a Vault,
    pub(super) io: &'a dyn IoContext,
    seen: RefCell<HashMap<String, PathState>>,
}

impl<'a> PathStateCache<'a> {
    pub(super) fn new(vault: &'a Vault, io: &'a dyn IoContext) -> PathStateCache<'a> {
        PathStateCache { vault, io, seen: RefCell::default() }
    }

    pub(super) fn at(&self, path: &str) -> Result<PathState, Fault> {
        if let Some(seen) = self.seen.borrow().get(path) {
            return Ok(seen.clone());
        }
        self.io.check_cancelled()?;
        let seen = match self.vault.entry_at(&parsed(path)?, self.io) {
            // A file is at the path of a parent folder, so there is nothing below it.
            Err(fault) if fault.failure == Failure::PreconditionFailed => PathState::Missing,
            seen => seen?,
        };
        self.seen.borrow_mut().insert(path.to_owned(), seen.clone());
        Ok(seen)
    }
}

pub(super) fn parsed(path: &str) -> Result<VaultPath, Fault> {
    VaultPath::parse_escaped(path)
        .map_err(|bad| Fault::new(Failure::InvalidArguments, bad.to_string()).detail("rule", &*bad.rule))
}

/// How an ambiguous disk is interpreted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DiskAssumption {
    NothingApplied,
    AllApplied,
}

/// Current name and content of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EntryLocation {
    /// Index of the name in the history.
    pub(super) name: usize,
    /// `None` for folders and links.
    pub(super) state: Option<FileState>,
}

/// Location of every entry. A path belongs to at most one entry.
pub(super) struct EntryLocations {
    pub(super) of: Vec<Option<EntryLocation>>,
    claimed: HashMap<String, HistoryId>,
}

impl EntryLocations {
    pub(super) fn find(
        histories: &[EntryHistory],
        disk: &PathStateCache<'_>,
        reading: DiskAssumption,
    ) -> Result<EntryLocations, Fault> {
        let mut found = EntryLocations { of: vec![None; histories.len()], claimed: HashMap::new() };
        let has_contents = |history: &EntryHistory| !history.contents.is_empty();
        match reading {
            DiskAssumption::NothingApplied => {
                found.pass(histories, disk, |history| {
                    (!history.created).then_some(0..1).into_iter().flatten()
                })?;
                // Histories with known contents first: they match more reliably than those that match any content.
                found.pass(histories, disk, |history| {
                    0..if has_contents(history) { history.names.len() } else { 0 }
                })?;
                found.pass(histories, disk, |history| 0..history.names.len())?;
            }
            DiskAssumption::AllApplied => {
                let last_first = |history: &EntryHistory, wanted: bool| {
                    (0..if wanted { history.names.len() } else { 0 }).rev()
                };
                found.pass(histories, disk, |history| {
                    last_first(history, !history.deleted && has_contents(history))
                })?;
                found.pass(histories, disk, |history| last_first(history, !history.deleted))?;
                found.pass(histories, disk, |history| last_first(history, true))?;
            }
        }
        Ok(found)
    }

    /// Searches every entry that is not located yet under the names that `which` returns.
    fn pass<Which: Iterator<Item = usize>>(
        &mut self,
        histories: &[EntryHistory],
        disk: &PathStateCache<'_>,
        which: impl Fn(&EntryHistory) -> Which,
    ) -> Result<(), Fault> {
        for (id, history) in histories.iter().enumerate() {
            if self.of[id].is_some() {
                continue;
            }
            for name in which(history) {
                let path = &history.names[name];
                if self.claimed.contains_key(path) || self.is_in_other_folder(history, path) {
                    continue;
                }
                if let Some(state) = self.fits(history, name, disk)? {
                    self.of[id] = Some(EntryLocation { name, state });
                    self.claimed.insert(path.clone(), id);
                    break;
                }
            }
        }
        Ok(())
    }

    /// Returns true if the path is in another folder than the one in which this entry is created: a new `c/a`
    /// is not the `c/a` of a folder `c` that will move away.
    fn is_in_other_folder(&self, history: &EntryHistory, path: &str) -> bool {
        let Some(parent) = history.parent else { return false };
        let mut above = path.rmatch_indices('/').map(|(slash, _)| &path[..slash]);
        let owner = above.find_map(|folder| self.claimed.get(folder));
        owner.is_some_and(|owner| *owner != parent)
    }

    /// Returns the content under a name of the entry if it can be the entry in one of its states.
    fn fits(
        &self,
        history: &EntryHistory,
        name: usize,
        disk: &PathStateCache<'_>,
    ) -> Result<Option<Option<FileState>>, Fault> {
        let path = &history.names[name];
        let Some(state) = fits(history, path, &disk.at(path)?) else { return Ok(None) };
        if !in_trash(path) {
            // Under its current name a file may have been edited. Under a later name it is the entry only if a part of
            // the list was applied already; with other content it is a file that has taken the name since.
            let is_other = name > 0
                && history.contents.is_empty()
                && history.trashed.held.is_none()
                && history.moved.zip(state).is_some_and(|(moved, now)| moved != now.hash);
            return Ok((!is_other).then_some(state));
        }
        // In the trash a name is weak evidence: the trash may have been emptied and another entry deleted with
        // that name.
        let known = match (history.kind, history.trashed.trashed_folder) {
            (_, Some(folder)) => {
                let above = path.rsplit_once('/').and_then(|(above, _)| self.claimed.get(above));
                above == Some(&folder)
            }
            (EntryKind::Folder, None) => has_fingerprint(history, path, disk)?,
            (EntryKind::File, None) => true,
        };
        Ok(known.then_some(state))
    }

    pub(super) fn get(&self, history: HistoryId) -> Option<EntryLocation> {
        self.of[history]
    }

    /// Returns the history to which the entry at this path belongs.
    pub(super) fn owner(&self, path: &str) -> Option<HistoryId> {
        self.claimed.get(path).copied()
    }

    /// Returns the state of a file at this path that belongs to no history.
    pub(super) fn unclaimed_file(
        &self,
        path: &str,
        disk: &PathStateCache<'_>,
    ) -> Result<Option<FileState>, Fault> {
        if self.claimed.contains_key(path) {
            return Ok(None);
        }
        Ok(match disk.at(path)? {
            PathState::File { state, .. } => Some(state),
            PathState::Missing | PathState::Folder | PathState::Other => None,
        })
    }
}

/// Returns true if a folder in the trash still contains one of the files that it was deleted with.
fn has_fingerprint(history: &EntryHistory, path: &str, disk: &PathStateCache<'_>) -> Result<bool, Fault> {
    let files = || history.trashed.inside.iter().filter_map(|entry| Some((&entry.path, entry.state?.hash)));
    for (rest, hash) in files() {
        match disk.at(&format!("{path}/{rest}"))? {
            PathState::File { state, .. } if state.hash == hash => return Ok(true),
            PathState::File { .. } | PathState::Missing | PathState::Folder | PathState::Other => {}
        }
    }
    Ok(files().next().is_none())
}

/// Returns the content if the state can be the entry in one of its states.
fn fits(history: &EntryHistory, path: &str, seen: &PathState) -> Option<Option<FileState>> {
    // An entry out of the trash is identified by its content there; one still in its trashed folder, by the
    // folder.
    let held = match (history.trashed.trashed_folder, history.trashed.backup) {
        (Some(_), _) if in_trash(path) => None,
        (Some(_), backup) => backup,
        (None, _) => history.trashed.held,
    };
    match (history.kind, seen) {
        (EntryKind::Folder, PathState::Folder) => Some(None),
        (EntryKind::File, PathState::File { state, .. }) => {
            let known = match history.contents.is_empty() {
                true => held.is_none_or(|held| held.hash == state.hash),
                false => history.contents.contains(&state.hash),
            };
            known.then_some(Some(*state))
        }
        // A link moves like a file; it has no content of its own.
        (EntryKind::File, PathState::Other) => {
            (history.contents.is_empty() && held.is_none()).then_some(None)
        }
        (EntryKind::File, PathState::Missing | PathState::Folder)
        | (EntryKind::Folder, PathState::Missing | PathState::File { .. } | PathState::Other) => None,
    }
}
