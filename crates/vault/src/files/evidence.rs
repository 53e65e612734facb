//! What can be shown, after a crash, about the changes that a call was about to make.

use envelope::{Change, EntryKind, Fault, FileState, VaultPath};
use toolkit::Reconciled;

use crate::sandbox::{Seen, TRASH, Vault, Witness};

/// The changes of a call that happened, as they are found.
pub struct Evidence {
    pub changes: Vec<Change>,
    /// When the file that was written last has its time from.
    pub mtime_ms: Option<i64>,
}

impl Evidence {
    /// The file that was written last, with what it holds and whether it is new.
    pub fn last_file(&self) -> Option<(&str, &FileState, bool)> {
        self.changes.iter().rev().find_map(|change| match change {
            Change::FileCreated { path, after } => Some((path.as_str(), after, true)),
            Change::FileReplaced { path, after, .. } => Some((path.as_str(), after, false)),
            Change::FolderCreated { .. }
            | Change::FolderRemoved { .. }
            | Change::FileRemoved { .. }
            | Change::Moved { .. } => None,
        })
    }

    /// Path, etag and newness of the file that was written last; `asked` where there is none.
    pub(crate) fn last_written(&self, asked: &str) -> (String, String, bool) {
        match self.last_file() {
            Some((path, state, created)) => (path.to_owned(), state.etag(), created),
            None => (asked.to_owned(), String::new(), false),
        }
    }

    /// Where the last thing that was moved came from and went.
    pub(crate) fn last_move(&self) -> Option<(&str, &str)> {
        self.changes.iter().rev().find_map(|change| match change {
            Change::Moved { from, to, .. } => Some((from.as_str(), to.as_str())),
            Change::FolderCreated { .. }
            | Change::FolderRemoved { .. }
            | Change::FileCreated { .. }
            | Change::FileRemoved { .. }
            | Change::FileReplaced { .. } => None,
        })
    }

    pub(crate) fn files_removed(&self) -> u64 {
        self.changes.iter().filter(|change| matches!(change, Change::FileRemoved { .. })).count() as u64
    }
}

/// How one change looks now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    Done,
    NotDone,
    Unclear,
}

/// Compares what was intended with what is there. Changes that are there are told to the witness, as the
/// call itself would have told them. What a crash left of them under a hidden name is cleared away.
pub fn examine(
    vault: &Vault,
    intent: &[Change],
    witness: &dyn Witness,
) -> Result<Reconciled<Evidence>, Fault> {
    let looks = looks(vault, intent, witness)?;
    let happened = intent.iter().zip(&looks).filter(|(_, look)| **look == Look::Done);
    // What they may have left goes, now that nobody will finish it.
    let taken: Vec<(VaultPath, FileState)> = happened.filter_map(|(change, _)| taken_away(change)).collect();
    vault.clear_taken_away(&taken, witness)?;
    let done = looks.iter().filter(|look| **look == Look::Done).count();
    if done == intent.len() {
        intent.iter().for_each(|change| witness.saw(change.clone()));
        let evidence = Evidence { changes: intent.to_vec(), mtime_ms: None };
        let mtime_ms = match evidence.last_file().map(|(path, ..)| VaultPath::parse(path)) {
            Some(Ok(path)) => match vault.look(&path, witness)? {
                Seen::File { mtime_ms, .. } => Some(mtime_ms),
                Seen::Nothing | Seen::Folder | Seen::Other => None,
            },
            Some(Err(_)) | None => None,
        };
        return Ok(Reconciled::Happened(Evidence { mtime_ms, ..evidence }));
    }
    let beginning = looks.iter().take_while(|look| **look == Look::Done).count();
    let only_folders = intent[..beginning].iter().all(|c| matches!(c, Change::FolderCreated { .. }));
    let rest_is_open = looks[beginning..].first() == Some(&Look::NotDone) && beginning == done;
    if only_folders || rest_is_open {
        // What is there stays in the record of the call: it can be taken back.
        intent[..beginning].iter().for_each(|change| witness.saw(change.clone()));
    }
    if only_folders && rest_is_open {
        return Ok(Reconciled::DidNot);
    }
    let why = match done {
        0 => "what is there now is neither what was there before nor what it would have written".to_owned(),
        _ => format!("{done} of its {} changes are there; `tollgate undo` can take them back", intent.len()),
    };
    Ok(Reconciled::Unknown { why })
}

