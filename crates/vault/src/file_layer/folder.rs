//! Operations on one open folder. Each takes a single name and never follows a link.
//!
//! A name that is not portable is escaped when a folder is read and gets its bytes back at the system call, so that nothing
//! in between knows about it.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use envelope::VaultPath;
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::platform::{self, FileStat};

/// Kind of a directory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NodeKind {
    File,
    Folder,
    Link,
    /// A pipe, a socket or a device.
    Other,
}

impl NodeKind {
    fn of(kind: FileType) -> NodeKind {
        if kind.is_file() {
            NodeKind::File
        } else if kind.is_dir() {
            NodeKind::Folder
        } else if kind.is_symlink() {
            NodeKind::Link
        } else {
            NodeKind::Other
        }
    }
}

/// One entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DirEntry {
    /// With escapes if it is not portable, as [`VaultPath::escape_name`] returns it.
    pub(super) name: String,
    /// `None` if the file system does not report it.
    pub(super) kind: Option<NodeKind>,
}

/// The entries of a folder, and its names that are too long for a path, with replacement characters.
#[derive(Debug, Default)]
pub(super) struct DirNames {
    pub(super) named: Vec<DirEntry>,
    pub(super) too_long: Vec<String>,
}

/// Returns true for a name that stays in its folder. All functions here rely on it.
fn is_single_name(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.contains(['/', '\0'])
}

fn checked_name(name: &str) -> Result<Cow<'_, OsStr>, Errno> {
    if is_single_name(name) { platform::disk_name(name) } else { Err(Errno::INVAL) }
}

pub(super) fn stat(dir: &Dir, name: &str) -> Result<FileStat, Errno> {
    if is_single_name(name) { FileStat::at(dir, name) } else { Err(Errno::INVAL) }
}

pub(super) fn kind(stat: &FileStat) -> NodeKind {
    NodeKind::of(stat.file_type())
}

pub(super) fn open_folder(dir: &Dir, name: &str) -> Result<Dir, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(dir, checked_name(name)?, flags, Mode::empty())
        .map(|fd| Dir::from_std_file(File::from(fd)))
}

/// Opens a folder by its system path. The default handle (`O_PATH`) could be neither listed nor synced.
pub(super) fn open_ambient(path: &Path) -> std::io::Result<Dir> {
    let dir = Dir::open_ambient_dir(path, ambient_authority())?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(&dir, ".", flags, Mode::empty())?;
    Ok(Dir::from_std_file(File::from(fd)))
}

/// Opens a file for reading. `NONBLOCK` prevents a pipe at this name from blocking the thread.
pub(super) fn open_file(dir: &Dir, name: &str) -> Result<File, Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    rustix::fs::openat(dir, checked_name(name)?, flags, Mode::empty()).map(File::from)
}

/// Creates a folder. A given mode is set exactly, whatever the mask of the process is, and a private folder is
/// never readable by others, not even for a moment.
pub(super) fn make_folder(dir: &Dir, name: &str, mode: Option<u32>) -> Result<(), Errno> {
    let Some(mode) = mode else {
        return rustix::fs::mkdirat(dir, checked_name(name)?, platform::mode(0o777));
    };
    rustix::fs::mkdirat(dir, checked_name(name)?, platform::mode((mode & 0o777) | 0o700))?;
    rustix::fs::fchmod(open_folder(dir, name)?, platform::mode(mode))
}

/// Returns the target of a link, with escapes in the names that are not portable. Fails with `ILSEQ` for a name that is
/// too long for a path.
pub(super) fn link_target(dir: &Dir, name: &str) -> Result<String, Errno> {
    let target = rustix::fs::readlinkat(dir, checked_name(name)?, Vec::new())?;
    let names: Option<Vec<_>> = target.as_bytes().split(|byte| *byte == b'/').map(escaped_part).collect();
    names.map(|names| names.join("/")).ok_or(Errno::ILSEQ)
}

/// Returns a part of the target of a link with escapes; an empty one, `.` and `..` as they are.
fn escaped_part(raw: &[u8]) -> Option<Cow<'_, str>> {
    match raw {
        b"" => Some(Cow::Borrowed("")),
        b"." => Some(Cow::Borrowed(".")),
        b".." => Some(Cow::Borrowed("..")),
        name => VaultPath::escape_name(name),
    }
}

/// Returns every name in the folder, unordered.
pub(super) fn list_names(dir: &Dir) -> Result<DirNames, Errno> {
    let mut names = DirNames::default();
    for entry in rustix::fs::Dir::read_from(dir)? {
        let entry = entry?;
        let raw = entry.file_name().to_bytes();
        if matches!(raw, b"." | b"..") {
            continue;
        }
        match VaultPath::escape_name(raw) {
            Some(name) => {
                let said = entry.file_type();
                let kind = (said != FileType::Unknown).then(|| NodeKind::of(said));
                names.named.push(DirEntry { name: name.into_owned(), kind });
            }
            None => names.too_long.push(String::from_utf8_lossy(raw).into_owned()),
        }
    }
    Ok(names)
}

/// Makes the names in a folder durable.
pub(super) fn sync(dir: &Dir) -> Result<(), Errno> {
    platform::sync(dir)
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
