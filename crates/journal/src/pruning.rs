//! `pruning.json` beside the runs: the runs that a prune is removing.
//!
//! Runs that belong together, such as a run and its undo, are removed together. Folders cannot be removed in one
//! step, so the prune first writes down what it removes. From then on these runs are gone for every reader; a
//! prune that was killed is completed by the next one.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use envelope::RunId;
use serde::{Deserialize, Serialize};

use crate::disk::{FolderHandle, RunDisk, folder_above};

pub(crate) const PRUNING_FILE: &str = "pruning.json";
const TEMPORARY: &str = "pruning.json.tmp";

/// The content of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct PruningRuns {
    pub(crate) runs: BTreeSet<RunId>,
}

impl PruningRuns {
    /// Returns the runs that are being removed; none without the file. A file that cannot be parsed is never
    /// written by this build, and names none.
    pub(crate) fn read(runs_dir: &Path) -> io::Result<PruningRuns> {
        let text = match FolderHandle::open(&folder_above(runs_dir)) {
            Ok(state) => state.read_file(PRUNING_FILE)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let mut pruning: PruningRuns =
            text.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
        // An id may contain a slash; the name of a folder does not.
        pruning.runs.retain(|run| !run.as_str().contains('/') && !matches!(run.as_str(), "." | ".."));
        Ok(pruning)
    }

    /// Writes the file. Durable when this returns.
    pub(crate) fn write(&self, state: &mut FolderHandle) -> io::Result<()> {
        state.replace(PRUNING_FILE, TEMPORARY, &serde_json::to_vec(self)?)
    }

    /// Removes the file, after all of its runs.
    pub(crate) fn remove(state: &mut FolderHandle) -> io::Result<()> {
        state.remove(PRUNING_FILE)
    }
}
