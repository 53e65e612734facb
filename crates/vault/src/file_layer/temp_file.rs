//! A file that is complete and durable before it gets its name.
//!
//! Where the system has unnamed files, the file has no name until it is linked, so a crash leaves nothing
//! behind. On other systems, and while a file replaces another, it has a hidden name in the same folder, and
//! its owner holds a lock on it.

use std::fs::File;
use std::io::{Seek as _, SeekFrom};

use cap_std::fs::Dir;
use envelope::{Fault, FileState, VaultPath};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::fault;
use super::folder;
use super::io_context::IoContext;
use super::path_state::state_at;
use super::temp_leftovers::{aside_name, first_name, hidden_name, inode_in, lock};
use crate::platform::{self, FileIdentity, FileStat};

/// More writers than this do not work in one folder.
const MAX_NAMES: u32 = 1_024;

pub(super) struct TempFile<'a> {
    dir: &'a Dir,
    file: File,
    /// The hidden name, if it has one.
    name: Option<String>,
}

/// Outcome of an exchange.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ExchangeResult {
    /// The hidden name is now that of the other file.
    Done,
    /// This file system cannot exchange; nothing was done.
    NotPossible,
}

impl<'a> TempFile<'a> {
    /// Creates a file in `dir`, calls `fill` and makes it durable. Without a mode it gets the default
    /// permissions of the process. `path` is for error messages.
    pub(super) fn write_with(
        dir: &'a Dir,
        path: &str,
        mode: Option<Mode>,
        fill: impl FnOnce(&mut File) -> Result<(), Fault>,
    ) -> Result<TempFile<'a>, Fault> {
        let failed = |error| fault::from_errno("write", path, error);
        let mut temp = TempFile::empty(dir).map_err(failed)?;
        fill(&mut temp.file)?;
        temp.finish(mode).map_err(failed)?;
        Ok(temp)
    }

    fn empty(dir: &'a Dir) -> Result<TempFile<'a>, Errno> {
        match platform::create_unnamed_file(dir) {
            Ok(file) => Ok(TempFile { dir, file, name: None }),
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOSYS) => TempFile::named(dir),
            Err(error) => Err(error),
        }
    }

    fn finish(&self, mode: Option<Mode>) -> Result<(), Errno> {
        if let Some(mode) = mode {
            rustix::fs::fchmod(&self.file, mode)?;
        }
        platform::sync(&self.file)
    }

    pub(super) fn stat(&self) -> Result<FileStat, Errno> {
        FileStat::of(&self.file)
    }

    /// Gives the file its name. Fails with `EXIST` if the name is taken, also by a dangling link.
    pub(super) fn link(&mut self, name: &str) -> Result<(), Errno> {
        if self.name.is_none() {
            match platform::link_unnamed_file(&self.file, self.dir, name) {
                // Neither linking by handle nor /proc is available: use a hidden name.
                Err(Errno::NOENT) => self.take_name()?,
                linked => return linked,
            }
        }
        let Some(hidden) = &self.name else {
            return Err(Errno::INVAL);
        };
        match platform::rename_noreplace(self.dir, hidden.as_str(), self.dir, name) {
            // A file system that does not know the flag.
            Err(Errno::INVAL | Errno::NOSYS) => {
                let name = platform::disk_name(name)?;
                rustix::fs::linkat(self.dir, hidden.as_str(), self.dir, name, AtFlags::empty())?;
                rustix::fs::unlinkat(self.dir, hidden.as_str(), AtFlags::empty())?;
            }
            renamed => renamed?,
        }
        self.name = None;
        Ok(())
    }

    /// Replaces the file `name`. Readers see the old file or the new one, never a mixture; another name of the
    /// old file keeps the old content.
    pub(super) fn replace(&mut self, name: &str) -> Result<(), Errno> {
        if self.name.is_none() {
            self.take_name()?;
        }
        let Some(hidden) = &self.name else {
            return Err(Errno::INVAL);
        };
        rustix::fs::renameat(self.dir, hidden.as_str(), self.dir, platform::disk_name(name)?)?;
        self.name = None;
        Ok(())
    }

    /// Exchanges the hidden name with `name` in one atomic step. The file that had `name` then has the hidden
    /// name and is removed when this is dropped.
    pub(super) fn exchange(&mut self, name: &str) -> Result<ExchangeResult, Errno> {
        if self.name.is_none() {
            self.take_name()?;
        }
        let Some(hidden) = &self.name else {
            return Err(Errno::INVAL);
        };
        match platform::rename_exchange(self.dir, hidden, name) {
            Ok(()) => Ok(ExchangeResult::Done),
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => Ok(ExchangeResult::NotPossible),
            Err(error) => Err(error),
        }
    }

    /// Opens the file that has the hidden name now.
    pub(super) fn open_hidden(&self) -> Result<File, Errno> {
        let hidden = self.name.as_deref().ok_or(Errno::NOENT)?;
        folder::open_file(self.dir, hidden)
    }

    /// Returns the state of the file that has the hidden name.
    pub(super) fn hidden_state(&self, path: &VaultPath, io: &dyn IoContext) -> Result<FileState, Fault> {
        let hidden = self.name.as_deref().unwrap_or_default();
        state_at(self.dir, hidden, path, io)
    }

    /// Returns the identity of the file that was written here.
    pub(super) fn identity(&self) -> Result<FileIdentity, Errno> {
        self.stat().map(|stat| stat.identity)
    }

    /// Returns the identity of the file that has the hidden name.
    pub(super) fn hidden_identity(&self) -> Result<FileIdentity, Errno> {
        let hidden = self.name.as_deref().ok_or(Errno::NOENT)?;
        folder::stat(self.dir, hidden).map(|stat| stat.identity)
    }

    pub(super) fn has_hidden(&self) -> bool {
        self.name.is_some()
    }

    /// Renames the hidden file to `name`, which is free.
    pub(super) fn restore_name(&mut self, name: &str) -> Result<(), Errno> {
        let hidden = self.name.as_deref().ok_or(Errno::NOENT)?;
        platform::rename_noreplace(self.dir, hidden, self.dir, name)?;
        self.name = None;
        Ok(())
    }

    /// Gives the hidden file the name of one that holds old content. After a crash, such a file is removed only if its
    /// content is stored.
    pub(super) fn mark_as_content(&mut self) -> Result<(), Errno> {
        let hidden = self.name.as_deref().ok_or(Errno::NOENT)?;
        let aside = aside_name(self.identity()?.inode);
        platform::rename_noreplace(self.dir, hidden, self.dir, &aside)?;
        self.name = Some(aside);
        Ok(())
    }

    /// Removes the hidden file.
    pub(super) fn discard(&mut self) {
        if let Some(hidden) = self.name.take() {
            // A failure is ignored: a remaining file is recognised as a leftover.
            rustix::fs::unlinkat(self.dir, hidden.as_str(), AtFlags::empty()).ok();
        }
    }

    /// Keeps the hidden file, whose content must not be lost. If its name is that of a file being written, which is removed
    /// unread, it gets the name of a file that holds old content.
    pub(super) fn keep_hidden(&mut self) {
        let inode = self.hidden_identity().map(|identity| identity.inode);
        if let (Some(hidden), Ok(inode)) = (self.name.take(), inode)
            && inode_in(&hidden) == Some(inode)
        {
            // A failure is ignored: no name is better then.
            platform::rename_noreplace(self.dir, hidden.as_str(), self.dir, &aside_name(inode)).ok();
        }
    }

    /// Gives an unnamed file a hidden name.
    fn take_name(&mut self) -> Result<(), Errno> {
        // Locked before it is visible, so that no process takes it for a leftover. Without locks no process can
        // lock it, and leftovers stay.
        lock(&self.file);
        let inode = self.stat()?.identity.inode;
        for n in 0..MAX_NAMES {
            let hidden = hidden_name(inode, n);
            match platform::link_unnamed_file(&self.file, self.dir, &hidden) {
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
        let mut copy = TempFile::named(self.dir)?;
        self.file.seek(SeekFrom::Start(0)).map_err(|error| errno(&error))?;
        std::io::copy(&mut self.file, &mut copy.file).map_err(|error| errno(&error))?;
        let mode = platform::mode(self.stat()?.permissions);
        rustix::fs::fchmod(&copy.file, mode)?;
        platform::sync(&copy.file)?;
        std::mem::swap(self, &mut copy);
        Ok(())
    }

    fn named(dir: &'a Dir) -> Result<TempFile<'a>, Errno> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for n in 0..MAX_NAMES {
            let first = first_name(n);
            match rustix::fs::openat(dir, first.as_str(), flags, platform::mode(0o666)) {
                Ok(fd) => {
                    let mut temp = TempFile { dir, file: File::from(fd), name: Some(first) };
                    temp.rename_by_inode();
                    return Ok(temp);
                }
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error),
            }
        }
        Err(Errno::EXIST)
    }

    /// Gives a file the name by which leftovers are recognised. If that fails, it keeps its first name, which
    /// only this value removes.
    fn rename_by_inode(&mut self) {
        let (Some(first), Ok(stat)) = (&self.name, self.stat()) else {
            return;
        };
        lock(&self.file);
        let hidden = hidden_name(stat.identity.inode, 0);
        let renamed = platform::rename_noreplace(self.dir, first, self.dir, &hidden);
        if renamed.is_ok() {
            self.name = Some(hidden);
        }
    }
}

