//! What calls left beside their records: `artifacts/<name>` in the run folder.
//!
//! Made and opened through the folder's handle, never through a link. A name is given once; a result lists the
//! size and the hash, so that a change afterwards is found.

use std::fs::File;
use std::io;

use envelope::{Artifact, Hash};

use crate::disk::{Dir, Disk};
use crate::error::JournalError;
use crate::folder::RunFolder;
use crate::run_log::{Journal, io_error};

pub(crate) const ARTIFACTS: &str = "artifacts";
/// Behind so many equal names something is wrong with whoever asks for them.
const MAX_SAME_NAME: u32 = 100_000;

impl Journal {
    /// Makes an empty artifact called `<stem>.<extension>`, or with a number if that name is taken. Its name is
    /// durable when this returns, its bytes after [`Journal::sync_artifact`]. None for a journal in memory.
    pub fn create_artifact(
        &self,
        stem: &str,
        extension: &str,
    ) -> Result<Option<(String, File)>, JournalError> {
        let Some(run) = self.folder() else { return Ok(None) };
        let make = || -> io::Result<(String, File)> {
            let folder = run.ensure(ARTIFACTS, false)?;
            for number in 1..MAX_SAME_NAME {
                let name = match number {
                    1 => format!("{stem}.{extension}"),
                    more => format!("{stem}-{more}.{extension}"),
                };
                match folder.create_file(&name) {
                    Ok(file) => {
                        folder.duplicate()?.sync_names()?;
                        return Ok((format!("{ARTIFACTS}/{name}"), file));
                    }
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                    Err(error) => return Err(error),
                }
            }
            Err(io::Error::other("too many artifacts of one name"))
        };
        make().map(Some).map_err(|source| io_error("make an artifact in", run.path(), source))
    }

    /// Makes the bytes of an artifact durable.
    pub fn sync_artifact(&self, path: &str, file: &File) -> Result<(), JournalError> {
        let synced = file.sync_data();
        synced.map_err(|source| io_error("sync", std::path::Path::new(path), source))
    }

    /// Opens an artifact of this run for reading.
    pub fn open_artifact(&self, path: &str) -> Result<File, JournalError> {
        match self.folder() {
            Some(run) => open(run, path),
            None => Err(JournalError::ArtifactMissing { path: path.to_owned() }),
        }
    }

    /// Takes back an artifact that no recorded result names.
    pub fn remove_artifact(&self, path: &str) -> Result<(), JournalError> {
        let Some((run, name)) = self.folder().zip(name_of(path)) else { return Ok(()) };
        let removed = run.sub(ARTIFACTS).and_then(|mut folder| folder.remove(name));
        removed.map_err(|source| io_error("remove", &run.path().join(path), source))
    }
}

impl RunFolder {
    /// Opens an artifact for reading.
    pub fn artifact(&self, path: &str) -> Result<File, JournalError> {
        open(self.dir(), path)
    }
}

/// Whether an artifact is still what its result says.
pub(crate) fn check(run: &Dir, artifact: &Artifact) -> Result<(), JournalError> {
    let mut file = open(run, &artifact.path)?;
    let mut hasher = blake3::Hasher::new();
    let bytes = io::copy(&mut file, &mut hasher)
        .map_err(|source| io_error("read", &run.path().join(&artifact.path), source))?;
    let found = Hash::from_bytes(*hasher.finalize().as_bytes());
    if bytes == artifact.bytes && found == artifact.hash {
        return Ok(());
    }
    Err(JournalError::ArtifactChanged { path: artifact.path.clone() })
}

fn open(run: &Dir, path: &str) -> Result<File, JournalError> {
    let missing = || JournalError::ArtifactMissing { path: path.to_owned() };
    let name = name_of(path).ok_or_else(missing)?;
    match run.sub(ARTIFACTS).and_then(|folder| folder.read(name)) {
        Ok(Some(file)) => match file.metadata() {
            Ok(meta) if meta.is_file() => Ok(file),
            Ok(_) => Err(missing()),
            Err(source) => Err(io_error("read", &run.path().join(path), source)),
        },
        Ok(None) => Err(missing()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(missing()),
        Err(source) => Err(io_error("read", &run.path().join(path), source)),
    }
}

/// The one name below the folder. Nothing else is a path of an artifact.
fn name_of(path: &str) -> Option<&str> {
    let name = path.strip_prefix(ARTIFACTS)?.strip_prefix('/')?;
    (!name.is_empty() && !name.contains(['/', '\0']) && name != "." && name != "..").then_some(name)
}
