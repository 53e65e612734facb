//! The file operations of a journal, behind a trait so that tests can make any of them fail.
//!
//! Everything is opened relative to a folder handle, never through a link, closed on exec, and readable by
//! its owner only, because a run contains the text of notes. No operation is retried after a failure: after a
//! failed sync the kernel may have dropped the pages it could not write.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags};

use crate::no_links::open_folder_no_links;

/// The write access to a run folder.
pub(crate) trait RunDisk: Send {
    /// Creates a file. Fails if it exists.
    fn create(&mut self, name: &str) -> io::Result<Box<dyn LogFile>>;
    /// Opens a file for writing. Fails if it does not exist.
    fn open(&mut self, name: &str) -> io::Result<Box<dyn LogFile>>;
    /// Replaces the content of `name` atomically and durably. The bytes are first written to `temporary`;
    /// writers that share a folder need different temporary names.
    fn replace(&mut self, name: &str, temporary: &str, bytes: &[u8]) -> io::Result<()>;
    fn remove(&mut self, name: &str) -> io::Result<()>;
    /// Makes the directory entries durable.
    fn sync_names(&mut self) -> io::Result<()>;
    /// Returns a second handle on the same folder.
    fn share(&self) -> io::Result<Box<dyn RunDisk>>;
}

/// One open file of a run folder.
pub(crate) trait LogFile: Send {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    fn truncate(&mut self, len: u64) -> io::Result<()>;
    /// Makes the bytes, and the length if it changed, durable.
    fn sync(&mut self) -> io::Result<()>;
}

/// An open folder.
#[derive(Debug)]
pub(crate) struct FolderHandle {
    fd: OwnedFd,
    path: PathBuf,
}

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const PLAIN: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC);
const OWNER_FILE: Mode = Mode::RUSR.union(Mode::WUSR);
const OWNER_FOLDER: Mode = Mode::RWXU;

impl FolderHandle {
    /// Opens a folder. Fails if the path contains a symbolic link, so that write access to a parent folder
    /// does not allow redirecting the record.
    pub(crate) fn open(path: &Path) -> io::Result<FolderHandle> {
        Ok(FolderHandle { fd: open_folder_no_links(path)?, path: path.to_owned() })
    }

    /// Creates the folder, and missing folders above it. Fails if it exists. The whole path is durable when
    /// this returns.
    pub(crate) fn create(path: &Path) -> io::Result<FolderHandle> {
        create_folders(path, &mut |folder| Ok(rustix::fs::fsync(&folder.fd)?))
    }

    /// Opens a folder in this one and creates it if it does not exist. Its name is durable when this returns.
    /// An existing folder is synced too, unless `known_durable`: another process may have created it a moment
    /// ago without syncing it yet.
    pub(crate) fn open_or_create(&self, name: &str, known_durable: bool) -> io::Result<FolderHandle> {
        match rustix::fs::mkdirat(&self.fd, name, OWNER_FOLDER) {
            Err(rustix::io::Errno::EXIST) if known_durable => {}
            Ok(()) | Err(rustix::io::Errno::EXIST) => rustix::fs::fsync(&self.fd)?,
            Err(error) => return Err(error.into()),
        }
        self.open_subfolder(name)
    }