impl Drop for TempFile<'_> {
    fn drop(&mut self) {
        self.discard();
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
    use super::super::temp_leftovers::TempLeftovers;
    use super::TempFile;

    fn write<'a>(dir: &'a Dir, bytes: &[u8]) -> TempFile<'a> {
        let fill = |file: &mut std::fs::File| {
            std::io::Write::write_all(file, bytes).unwrap();
            Ok(())
        };
        TempFile::write_with(dir, "note.md", None, fill).unwrap()
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
    #[cfg_attr(any(not(target_os = "linux"), tollgate_portable), ignore = "POSIX has no unnamed files")]
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
                    let mut temp = TempFile::named(&dir).unwrap();
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
        let live = TempFile::named(&dir).unwrap();
        TempFile::named(&dir).unwrap().link("other.md").unwrap();
        write(&dir, b"text").replace("note.md").unwrap();
        write(&dir, b"text").replace("note.md").unwrap();
        assert_eq!(names(temp.path()).len(), 4, "{:?}", names(temp.path()));
        drop(live);
        assert_eq!(names(temp.path()), [".tollgate-tmp-new-0", "note.md", "other.md"]);
    }

    #[test]
    #[cfg_attr(any(not(target_os = "linux"), tollgate_portable), ignore = "POSIX cannot exchange two names")]
    fn text_that_another_program_wrote_into_our_file_survives_a_kill_in_the_middle_of_a_rollback() {
        let temp = tempfile::tempdir().unwrap();
        let dir = open(temp.path());
        let note = temp.path().join("note.md");
        std::fs::File::create(&note).unwrap();
        let mut file = write(&dir, b"ours");
        file.exchange("note.md").unwrap();
        std::io::Write::write_all(&mut std::fs::File::create(&note).unwrap(), b"theirs").unwrap();
        file.mark_as_content().unwrap();
        file.exchange("note.md").unwrap();
        // Killed: the lock is released, and nobody removes the hidden name.
        file.name = None;
        drop(file);
        TempLeftovers::default().remove_once(&dir);
        let hidden = names(temp.path()).into_iter().find(|name| name != "note.md").unwrap();
        assert_eq!(std::fs::read(temp.path().join(hidden)).unwrap(), b"theirs");
    }
}
