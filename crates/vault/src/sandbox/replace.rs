//! Putting a file in the place of another, and of that one only.
//!
//! The new file is complete and durable under a hidden name. Then the two names are *exchanged*, which no
//! other program can come between, and what was taken out is compared with what was expected. If another
//! program wrote at the last moment, its file is what was taken out: it is exchanged back and the call is a
//! conflict. Nothing is ever overwritten unread. Where the system cannot exchange, the file is compared
//! right before it is replaced, and the lock of `turn.rs` is all there is.
//!
//! What no exchange can do: a program that reads in the few microseconds between an exchange and its taking
//! back sees the new text. A glance right before the exchange keeps that from happening for anything that
//! was written earlier. A program that holds the old file open and writes to it after it was taken out writes
//! to a file without a name, as with every editor that saves by renaming.

use std::sync::Arc;

use cap_std::fs::Dir;
use envelope::{Change, Failure, Fault, FileState, VaultPath};
use rustix::fs::{Mode, Stat};
use rustix::io::Errno;

use super::change::Witness;
use super::fault;
use super::folder;
use super::locate::{Found, LastLink};
use super::put_back::put_back;
use super::read::{OpenFile, open_place};
use super::state::state_of;
use super::step::Content;
use super::temp::{Exchange, Temp};
use super::turn::Turn;
use super::vault::Vault;
use super::write::Written;

impl Vault {
    /// Replaces the file at `path`, which must be exactly `before`. It keeps its mode unless one is given;
    /// other names of the old file (hard links) keep the old content.
    pub(super) fn replace_exactly(
        &self,
        path: &VaultPath,
        before: &FileState,
        content: &Content,
        mode: Option<u32>,
        witness: &dyn Witness,
    ) -> Result<Written, Fault> {
        self.replace_as(path, before, before, (content, mode), witness)
    }

    /// [`Vault::replace_exactly`] where what the person had before is not what is on disk: the unsaved text of
    /// an open note.
    pub(super) fn replace_as(
        &self,
        path: &VaultPath,
        before: &FileState,
        had: &FileState,
        (content, mode): (&Content, Option<u32>),
        witness: &dyn Witness,
    ) -> Result<Written, Fault> {
        let (dir, name) = match self.locate(path, LastLink::Follow)? {
            Found::Place(place) => (place.dir, place.name),
            Found::Nothing(_) => return Err(gone(path)),
        };
        let turn = Turn::take(&dir, path.as_str(), witness)?;
        let open = self.open_in(&dir, &name, path)?;
        let now = state_of(&open, witness)?;
        if now.hash != before.hash {
            return Err(changed(path, before, &now));
        }
        let failed = |error: Errno| fault::from_errno("write", open.path.as_str(), error);
        self.leftovers.remove_once(&dir);
        let after_mode = mode.unwrap_or(now.mode);
        let mut temp =
            Temp::write_with(&dir, path.as_str(), Some(Mode::from_raw_mode(after_mode)), |file| {
                content.write_to(file, witness)
            })?;
        witness.may_go_on()?;
        self.compare_again(&dir, &name, &open, before, witness)?;
        let after = content.state(after_mode);
        match temp.exchange(&name) {
            Ok(Exchange::Done) => {
                if let Err(fault) = compare_taken(&temp, &open, before, witness) {
                    put_back(&mut temp, &name, &open.path, &after, witness)?;
                    return Err(fault);
                }
                // At once: the shorter the old file has a name, the fewer programs find it.
                temp.discard();
            }
            Ok(Exchange::NotPossible) => temp.replace(&name).map_err(failed)?,
            Err(Errno::NOENT) => return Err(gone(path)),
            Err(error) => return Err(failed(error)),
        }
        let had = FileState { mode: now.mode, ..*had };
        witness.saw(Change::FileReplaced { path: open.path.to_string(), before: had, after });
        folder::sync(&dir).map_err(|error| fault::not_durable(open.path.as_str(), error))?;
        let mtime_ms = Some(folder::mtime_ms(&temp.stat().map_err(failed)?));
        drop(turn);
        Ok(Written { path: open.path, etag: after.etag(), mtime_ms, created: false })
    }

    /// Opens a name in a folder that is held open, as a regular file.
    pub(super) fn open_in(&self, dir: &Arc<Dir>, name: &str, path: &VaultPath) -> Result<OpenFile, Fault> {
        let stat = match folder::stat(dir, name) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Err(gone(path)),
            Err(error) => return Err(fault::from_errno("open", path.as_str(), error)),
        };
        let real = self.real_path(path).unwrap_or_else(|| path.clone());
        let place = super::locate::Place { dir: dir.clone(), name: name.to_owned(), path: real, stat };
        open_place(place)?.ok_or_else(|| fault::restless(path.as_str()))
    }

    /// That the name still means what was compared, after the time that it took to write the new file. Only
    /// what looks different is read again: a program may have touched the file without changing it.
    fn compare_again(
        &self,
        dir: &Arc<Dir>,
        name: &str,
        open: &OpenFile,
        before: &FileState,
        witness: &dyn Witness,
    ) -> Result<(), Fault> {
        if folder::stat(dir, name).is_ok_and(|stat| looks_same(&stat, &open.stat)) {
            return Ok(());
        }
        let now = state_of(&self.open_in(dir, name, &open.path)?, witness)?;
        if now.hash == before.hash { Ok(()) } else { Err(changed(&open.path, before, &now)) }
    }
}

fn looks_same(a: &Stat, b: &Stat) -> bool {
    let look = |stat: &Stat| {
        (
            stat.st_dev,
            stat.st_ino,
            stat.st_size,
            stat.st_mtime,
            stat.st_mtime_nsec,
            stat.st_ctime,
            stat.st_ctime_nsec,
        )
    };
    look(a) == look(b)
}

/// That what the exchange took out is what was compared before: a file, still with that content.
fn compare_taken(
    temp: &Temp<'_>,
    open: &OpenFile,
    before: &FileState,
    witness: &dyn Witness,
) -> Result<(), Fault> {
    let now = temp.hidden_state(&open.path, witness)?;
    if now.hash == before.hash { Ok(()) } else { Err(changed(&open.path, before, &now)) }
}

/// The file is not the one that the caller has seen.
pub(super) fn changed(path: &VaultPath, expected: &FileState, now: &FileState) -> Fault {
    Fault::new(Failure::Conflict, format!("`{path}` has changed: it is not what was read"))
        .detail("expectedEtag", expected.etag())
        .detail("currentEtag", now.etag())
        .hint("read the file again, then decide on what it says now")
        // Nothing was done; another attempt begins with what is there by then, and with what it expects.
        .retryable(true)
}

/// The file was there when the change was prepared.
pub(super) fn gone(path: &VaultPath) -> Fault {
    Fault::new(Failure::Conflict, format!("`{path}` is not there any more"))
        .hint("list the folder to see what became of it")
}
