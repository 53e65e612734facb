//! Large data, stored once by its hash beside the runs: `objects/<2 hex>/<64 hex>`.
//!
//! A prune removes objects that no record names. Two things keep it from removing one that a writer stores or
//! finds already stored: the writer shares the lock of the folder while it stores, and it notes the hash in a
//! file of its run until the run is closed. A prune holds the lock alone, and keeps what is noted.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use envelope::{DataRef, Hash};
use rustix::fs::FlockOperation;

use crate::disk::{FolderHandle, RunDisk, folder_above};
use crate::error::JournalError;
use crate::run_log::io_error;

pub(crate) const OBJECTS: &str = "objects";
/// File in the folder of an open run: the hashes of the objects that it stored, 32 bytes each. Not synced: it
/// matters only while the process is alive. After a crash the record is what counts.
pub(crate) const STORED_OBJECTS: &str = "stored-objects";
/// Content up to this size is held in memory while it is stored.
const IN_MEMORY: u64 = 1 << 20;
const CHUNK_BYTES: usize = 256 << 10;

/// The object store that the runs of one state folder share.
#[derive(Debug)]
pub(crate) struct ObjectFolder {
    state: PathBuf,
    /// The folder of the run that stores objects; `None` for a reader.
    run: Option<FolderHandle>,
    /// Open [`STORED_OBJECTS`], once an object was stored.
    stored: Mutex<Option<File>>,
    /// Object folders whose names are known to be synced.
    durable: Mutex<HashSet<String>>,
}

impl ObjectFolder {
    /// Returns the store for a run: the state folder is two levels above it. The path is computed from the
    /// names instead of `..`, which would follow a link in place of the folder in between.
    pub(crate) fn for_run(run_dir: &Path) -> ObjectFolder {
        let state = folder_above(&folder_above(run_dir));
        ObjectFolder { state, run: None, stored: Mutex::default(), durable: Mutex::default() }
    }

    /// Returns the store for the writer of a run.
    pub(crate) fn for_writer(run: &FolderHandle) -> io::Result<ObjectFolder> {
        Ok(ObjectFolder { run: Some(run.duplicate()?), ..ObjectFolder::for_run(run.path()) })
    }

    pub(crate) fn put(&self, bytes: &[u8]) -> Result<DataRef, JournalError> {
        let hash = Hash::of(bytes);
        let put = || {
            let _shared = StoreLock::share(&self.state)?;
            self.note_stored(&hash)?;
            self.put_as(&hash, bytes)
        };
        put().map_err(|source| io_error("store", &self.state.join(OBJECTS), source))?;
        Ok(DataRef { hash, bytes: bytes.len() as u64 })
    }

    /// Stores contents that `run.json` is about to name. Keep the lock until it does.
    pub(crate) fn put_for_header(&self, contents: &[Vec<u8>]) -> Result<StoreLock, JournalError> {
        let put = || {
            let shared = StoreLock::share(&self.state)?;
            contents.iter().try_for_each(|bytes| self.put_as(&Hash::of(bytes), bytes))?;
            Ok(shared)
        };
        put().map_err(|source| io_error("store", &self.state.join(OBJECTS), source))
    }

    /// Notes that this run stores the object, whether or not it is there already.
    fn note_stored(&self, hash: &Hash) -> io::Result<()> {
        let Some(run) = &self.run else { return Ok(()) };
        let mut stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        let file = match &mut *stored {
            Some(file) => file,
            none => none.insert(run.append_to_file(STORED_OBJECTS)?),
        };
        file.write_all(hash.as_bytes())
    }

