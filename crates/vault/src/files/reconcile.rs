//! Reconciliation after a crash: compares the recorded intent of a call with the vault.
//!
//! A call of which a part was made is taken back (`intent_rollback.rs`) if that part can be told: the vault is then as
//! before the call, never between.

use std::collections::HashSet;

use envelope::{EntryKind, Fault, FileState, VaultChange, VaultPath};
use toolkit::ReconcileOutcome;

use super::intent_rollback::roll_back;
use crate::file_layer::{IoContext, PathState, TRASH, Vault};

/// Changes of a call that were found in the vault.
pub struct ReconcileEvidence {
    pub changes: Vec<VaultChange>,
    /// Modification time of the file that was written last.
    pub mtime_ms: Option<i64>,
}

impl ReconcileEvidence {
    /// Returns path, state and whether it is new, for the file that was written last.
    pub fn last_file(&self) -> Option<(&str, &FileState, bool)> {
        self.changes.iter().rev().find_map(|change| match change {
            VaultChange::FileCreated { path, after } => Some((path.as_str(), after, true)),
            VaultChange::FileReplaced { path, after, .. } => Some((path.as_str(), after, false)),
            VaultChange::FolderCreated { .. }
            | VaultChange::FolderRemoved { .. }
            | VaultChange::FileRemoved { .. }
            | VaultChange::Moved { .. } => None,
        })
    }

    /// Returns path, etag and whether it is new, for the file that was written last; `asked` if no file was
    /// written.
    pub(crate) fn last_written(&self, asked: &str) -> (String, String, bool) {
        match self.last_file() {
            Some((path, state, created)) => (path.to_owned(), state.etag(), created),
            None => (asked.to_owned(), String::new(), false),
        }
    }

    /// Returns the old and new path of the last move.
    pub(crate) fn last_move(&self) -> Option<(&str, &str)> {
        self.changes.iter().rev().find_map(|change| match change {
            VaultChange::Moved { from, to, .. } => Some((from.as_str(), to.as_str())),
            VaultChange::FolderCreated { .. }
            | VaultChange::FolderRemoved { .. }
            | VaultChange::FileCreated { .. }
            | VaultChange::FileRemoved { .. }
            | VaultChange::FileReplaced { .. } => None,
        })
    }

    pub(crate) fn files_removed(&self) -> u64 {
        self.changes.iter().filter(|change| matches!(change, VaultChange::FileRemoved { .. })).count() as u64
    }
}

/// Status of one intended change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChangeStatus {
    Done,
    NotDone,
    Unclear,
}

/// Compares an intent with the vault. Reports the changes that were made to `io`, as the call itself would have
/// done, and removes the hidden copies that a crash left of them. A call that was made in part is taken back, and then
/// has not happened.
pub fn reconcile_intent(
    vault: &Vault,
    intent: &[VaultChange],
    io: &dyn IoContext,
) -> Result<ReconcileOutcome<ReconcileEvidence>, Fault> {
    let mut found = statuses(vault, intent, io)?;
    clear_hidden_copies(vault, intent, &found, io)?;
    if found.is_part(intent.len()) && is_certain(vault, intent, &found, io)? {
        let made: Vec<VaultChange> = found.made(intent).cloned().collect();
        if let Ok(true) = roll_back(vault, &made, io) {
            return Ok(ReconcileOutcome::DidNot { taken_back: made.len() });
        }
        // A part may have been taken back before it failed.
        found = statuses(vault, intent, io)?;
    }
    report_outcome(vault, intent, &found, io)
}

/// Returns whether the vault shows that the call itself has made the changes that are done.
///
/// The name of a file alone does not: another program may have given it since. So a moved file must have its recorded
/// content, unless a later change of the call decides what is at its path, and at least one content must be that of the
/// call.
fn is_certain(
    vault: &Vault,
    intent: &[VaultChange],
    found: &ChangeStatuses,
    io: &dyn IoContext,
) -> Result<bool, Fault> {
    let mut decided: HashSet<&str> = HashSet::new();
    let mut has_content = false;
    for change in found.made(intent).collect::<Vec<_>>().into_iter().rev() {
        match change {
            VaultChange::Moved { to, state: Some(state), .. } if !decided.contains(to.as_str()) => {
                let Ok(path) = VaultPath::parse_escaped(to) else { return Ok(false) };
                match vault.entry_at(&path, io)? {
                    PathState::File { state: now, .. } if now.hash == state.hash => has_content = true,
                    PathState::File { .. } | PathState::Missing | PathState::Folder | PathState::Other => {
                        return Ok(false);
                    }
                }
            }
            VaultChange::FileReplaced { before, after, .. } => has_content |= before.hash != after.hash,
            VaultChange::FileCreated { .. } => has_content = true,
            VaultChange::Moved { .. }
            | VaultChange::FolderCreated { .. }
            | VaultChange::FolderRemoved { .. }
            | VaultChange::FileRemoved { .. } => {}
        }
        decided.extend(change.paths());
    }
    Ok(has_content)
}

