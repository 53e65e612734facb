//! A file that only its owner can read, in a folder that only its owner can change.
//!
//! All operations are relative to the handle of the folder, so that the folder that was checked is the one that is used.

use std::ffi::OsStr;
use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};

use super::token_file::TokenError;

/// A file name in an open folder that belongs to this user.
pub(super) struct PrivateFile<'a> {
    folder: OwnedFd,
    name: &'a OsStr,
    path: &'a Path,
}

impl<'a> PrivateFile<'a> {
    /// Opens the folder; creates it if it is missing. Fails if another user could write to it.
    pub(super) fn open(path: &'a Path) -> Result<PrivateFile<'a>, TokenError> {
        let name = path.file_name().ok_or_else(|| TokenError::NoName { path: path.to_owned() })?;
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            Some(_) | None => Path::new("."),
        };
        let failed = |action, source: io::Error| TokenError::Io { action, path: folder.to_owned(), source };
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(|error| failed("make the folder", error))?;
        let opened = rustix::fs::open(folder, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .map_err(|error| failed("open the folder", error.into()))?;
        let stat = rustix::fs::fstat(&opened).map_err(|error| failed("look at the folder", error.into()))?;
        let mode = stat.st_mode & 0o777;
        if mode & 0o022 != 0 {
            return Err(TokenError::OpenFolder { path: folder.to_owned(), mode });
        }
        if !is_ours(&stat) {
            return Err(TokenError::ForeignFolder { path: folder.to_owned() });
        }
        Ok(PrivateFile { folder: opened, name, path })
    }

    /// Locks the folder against other processes until this value is dropped.
    pub(super) fn lock(&self) -> Result<(), TokenError> {
        rustix::fs::flock(&self.folder, FlockOperation::LockExclusive)
            .map_err(|error| self.io("lock the folder of", error.into()))
    }

    /// Returns the first `most` bytes of the file; `None` if it does not exist. Fails if others can read it.
    pub(super) fn read(&self, most: u64) -> Result<Option<Vec<u8>>, TokenError> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&self.folder, self.name, flags, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err(TokenError::Link { path: self.path.to_owned() }),
            Err(error) => return Err(self.io("open", error.into())),
        };
        let stat = rustix::fs::fstat(&file).map_err(|error| self.io("look at", error.into()))?;
        let mode = stat.st_mode & 0o777;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(TokenError::NotAFile { path: self.path.to_owned() });
        }
        if !is_ours(&stat) {
            return Err(TokenError::ForeignOwner { path: self.path.to_owned() });
        }
        if mode & 0o077 != 0 {
            return Err(TokenError::OpenToOthers { path: self.path.to_owned(), mode });
        }
        let mut bytes = Vec::new();
        File::from(file).take(most).read_to_end(&mut bytes).map_err(|error| self.io("read", error))?;
        Ok(Some(bytes))
    }

    /// Writes the file unless it exists.
    pub(super) fn create(&self, bytes: &[u8]) -> Result<(), TokenError> {
        match self.write(bytes, RenameFlags::NOREPLACE) {
            Err(TokenError::Io { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            named => named,
        }
    }

    /// Writes the file, replacing an existing one.
    pub(super) fn replace(&self, bytes: &[u8]) -> Result<(), TokenError> {
        self.write(bytes, RenameFlags::empty())
    }

    /// Writes a temporary file and renames it, so that the file is complete or absent.
    fn write(&self, bytes: &[u8], how: RenameFlags) -> Result<(), TokenError> {
        let temporary = format!(".{}", blake3::hash(&self.random()?).to_hex());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.folder, &temporary, flags, Mode::RUSR | Mode::WUSR)
            .map_err(|error| self.io("make", error.into()))?;
        let named = self.fill(&File::from(file), bytes).and_then(|()| {
            rustix::fs::renameat_with(&self.folder, &temporary, &self.folder, self.name, how)
                .map_err(|error| self.io("name", error.into()))
        });
        if named.is_err() {
            // Best effort: a leftover is readable for its owner only and is used by no client.
            let _removed = rustix::fs::unlinkat(&self.folder, &temporary, AtFlags::empty());
        }
        named
    }

    fn fill(&self, mut file: &File, bytes: &[u8]) -> Result<(), TokenError> {
        // The umask may have removed the owner's own permissions.
        rustix::fs::fchmod(file, Mode::RUSR | Mode::WUSR)
            .map_err(|error| self.io("close to others", error.into()))?;
        file.write_all(bytes).map_err(|error| self.io("write", error))?;
        file.sync_all().map_err(|error| self.io("write", error))
    }

    /// Returns random bytes of the system. Fails if it has none.
    pub(super) fn random(&self) -> Result<[u8; 32], TokenError> {
        let mut bytes = [0; 32];
        match getrandom(&mut bytes, GetRandomFlags::empty()) {
            Ok(32) => Ok(bytes),
            Ok(_) => Err(self.io("find randomness for", io::ErrorKind::UnexpectedEof.into())),
            Err(error) => Err(self.io("find randomness for", error.into())),
        }
    }

    pub(super) fn io(&self, action: &'static str, source: io::Error) -> TokenError {
        TokenError::Io { action, path: self.path.to_owned(), source }
    }
}

fn is_ours(stat: &Stat) -> bool {
    stat.st_uid == rustix::process::geteuid().as_raw()
}
