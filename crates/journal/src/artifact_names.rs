//! What the artifacts of a run are called, for whoever does not know.

use std::io;

use crate::artifacts::ARTIFACTS;
use crate::disk::Dir;
use crate::error::JournalError;
use crate::folder::RunFolder;
use crate::run_log::{Journal, io_error};

impl Journal {
    /// The artifacts of this run so far, as results name them, in order.
    pub fn artifact_names(&self) -> Result<Vec<String>, JournalError> {
        self.folder().map_or_else(|| Ok(Vec::new()), names)
    }
}

impl RunFolder {
    /// The artifacts of this run, as results name them, in order.
    pub fn artifact_names(&self) -> Result<Vec<String>, JournalError> {
        names(self.dir())
    }
}

fn names(run: &Dir) -> Result<Vec<String>, JournalError> {
    match run.sub(ARTIFACTS).and_then(|folder| folder.names()) {
        Ok(names) => Ok(names.iter().map(|name| format!("{ARTIFACTS}/{name}")).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(source) => Err(io_error("list", &run.path().join(ARTIFACTS), source)),
    }
}