/// Removes the hidden copies that a crash left. No one else will complete these calls.
fn clear_hidden_copies(
    vault: &Vault,
    intent: &[VaultChange],
    found: &ChangeStatuses,
    io: &dyn IoContext,
) -> Result<(), Fault> {
    let made = found.made(intent).filter_map(removed_content);
    // Left by a roll-back that was interrupted in turn.
    let unmade = found.unmade(intent).map(VaultChange::inverse).filter_map(|change| removed_content(&change));
    vault.clear_crash_leftovers(&made.chain(unmade).collect::<Vec<_>>(), io)
}

fn report_outcome(
    vault: &Vault,
    intent: &[VaultChange],
    found: &ChangeStatuses,
    io: &dyn IoContext,
) -> Result<ReconcileOutcome<ReconcileEvidence>, Fault> {
    if found.done() == intent.len() {
        intent.iter().for_each(|change| io.record_change(change.clone()));
        let evidence = ReconcileEvidence { changes: intent.to_vec(), mtime_ms: None };
        let mtime_ms = match evidence.last_file().map(|(path, ..)| VaultPath::parse_escaped(path)) {
            Some(Ok(path)) => match vault.path_state(&path, io)? {
                PathState::File { mtime_ms, .. } => Some(mtime_ms),
                PathState::Missing | PathState::Folder | PathState::Other => None,
            },
            Some(Err(_)) | None => None,
        };
        return Ok(ReconcileOutcome::Happened(ReconcileEvidence { mtime_ms, ..evidence }));
    }
    let beginning = found.beginning();
    let only_folders = intent[..beginning].iter().all(|c| matches!(c, VaultChange::FolderCreated { .. }));
    let rest_is_open = found.first_open() == Some(ChangeStatus::NotDone);
    if only_folders || rest_is_open {
        // Changes that were made stay in the record of the call, so that they can be undone.
        intent[..beginning].iter().for_each(|change| io.record_change(change.clone()));
    }
    if only_folders && rest_is_open {
        return Ok(ReconcileOutcome::DidNot { taken_back: 0 });
    }
    let why = match found.done() {
        0 => "what is there now is neither what was there before nor what it would have written".to_owned(),
        done => {
            format!("{done} of its {} changes are there; `tollgate undo` can take them back", intent.len())
        }
    };
    Ok(ReconcileOutcome::Unknown { why })
}

/// The status of each change of an intent.
struct ChangeStatuses(Vec<ChangeStatus>);

impl ChangeStatuses {
    fn done(&self) -> usize {
        self.0.iter().filter(|status| **status == ChangeStatus::Done).count()
    }

    /// Returns how many changes at the beginning are done.
    fn beginning(&self) -> usize {
        self.0.iter().take_while(|status| **status == ChangeStatus::Done).count()
    }

    /// Returns the status of the first change that is not done, if none after it is done. Changes are made in order, so
    /// those behind it were not reached.
    fn first_open(&self) -> Option<ChangeStatus> {
        let beginning = self.beginning();
        self.0.get(beginning).copied().filter(|_| self.done() == beginning)
    }

    fn made<'a>(&'a self, intent: &'a [VaultChange]) -> impl Iterator<Item = &'a VaultChange> {
        intent
            .iter()
            .zip(&self.0)
            .filter(|(_, status)| **status == ChangeStatus::Done)
            .map(|(change, _)| change)
    }

    fn unmade<'a>(&'a self, intent: &'a [VaultChange]) -> impl Iterator<Item = &'a VaultChange> {
        let unmade = |(_, status): &(&VaultChange, &ChangeStatus)| **status == ChangeStatus::NotDone;
        intent.iter().zip(&self.0).filter(unmade).map(|(change, _)| change)
    }

    /// Returns whether some of these changes are done and the state of none is unclear.
    fn is_part(&self, changes: usize) -> bool {
        (1..changes).contains(&self.done()) && !self.0.contains(&ChangeStatus::Unclear)
    }
}

