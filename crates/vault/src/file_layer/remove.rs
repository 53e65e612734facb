//! Removes entries permanently: a file only if it is exactly the stored one, a folder only if it is empty.

use cap_std::fs::Dir;
use envelope::{Failure, Fault, FileState, VaultChange, VaultPath};
use rustix::fs::AtFlags;
use rustix::io::Errno;

use super::fault;
use super::folder;
use super::folder_lock::FolderLock;
use super::io_context::IoContext;
use super::path_state::{state_at, state_of};
use super::relocate::in_trash;
use super::rename_noreplace::rename_noreplace;
use super::replace::{content_changed, no_longer_exists};
use super::rollback::{is_stored, name_stored};
use super::temp_leftovers::aside_name;
use super::vault::Vault;
use crate::platform;

impl Vault {
    /// Removes a file that must be exactly `before`. The file first gets a hidden name, so that no program can
    /// write to it by its own name, and is compared there.
    pub(super) fn remove_exactly(
        &self,
        path: &VaultPath,
        before: &FileState,
        io: &dyn IoContext,
    ) -> Result<(), Fault> {
        let located = self.locate_entry(path)?.ok_or_else(|| no_longer_exists(path))?;
        let (dir, name) = (located.dir, located.name);
        let lock_guard = FolderLock::acquire(&dir, path.as_str(), io)?;
        let open = self.open_in(&dir, &name, path)?;
        let now = state_of(&open, io)?;
        if now.hash != before.hash {
            return Err(content_changed(path, before, &now));
        }
        io.check_cancelled()?;
        let failed = |error: Errno| fault::from_errno("remove", path.as_str(), error);
        let aside = aside_name(open.stat.identity.inode);
        match rename_aside(&dir, &name, &aside) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Err(no_longer_exists(path)),
            Err(error) => return Err(failed(error)),
        }
        let taken = state_at(&dir, &aside, &open.path, io);
        match taken {
            Ok(taken) if taken.hash == before.hash => {}
            other => {
                // Another program wrote at the last moment.
                let stored =
                    undo_rename_aside(&dir, &aside, &name, other.as_ref().ok(), io).map_err(failed)?;
                let fault = other.map_or_else(|fault| fault, |taken| content_changed(path, before, &taken));
                return Err(name_stored(fault, stored.as_ref()));
            }
        }
        if let Err(error) = rustix::fs::unlinkat(&*dir, aside.as_str(), AtFlags::empty()) {
            let stored = undo_rename_aside(&dir, &aside, &name, Some(&now), io).map_err(failed)?;
            return Err(name_stored(failed(error), stored.as_ref()));
        }
        io.record_change(VaultChange::FileRemoved { path: open.path.to_string(), before: now });
        folder::sync(&dir).map_err(|error| fault::not_durable(path.as_str(), error))?;
        drop(lock_guard);
        Ok(())
    }

    /// Removes an empty folder. `mode` is its last known mode.
    pub(super) fn remove_folder(
        &self,
        path: &VaultPath,
        mode: Option<u32>,
        io: &dyn IoContext,
    ) -> Result<(), Fault> {
        let is_trash = in_trash(path);
        let (dir, name) = if is_trash && path.segments().count() == 1 {
            (self.root.clone(), path.name().to_owned())
        } else {
            let located = self.locate_entry(path)?.ok_or_else(|| no_longer_exists(path))?;
            (located.dir, located.name)
        };
        io.check_cancelled()?;
        let removed = platform::disk_name(&name)
            .and_then(|name| rustix::fs::unlinkat(&*dir, &*name, AtFlags::REMOVEDIR));
        match removed {
            Ok(()) => {}
            Err(Errno::NOTEMPTY | Errno::EXIST) => {
                return Err(Fault::new(Failure::Conflict, format!("the folder `{path}` is not empty"))
                    .hint("look at what is in it; it was not there when this was prepared"));
            }
            Err(Errno::NOENT) => return Err(no_longer_exists(path)),
            Err(error) => return Err(fault::from_errno("remove the folder", path.as_str(), error)),
        }
        io.record_change(VaultChange::FolderRemoved { path: path.to_string(), mode });
        folder::sync(&dir).map_err(|error| fault::not_durable(path.as_str(), error))
    }
}

/// Gives a file its name back. If a newer file has the name by then, the file is moved to the store; without a
/// store it keeps the hidden name. Returns the content that only the store has now.
fn undo_rename_aside(
    dir: &Dir,
    aside: &str,
    name: &str,
    taken: Option<&FileState>,
    io: &dyn IoContext,
) -> Result<Option<FileState>, Errno> {
    match rename_noreplace(dir, aside, dir, name) {
        Err(Errno::EXIST) => {
            let kept = folder::open_file(dir, aside).is_ok_and(|mut file| io.store(&mut file).is_ok());
            match taken {
                Some(taken) if kept && is_stored(taken, io) => {
                    rustix::fs::unlinkat(dir, aside, AtFlags::empty()).map(|()| Some(*taken))
                }
                Some(_) | None => Ok(None),
            }
        }
        given => given.map(|()| None),
    }
}

/// Gives a file the hidden name, in one step: between two, another program could rename a file to `name`.
/// Fails with `EXIST` if the hidden name is taken.
fn rename_aside(dir: &Dir, name: &str, aside: &str) -> Result<(), Errno> {
    let renamed = match platform::RENAMES_IN_ONE_STEP {
        true => platform::rename_noreplace(dir, name, dir, aside),
        false => Err(Errno::NOSYS),
    };
    match renamed {
        // No other program uses the hidden name, so the check is enough.
        Err(Errno::INVAL | Errno::NOSYS) => match folder::stat(dir, aside) {
            Ok(_) => Err(Errno::EXIST),
            Err(Errno::NOENT) => rustix::fs::renameat(dir, platform::disk_name(name)?, dir, aside),
            Err(error) => Err(error),
        },
        renamed => renamed,
    }
}
