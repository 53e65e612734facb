//! A file that is complete and durable before it has a name.
//!
//! Where the system can (`O_TMPFILE`), the file has no name at all until it is linked into place, so a
//! crash leaves nothing behind. Elsewhere, and for the moment in which a file replaces another, it has a
//! hidden name in the same folder. Its owner holds a lock on it; one whose lock can be had is a leftover of
//! a crash and is removed by the next writer that comes across it.

use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::os::fd::AsRawFd as _;

use cap_std::fs::Dir;
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;

use super::folder;

/// Starts with a dot: Obsidian does not index it, and no tool of ours lists it.
const PREFIX: &str = ".tollgate-tmp-";
/// More writers than this do not meet in one folder.
const MAX_NAMES: u32 = 1_024;

pub(super) struct Temp<'a> {
    dir: &'a Dir,
    file: File,
    /// The hidden name, while there is one.
    name: Option<String>,
}

impl<'a> Temp<'a> {
    /// Writes `bytes` to a new file in `dir` and makes them durable. `mode` is what the file may be used
    /// for; without it the process's own default holds.
    pub(super) fn write(dir: &'a Dir, bytes: &[u8], mode: Option<Mode>) -> Result<Temp<'a>, Errno> {
        let mut temp = match nameless(dir) {
            Ok(file) => Temp { dir, file, name: None },
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOSYS) => Temp::named(dir)?,
            Err(error) => return Err(error),
        };
        temp.file.write_all(bytes).map_err(|error| errno(&error))?;
        if let Some(mode) = mode {
            rustix::fs::fchmod(&temp.file, mode)?;
        }
        rustix::fs::fsync(&temp.file)?;
        Ok(temp)
    }

    pub(super) fn stat(&self) -> Result<Stat, Errno> {
        rustix::fs::fstat(&self.file)
    }

    /// Gives the file its name; `EXIST` when anything, a dangling link included, has it already.
    pub(super) fn link(&mut self, name: &str) -> Result<(), Errno> {
        if self.name.is_none() {
            match link_nameless(&self.file, self.dir, name) {
                // Without the right to link by handle and without /proc there is only the named way.
                Err(Errno::NOENT) => self.take_name()?,
                linked => return linked,
            }
        }
        let Some(hidden) = &self.name else {
            return Err(Errno::INVAL);
        };
        match rustix::fs::renameat_with(self.dir, hidden.as_str(), self.dir, name, RenameFlags::NOREPLACE) {
            // File systems that do not know the flag.
            Err(Errno::INVAL | Errno::NOSYS) => {
                rustix::fs::linkat(self.dir, hidden.as_str(), self.dir, name, AtFlags::empty())?;
                rustix::fs::unlinkat(self.dir, hidden.as_str(), AtFlags::empty())?;
            }
            renamed => renamed?,
        }
        self.name = None;
        Ok(())
    }

    /// Puts the file in the place of `name`. Readers see the old file or the new one, never a mixture;
    /// another name of the old file keeps the old content.
    pub(super) fn replace(&mut self, name: &str) -> Result<(), Errno> {
        if self.name.is_none() {
            self.take_name()?;
        }
        let Some(hidden) = &self.name else {
            return Err(Errno::INVAL);
        };
        rustix::fs::renameat(self.dir, hidden.as_str(), self.dir, name)?;
        self.name = None;
        Ok(())
    }

    /// Gives a nameless file a hidden name.
    fn take_name(&mut self) -> Result<(), Errno> {
        // Locked before it can be seen, so that nobody takes it for a leftover.
        rustix::fs::flock(&self.file, FlockOperation::NonBlockingLockExclusive)?;
        for n in 0..MAX_NAMES {
            let hidden = format!("{PREFIX}{n}");
            match link_nameless(&self.file, self.dir, &hidden) {
                Ok(()) => {
                    self.name = Some(hidden);
                    return Ok(());
                }
                Err(Errno::EXIST) => remove_leftover(self.dir, &hidden)?,
                Err(Errno::NOENT) => return self.copy_to_named(),
                Err(error) => return Err(error),
            }
        }
        Err(Errno::EXIST)
    }

    fn copy_to_named(&mut self) -> Result<(), Errno> {
        let mut copy = Temp::named(self.dir)?;
        self.file.seek(SeekFrom::Start(0)).map_err(|error| errno(&error))?;
        std::io::copy(&mut self.file, &mut copy.file).map_err(|error| errno(&error))?;
        let mode = Mode::from_raw_mode(self.stat()?.st_mode & 0o7777);
        rustix::fs::fchmod(&copy.file, mode)?;
        rustix::fs::fsync(&copy.file)?;
        std::mem::swap(self, &mut copy);
        Ok(())
    }

    fn named(dir: &'a Dir) -> Result<Temp<'a>, Errno> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for n in 0..MAX_NAMES {
            let hidden = format!("{PREFIX}{n}");
            match rustix::fs::openat(dir, hidden.as_str(), flags, Mode::from_raw_mode(0o666)) {
                Ok(fd) => {
                    let file = File::from(fd);
                    // Until the lock is held another writer may take it for a leftover and remove it.
                    if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
                        && is_same(dir, &hidden, &file)
                    {
                        return Ok(Temp { dir, file, name: Some(hidden) });
                    }
                }
                Err(Errno::EXIST) => remove_leftover(dir, &hidden)?,
                Err(error) => return Err(error),
            }
        }
        Err(Errno::EXIST)
    }
}