/// Returns the content that a change removed, and its path.
pub(super) fn removed_content(change: &VaultChange) -> Option<(VaultPath, FileState)> {
    match change {
        VaultChange::FileReplaced { path, before, .. } | VaultChange::FileRemoved { path, before } => {
            Some((VaultPath::parse_escaped(path).ok()?, *before))
        }
        VaultChange::FolderCreated { .. }
        | VaultChange::FolderRemoved { .. }
        | VaultChange::FileCreated { .. }
        | VaultChange::Moved { .. } => None,
    }
}

/// Checks the changes from last to first: a path that a later change has decided is not checked again.
fn statuses(vault: &Vault, intent: &[VaultChange], io: &dyn IoContext) -> Result<ChangeStatuses, Fault> {
    let mut decided: HashSet<&str> = HashSet::new();
    let mut statuses = vec![ChangeStatus::Unclear; intent.len()];
    for (change, status) in intent.iter().zip(&mut statuses).rev() {
        *status = if change.paths().any(|path| decided.contains(path)) {
            ChangeStatus::Done
        } else {
            status_of(vault, change, io)?
        };
        if *status == ChangeStatus::Done {
            decided.extend(change.paths());
        }
    }
    Ok(ChangeStatuses(statuses))
}

fn status_of(vault: &Vault, change: &VaultChange, io: &dyn IoContext) -> Result<ChangeStatus, Fault> {
    let at = |path: &str| match VaultPath::parse_escaped(path) {
        // A link that was created since is not what the call wrote, wherever it leads.
        Ok(path) => vault.entry_at(&path, io),
        Err(_) => Ok(PathState::Other),
    };
    Ok(match change {
        VaultChange::FolderCreated { path, .. } => match at(path)? {
            PathState::Folder => ChangeStatus::Done,
            PathState::Missing => ChangeStatus::NotDone,
            PathState::File { .. } | PathState::Other => ChangeStatus::Unclear,
        },
        VaultChange::FolderRemoved { path, .. } => match at(path)? {
            PathState::Missing => ChangeStatus::Done,
            PathState::Folder => ChangeStatus::NotDone,
            PathState::File { .. } | PathState::Other => ChangeStatus::Unclear,
        },
        VaultChange::FileCreated { path, after } => match at(path)? {
            PathState::File { state, .. } if state.hash == after.hash => ChangeStatus::Done,
            PathState::Missing => ChangeStatus::NotDone,
            PathState::File { .. } | PathState::Folder | PathState::Other => ChangeStatus::Unclear,
        },
        VaultChange::FileRemoved { path, before } => match at(path)? {
            PathState::Missing => ChangeStatus::Done,
            PathState::File { state, .. } if state.hash == before.hash => ChangeStatus::NotDone,
            PathState::File { .. } | PathState::Folder | PathState::Other => ChangeStatus::Unclear,
        },
        VaultChange::FileReplaced { path, before, after } => match at(path)? {
            PathState::File { state, .. } if state.hash == after.hash => ChangeStatus::Done,
            PathState::File { state, .. } if state.hash == before.hash => ChangeStatus::NotDone,
            PathState::File { .. } | PathState::Missing | PathState::Folder | PathState::Other => {
                ChangeStatus::Unclear
            }
        },
        VaultChange::Moved { from, to, kind, state, .. } => match (at(from)?, at(to)?) {
            (PathState::Missing, there) if is_moved(&there, *kind, state.as_ref(), to) => ChangeStatus::Done,
            (PathState::File { .. } | PathState::Folder | PathState::Other, PathState::Missing) => {
                ChangeStatus::NotDone
            }
            (PathState::Missing | PathState::File { .. } | PathState::Folder | PathState::Other, _) => {
                ChangeStatus::Unclear
            }
        },
    })
}

/// Returns true if this can be the moved entry. A file may have been edited since the move, except in the
/// trash: there, other content means another file.
fn is_moved(seen: &PathState, kind: EntryKind, state: Option<&FileState>, to: &str) -> bool {
    let in_trash = to.split('/').next() == Some(TRASH);
    match (seen, kind, state) {
        (PathState::File { state: now, .. }, EntryKind::File, Some(moved)) => {
            !in_trash || now.hash == moved.hash
        }
        (PathState::File { .. } | PathState::Other, EntryKind::File, None)
        | (PathState::Folder, EntryKind::Folder, _) => true,
        (PathState::Missing | PathState::File { .. } | PathState::Folder | PathState::Other, _, _) => false,
    }
}
