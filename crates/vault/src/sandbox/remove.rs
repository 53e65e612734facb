//! Removing for good: a file only if it is exactly the one that was kept, a folder only if it is empty.

use cap_std::fs::Dir;
use envelope::{Change, Failure, Fault, FileState, VaultPath};
use rustix::fs::{AtFlags, RenameFlags};
use rustix::io::Errno;

use super::change::Witness;
use super::fault;
use super::folder;
use super::leftovers::aside_name;
use super::put_back::is_kept;
use super::relocate::in_trash;
use super::replace::{changed, gone};
use super::state::{state_at, state_of};
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
        let (dir, name) = (place.dir, place.name);
        let turn = Turn::take(&dir, path.as_str(), witness)?;
        let open = self.open_in(&dir, &name, path)?;
        let now = state_of(&open, witness)?;
        if now.hash != before.hash {
            return Err(changed(path, before, &now));
        }
        witness.may_go_on()?;
        let failed = |error: Errno| fault::from_errno("remove", path.as_str(), error);
        let aside = aside_name(open.stat.st_ino);
        match take_aside(&dir, &name, &aside) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Err(gone(path)),
            Err(error) => return Err(failed(error)),
        }
        let taken = state_at(&dir, &aside, &open.path, witness);
        match taken {
            Ok(taken) if taken.hash == before.hash => {}
            other => {
                // Somebody wrote at the last moment.
                give_back(&dir, &aside, &name, other.as_ref().ok(), witness).map_err(failed)?;
                return Err(other.map_or_else(|fault| fault, |taken| changed(path, before, &taken)));
            }
        }
        if let Err(error) = rustix::fs::unlinkat(&*dir, aside.as_str(), AtFlags::empty()) {
            give_back(&dir, &aside, &name, Some(&now), witness).map_err(failed)?;
            return Err(failed(error));
        }
        witness.saw(Change::FileRemoved { path: open.path.to_string(), before: now });
        folder::sync(&dir).map_err(|error| fault::not_durable(path.as_str(), error))?;
        drop(turn);
        Ok(())
    }

    /// Removes an empty folder, which has this mode as far as anyone has looked.
    pub(super) fn remove_folder(
        &self,
        path: &VaultPath,
        mode: Option<u32>,
        witness: &dyn Witness,
    ) -> Result<(), Fault> {
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
        witness.saw(Change::FolderRemoved { path: path.to_string(), mode });
        folder::sync(&dir).map_err(|error| fault::not_durable(path.as_str(), error))
    }
}

/// Gives a file its name back. If something newer has the name by then, the file goes to the store instead;
/// where there is none, it stays aside.
fn give_back(
    dir: &Dir,
    aside: &str,
    name: &str,
    taken: Option<&FileState>,
    witness: &dyn Witness,
) -> Result<(), Errno> {
    match take_aside(dir, aside, name) {
        Err(Errno::EXIST) => {
            let kept = folder::open_file(dir, aside).is_ok_and(|mut file| witness.keep(&mut file).is_ok());
            match taken {
                Some(taken) if kept && is_kept(taken, witness) => {
                    rustix::fs::unlinkat(dir, aside, AtFlags::empty())
                }
                Some(_) | None => Ok(()),
            }
        }
        given => given,
    }
}

fn take_aside(dir: &Dir, name: &str, aside: &str) -> Result<(), Errno> {
    match rustix::fs::renameat_with(dir, name, dir, aside, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS) => rustix::fs::renameat(dir, name, dir, aside),
        renamed => renamed,
    }
}