    pub(crate) fn open_subfolder(&self, name: &str) -> io::Result<FolderHandle> {
        Ok(FolderHandle {
            fd: rustix::fs::openat(&self.fd, name, FOLDER, Mode::empty())?,
            path: self.path.join(name),
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a file for reading; returns `None` if it does not exist.
    pub(crate) fn open_file(&self, name: &str) -> io::Result<Option<File>> {
        // Without NONBLOCK a named pipe in the folder would hang the reader.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | PLAIN;
        match rustix::fs::openat(&self.fd, name, flags, Mode::empty()) {
            Ok(fd) => Ok(Some(File::from(fd))),
            Err(rustix::io::Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn read_file(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        let Some(mut file) = self.open_file(name)? else { return Ok(None) };
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    /// Returns the names in the folder, sorted. Names that are not UTF-8 are left out.
    pub(crate) fn entry_names(&self) -> io::Result<Vec<String>> {
        Ok(self.entry_names_and_others()?.0)
    }

    /// Returns the names in the folder, sorted, and those that are not UTF-8, with replacement characters.
    pub(crate) fn entry_names_and_others(&self) -> io::Result<(Vec<String>, Vec<String>)> {
        let (mut names, mut others) = (Vec::new(), Vec::new());
        for entry in rustix::fs::Dir::read_from(&self.fd)? {
            let entry = entry?;
            match entry.file_name().to_str() {
                Ok("." | "..") => {}
                Ok(name) => names.push(name.to_owned()),
                Err(_) => others.push(entry.file_name().to_string_lossy().into_owned()),
            }
        }
        names.sort();
        others.sort();
        Ok((names, others))
    }

    /// Whether the entry is a folder; a link to one is not.
    pub(crate) fn is_folder(&self, name: &str) -> io::Result<bool> {
        Ok(self.kind_and_size(name)?.is_some_and(|(kind, _)| kind == FileType::Directory))
    }

    pub(crate) fn is_link(&self, name: &str) -> io::Result<bool> {
        Ok(self.kind_and_size(name)?.is_some_and(|(kind, _)| kind == FileType::Symlink))
    }

    /// Returns the size of a file; `None` if the entry is something else, or gone.
    pub(crate) fn file_size(&self, name: &str) -> io::Result<Option<u64>> {
        let found = self.kind_and_size(name)?;
        Ok(found.filter(|(kind, _)| *kind == FileType::RegularFile).map(|(_, bytes)| bytes))
    }

    fn kind_and_size(&self, name: &str) -> io::Result<Option<(FileType, u64)>> {
        match rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => {
                let bytes = u64::try_from(found.st_size).unwrap_or(0);
                Ok(Some((FileType::from_raw_mode(found.st_mode), bytes)))
            }
            Err(rustix::io::Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes an empty folder.
    pub(crate) fn remove_folder(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR)?)
    }

    /// Moves a file to another folder under another name; the new name is durable when this returns.
    pub(crate) fn rename_into(&self, name: &str, other: &FolderHandle, new_name: &str) -> io::Result<()> {
        rustix::fs::renameat(&self.fd, name, &other.fd, new_name)?;
        Ok(rustix::fs::fsync(&other.fd)?)
    }

    /// Locks the folder for one writer. Returns false if another writer has the lock. The lock is released
    /// when every copy of the handle is closed, so also when the process ends.
    pub(crate) fn lock(&self) -> io::Result<bool> {
        match rustix::fs::flock(&self.fd, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Locks the folder, and waits for it as long as another lock excludes that.
    pub(crate) fn wait_for_lock(&self, operation: FlockOperation) -> io::Result<()> {
        loop {
            match rustix::fs::flock(&self.fd, operation) {
                Err(rustix::io::Errno::INTR) => {}
                done => return Ok(done?),
            }
        }
    }

    /// Whether a writer has locked the folder. The check takes a shared lock for a moment, which does not
    /// disturb other checks.
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

    /// Returns a second handle that shares the lock.
    pub(crate) fn duplicate(&self) -> io::Result<FolderHandle> {
        Ok(FolderHandle { fd: self.fd.try_clone()?, path: self.path.clone() })
    }

    /// Creates a file for a caller that writes it without the journal. Fails if it exists.
    pub(crate) fn create_file(&self, name: &str) -> io::Result<File> {
        self.open_for_writing(name, OFlags::CREATE | OFlags::EXCL)
    }

    /// Opens a file with these flags, relative to the folder.
    pub(crate) fn open_with(&self, name: &str, flags: OFlags, mode: Mode) -> io::Result<File> {
        Ok(File::from(rustix::fs::openat(&self.fd, name, flags, mode)?))
    }

    /// Returns the metadata of a path below the folder. Does not follow a link at its end.
    pub(crate) fn stat(&self, path: &str) -> io::Result<rustix::fs::Stat> {
        Ok(rustix::fs::statat(&self.fd, path, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Removes a file without making that durable. Returns false if it is still there.
    pub(crate) fn remove_quietly(&self, name: &str) -> bool {
        matches!(
            rustix::fs::unlinkat(&self.fd, name, AtFlags::empty()),
            Ok(()) | Err(rustix::io::Errno::NOENT)
        )
    }

    /// Opens a file to append to it, and creates it if it does not exist.
    pub(crate) fn append_to_file(&self, name: &str) -> io::Result<File> {
        self.open_for_writing(name, OFlags::CREATE | OFlags::APPEND)
    }

    fn open_for_writing(&self, name: &str, how: OFlags) -> io::Result<File> {
        let fd = rustix::fs::openat(&self.fd, name, OFlags::RDWR | PLAIN | how, OWNER_FILE)?;
        Ok(File::from(fd))
    }
}

/// Levels above a run folder that runs share: the runs folder and the state folder.
const SHARED_ABOVE: usize = 2;

/// Creates the folder `path`, which must not exist, and the missing folders above it. Then calls `sync` for
/// the parent of each new folder: after a power cut an unsynced name may be gone, with everything under it.
/// The shared folders are synced even if they existed, because the process that created them may not have
/// done it yet.
fn create_folders(
    path: &Path,
    sync: &mut dyn FnMut(&FolderHandle) -> io::Result<()>,
) -> io::Result<FolderHandle> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let mut above = open_or_create_folders(&folder_above(path))?;
    while above.len() < SHARED_ABOVE
        && let Some(first) = above.first()
        && first.path.parent().is_some()
    {
        let shared = FolderHandle::open(&folder_above(&first.path))?;
        above.insert(0, shared);
    }
    let around = above.last().ok_or(io::ErrorKind::InvalidInput)?;
    rustix::fs::mkdirat(&around.fd, name, OWNER_FOLDER)?;
    let made = FolderHandle {
        fd: rustix::fs::openat(&around.fd, name, FOLDER, Mode::empty())?,
        path: around.path.join(name),
    };
    above.iter().rev().try_for_each(sync)?;
    Ok(made)
}

/// Opens the folder `path`, and creates it and the missing folders above it. Returns the handles of the
/// created folders and of the first existing one above them, outermost first.
fn open_or_create_folders(path: &Path) -> io::Result<Vec<FolderHandle>> {
    match FolderHandle::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && path.parent().is_some() => {}
        opened => return Ok(vec![opened?]),
    }
    let mut above = open_or_create_folders(&folder_above(path))?;
    let (around, name) = above.last().zip(path.file_name()).ok_or(io::ErrorKind::InvalidInput)?;
    match rustix::fs::mkdirat(&around.fd, name, OWNER_FOLDER) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    let fd = rustix::fs::openat(&around.fd, name, FOLDER, Mode::empty())?;
    above.push(FolderHandle { fd, path: path.to_owned() });
    Ok(above)
}

/// Returns the parent folder of `path`. The parent of a relative path with one segment is the current folder.
pub(crate) fn folder_above(path: &Path) -> PathBuf {
    match path.parent() {
        Some(above) if !above.as_os_str().is_empty() => above.to_owned(),
        Some(_) | None => PathBuf::from("."),
    }
}

/// Creates a folder for the owner only, with the missing folders above it, unless it exists. Fails if the
/// path contains a symbolic link.
pub(crate) fn ensure_folder(path: &Path) -> io::Result<()> {
    open_or_create_folders(path).map(|_opened| ())
}

impl RunDisk for FolderHandle {
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

    fn share(&self) -> io::Result<Box<dyn RunDisk>> {
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

    use super::{FolderHandle, create_folders};

    fn synced(root: &std::path::Path, path: &str) -> Vec<PathBuf> {
        let mut synced = Vec::new();
        create_folders(&root.join(path), &mut |folder| {
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
        let open = || FolderHandle::open(temp.path()).unwrap();
        let (looking, also_looking) = (open(), open());
        rustix::fs::flock(&looking.fd, rustix::fs::FlockOperation::NonBlockingLockShared).unwrap();
        assert!(!also_looking.is_locked().unwrap());
        looking.unlock().unwrap();
        assert!(looking.lock().unwrap());
        assert!(also_looking.is_locked().unwrap());
    }
}
