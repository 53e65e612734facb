//! A file that is complete and durable before it has a name.
//!
//! Where the system can (`O_TMPFILE`), the file has no name at all until it is linked into place, so a
//! crash leaves nothing behind. Elsewhere, and for the moment in which a file replaces another, it has a
//! hidden name in the same folder and its owner holds a lock on it.

use std::fs::File;
use std::io::{Seek as _, SeekFrom};
use std::os::fd::AsRawFd as _;

use cap_std::fs::Dir;
use envelope::{Fault, FileState, VaultPath};
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;

use super::change::Witness;
use super::fault;
use super::folder;
use super::leftovers::{first_name, hidden_name, lock};
use super::state::state_at;

/// More writers than this do not meet in one folder.
const MAX_NAMES: u32 = 1_024;

pub(super) struct Temp<'a> {
    dir: &'a Dir,
    file: File,
    /// The hidden name, while there is one.
    name: Option<String>,
}

/// A file, whatever its name: its device and its inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity(u64, u64);

/// Whether two names could be exchanged.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Exchange {
    /// The hidden name now means what the other name meant.
    Done,
    /// This file system cannot do it; nothing was done.
    NotPossible,
}

impl<'a> Temp<'a> {
    /// Has a new file in `dir` filled and makes it durable. `mode` is what the file may be used for; without it
    /// the process's own default holds. `path` is for the words of an error.
    pub(super) fn write_with(
        dir: &'a Dir,
        path: &str,
        mode: Option<Mode>,
        fill: impl FnOnce(&mut File) -> Result<(), Fault>,
    ) -> Result<Temp<'a>, Fault> {
        let failed = |error| fault::from_errno("write", path, error);
        let mut temp = Temp::empty(dir).map_err(failed)?;
        fill(&mut temp.file)?;
        temp.finish(mode).map_err(failed)?;
        Ok(temp)
    }

    fn empty(dir: &'a Dir) -> Result<Temp<'a>, Errno> {
        match nameless(dir) {
            Ok(file) => Ok(Temp { dir, file, name: None }),
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOSYS) => Temp::named(dir),
            Err(error) => Err(error),
        }
    }

    fn finish(&self, mode: Option<Mode>) -> Result<(), Errno> {
        if let Some(mode) = mode {
            rustix::fs::fchmod(&self.file, mode)?;
        }
        rustix::fs::fsync(&self.file)
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

    /// Exchanges the hidden name with `name`, in one step that nobody can come between. What `name` meant is
    /// then under the hidden name, and is removed with it when this is dropped.
    pub(super) fn exchange(&mut self, name: &str) -> Result<Exchange, Errno> {
        if self.name.is_none() {
            self.take_name()?;
        }
        let Some(hidden) = &self.name else {
            return Err(Errno::INVAL);
        };
        match rustix::fs::renameat_with(self.dir, hidden.as_str(), self.dir, name, RenameFlags::EXCHANGE) {
            Ok(()) => Ok(Exchange::Done),
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => Ok(Exchange::NotPossible),
            Err(error) => Err(error),
        }
    }

    /// What is under the hidden name now.
    pub(super) fn open_hidden(&self) -> Result<File, Errno> {
        let hidden = self.name.as_deref().ok_or(Errno::NOENT)?;
        folder::open_file(self.dir, hidden)
    }

    /// The state of the file that is under the hidden name.
    pub(super) fn hidden_state(&self, path: &VaultPath, witness: &dyn Witness) -> Result<FileState, Fault> {
        let hidden = self.name.as_deref().unwrap_or_default();
        state_at(self.dir, hidden, path, witness)
    }

    /// Which file was written here.
    pub(super) fn identity(&self) -> Result<Identity, Errno> {
        self.stat().map(|stat| Identity(stat.st_dev, stat.st_ino))
    }

    /// Which file is under the hidden name.
    pub(super) fn hidden_identity(&self) -> Result<Identity, Errno> {
        let hidden = self.name.as_deref().ok_or(Errno::NOENT)?;
        folder::stat(self.dir, hidden).map(|stat| Identity(stat.st_dev, stat.st_ino))
    }

    pub(super) fn has_hidden(&self) -> bool {
        self.name.is_some()
    }

    /// Gives what is under the hidden name the other name, which nothing has any more.
    pub(super) fn give_back(&mut self, name: &str) -> Result<(), Errno> {
        let hidden = self.name.as_deref().ok_or(Errno::NOENT)?;
        rustix::fs::renameat_with(self.dir, hidden, self.dir, name, RenameFlags::NOREPLACE)?;
        self.name = None;
        Ok(())
    }

    /// Removes the hidden name and what is under it.
    pub(super) fn discard(&mut self) {
        if let Some(hidden) = self.name.take() {
            // As good as it goes: a name that stays is known as a leftover.
            rustix::fs::unlinkat(self.dir, hidden.as_str(), AtFlags::empty()).ok();
        }
    }

    /// Leaves the hidden name where it is: what is under it must not be lost.
    pub(super) fn leave(&mut self) {
        self.name = None;
    }

    /// Gives a nameless file a hidden name.
    fn take_name(&mut self) -> Result<(), Errno> {
        // Locked before it can be seen, so that nobody takes it for a leftover. Where there are no locks
        // nobody can have one, and leftovers stay.
        lock(&self.file);
        let inode = self.stat()?.st_ino;
        for n in 0..MAX_NAMES {
            let hidden = hidden_name(inode, n);
            match link_nameless(&self.file, self.dir, &hidden) {
                Ok(()) => {
                    self.name = Some(hidden);
                    return Ok(());
                }
                Err(Errno::EXIST) => {}
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
            let first = first_name(n);
            match rustix::fs::openat(dir, first.as_str(), flags, Mode::from_raw_mode(0o666)) {
                Ok(fd) => {
                    let mut temp = Temp { dir, file: File::from(fd), name: Some(first) };
                    temp.rename_by_inode();
                    return Ok(temp);
                }
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error),
            }
        }
        Err(Errno::EXIST)
    }

    /// Gives a file the name by which it is known as a leftover. Where that cannot be done it keeps the
    /// first one, which nobody removes but we.
    fn rename_by_inode(&mut self) {
        let (Some(first), Ok(stat)) = (&self.name, self.stat()) else {
            return;
        };
        lock(&self.file);
        let hidden = hidden_name(stat.st_ino, 0);
        let renamed = rustix::fs::renameat_with(
            self.dir,
            first.as_str(),
            self.dir,
            hidden.as_str(),
            RenameFlags::NOREPLACE,
        );
        if renamed.is_ok() {
            self.name = Some(hidden);
        }
    }
}

