//! The few file operations a journal needs, behind a trait so that tests can fail any of them.
//!
//! Everything is opened relative to a folder handle, never through a link, closed on exec, and readable by
//! its owner only: a run holds the contents of notes. No operation is retried after a failure; after a
//! failed sync the kernel may have dropped the pages it could not write.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};

use crate::no_links::open_folder_no_links;

/// The write side of a run folder.
pub(crate) trait Disk: Send {
    /// Makes a file that must not exist yet.
    fn create(&mut self, name: &str) -> io::Result<Box<dyn LogFile>>;
    /// Opens a file for writing; it must exist.
    fn open(&mut self, name: &str) -> io::Result<Box<dyn LogFile>>;
    /// Puts new bytes in the place of `name`, whole or not at all, and makes that durable. `temporary` is
    /// where they are written first; writers that share a folder need different ones.
    fn replace(&mut self, name: &str, temporary: &str, bytes: &[u8]) -> io::Result<()>;
    fn remove(&mut self, name: &str) -> io::Result<()>;
    /// Makes the names in the folder durable.
    fn sync_names(&mut self) -> io::Result<()>;
    /// A second handle on the same folder.
    fn share(&self) -> io::Result<Box<dyn Disk>>;
}

/// One open file of a run folder.
pub(crate) trait LogFile: Send {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    fn truncate(&mut self, len: u64) -> io::Result<()>;
    /// Makes the bytes, and the length if it changed, durable.
    fn sync(&mut self) -> io::Result<()>;
}

/// A folder by its handle.
#[derive(Debug)]
pub(crate) struct Dir {
    fd: OwnedFd,
    path: PathBuf,
}

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const PLAIN: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC);
const OWNER_FILE: Mode = Mode::RUSR.union(Mode::WUSR);
const OWNER_FOLDER: Mode = Mode::RWXU;

impl Dir {
    /// Opens a folder. Refuses a path with a link in it: whoever can replace a folder above must not choose
    /// where a record is kept.
    pub(crate) fn open(path: &Path) -> io::Result<Dir> {
        Ok(Dir { fd: open_folder_no_links(path)?, path: path.to_owned() })
    }

    /// Makes the folder, which must not exist; folders above it are made as needed. The way to it is
    /// durable when this returns.
    pub(crate) fn create(path: &Path) -> io::Result<Dir> {
        make_folders(path, &mut |folder| Ok(rustix::fs::fsync(&folder.fd)?))
    }

    /// Opens a folder in this one and makes it first if it is not there. Its name is durable when this
    /// returns: another process may have made it a moment ago and not synced it yet, so one that is there
    /// is synced too, unless the caller knows that it is durable.
    pub(crate) fn ensure(&self, name: &str, known_durable: bool) -> io::Result<Dir> {
        match rustix::fs::mkdirat(&self.fd, name, OWNER_FOLDER) {
            Err(rustix::io::Errno::EXIST) if known_durable => {}
            Ok(()) | Err(rustix::io::Errno::EXIST) => rustix::fs::fsync(&self.fd)?,
            Err(error) => return Err(error.into()),
        }
        self.sub(name)
    }

