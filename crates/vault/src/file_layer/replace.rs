//! Replaces a file, and only the file that was read.
//!
//! The new file is complete and durable under a hidden name. Then the two names are *exchanged* in one step,
//! and the file that was taken out is compared with the expected one. If another program wrote at the last
//! moment, its file was taken out: it is exchanged back, and the call is a conflict. Nothing is overwritten
//! unread. If the system cannot exchange, the file is compared right before it is replaced, and the lock of
//! `folder_lock.rs` is the only protection.
//!
//! A program that opened the old file before the exchange can still write to it. So the old file is compared a
//! second time after the folder is durable, the longest part of the work, and only then loses its hidden name.
//!
//! Limits of the exchange: a program that reads in the microseconds between an exchange and its undo sees the
//! new text; the check right before the exchange makes that impossible for earlier writes. A program that holds
//! the old file open and writes to it after the second comparison writes to a file without a name, as with every
//! editor that saves by renaming. That cannot be prevented: a program that has looked up the name and has not
//! opened the file yet is visible to no other one, so neither a lease nor a lock would find it.

use std::sync::Arc;

use cap_std::fs::Dir;
use envelope::{Failure, Fault, FileState, VaultChange, VaultPath};
use rustix::io::Errno;

use super::change_step::FileContent;
use super::fault;
use super::folder;
use super::folder_lock::FolderLock;
use super::io_context::{ContextAdapter, IoContext};
use super::locate::{FinalLink, Location};
use super::path_state::state_of;
use super::read::{OpenedFile, open_place};
use super::rollback::{name_stored, roll_back};
use super::temp_file::{ExchangeResult, TempFile};
use super::vault::Vault;
use super::write::WrittenFile;
use crate::platform::{self, FileStat};

impl Vault {
    /// Replaces the file at `path`, which must be exactly `before`. The mode stays unless one is given. Other
    /// names of the old file (hard links) keep the old content.
    pub(super) fn replace_exactly(
        &self,
        path: &VaultPath,
        before: &FileState,
        content: &FileContent,
        mode: Option<u32>,
        io: &dyn IoContext,
    ) -> Result<WrittenFile, Fault> {
        self.replace_as(path, before, before, (content, mode), io)
    }

    /// [`Vault::replace_exactly`] for an open note: `had` is its unsaved text, which differs from the file on
    /// disk.
    pub(super) fn replace_as(
        &self,
        path: &VaultPath,
        before: &FileState,
        had: &FileState,
        (content, mode): (&FileContent, Option<u32>),
        io: &dyn IoContext,
    ) -> Result<WrittenFile, Fault> {
        let (dir, name) = match self.locate(path, FinalLink::Follow)? {
            Location::Found(located) => (located.dir, located.name),
            Location::Missing(_) => return Err(no_longer_exists(path)),
        };
        let lock_guard = FolderLock::acquire(&dir, path.as_str(), io)?;
        let open = self.open_in(&dir, &name, path)?;
        let now = state_of(&open, io)?;
        if now.hash != before.hash {
            return Err(content_changed(path, before, &now));
        }
        let failed = |error: Errno| fault::from_errno("write", open.path.as_str(), error);
        self.leftovers.remove_once(&dir);
        let after_mode = mode.unwrap_or(now.mode);
        let mut temp = TempFile::write_with(&dir, path.as_str(), Some(platform::mode(after_mode)), |file| {
            content.write_to(file, io)
        })?;
        io.check_cancelled()?;
        self.compare_again(&dir, &name, &open, before, io)?;
        let after = content.state(after_mode);
        let durable = match temp.exchange(&name) {
            Ok(ExchangeResult::Done) => {
                let compared = compare_taken(&temp, &open, before, io).and_then(|()| {
                    let durable = folder::sync(&dir);
                    // Text that was written meanwhile would be lost with the hidden name.
                    compare_taken(&temp, &open, before, &ContextAdapter::new(io).uncancellable())
                        .map(|()| durable)
                });
                match compared {
                    Ok(durable) => {
                        temp.discard();
                        durable
                    }
                    Err(fault) => {
                        let stored = roll_back(&mut temp, &name, &open.path, &after, io)?;
                        return Err(name_stored(fault, stored.as_ref()));
                    }
                }
            }
            Ok(ExchangeResult::NotPossible) => {
                temp.replace(&name).map_err(failed)?;
                folder::sync(&dir)
            }
            Err(Errno::NOENT) => return Err(no_longer_exists(path)),
            Err(error) => return Err(failed(error)),
        };
        let had = FileState { mode: now.mode, ..*had };
        io.record_change(VaultChange::FileReplaced { path: open.path.to_string(), before: had, after });
        durable.map_err(|error| fault::not_durable(open.path.as_str(), error))?;
        let mtime_ms = Some(temp.stat().map_err(failed)?.mtime_ms());
        drop(lock_guard);
        Ok(WrittenFile { path: open.path, etag: after.etag(), mtime_ms, created: false })
    }