    /// Removes the notes of a run that is closed: its record names what it needs.
    pub(crate) fn forget_stored(&self) -> io::Result<()> {
        let Some(run) = &self.run else { return Ok(()) };
        *self.stored.lock().unwrap_or_else(PoisonError::into_inner) = None;
        match run.duplicate()?.remove(STORED_OBJECTS) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Stores everything that `content` yields. Content larger than a note goes through a file, not through
    /// memory.
    pub(crate) fn put_from(&self, content: &mut dyn Read) -> Result<DataRef, JournalError> {
        let failed = |source| io_error("store", &self.state.join(OBJECTS), source);
        let mut head = Vec::new();
        content.take(IN_MEMORY + 1).read_to_end(&mut head).map_err(failed)?;
        if head.len() as u64 <= IN_MEMORY {
            return self.put(&head);
        }
        self.put_large(&head, content).map_err(failed)
    }

    fn put_large(&self, head: &[u8], rest: &mut dyn Read) -> io::Result<DataRef> {
        let _shared = StoreLock::share(&self.state)?;
        let state = FolderHandle::open(&self.state)?;
        let mut store = state.open_or_create(OBJECTS, false)?;
        let temporary = format!("large.{}", unique_suffix());
        let written = (|| {
            let mut file = RunDisk::create(&mut store, &temporary)?;
            let mut hasher = blake3::Hasher::new();
            let mut at = 0;
            let mut piece = vec![0; CHUNK_BYTES];
            let mut part = head;
            loop {
                hasher.update(part);
                file.write_at(at, part)?;
                at += part.len() as u64;
                let got = rest.read(&mut piece)?;
                if got == 0 {
                    break;
                }
                part = &piece[..got];
            }
            file.sync()?;
            let hash = Hash::from_bytes(*hasher.finalize().as_bytes());
            let (shard, name) = object_path(&hash);
            let folder = store.open_or_create(&shard, false)?;
            self.note_stored(&hash)?;
            store.rename_into(&temporary, &folder, &name)?;
            Ok(DataRef { hash, bytes: at })
        })();
        if written.is_err() {
            // Best effort: a leftover file is recognizable by its ending.
            store.remove(&temporary).ok();
        }
        written
    }

    fn put_as(&self, hash: &Hash, bytes: &[u8]) -> io::Result<()> {
        let (shard, name) = object_path(hash);
        let known = self.durable.lock().unwrap_or_else(PoisonError::into_inner).contains(&shard);
        let folder =
            FolderHandle::open(&self.state)?.open_or_create(OBJECTS, known)?.open_or_create(&shard, known)?;
        if !known {
            self.durable.lock().unwrap_or_else(PoisonError::into_inner).insert(shard);
        }
        ensure_object(&folder, &mut folder.duplicate()?, &name, hash, bytes)
    }

    /// Checks an object without keeping it in memory.
    pub(crate) fn check(&self, data: &DataRef) -> Result<(), JournalError> {
        match self.check_content(&data.hash)? {
            bytes if bytes == data.bytes => Ok(()),
            _other => Err(JournalError::ObjectChanged { hash: data.hash }),
        }
    }

    /// Checks an object of unknown size.
    pub(crate) fn check_hash(&self, hash: &Hash) -> Result<(), JournalError> {
        self.check_content(hash).map(|_bytes| ())
    }

    /// Returns the size of an object after comparing its content with its hash.
    fn check_content(&self, wanted: &Hash) -> Result<u64, JournalError> {
        let (folder, name) = object_path(wanted);
        let hash = || -> io::Result<Option<(u64, Hash)>> {
            let Some(file) = FolderHandle::open(&self.state)?
                .open_subfolder(OBJECTS)?
                .open_subfolder(&folder)?
                .open_file(&name)?
            else {
                return Ok(None);
            };
            hash_file(file).map(Some)
        };
        match hash() {
            Ok(Some((bytes, hash))) if hash == *wanted => Ok(bytes),
            Ok(Some(_)) => Err(JournalError::ObjectChanged { hash: *wanted }),
            Ok(None) => Err(JournalError::ObjectMissing { hash: *wanted }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(JournalError::ObjectMissing { hash: *wanted })
            }
            Err(source) => Err(io_error("read", &self.state.join(OBJECTS), source)),
        }
    }

    /// Copies an object, and checks its size and hash on the way.
    pub(crate) fn copy_to(&self, data: &DataRef, into: &mut dyn Write) -> Result<(), JournalError> {
        let failed = |source| io_error("read", &self.state.join(OBJECTS), source);
        let missing = || JournalError::ObjectMissing { hash: data.hash };
        let (folder, name) = object_path(&data.hash);
        let opened = FolderHandle::open(&self.state)
            .and_then(|state| state.open_subfolder(OBJECTS)?.open_subfolder(&folder)?.open_file(&name));
        let mut file = match opened {
            Ok(file) => file.ok_or_else(missing)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(missing()),
            Err(source) => return Err(failed(source)),
        };
        let mut hasher = blake3::Hasher::new();
        let mut piece = vec![0; CHUNK_BYTES];
        loop {
            let got = file.read(&mut piece).map_err(failed)?;
            if got == 0 {
                break;
            }
            hasher.update(&piece[..got]);
            into.write_all(&piece[..got]).map_err(failed)?;
        }
        let found = Hash::from_bytes(*hasher.finalize().as_bytes());
        if found == data.hash { Ok(()) } else { Err(JournalError::ObjectChanged { hash: data.hash }) }
    }

    /// Reads an object, and checks its size and hash.
    pub(crate) fn get(&self, data: &DataRef) -> Result<Vec<u8>, JournalError> {
        let bytes = self.get_by_hash(&data.hash)?;
        if bytes.len() as u64 != data.bytes {
            return Err(JournalError::ObjectChanged { hash: data.hash });
        }
        Ok(bytes)
    }

    /// Reads an object of unknown size, and checks its hash.
    pub(crate) fn get_by_hash(&self, wanted: &Hash) -> Result<Vec<u8>, JournalError> {
        let (folder, name) = object_path(wanted);
        let read = || {
            FolderHandle::open(&self.state)?
                .open_subfolder(OBJECTS)?
                .open_subfolder(&folder)?
                .read_file(&name)
        };
        match read() {
            Ok(Some(bytes)) if Hash::of(&bytes) == *wanted => Ok(bytes),
            Ok(Some(_)) => Err(JournalError::ObjectChanged { hash: *wanted }),
            Ok(None) => Err(JournalError::ObjectMissing { hash: *wanted }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(JournalError::ObjectMissing { hash: *wanted })
            }
            Err(source) => Err(io_error("read", &self.state.join(OBJECTS), source)),
        }
    }
}

/// The lock of the object store; released when it is dropped.
#[derive(Debug)]
pub(crate) struct StoreLock {
    _objects: FolderHandle,
}

impl StoreLock {
    /// Waits until no prune removes objects, and keeps it from starting.
    fn share(state: &Path) -> io::Result<StoreLock> {
        let objects = FolderHandle::open(state)?.open_or_create(OBJECTS, true)?;
        objects.wait_for_lock(FlockOperation::LockShared)?;
        Ok(StoreLock { _objects: objects })
    }

