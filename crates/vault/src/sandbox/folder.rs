//! The few things done with one open folder: each takes a single name and never follows a link.

use std::fs::File;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

/// The part of a mode that says who may do what.
const PERMISSIONS: u32 = 0o7777;

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Folder,
    Link,
    /// A pipe, a socket or a device.
    Other,
}

impl Kind {
    fn of(kind: FileType) -> Kind {
        if kind.is_file() {
            Kind::File
        } else if kind.is_dir() {
            Kind::Folder
        } else if kind.is_symlink() {
            Kind::Link
        } else {
            Kind::Other
        }
    }
}

/// One name in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) name: String,
    /// Some file systems do not say.
    pub(super) kind: Option<Kind>,
}

/// What a folder holds, and how many names in it are not text.
#[derive(Debug, Default)]
pub(super) struct Names {
    pub(super) named: Vec<Named>,
    pub(super) unreadable: u64,
}

/// A name that can be neither a way up nor a way down: what all functions here rely on.
fn is_single(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.contains(['/', '\0'])
}

fn single(name: &str) -> Result<&str, Errno> {
    if is_single(name) { Ok(name) } else { Err(Errno::INVAL) }
}

pub(super) fn stat(dir: &Dir, name: &str) -> Result<Stat, Errno> {
    rustix::fs::statat(dir, single(name)?, AtFlags::SYMLINK_NOFOLLOW)
}

pub(super) fn kind(stat: &Stat) -> Kind {
    Kind::of(FileType::from_raw_mode(stat.st_mode))
}

pub(super) fn open_folder(dir: &Dir, name: &str) -> Result<Dir, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(dir, single(name)?, flags, Mode::empty()).map(|fd| Dir::from_std_file(File::from(fd)))
}

/// Opens a folder by its path in the system. A handle that can only name things, which is what is usually
/// asked for, could be neither listed nor synced.
pub(super) fn open_ambient(path: &Path) -> std::io::Result<Dir> {
    let dir = Dir::open_ambient_dir(path, ambient_authority())?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(&dir, ".", flags, Mode::empty())?;
    Ok(Dir::from_std_file(File::from(fd)))
}

/// Opens a file for reading. `NONBLOCK` keeps a pipe that was put in its place from holding us for ever.
pub(super) fn open_file(dir: &Dir, name: &str) -> Result<File, Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    rustix::fs::openat(dir, single(name)?, flags, Mode::empty()).map(File::from)
}

/// Makes a folder. A mode that is given is the one it gets, whatever the system takes off at first, and a private
/// folder is never open to others, not even for a moment.
pub(super) fn make_folder(dir: &Dir, name: &str, mode: Option<u32>) -> Result<(), Errno> {
    let Some(mode) = mode else {
        return rustix::fs::mkdirat(dir, single(name)?, Mode::from_raw_mode(0o777));
    };
    rustix::fs::mkdirat(dir, single(name)?, Mode::from_raw_mode((mode & 0o777) | 0o700))?;
    rustix::fs::fchmod(open_folder(dir, name)?, Mode::from_raw_mode(mode & PERMISSIONS))
}

/// What a file or a folder may be used for.
pub(super) fn permissions(stat: &Stat) -> u32 {
    stat.st_mode & PERMISSIONS
}

/// The text of a link. A target that is not UTF-8 cannot be a place in the vault that anyone can name.
pub(super) fn link_target(dir: &Dir, name: &str) -> Result<String, Errno> {
    let target = rustix::fs::readlinkat(dir, single(name)?, Vec::new())?;
    target.into_string().map_err(|_| Errno::ILSEQ)
}

/// Every name in the folder, in no order.
pub(super) fn names(dir: &Dir) -> Result<Names, Errno> {
    let mut names = Names::default();
    for entry in rustix::fs::Dir::read_from(dir)? {
        let entry = entry?;
        let raw = entry.file_name().to_bytes();
        if matches!(raw, b"." | b"..") {
            continue;
        }
        match std::ffi::OsStr::from_bytes(raw).to_str() {
            Some(name) => {
                let said = entry.file_type();
                let kind = (said != FileType::Unknown).then(|| Kind::of(said));
                names.named.push(Named { name: name.to_owned(), kind });
            }
            None => names.unreadable += 1,
        }
    }
    Ok(names)
}

/// Makes the names in a folder durable.
pub(super) fn sync(dir: &Dir) -> Result<(), Errno> {
    rustix::fs::fsync(dir)
}

/// Milliseconds since the epoch, as every file time of ours.
pub(super) fn mtime_ms(stat: &Stat) -> i64 {
    let nanos = i64::try_from(stat.st_mtime_nsec).unwrap_or_default();
    stat.st_mtime.saturating_mul(1000).saturating_add(nanos / 1_000_000)
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;

    use super::{open_ambient, open_file, open_folder, stat};

    #[test]
    fn nothing_is_opened_through_a_link_or_by_more_than_a_name() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir(temp.path().join("folder")).unwrap();
        std::fs::File::create(temp.path().join("folder/file")).unwrap();
        std::os::unix::fs::symlink("folder", temp.path().join("to-folder")).unwrap();
        std::os::unix::fs::symlink("folder/file", temp.path().join("to-file")).unwrap();
        let dir = open_ambient(temp.path()).unwrap();
        let folder = open_folder(&dir, "folder").unwrap();
        open_file(&folder, "file").unwrap();
        assert_eq!(open_file(&dir, "to-file").unwrap_err(), Errno::LOOP);
        assert_eq!(open_folder(&dir, "to-folder").unwrap_err(), Errno::NOTDIR);
        for name in ["", ".", "..", "folder/file", "a\0b"] {
            assert_eq!(open_file(&dir, name).unwrap_err(), Errno::INVAL, "{name:?}");
            assert_eq!(open_folder(&dir, name).unwrap_err(), Errno::INVAL, "{name:?}");
            assert_eq!(stat(&dir, name).unwrap_err(), Errno::INVAL, "{name:?}");
        }
    }
}
