//! System calls that differ between systems: the only module of the crate that is not plain POSIX.
//!
//! `linux` uses `openat2`, unnamed files and the flags of `renameat2`. `portable` uses `openat`, one component
//! at a time, and the flags of `renameatx_np` on Apple's systems or hard links elsewhere; what a system has no
//! call for returns an error there, and the callers have a way without it. Build with `--cfg tollgate_portable`
//! to use `portable` on Linux.

#[cfg(all(target_os = "linux", not(tollgate_portable)))]
mod linux;
#[cfg(any(not(target_os = "linux"), tollgate_portable))]
mod portable;

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use cap_std::fs::Dir;
use envelope::VaultPath;
use rustix::fs::{AtFlags, FileType, Mode, Stat};
use rustix::io::Errno;

#[cfg(all(target_os = "linux", not(tollgate_portable)))]
pub(crate) use linux::{
    RENAMES_IN_ONE_STEP, create_unnamed_file, link_unnamed_file, open_folder_beneath, rename_exchange,
    rename_noreplace, sync,
};
#[cfg(any(not(target_os = "linux"), tollgate_portable))]
pub(crate) use portable::{
    RENAMES_IN_ONE_STEP, create_unnamed_file, link_unnamed_file, open_folder_beneath, rename_exchange,
    rename_noreplace, sync,
};

/// Returns the name on disk for a part of a path, which can have escapes. Every system call takes its names from here, so
/// that `a\x3Ab.md` is always the file `a:b.md`. Fails with `INVAL` for a text that is no such part.
pub(crate) fn disk_name(name: &str) -> Result<Cow<'_, OsStr>, Errno> {
    if !name.contains('\\') {
        return Ok(Cow::Borrowed(OsStr::new(name)));
    }
    match VaultPath::unescape_name(name).ok_or(Errno::INVAL)? {
        Cow::Borrowed(raw) => Ok(Cow::Borrowed(OsStr::from_bytes(raw))),
        Cow::Owned(raw) => Ok(Cow::Owned(OsString::from_vec(raw))),
    }
}

/// The permission bits of a mode.
const PERMISSIONS: u32 = 0o7777;

/// Device and inode: the same file or folder under any name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct FileIdentity {
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

/// Seconds since the epoch and nanoseconds.
pub(crate) type FileTime = (i64, u64);

/// Metadata of a file or folder, with the same types on every system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileStat {
    pub(crate) identity: FileIdentity,
    pub(crate) size: u64,
    /// How many names it has.
    pub(crate) links: u64,
    pub(crate) permissions: u32,
    pub(crate) modified: FileTime,
    /// When content or metadata were last changed.
    pub(crate) changed: FileTime,
    file_type: FileType,
}

impl FileStat {
    /// Returns the metadata of an open file or folder.
    pub(crate) fn of(file: impl AsFd) -> Result<FileStat, Errno> {
        rustix::fs::fstat(file).map(|stat| FileStat::from(&stat))
    }

    /// Returns the metadata of an entry of a folder. A link is not followed.
    pub(crate) fn at(dir: &Dir, name: &str) -> Result<FileStat, Errno> {
        rustix::fs::statat(dir, disk_name(name)?, AtFlags::SYMLINK_NOFOLLOW).map(|stat| FileStat::from(&stat))
    }

    pub(crate) fn file_type(&self) -> FileType {
        self.file_type
    }

    /// Returns the time of the last write in milliseconds since the epoch.
    pub(crate) fn mtime_ms(&self) -> i64 {
        let (seconds, nanos) = self.modified;
        let millis = i64::try_from(nanos / 1_000_000).unwrap_or_default();
        seconds.saturating_mul(1000).saturating_add(millis)
    }
}

impl From<&Stat> for FileStat {
    fn from(stat: &Stat) -> FileStat {
        let mode = u32::try_from(unsigned(stat.st_mode)).unwrap_or_default();
        FileStat {
            identity: FileIdentity { device: unsigned(stat.st_dev), inode: unsigned(stat.st_ino) },
            size: unsigned(stat.st_size),
            links: unsigned(stat.st_nlink),
            permissions: mode & PERMISSIONS,
            modified: (signed(stat.st_mtime), unsigned(stat.st_mtime_nsec)),
            changed: (signed(stat.st_ctime), unsigned(stat.st_ctime_nsec)),
            file_type: FileType::from_raw_mode(stat.st_mode),
        }
    }
}

/// Returns the permission bits as the type that system calls take.
pub(crate) fn mode(permissions: u32) -> Mode {
    Mode::from_raw_mode(narrow(permissions & PERMISSIONS))
}

// The width and the sign of these numbers differ between systems.
fn unsigned(number: impl TryInto<i128>) -> u64 {
    let number: i128 = number.try_into().unwrap_or_default();
    u64::try_from(number & i128::from(u64::MAX)).unwrap_or_default()
}

fn signed(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or_default()
}

fn narrow<T: TryFrom<u32> + Default>(bits: u32) -> T {
    T::try_from(bits).unwrap_or_default()
}

/// Returns a path on disk, whose names can have escapes.
#[cfg(all(target_os = "linux", not(tollgate_portable)))]
fn disk_path(path: &VaultPath) -> Result<Cow<'_, OsStr>, Errno> {
    if path.is_portable() {
        return Ok(Cow::Borrowed(OsStr::new(path.as_str())));
    }
    let names: Vec<_> = path.segments().map(disk_name).collect::<Result<_, _>>()?;
    Ok(Cow::Owned(names.join(OsStr::new("/"))))
}