    pub(crate) fn sub(&self, name: &str) -> io::Result<Dir> {
        Ok(Dir { fd: rustix::fs::openat(&self.fd, name, FOLDER, Mode::empty())?, path: self.path.join(name) })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a file for reading; `None` when it is not there.
    pub(crate) fn read(&self, name: &str) -> io::Result<Option<File>> {
        // Without NONBLOCK a named pipe in the folder would hang the reader.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | PLAIN;
        match rustix::fs::openat(&self.fd, name, flags, Mode::empty()) {
            Ok(fd) => Ok(Some(File::from(fd))),
            Err(rustix::io::Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn read_all(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        let Some(mut file) = self.read(name)? else { return Ok(None) };
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    /// The names in the folder, in order. Those that are no text are left out.
    pub(crate) fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.fd)? {
            let entry = entry?;
            if let Ok(name) = entry.file_name().to_str()
                && !matches!(name, "." | "..")
            {
                names.push(name.to_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    /// Moves a file to another folder under another name, durably there.
    pub(crate) fn rename_into(&self, name: &str, other: &Dir, new_name: &str) -> io::Result<()> {
        rustix::fs::renameat(&self.fd, name, &other.fd, new_name)?;
        Ok(rustix::fs::fsync(&other.fd)?)
    }

    /// Takes the folder for one writer; false when another has it. Released when every copy of the handle
    /// is closed, so also when the process dies.
    pub(crate) fn lock(&self) -> io::Result<bool> {
        match rustix::fs::flock(&self.fd, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether a writer has the folder. Looking shares the lock with others who look, for a moment.
    pub(crate) fn is_locked(&self) -> io::Result<bool> {
        match rustix::fs::flock(&self.fd, FlockOperation::NonBlockingLockShared) {
            Ok(()) => self.unlock().map(|()| false),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn unlock(&self) -> io::Result<()> {
        Ok(rustix::fs::flock(&self.fd, FlockOperation::Unlock)?)
    }

    /// A second handle that shares the lock.
    pub(crate) fn duplicate(&self) -> io::Result<Dir> {
        Ok(Dir { fd: self.fd.try_clone()?, path: self.path.clone() })
    }

    /// Makes a file that must not exist yet, for whoever writes it by themselves.
    pub(crate) fn create_file(&self, name: &str) -> io::Result<File> {
        self.open_for_writing(name, OFlags::CREATE | OFlags::EXCL)
    }

    fn open_for_writing(&self, name: &str, how: OFlags) -> io::Result<File> {
        let fd = rustix::fs::openat(&self.fd, name, OFlags::RDWR | PLAIN | how, OWNER_FILE)?;
        Ok(File::from(fd))
    }
}

/// Folders that runs share: the one they are in, and the state folder around that.
const SHARED_ABOVE: usize = 2;

/// Makes the folder `path`, which must not exist, and those above it that are missing. Then `sync`s the folder
/// around each new one: a name that is not synced may be gone after a power cut, with all that is under it.
/// The shared folders are synced even if they were there, since whoever made them may not have done it yet.
fn make_folders(path: &Path, sync: &mut dyn FnMut(&Dir) -> io::Result<()>) -> io::Result<Dir> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let mut above = open_or_make(&folder_above(path))?;
    while above.len() < SHARED_ABOVE
        && let Some(first) = above.first()
        && first.path.parent().is_some()
    {
        let shared = Dir::open(&folder_above(&first.path))?;
        above.insert(0, shared);
    }
    let around = above.last().ok_or(io::ErrorKind::InvalidInput)?;
    rustix::fs::mkdirat(&around.fd, name, OWNER_FOLDER)?;
    let made = Dir {
        fd: rustix::fs::openat(&around.fd, name, FOLDER, Mode::empty())?,
        path: around.path.join(name),
    };
    above.iter().rev().try_for_each(sync)?;
    Ok(made)
}

/// The folder `path`, after those above it that had to be made for it and the one that these are in.
fn open_or_make(path: &Path) -> io::Result<Vec<Dir>> {
    match Dir::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && path.parent().is_some() => {}
        opened => return Ok(vec![opened?]),
    }
    let mut above = open_or_make(&folder_above(path))?;
    let (around, name) = above.last().zip(path.file_name()).ok_or(io::ErrorKind::InvalidInput)?;
    match rustix::fs::mkdirat(&around.fd, name, OWNER_FOLDER) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    let fd = rustix::fs::openat(&around.fd, name, FOLDER, Mode::empty())?;
    above.push(Dir { fd, path: path.to_owned() });
    Ok(above)
}

/// The folder that `path` is in. A relative path of one name is in the current folder.
pub(crate) fn folder_above(path: &Path) -> PathBuf {
    match path.parent() {
        Some(above) if !above.as_os_str().is_empty() => above.to_owned(),
        Some(_) | None => PathBuf::from("."),
    }
}

/// Makes a folder for the owner only, and those above it that are missing, unless it is there. Refuses a path with a
/// link in it.
pub(crate) fn ensure_folder(path: &Path) -> io::Result<()> {
    open_or_make(path).map(|_opened| ())
}

impl Disk for Dir {
    fn create(&mut self, name: &str) -> io::Result<Box<dyn LogFile>> {
        Ok(Box::new(self.open_for_writing(name, OFlags::CREATE | OFlags::EXCL)?))
    }

    fn open(&mut self, name: &str) -> io::Result<Box<dyn LogFile>> {
        Ok(Box::new(self.open_for_writing(name, OFlags::empty())?))
    }

    fn replace(&mut self, name: &str, temporary: &str, bytes: &[u8]) -> io::Result<()> {
        // A crash may have left the temporary file.
        match rustix::fs::unlinkat(&self.fd, temporary, AtFlags::empty()) {
            Ok(()) | Err(rustix::io::Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        let mut file = self.open_for_writing(temporary, OFlags::CREATE | OFlags::EXCL)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        rustix::fs::renameat(&self.fd, temporary, &self.fd, name)?;
        Ok(rustix::fs::fsync(&self.fd)?)
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.fd, name, AtFlags::empty())?)
    }

    fn sync_names(&mut self) -> io::Result<()> {
        Ok(rustix::fs::fsync(&self.fd)?)
    }

    fn share(&self) -> io::Result<Box<dyn Disk>> {
        Ok(Box::new(self.duplicate()?))
    }
}

impl LogFile for File {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.write_all_at(bytes, offset)
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.set_len(len)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{Dir, make_folders};

    fn synced(root: &std::path::Path, path: &str) -> Vec<PathBuf> {
        let mut synced = Vec::new();
        make_folders(&root.join(path), &mut |folder| {
            synced.push(folder.path.strip_prefix(root).unwrap().to_owned());
            Ok(())
        })
        .unwrap();
        synced
    }

    #[test]
    fn the_folder_around_every_new_folder_is_synced() {
        let temp = tempfile::tempdir().unwrap();
        let all = ["deep/state/runs", "deep/state", "deep", ""].map(PathBuf::from);
        assert_eq!(synced(temp.path(), "deep/state/runs/run-1"), all);
        let shared = ["deep/state/runs", "deep/state"].map(PathBuf::from);
        assert_eq!(synced(temp.path(), "deep/state/runs/run-2"), shared);
    }

    #[test]
    fn who_looks_at_a_lock_is_not_seen_by_others_who_look() {
        let temp = tempfile::tempdir().unwrap();
        let open = || Dir::open(temp.path()).unwrap();
        let (looking, also_looking) = (open(), open());
        rustix::fs::flock(&looking.fd, rustix::fs::FlockOperation::NonBlockingLockShared).unwrap();
        assert!(!also_looking.is_locked().unwrap());
        looking.unlock().unwrap();
        assert!(looking.lock().unwrap());
        assert!(also_looking.is_locked().unwrap());
    }
}
