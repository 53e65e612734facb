//! What restoring would do, found out before anything is done.

use envelope::{Change, EntryKind, Fault, FileState};

use super::conflict::RestoreConflict;
use super::locate::{Disk, Reading};
use super::thread::Threads;
use super::work::work_out;
use crate::sandbox::{Step, Vault, Witness};

/// What to do about files that were edited since, by any of their names.
#[derive(Debug, Clone, Copy, Default)]
pub struct RestoreChoices<'a> {
    /// Left as they are, and everything below them. A file that was edited and moved keeps what it holds; its
    /// name is put back.
    pub keep: &'a [String],
    /// Restored all the same; what is there now is kept first.
    pub overwrite: &'a [String],
}

/// One file or moved folder as it is and as it would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// Where it would be; where it is, if it would go.
    pub path: String,
    pub kind: EntryKind,
    /// Where it is now, if that is elsewhere.
    pub from: Option<String>,
    /// What it holds now; absent if it is not there, and for what has no content.
    pub before: Option<FileState>,
    /// What it would hold.
    pub after: Option<FileState>,
}

/// Everything that restoring would do.
#[derive(Debug, Default)]
pub struct Restoration {
    pub(crate) steps: Vec<Step>,
    /// The files and moved folders among them.
    pub restored: Vec<Restored>,
    /// How many files, folders and names are already as they should be.
    pub already_so: usize,
    /// Paths that were to be kept and would have been restored.
    pub kept: Vec<String>,
    /// What keeps the name that it has now, and the name that it would have got back.
    pub names_kept: Vec<(String, String)>,
    /// Paths of what somebody removed since, and nobody makes anew.
    pub missing: Vec<String>,
    /// Folders that stay because something is in them.
    pub left: Vec<String>,
    /// What stands in the way. Nothing may be done unless this is empty.
    pub conflicts: Vec<RestoreConflict>,
}

impl Restoration {
    /// The changes that would be made, in order. The same list restored again is already so.
    pub fn changes(&self) -> Vec<Change> {
        self.steps.iter().map(Step::change).collect()
    }
}

/// Finds out what restoring would do to the vault as it is now. Changes nothing.
pub fn foresee_restore(
    vault: &Vault,
    changes: &[Change],
    choices: RestoreChoices<'_>,
    witness: &dyn Witness,
) -> Result<Restoration, Fault> {
    super::check_paths(changes)?;
    let threads = Threads::read(changes);
    let disk = Disk::new(vault, witness);
    let plain = work_out(&threads, &disk, choices, Reading::NothingIsMade)?;
    if plain.conflicts.is_empty() {
        return Ok(plain);
    }
    let other = work_out(&threads, &disk, choices, Reading::AllIsMade)?;
    Ok(if other.conflicts.is_empty() { other } else { plain })
}
