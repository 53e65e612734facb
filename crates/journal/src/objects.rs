//! Large data, stored once by its hash beside the runs: `objects/<2 hex>/<64 hex>`.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use envelope::{DataRef, Hash};

use crate::disk::Dir;
use crate::error::JournalError;
use crate::run_log::io_error;

pub(crate) const OBJECTS: &str = "objects";

/// The store that the runs of one state folder share.
#[derive(Debug)]
pub(crate) struct Objects {
    state: PathBuf,
}

impl Objects {
    /// The store that belongs to a run: the state folder is two above it.
    pub(crate) fn beside(run_dir: &Path) -> Objects {
        Objects { state: run_dir.join("..").join("..") }
    }

    pub(crate) fn put(&self, bytes: &[u8]) -> Result<DataRef, JournalError> {
        let hash = Hash::of(bytes);
        self.put_as(&hash, bytes).map_err(|source| io_error("store", &self.state.join(OBJECTS), source))?;
        Ok(DataRef { hash, bytes: bytes.len() as u64 })
    }

    fn put_as(&self, hash: &Hash, bytes: &[u8]) -> io::Result<()> {
        static UNIQUE: AtomicU64 = AtomicU64::new(0);
        let (folder, name) = names(hash);
        let folder = Dir::open(&self.state)?.ensure(OBJECTS)?.ensure(&folder)?;
        // Renamed into place only when whole and synced, so an object of the right length is the object;
        // one of another length is damage, and is replaced.
        if folder
            .read(&name)?
            .is_some_and(|file| file.metadata().is_ok_and(|meta| meta.len() == bytes.len() as u64))
        {
            return Ok(());
        }
        let unique = format!("{}-{}", std::process::id(), UNIQUE.fetch_add(1, Ordering::Relaxed));
        folder.put(&name, &unique, bytes)
    }

    /// Checks an object without keeping it in memory.
    pub(crate) fn check(&self, data: &DataRef) -> Result<(), JournalError> {
        let (folder, name) = names(&data.hash);
        let hash = || -> io::Result<Option<(u64, blake3::Hash)>> {
            let Some(file) = Dir::open(&self.state)?.sub(OBJECTS)?.sub(&folder)?.read(&name)? else {
                return Ok(None);
            };
            let mut hasher = blake3::Hasher::new();
            let bytes = io::copy(&mut io::BufReader::with_capacity(64 << 10, file), &mut hasher)?;
            Ok(Some((bytes, hasher.finalize())))
        };
        match hash() {
            Ok(Some((bytes, hash))) if bytes == data.bytes && hash.as_bytes() == data.hash.as_bytes() => {
                Ok(())
            }
            Ok(Some(_)) => Err(JournalError::ObjectChanged { hash: data.hash }),
            Ok(None) => Err(JournalError::ObjectMissing { hash: data.hash }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(JournalError::ObjectMissing { hash: data.hash })
            }
            Err(source) => Err(io_error("read", &self.state.join(OBJECTS), source)),
        }
    }

    /// Reads an object and checks that it is the one that was stored.
    pub(crate) fn get(&self, data: &DataRef) -> Result<Vec<u8>, JournalError> {
        let (folder, name) = names(&data.hash);
        let read = || Dir::open(&self.state)?.sub(OBJECTS)?.sub(&folder)?.read_all(&name);
        match read() {
            Ok(Some(bytes)) if bytes.len() as u64 == data.bytes && Hash::of(&bytes) == data.hash => Ok(bytes),
            Ok(Some(_)) => Err(JournalError::ObjectChanged { hash: data.hash }),
            Ok(None) => Err(JournalError::ObjectMissing { hash: data.hash }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(JournalError::ObjectMissing { hash: data.hash })
            }
            Err(source) => Err(io_error("read", &self.state.join(OBJECTS), source)),
        }
    }
}

/// The folder and the file of an object. Also how `verify` names it.
pub(crate) fn names(hash: &Hash) -> (String, String) {
    let text = hash.to_string();
    let hex = text.trim_start_matches("b3:");
    (hex.chars().take(2).collect(), hex.to_owned())
}