impl Drop for Temp<'_> {
    fn drop(&mut self) {
        if let Some(hidden) = self.name.take() {
            // Best effort: a name that stays is removed by the next writer.
            rustix::fs::unlinkat(self.dir, hidden.as_str(), AtFlags::empty()).ok();
        }
    }
}

fn nameless(dir: &Dir) -> Result<File, Errno> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    rustix::fs::openat(dir, ".", flags, Mode::from_raw_mode(0o666)).map(File::from)
}

/// `NOENT` when this system lets us link by handle in neither of the two ways.
fn link_nameless(file: &File, dir: &Dir, name: &str) -> Result<(), Errno> {
    match rustix::fs::linkat(file, "", dir, name, AtFlags::EMPTY_PATH) {
        // Older systems want a privilege for that; the way through /proc needs none.
        Err(Errno::NOENT | Errno::PERM) => {
            let handle = format!("/proc/self/fd/{}", file.as_raw_fd());
            rustix::fs::linkat(rustix::fs::CWD, handle.as_str(), dir, name, AtFlags::SYMLINK_FOLLOW)
        }
        linked => linked,
    }
}

/// Removes a hidden file whose owner is gone. Whoever holds its lock is alive, and only the holder of the
/// lock removes the name, so a name that still means the locked file is safe to remove.
fn remove_leftover(dir: &Dir, hidden: &str) -> Result<(), Errno> {
    let Ok(file) = folder::open_file(dir, hidden) else {
        return Ok(());
    };
    if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
        && is_same(dir, hidden, &file)
    {
        match rustix::fs::unlinkat(dir, hidden, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn is_same(dir: &Dir, name: &str, file: &File) -> bool {
    match (folder::stat(dir, name), rustix::fs::fstat(file)) {
        (Ok(named), Ok(open)) => (named.st_dev, named.st_ino) == (open.st_dev, open.st_ino),
        (Ok(_) | Err(_), Ok(_) | Err(_)) => false,
    }
}

fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use cap_std::fs::Dir;
    use rustix::io::Errno;

    use super::super::folder::open_ambient;
    use super::{PREFIX, Temp};

    fn open(path: &Path) -> Dir {
        open_ambient(path).unwrap()
    }

    fn names(path: &Path) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_has_no_name_until_it_is_linked_and_a_dropped_one_never_existed() {
        let temp = tempfile::tempdir().unwrap();
        let dir = open(temp.path());
        let mut file = Temp::write(&dir, b"text", None).unwrap();
        assert_eq!(names(temp.path()), Vec::<String>::new());
        file.link("note.md").unwrap();
        assert_eq!(names(temp.path()), ["note.md"]);
        drop(Temp::write(&dir, b"never", None).unwrap());
        assert_eq!(names(temp.path()), ["note.md"]);
    }

    #[test]
    fn both_ways_link_only_where_nothing_is_and_replace_whole_files() {
        let temp = tempfile::tempdir().unwrap();
        let dir = open(temp.path());
        std::fs::File::create(temp.path().join("taken")).unwrap();
        std::os::unix::fs::symlink("nowhere", temp.path().join("dangling")).unwrap();
        for named in [false, true] {
            let make = |bytes: &[u8]| {
                if named {
                    let mut temp = Temp::named(&dir).unwrap();
                    std::io::Write::write_all(&mut temp.file, bytes).unwrap();
                    temp
                } else {
                    Temp::write(&dir, bytes, None).unwrap()
                }
            };
            assert_eq!(make(b"x").link("taken"), Err(Errno::EXIST));
            assert_eq!(make(b"x").link("dangling"), Err(Errno::EXIST));
            make(b"new").link("fresh").unwrap();
            make(b"newer").replace("fresh").unwrap();
            assert_eq!(std::fs::read(temp.path().join("fresh")).unwrap(), b"newer");
            std::fs::remove_file(temp.path().join("fresh")).unwrap();
            assert_eq!(names(temp.path()), ["dangling", "taken"]);
        }
    }

    #[test]
    fn a_leftover_of_a_crash_is_removed_and_a_live_one_is_left_alone() {
        let temp = tempfile::tempdir().unwrap();
        let dir = open(temp.path());
        let live = Temp::named(&dir).unwrap();
        std::fs::File::create(temp.path().join(format!("{PREFIX}1"))).unwrap();
        Temp::write(&dir, b"text", None).unwrap().replace("note.md").unwrap();
        // The first hidden name was in use, the second was a leftover that was taken over or removed.
        Temp::write(&dir, b"text", None).unwrap().replace("note.md").unwrap();
        assert_eq!(names(temp.path()), [format!("{PREFIX}0"), "note.md".to_owned()]);
        drop(live);
        assert_eq!(names(temp.path()), ["note.md"]);
    }
}