    /// Opens a name in an open folder as a regular file.
    pub(super) fn open_in(&self, dir: &Arc<Dir>, name: &str, path: &VaultPath) -> Result<OpenedFile, Fault> {
        let stat = match folder::stat(dir, name) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Err(no_longer_exists(path)),
            Err(error) => return Err(fault::from_errno("open", path.as_str(), error)),
        };
        let real = self.real_path(path).unwrap_or_else(|| path.clone());
        let located =
            super::locate::LocatedEntry { dir: dir.clone(), name: name.to_owned(), path: real, stat };
        open_place(located)?.ok_or_else(|| fault::unstable_path(path.as_str()))
    }

    /// Checks that the name still has the compared content after the new file was written. The file is read
    /// again only if its metadata changed: a program may have touched it without changing it.
    fn compare_again(
        &self,
        dir: &Arc<Dir>,
        name: &str,
        open: &OpenedFile,
        before: &FileState,
        io: &dyn IoContext,
    ) -> Result<(), Fault> {
        if folder::stat(dir, name).is_ok_and(|stat| looks_same(&stat, &open.stat)) {
            return Ok(());
        }
        let now = state_of(&self.open_in(dir, name, &open.path)?, io)?;
        if now.hash == before.hash { Ok(()) } else { Err(content_changed(&open.path, before, &now)) }
    }
}

fn looks_same(a: &FileStat, b: &FileStat) -> bool {
    let key = |stat: &FileStat| (stat.identity, stat.size, stat.modified, stat.changed);
    key(a) == key(b)
}

/// Checks that the exchange took out the file that was compared, with the same content.
fn compare_taken(
    temp: &TempFile<'_>,
    open: &OpenedFile,
    before: &FileState,
    io: &dyn IoContext,
) -> Result<(), Fault> {
    let now = temp.hidden_state(&open.path, io)?;
    if now.hash == before.hash { Ok(()) } else { Err(content_changed(&open.path, before, &now)) }
}

/// Returns the conflict for a file that the caller has not seen.
pub(super) fn content_changed(path: &VaultPath, expected: &FileState, now: &FileState) -> Fault {
    Fault::new(Failure::Conflict, format!("`{path}` has changed: it is not what was read"))
        .detail("expectedEtag", expected.etag())
        .detail("currentEtag", now.etag())
        .hint("read the file again before you change it")
        // Nothing was done. Another attempt starts from the current state.
        .retryable(true)
}

/// Returns the conflict for a file that was there when the change was prepared.
pub(super) fn no_longer_exists(path: &VaultPath) -> Fault {
    Fault::new(Failure::Conflict, format!("`{path}` no longer exists"))
        .hint("list the folder to see what became of it")
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fs::File;
    use std::io::Write as _;
    use std::os::unix::fs::FileExt as _;

    use envelope::{Failure, Fault, FileState, Hash, VaultChange, VaultPath};

    use super::super::change_step::FileContent;
    use super::super::io_context::IoContext;
    use super::super::vault::Vault;

    /// Writes to a file that it has opened before, at one of the moments at which the work can be cancelled.
    struct InPlaceWriter {
        file: File,
        moment: u32,
        moments: Cell<u32>,
    }

    impl IoContext for InPlaceWriter {
        fn record_change(&self, change: VaultChange) {
            drop(change);
        }

        fn check_cancelled(&self) -> Result<(), Fault> {
            if self.moments.replace(self.moments.get() + 1) == self.moment {
                self.file.write_all_at(b"saved", 0).unwrap();
            }
            Ok(())
        }
    }

    #[test]
    #[cfg_attr(any(not(target_os = "linux"), tollgate_portable), ignore = "POSIX cannot exchange two names")]
    fn a_save_in_place_during_the_replacement_is_a_conflict_and_stays() {
        let mut conflicts = 0;
        for moment in 0.. {
            let folder = tempfile::tempdir().unwrap();
            let note = folder.path().join("a.md");
            File::create(&note).unwrap().write_all(b"first").unwrap();
            let vault = Vault::open(folder.path()).unwrap();
            let file = File::options().write(true).open(&note).unwrap();
            let io = InPlaceWriter { file, moment, moments: Cell::new(0) };
            let before = FileState { hash: Hash::of(b"first"), bytes: 5, mode: 0o644 };
            let path = VaultPath::parse("a.md").unwrap();
            let made = vault.replace_exactly(&path, &before, &FileContent::of(&b"ours"[..]), None, &io);
            let text = std::fs::read_to_string(&note).unwrap();
            let names = std::fs::read_dir(folder.path()).unwrap().count();
            if io.moments.get() <= moment {
                assert_eq!((made.is_ok(), text.as_str()), (true, "ours"));
                break;
            }
            let failure = made.err().map(|fault| fault.failure);
            assert_eq!(
                (failure, text.as_str(), names),
                (Some(Failure::Conflict), "saved", 1),
                "moment {moment}"
            );
            conflicts += 1;
        }
        assert!(conflicts > 4, "the moments include those after the exchange: {conflicts}");
    }
}
