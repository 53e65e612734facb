//! Stored responses as files, one each, readable for their owner only.
//!
//! All operations are relative to the handle of the folder, so that the folder that was checked is the one that is
//! used. Links are never followed.

use std::borrow::Cow;
use std::ffi::CStr;
use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::PathBuf;
use std::time::SystemTime;

use envelope::SessionId;
use rustix::fs::{AtFlags, Dir, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::StoredResponse;
use crate::item::ConversationItem;

const ENDING: &str = ".json";
/// The suffix of a file that is being written.
const UNFINISHED: &str = ".part";

pub(super) struct DiskStore {
    /// For messages only.
    path: PathBuf,
    folder: OwnedFd,
}

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("responses cannot be kept in {folder}: {error}")]
    Io { folder: String, error: io::Error },
    #[error("others can change files in `{folder}` (mode {mode:03o}); run `chmod 700` on it")]
    OpenFolder { folder: String, mode: u32 },
    #[error("`{folder}` belongs to another user; keep responses in a folder of your own")]
    ForeignFolder { folder: String },
    #[error("another server keeps its responses in `{folder}`; give each server a folder of its own")]
    InUse { folder: String },
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
struct DiskRecord<'a> {
    version: u32,
    id: Cow<'a, str>,
    previous: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<SessionId>,
    input: Cow<'a, [ConversationItem]>,
    output: Cow<'a, [ConversationItem]>,
    #[serde(borrow)]
    object: &'a RawValue,
}

const VERSION: u32 = 1;

impl DiskStore {
    pub(super) fn open(path: PathBuf) -> Result<DiskStore, StoreError> {
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
        // Held as long as the folder is open: two servers would overwrite each other's limits and unfinished files.
        match rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(StoreError::InUse { folder: path.display().to_string() }),
            Err(error) => return Err(trouble(error.into())),
        }
        Ok(DiskStore { path, folder })
    }

    /// Loads all responses, oldest first, with their sizes.
    pub(super) fn load(&self) -> Result<Vec<(StoredResponse, usize)>, StoreError> {
        let mut found: Vec<(SystemTime, StoredResponse, usize)> = Vec::new();
        for entry in Dir::read_from(&self.folder).map_err(|error| self.io_error(error.into()))? {
            let entry = entry.map_err(|error| self.io_error(error.into()))?;
            let Ok(name) = entry.file_name().to_str() else { continue };
            if is_unfinished(name) {
                // It was never acknowledged to a client.
                self.unlink(name).map_err(|error| self.io_error(error))?;
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

    /// Reads a response, with its time and its size.
    fn read(&self, name: &CStr, id: &str) -> io::Result<(SystemTime, StoredResponse, usize)> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut file = File::from(rustix::fs::openat(&self.folder, name, flags, Mode::empty())?);
        let about = file.metadata()?;
        let not_ours = |why| io::Error::new(io::ErrorKind::InvalidData, why);
        if !about.is_file() || about.uid() != own_user() {
            return Err(not_ours("it is not a file of ours"));
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        let written: DiskRecord<'_> = serde_json::from_slice(&text)?;
        if written.version != VERSION || written.id != id {
            return Err(not_ours("it is of another version or was given another name"));
        }
        let stored = StoredResponse {
            id: written.id.into_owned(),
            previous: written.previous.map(Cow::into_owned),
            session: written.session,
            input: written.input.into_owned(),
            output: written.output.into_owned(),
            object: written.object.get().to_owned(),
        };
        Ok((about.modified()?, stored, text.len()))
    }

    /// Writes a response and returns its size. Fails without writing if it is larger than `most`.
    pub(super) fn write(&self, stored: &StoredResponse, most: usize) -> Result<usize, StoreError> {
        let written = DiskRecord {
            version: VERSION,
            id: Cow::Borrowed(&stored.id),
            previous: stored.previous.as_deref().map(Cow::Borrowed),
            session: stored.session.clone(),
            input: Cow::Borrowed(&stored.input),
            output: Cow::Borrowed(&stored.output),
            object: serde_json::from_str(&stored.object).map_err(StoreError::Json)?,
        };
        let text = serde_json::to_vec(&written).map_err(StoreError::Json)?;
        if text.len() > most {
            return Err(StoreError::TooHeavy { id: stored.id.clone(), bytes: text.len(), most });
        }
        self.replace(&stored.id, &text).map_err(|error| self.io_error(error))?;
        Ok(text.len())
    }

    fn replace(&self, id: &str, text: &[u8]) -> io::Result<()> {
        let unfinished = format!("{id}{UNFINISHED}");
        // Left by a crash, or a link that another program made.
        self.unlink(&unfinished)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file =
            File::from(rustix::fs::openat(&self.folder, &unfinished, flags, Mode::RUSR | Mode::WUSR)?);
        file.write_all(text)?;
        file.sync_data()?;
        rustix::fs::renameat(&self.folder, &unfinished, &self.folder, file_name(id))?;
        Ok(rustix::fs::fsync(&self.folder)?)
    }

    pub(super) fn remove(&self, id: &str) -> Result<(), StoreError> {
        self.unlink(&file_name(id)).map_err(|error| self.io_error(error))
    }

    /// Removes a file, if it exists.
    fn unlink(&self, name: &str) -> io::Result<()> {
        match rustix::fs::unlinkat(&self.folder, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn io_error(&self, error: io::Error) -> StoreError {
        StoreError::Io { folder: self.path.display().to_string(), error }
    }
}

/// Returns true for the name of a response that was being written. Any other file with this suffix is not ours.
fn is_unfinished(name: &str) -> bool {
    let id = name.strip_suffix(UNFINISHED).and_then(|id| id.strip_prefix("resp_"));
    id.is_some_and(|id| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// Ids are generated here from letters, digits and `_`; an id of a client is used only if it was found among them.
fn file_name(id: &str) -> String {
    format!("{id}{ENDING}")
}

fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}
