//! Removing for good: a file only if it is exactly the one that was kept, a folder only if it is empty.

use cap_std::fs::Dir;
use envelope::{Change, Failure, Fault, FileState, VaultPath};
use rustix::fs::{AtFlags, RenameFlags};
use rustix::io::Errno;

use super::change::Witness;
use super::fault;
use super::folder;
use super::read::OpenFile;
use super::relocate::in_trash;
use super::replace::{changed, gone};
use super::state::state_of;
use super::turn::Turn;
use super::vault::Vault;

impl Vault {
    /// Removes a file that must be exactly `before`. It is taken aside under a hidden name first, where no
    /// program that goes by its name can write to it any more, and compared there.
    pub(super) fn remove_exactly(
        &self,
        path: &VaultPath,
        before: &FileState,
        witness: &dyn Witness,
    ) -> Result<(), Fault> {
        let place = self.entry_at(path)?.ok_or_else(|| gone(path))?;
        let (dir, name) = (place.dir.clone(), place.name.clone());
        let turn = Turn::take(&dir, path.as_str(), witness)?;
        let open = self.open_in(&dir, &name, path)?;
        let now = state_of(&open, witness)?;
        if now.hash != before.hash {
            return Err(changed(path, before, &now));
        }
        witness.may_go_on()?;
        let failed = |error: Errno| fault::from_errno("remove", path.as_str(), error);
        let aside = format!("{}removed-{:x}", VaultPath::TEMPORARY_PREFIX, open.stat.st_ino);
        take_aside(&dir, &name, &aside).map_err(failed)?;
        let taken = folder::open_file(&dir, &aside).map_err(failed).and_then(|file| {
            let stat = rustix::fs::fstat(&file).map_err(failed)?;
            state_of(&OpenFile { file, stat, path: open.path.clone() }, witness)
        });
        match taken {
            Ok(taken) if taken.hash == before.hash => {}
            other => {
                // Somebody wrote at the last moment: it goes back, and if it cannot, it stays aside.
                take_aside(&dir, &aside, &name).map_err(failed)?;
                return Err(other.map_or_else(|fault| fault, |taken| changed(path, before, &taken)));
            }
        }
        rustix::fs::unlinkat(&*dir, aside.as_str(), AtFlags::empty()).map_err(failed)?;
        witness.saw(Change::FileRemoved { path: open.path.to_string(), before: now });
        folder::sync(&dir).map_err(|error| fault::not_durable(path.as_str(), error))?;
        drop(turn);
        Ok(())
    }

    /// Removes an empty folder.
    pub(super) fn remove_folder(&self, path: &VaultPath, witness: &dyn Witness) -> Result<(), Fault> {
        let is_trash = in_trash(path);
        let (dir, name) = if is_trash && path.segments().count() == 1 {
            (self.root.clone(), path.name().to_owned())
        } else {
            let place = self.entry_at(path)?.ok_or_else(|| gone(path))?;
            (place.dir, place.name)
        };
        witness.may_go_on()?;
        match rustix::fs::unlinkat(&*dir, name.as_str(), AtFlags::REMOVEDIR) {
            Ok(()) => {}
            Err(Errno::NOTEMPTY | Errno::EXIST) => {
                return Err(Fault::new(Failure::Conflict, format!("the folder `{path}` is not empty"))
                    .hint("look at what is in it; it was not there when this was prepared"));
            }
            Err(Errno::NOENT) => return Err(gone(path)),
            Err(error) => return Err(fault::from_errno("remove the folder", path.as_str(), error)),
        }
        witness.saw(Change::FolderRemoved { path: path.to_string() });
        folder::sync(&dir).map_err(|error| fault::not_durable(path.as_str(), error))
    }
}

fn take_aside(dir: &Dir, name: &str, aside: &str) -> Result<(), Errno> {
    match rustix::fs::renameat_with(dir, name, dir, aside, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS) => rustix::fs::renameat(dir, name, dir, aside),
        renamed => renamed,
    }
}