/// What a change took away, and from where.
fn taken_away(change: &Change) -> Option<(VaultPath, FileState)> {
    match change {
        Change::FileReplaced { path, before, .. } | Change::FileRemoved { path, before } => {
            Some((VaultPath::parse(path).ok()?, *before))
        }
        Change::FolderCreated { .. }
        | Change::FolderRemoved { .. }
        | Change::FileCreated { .. }
        | Change::Moved { .. } => None,
    }
}

/// Looks at the changes from the last to the first: a path that a later change has decided is not asked again.
fn looks(vault: &Vault, intent: &[Change], witness: &dyn Witness) -> Result<Vec<Look>, Fault> {
    let mut decided: std::collections::HashSet<&str> = std::collections::HashSet::new();
    let mut looks = vec![Look::Unclear; intent.len()];
    for (change, look) in intent.iter().zip(&mut looks).rev() {
        *look = if change.paths().any(|path| decided.contains(path)) {
            Look::Done
        } else {
            look_at(vault, change, witness)?
        };
        if *look == Look::Done {
            decided.extend(change.paths());
        }
    }
    Ok(looks)
}

fn look_at(vault: &Vault, change: &Change, witness: &dyn Witness) -> Result<Look, Fault> {
    let at = |path: &str| match VaultPath::parse(path) {
        // A link that was put there since is not what the call wrote, wherever it leads.
        Ok(path) => vault.stands_at(&path, witness),
        Err(_) => Ok(Seen::Other),
    };
    Ok(match change {
        Change::FolderCreated { path, .. } => match at(path)? {
            Seen::Folder => Look::Done,
            Seen::Nothing => Look::NotDone,
            Seen::File { .. } | Seen::Other => Look::Unclear,
        },
        Change::FolderRemoved { path, .. } => match at(path)? {
            Seen::Nothing => Look::Done,
            Seen::Folder => Look::NotDone,
            Seen::File { .. } | Seen::Other => Look::Unclear,
        },
        Change::FileCreated { path, after } => match at(path)? {
            Seen::File { state, .. } if state.hash == after.hash => Look::Done,
            Seen::Nothing => Look::NotDone,
            Seen::File { .. } | Seen::Folder | Seen::Other => Look::Unclear,
        },
        Change::FileRemoved { path, before } => match at(path)? {
            Seen::Nothing => Look::Done,
            Seen::File { state, .. } if state.hash == before.hash => Look::NotDone,
            Seen::File { .. } | Seen::Folder | Seen::Other => Look::Unclear,
        },
        Change::FileReplaced { path, before, after } => match at(path)? {
            Seen::File { state, .. } if state.hash == after.hash => Look::Done,
            Seen::File { state, .. } if state.hash == before.hash => Look::NotDone,
            Seen::File { .. } | Seen::Nothing | Seen::Folder | Seen::Other => Look::Unclear,
        },
        Change::Moved { from, to, kind, state, .. } => match (at(from)?, at(to)?) {
            (Seen::Nothing, there) if is_moved(&there, *kind, state.as_ref(), to) => Look::Done,
            (Seen::File { .. } | Seen::Folder | Seen::Other, Seen::Nothing) => Look::NotDone,
            (Seen::Nothing | Seen::File { .. } | Seen::Folder | Seen::Other, _) => Look::Unclear,
        },
    })
}

/// Whether this can be what was moved. A file may have been edited since, but nobody edits in the trash:
/// there, another content is another file.
fn is_moved(seen: &Seen, kind: EntryKind, state: Option<&FileState>, to: &str) -> bool {
    let in_trash = to.split('/').next() == Some(TRASH);
    match (seen, kind, state) {
        (Seen::File { state: now, .. }, EntryKind::File, Some(moved)) => !in_trash || now.hash == moved.hash,
        (Seen::File { .. } | Seen::Other, EntryKind::File, None) | (Seen::Folder, EntryKind::Folder, _) => {
            true
        }
        (Seen::Nothing | Seen::File { .. } | Seen::Folder | Seen::Other, _, _) => false,
    }
}