    /// Waits until no writer stores an object, and keeps writers from starting. Returns `None` without a store.
    pub(crate) fn exclude_writers(state: &Path) -> io::Result<Option<StoreLock>> {
        match FolderHandle::open(state)?.open_subfolder(OBJECTS) {
            Ok(objects) => {
                objects.wait_for_lock(FlockOperation::LockExclusive)?;
                Ok(Some(StoreLock { _objects: objects }))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Ensures that the object is in `folder`, intact and durable. `disk` is the same folder, for writing.
fn ensure_object(
    folder: &FolderHandle,
    disk: &mut dyn RunDisk,
    name: &str,
    hash: &Hash,
    bytes: &[u8],
) -> io::Result<()> {
    // A stored object can decay, but the result that will name it needs an intact one. An unreadable object
    // counts as damaged.
    let sound = |file| hash_file(file).is_ok_and(|found| found == (bytes.len() as u64, *hash));
    if folder.open_file(name)?.is_some_and(sound) {
        // The process that stored it may not have synced it yet.
        disk.open(name)?.sync()?;
        return disk.sync_names();
    }
    disk.replace(name, &format!("{name}.{}", unique_suffix()), bytes)
}

/// Returns a suffix for a temporary file that no other writer uses.
fn unique_suffix() -> String {
    static UNIQUE: AtomicU64 = AtomicU64::new(0);
    format!("{}-{}.tmp", std::process::id(), UNIQUE.fetch_add(1, Ordering::Relaxed))
}

/// Returns the length and the hash of a file, without keeping it in memory.
pub fn hash_file(file: File) -> io::Result<(u64, Hash)> {
    let mut hasher = blake3::Hasher::new();
    let bytes = io::copy(&mut io::BufReader::with_capacity(64 << 10, file), &mut hasher)?;
    Ok((bytes, Hash::from_bytes(*hasher.finalize().as_bytes())))
}

/// Returns the folder and the file name of an object. `verify` reports objects by them.
pub(crate) fn object_path(hash: &Hash) -> (String, String) {
    let text = hash.to_string();
    let hex = text.trim_start_matches("b3:");
    (hex.chars().take(2).collect(), hex.to_owned())
}

#[cfg(test)]
mod tests {
    use envelope::Hash;

    use super::{IN_MEMORY, ObjectFolder, ensure_object};
    use crate::disk::{FolderHandle, RunDisk};
    use crate::sim::SimDisk;

    #[test]
    fn an_object_that_another_process_did_not_sync_yet_is_made_durable() {
        let temp = tempfile::tempdir().unwrap();
        let (here, after) = (temp.path().join("here"), temp.path().join("after"));
        std::fs::create_dir(&here).unwrap();
        let mut disk = SimDisk::new(&here);
        // The other process is between its rename and its sync.
        disk.create("object").unwrap().write_at(0, b"bytes").unwrap();
        let folder = FolderHandle::open(&here).unwrap();
        ensure_object(&folder, &mut disk, "object", &Hash::of(b"bytes"), b"bytes").unwrap();
        disk.power_cut(&after, &mut || false);
        assert_eq!(std::fs::read(after.join("object")).unwrap(), b"bytes");
    }

    #[test]
    fn an_object_that_rotted_is_replaced() {
        let temp = tempfile::tempdir().unwrap();
        let mut folder = FolderHandle::open(temp.path()).unwrap();
        folder.create("object").unwrap().write_at(0, b"bytEs").unwrap();
        let read = FolderHandle::open(temp.path()).unwrap();
        ensure_object(&read, &mut folder, "object", &Hash::of(b"bytes"), b"bytes").unwrap();
        assert_eq!(read.read_file("object").unwrap().unwrap(), b"bytes");
        assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 1);
    }

    #[test]
    fn content_of_any_size_is_stored_once_by_its_hash() {
        let temp = tempfile::tempdir().unwrap();
        let objects = ObjectFolder::for_run(&temp.path().join("runs").join("run"));
        std::fs::create_dir_all(temp.path().join("runs").join("run")).unwrap();
        for size in [0, 1, IN_MEMORY as usize, IN_MEMORY as usize + 1, 3 * IN_MEMORY as usize + 7] {
            let bytes: Vec<u8> = (0..size).map(|n| (n % 251) as u8).collect();
            let kept = objects.put_from(&mut bytes.as_slice()).unwrap();
            assert_eq!(kept, objects.put_from(&mut bytes.as_slice()).unwrap());
            assert_eq!((kept.hash, kept.bytes), (Hash::of(&bytes), size as u64));
            assert_eq!(objects.get(&kept).unwrap(), bytes);
            let mut copy = Vec::new();
            objects.copy_to(&kept, &mut copy).unwrap();
            assert_eq!(copy, bytes);
        }
        let files = walk(&temp.path().join("objects"));
        assert_eq!(files, 5, "no temporary file stays");
    }

    fn walk(folder: &std::path::Path) -> usize {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.map(|path| if path.is_dir() { walk(&path) } else { 1 }).sum()
    }
}