impl Drop for Temp<'_> {
    fn drop(&mut self) {
        self.discard();
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

fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use cap_std::fs::Dir;
    use rustix::io::Errno;

    use super::super::folder::open_ambient;
    use super::Temp;

    fn write<'a>(dir: &'a Dir, bytes: &[u8]) -> Temp<'a> {
        let fill = |file: &mut std::fs::File| {
            std::io::Write::write_all(file, bytes).unwrap();
            Ok(())
        };
        Temp::write_with(dir, "note.md", None, fill).unwrap()
    }

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
        let mut file = write(&dir, b"text");
        assert_eq!(names(temp.path()), Vec::<String>::new());
        file.link("note.md").unwrap();
        assert_eq!(names(temp.path()), ["note.md"]);
        drop(write(&dir, b"never"));
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
                    write(&dir, bytes)
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
    fn names_that_somebody_else_has_taken_are_left_alone() {
        let temp = tempfile::tempdir().unwrap();
        let dir = open(temp.path());
        std::fs::File::create(temp.path().join(".tollgate-tmp-new-0")).unwrap();
        let live = Temp::named(&dir).unwrap();
        Temp::named(&dir).unwrap().link("other.md").unwrap();
        write(&dir, b"text").replace("note.md").unwrap();
        write(&dir, b"text").replace("note.md").unwrap();
        assert_eq!(names(temp.path()).len(), 4, "{:?}", names(temp.path()));
        drop(live);
        assert_eq!(names(temp.path()), [".tollgate-tmp-new-0", "note.md", "other.md"]);
    }
}
