//! Answers as files, one each, for the owner's eyes only.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Stored;
use crate::responses::item::Item;

const ENDING: &str = ".json";
/// What a file that is being written is called.
const UNFINISHED: &str = ".part";

pub(super) struct Disk {
    folder: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("responses cannot be kept in {folder}: {error}")]
    Io { folder: String, error: io::Error },
    #[error("a response cannot be written down: {0}")]
    Json(serde_json::Error),
    #[error("the server ended before the response was kept")]
    Interrupted,
}

/// The form on disk.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written<'a> {
    version: u32,
    id: std::borrow::Cow<'a, str>,
    previous: Option<std::borrow::Cow<'a, str>>,
    input: std::borrow::Cow<'a, [Item]>,
    output: std::borrow::Cow<'a, [Item]>,
    #[serde(borrow)]
    object: &'a RawValue,
}

const VERSION: u32 = 1;

impl Disk {
    pub(super) fn open(folder: PathBuf) -> Result<Disk, StoreError> {
        let disk = Disk { folder };
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&disk.folder)
            .map_err(|error| disk.trouble(error))?;
        Ok(disk)
    }

    /// Everything that is there, oldest first, with its size.
    pub(super) fn load(&self) -> Result<Vec<(Stored, usize)>, StoreError> {
        let mut found: Vec<(SystemTime, PathBuf)> = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(|error| self.trouble(error))? {
            let entry = entry.map_err(|error| self.trouble(error))?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            if name.ends_with(UNFINISHED) {
                // Never acknowledged to anybody.
                fs::remove_file(entry.path()).map_err(|error| self.trouble(error))?;
            } else if name.ends_with(ENDING) {
                let changed = entry.metadata().and_then(|about| about.modified());
                found.push((changed.map_err(|error| self.trouble(error))?, entry.path()));
            }
        }
        found.sort();
        Ok(found.iter().filter_map(|(_, path)| read(path)).collect())
    }

    /// Gives the number of bytes.
    pub(super) fn write(&self, stored: &Stored) -> Result<usize, StoreError> {
        use std::borrow::Cow::Borrowed;
        let written = Written {
            version: VERSION,
            id: Borrowed(&stored.id),
            previous: stored.previous.as_deref().map(Borrowed),
            input: Borrowed(&stored.input),
            output: Borrowed(&stored.output),
            object: serde_json::from_str(&stored.object).map_err(StoreError::Json)?,
        };
        let text = serde_json::to_vec(&written).map_err(StoreError::Json)?;
        self.replace(&stored.id, &text).map_err(|error| self.trouble(error))?;
        Ok(text.len())
    }

    fn replace(&self, id: &str, text: &[u8]) -> io::Result<()> {
        let unfinished = self.folder.join(format!("{id}{UNFINISHED}"));
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
        file.write_all(text)?;
        file.sync_data()?;
        fs::rename(&unfinished, self.path(id))?;
        File::open(&self.folder)?.sync_all()
    }

    pub(super) fn remove(&self, id: &str) -> Result<(), StoreError> {
        match fs::remove_file(self.path(id)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self.trouble(error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Ids are made here, of letters, digits and `_`; an id from outside never gets this far unless it was
    /// found among them.
    fn path(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}{ENDING}"))
    }

    fn trouble(&self, error: io::Error) -> StoreError {
        StoreError::Io { folder: self.folder.display().to_string(), error }
    }
}

/// An answer and its size; nothing when the file is not one of ours.
fn read(path: &Path) -> Option<(Stored, usize)> {
    let text = fs::read(path).ok()?;
    match serde_json::from_slice::<Written<'_>>(&text) {
        Ok(written)
            if written.version == VERSION
                && path.file_name().and_then(|name| name.to_str())
                    == Some(&format!("{}{ENDING}", written.id)) =>
        {
            let stored = Stored {
                id: written.id.into_owned(),
                previous: written.previous.map(std::borrow::Cow::into_owned),
                input: written.input.into_owned(),
                output: written.output.into_owned(),
                object: written.object.get().to_owned(),
            };
            Some((stored, text.len()))
        }
        Ok(_) | Err(_) => {
            tracing::warn!(bytes = text.len(), "a stored response cannot be read and is left where it is");
            None
        }
    }
}
