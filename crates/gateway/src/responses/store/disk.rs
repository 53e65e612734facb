//! Answers as files, one each, for the owner's eyes only.
//!
//! Everything happens relative to the folder's handle, so that the folder that was looked at is the one that is
//! used. Links are never followed.

use std::borrow::Cow;
use std::ffi::CStr;
use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::PathBuf;
use std::time::SystemTime;

use rustix::fs::{AtFlags, Dir, Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Stored;
use crate::responses::item::Item;

const ENDING: &str = ".json";
/// What a file that is being written is called.
const UNFINISHED: &str = ".part";

pub(super) struct Disk {
    /// For messages only.
    path: PathBuf,
    folder: OwnedFd,
}

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("responses cannot be kept in {folder}: {error}")]
    Io { folder: String, error: io::Error },
    #[error("others can change what is in `{folder}` (mode {mode:03o}); run `chmod 700` on it")]
    OpenFolder { folder: String, mode: u32 },
    #[error("`{folder}` belongs to somebody else; keep responses in a folder of your own")]
    ForeignFolder { folder: String },
    #[error("response `{id}` takes {bytes} bytes, more than the {most} that all of them together may take")]
    TooHeavy { id: String, bytes: usize, most: usize },
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
    id: Cow<'a, str>,
    previous: Option<Cow<'a, str>>,
    input: Cow<'a, [Item]>,
    output: Cow<'a, [Item]>,
    #[serde(borrow)]
    object: &'a RawValue,
}

const VERSION: u32 = 1;

impl Disk {
    pub(super) fn open(path: PathBuf) -> Result<Disk, StoreError> {
        let trouble = |error: io::Error| StoreError::Io { folder: path.display().to_string(), error };
        DirBuilder::new().recursive(true).mode(0o700).create(&path).map_err(trouble)?;
        let folder = rustix::fs::open(&path, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .map_err(|error| trouble(error.into()))?;
        let stat = rustix::fs::fstat(&folder).map_err(|error| trouble(error.into()))?;
        let mode = stat.st_mode & 0o777;
        if mode & 0o022 != 0 {
            return Err(StoreError::OpenFolder { folder: path.display().to_string(), mode });
        }
        if stat.st_uid != own_user() {
            return Err(StoreError::ForeignFolder { folder: path.display().to_string() });
        }
        Ok(Disk { path, folder })
    }

    /// Everything that is there, oldest first, with its size.
    pub(super) fn load(&self) -> Result<Vec<(Stored, usize)>, StoreError> {
        let mut found: Vec<(SystemTime, Stored, usize)> = Vec::new();
        for entry in Dir::read_from(&self.folder).map_err(|error| self.trouble(error.into()))? {
            let entry = entry.map_err(|error| self.trouble(error.into()))?;
            let Ok(name) = entry.file_name().to_str() else { continue };
            if name.ends_with(UNFINISHED) {
                // Never acknowledged to anybody.
                self.unlink(name).map_err(|error| self.trouble(error))?;
            } else if let Some(id) = name.strip_suffix(ENDING) {
                match self.read(entry.file_name(), id) {
                    Ok(answer) => found.push(answer),
                    Err(error) => {
                        tracing::warn!(%error, "a stored response cannot be read and is left where it is");
                    }
                }
            }
        }
        found.sort_by(|(time, answer, _), (other_time, other, _)| {
            (time, &answer.id).cmp(&(other_time, &other.id))
        });
        Ok(found.into_iter().map(|(_, stored, bytes)| (stored, bytes)).collect())
    }

    /// An answer, when it was written, and its size.
    fn read(&self, name: &CStr, id: &str) -> io::Result<(SystemTime, Stored, usize)> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut file = File::from(rustix::fs::openat(&self.folder, name, flags, Mode::empty())?);
        let about = file.metadata()?;
        let not_ours = |why| io::Error::new(io::ErrorKind::InvalidData, why);
        if !about.is_file() || about.uid() != own_user() {
            return Err(not_ours("it is not a file of ours"));
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        let written: Written<'_> = serde_json::from_slice(&text)?;
        if written.version != VERSION || written.id != id {
            return Err(not_ours("it is of another version or was given another name"));
        }
        let stored = Stored {
            id: written.id.into_owned(),
            previous: written.previous.map(Cow::into_owned),
            input: written.input.into_owned(),
            output: written.output.into_owned(),
            object: written.object.get().to_owned(),
        };
        Ok((about.modified()?, stored, text.len()))
    }

    /// Gives the number of bytes. Nothing is written when it would be more than `most`.
    pub(super) fn write(&self, stored: &Stored, most: usize) -> Result<usize, StoreError> {
        let written = Written {
            version: VERSION,
            id: Cow::Borrowed(&stored.id),
            previous: stored.previous.as_deref().map(Cow::Borrowed),
            input: Cow::Borrowed(&stored.input),
            output: Cow::Borrowed(&stored.output),
            object: serde_json::from_str(&stored.object).map_err(StoreError::Json)?,
        };
        let text = serde_json::to_vec(&written).map_err(StoreError::Json)?;
        if text.len() > most {
            return Err(StoreError::TooHeavy { id: stored.id.clone(), bytes: text.len(), most });
        }
        self.replace(&stored.id, &text).map_err(|error| self.trouble(error))?;
        Ok(text.len())
    }

    fn replace(&self, id: &str, text: &[u8]) -> io::Result<()> {
        let unfinished = format!("{id}{UNFINISHED}");
        // One that a crash left, or a link that somebody put there.
        self.unlink(&unfinished)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file =
            File::from(rustix::fs::openat(&self.folder, &unfinished, flags, Mode::RUSR | Mode::WUSR)?);
        file.write_all(text)?;
        file.sync_data()?;
        rustix::fs::renameat(&self.folder, &unfinished, &self.folder, name_of(id))?;
        Ok(rustix::fs::fsync(&self.folder)?)
    }

    pub(super) fn remove(&self, id: &str) -> Result<(), StoreError> {
        self.unlink(&name_of(id)).map_err(|error| self.trouble(error))
    }

    /// It is fine when there is none.
    fn unlink(&self, name: &str) -> io::Result<()> {
        match rustix::fs::unlinkat(&self.folder, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn trouble(&self, error: io::Error) -> StoreError {
        StoreError::Io { folder: self.path.display().to_string(), error }
    }
}

/// Ids are made here, of letters, digits and `_`; an id from outside never gets this far unless it was found
/// among them.
fn name_of(id: &str) -> String {
    format!("{id}{ENDING}")
}

fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}
