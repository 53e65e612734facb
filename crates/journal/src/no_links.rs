//! Opens files and folders whose path contains no symbolic link.
//!
//! A vault can come from someone else, and a sync program can replace any of its folders at any time. A link
//! in the path would let it choose the file that is read or the place where a record is written. Callers pass
//! resolved paths, as returned by `canonicalize`, so a link can only have been created since.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::platform;

/// Opens a folder. Fails with [`is_link_error`] if a component of the path is a link.
pub fn open_folder_no_links(path: &Path) -> io::Result<OwnedFd> {
    open(path, OFlags::RDONLY | OFlags::DIRECTORY)
}

/// Opens a file for reading. Fails with [`is_link_error`] if a component of the path is a link. The file can
/// be a pipe or a folder: the caller checks its type before it reads.
pub fn open_file_no_links(path: &Path) -> io::Result<File> {
    // Without NONBLOCK, opening a named pipe would wait for a writer.
    open(path, OFlags::RDONLY | OFlags::NONBLOCK).map(File::from)
}

/// Whether an error of this module means that a component of the path is a link.
pub fn is_link_error(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::LOOP.raw_os_error())
}

fn open(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let flags = flags | OFlags::CLOEXEC;
    if let Some(opened) = platform::open_in_one_call(path, flags) {
        return opened;
    }
    open_by_component(path, flags | OFlags::NOFOLLOW)
}

/// Opens a path component by component. Fails with [`is_link_error`] if a component is a link.
fn open_by_component(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let mut parts = path.components().peekable();
    let start = if path.is_absolute() { "/" } else { "." };
    let folder = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | platform::TRAVERSE;
    let mut at = rustix::fs::openat(CWD, start, folder, Mode::empty())?;
    while let Some(part) = parts.next() {
        if matches!(part, Component::RootDir | Component::CurDir | Component::Prefix(_)) {
            continue;
        }
        let how = if parts.peek().is_some() { folder } else { flags };
        at = rustix::fs::openat(&at, part.as_os_str(), how, Mode::empty()).map_err(|error| {
            let entry = rustix::fs::statat(&at, part.as_os_str(), AtFlags::SYMLINK_NOFOLLOW);
            let is_link =
                entry.is_ok_and(|entry| FileType::from_raw_mode(entry.st_mode) == FileType::Symlink);
            if is_link { Errno::LOOP } else { error }
        })?;
    }
    // `at` is the start itself where the path names nothing else; reopen it with the flags that were asked for.
    if path.components().all(|part| matches!(part, Component::RootDir | Component::CurDir)) {
        at = rustix::fs::openat(CWD, start, flags, Mode::empty())?;
    }
    Ok(at)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use rustix::fs::OFlags;

    use super::{is_link_error, open, open_by_component};

    type OpenResult = io::Result<std::os::fd::OwnedFd>;

    /// Both ways to open: with one system call, and component by component.
    fn both(path: &Path) -> [OpenResult; 2] {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        [open(path, flags), open_by_component(path, flags | OFlags::NOFOLLOW)]
    }

    #[test]
    fn a_link_anywhere_in_the_path_is_refused() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().canonicalize().unwrap();
        fs::create_dir_all(dir.join("real/deep")).unwrap();
        fs::File::create(dir.join("real/deep/file")).unwrap();
        symlink("real", dir.join("link")).unwrap();
        symlink("file", dir.join("real/deep/alias")).unwrap();
        symlink("nowhere", dir.join("real/dangling")).unwrap();
        for path in ["real/deep/file", "real/deep", "real/deep/../deep/./file"] {
            assert!(both(&dir.join(path)).iter().all(Result::is_ok), "{path}");
        }
        for path in ["link", "link/deep/file", "real/deep/alias", "real/dangling", "real/../link/deep"] {
            for opened in both(&dir.join(path)) {
                assert!(is_link_error(&opened.unwrap_err()), "{path}");
            }
            let opened = super::open_folder_no_links(&dir.join(path));
            assert!(is_link_error(&opened.unwrap_err()), "{path}");
        }
        for opened in both(&dir.join("real/none")) {
            assert_eq!(opened.unwrap_err().kind(), io::ErrorKind::NotFound);
        }
        assert!(both(Path::new("/")).iter().all(Result::is_ok));
    }
}
