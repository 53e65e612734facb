//! Where each thread stands now: under which of its names, with what.
//!
//! Usually none of the changes is made yet, and every thing has its first name. But a part may have been made
//! before a crash, and what was only intended may never have happened, so any of its names and any of its
//! contents will do. Where two readings of the disk are possible, the plain one (nothing is made yet) is tried
//! first, and the other only if that one runs into a conflict. What a move does not tell is what was moved: a
//! list in which equal notes change names can be read in two ways after a crash in the middle of it.

use std::cell::RefCell;
use std::collections::HashMap;

use envelope::{EntryKind, Failure, Fault, FileState, VaultPath};

use super::thread::{Thread, ThreadId, in_trash};
use crate::sandbox::{Seen, Vault, Witness};

/// The vault, each path looked at once.
pub(super) struct Disk<'a> {
    pub(super) vault: &'a Vault,
    pub(super) witness: &'a dyn Witness,
    seen: RefCell<HashMap<String, Seen>>,
}

impl<'a> Disk<'a> {
    pub(super) fn new(vault: &'a Vault, witness: &'a dyn Witness) -> Disk<'a> {
        Disk { vault, witness, seen: RefCell::default() }
    }

    pub(super) fn at(&self, path: &str) -> Result<Seen, Fault> {
        if let Some(seen) = self.seen.borrow().get(path) {
            return Ok(seen.clone());
        }
        self.witness.may_go_on()?;
        let seen = match self.vault.stands_at(&parsed(path)?, self.witness) {
            // A file stands where a folder was: below it there is nothing.
            Err(fault) if fault.failure == Failure::PreconditionFailed => Seen::Nothing,
            seen => seen?,
        };
        self.seen.borrow_mut().insert(path.to_owned(), seen.clone());
        Ok(seen)
    }
}

pub(super) fn parsed(path: &str) -> Result<VaultPath, Fault> {
    VaultPath::parse(path)
        .map_err(|bad| Fault::new(Failure::InvalidArguments, bad.to_string()).detail("rule", &*bad.rule))
}

/// How the disk is read where it can be read in two ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    NothingIsMade,
    AllIsMade,
}

/// Where a thread stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Standing {
    /// Which of its names it has.
    pub(super) name: usize,
    /// What it holds; absent for folders and links.
    pub(super) state: Option<FileState>,
}

/// Where all threads stand, and what on disk is theirs: nothing is two things at once.
pub(super) struct Standings {
    pub(super) of: Vec<Option<Standing>>,
    claimed: HashMap<String, ThreadId>,
}

impl Standings {
    pub(super) fn find(threads: &[Thread], disk: &Disk<'_>, reading: Reading) -> Result<Standings, Fault> {
        let mut found = Standings { of: vec![None; threads.len()], claimed: HashMap::new() };
        let speaks = |thread: &Thread| !thread.contents.is_empty();
        match reading {
            Reading::NothingIsMade => {
                found.pass(threads, disk, |thread| (!thread.born).then_some(0..1).into_iter().flatten())?;
                // Who knows its content is surer of itself than who takes any.
                found.pass(threads, disk, |thread| 0..if speaks(thread) { thread.names.len() } else { 0 })?;
                found.pass(threads, disk, |thread| 0..thread.names.len())?;
            }
            Reading::AllIsMade => {
                let last_first =
                    |thread: &Thread, wanted: bool| (0..if wanted { thread.names.len() } else { 0 }).rev();
                found.pass(threads, disk, |thread| last_first(thread, !thread.dies && speaks(thread)))?;
                found.pass(threads, disk, |thread| last_first(thread, !thread.dies))?;
                found.pass(threads, disk, |thread| last_first(thread, true))?;
            }
        }
        Ok(found)
    }

    /// Looks for every thread that is not found yet, under the names that `which` gives.
    fn pass<Which: Iterator<Item = usize>>(
        &mut self,
        threads: &[Thread],
        disk: &Disk<'_>,
        which: impl Fn(&Thread) -> Which,
    ) -> Result<(), Fault> {
        for (id, thread) in threads.iter().enumerate() {
            if self.of[id].is_some() {
                continue;
            }
            for name in which(thread) {
                let path = &thread.names[name];
                if self.claimed.contains_key(path) || self.is_of_another_folder(thread, path) {
                    continue;
                }
                if let Some(state) = self.fits(thread, path, disk)? {
                    self.of[id] = Some(Standing { name, state });
                    self.claimed.insert(path.clone(), id);
                    break;
                }
            }
        }
        Ok(())
    }

    /// Whether what stands there came with a folder that is another than the one this thread is born in: a new
    /// `c/a` is not the `c/a` of a folder `c` that is about to move away.
    fn is_of_another_folder(&self, thread: &Thread, path: &str) -> bool {
        let Some(cradle) = thread.cradle else { return false };
        let mut above = path.rmatch_indices('/').map(|(slash, _)| &path[..slash]);
        let owner = above.find_map(|folder| self.claimed.get(folder));
        owner.is_some_and(|owner| *owner != cradle)
    }

    /// Whether what is at a path can be the thread in one of its states; and what it holds.
    fn fits(&self, thread: &Thread, path: &str, disk: &Disk<'_>) -> Result<Option<Option<FileState>>, Fault> {
        let Some(state) = fits(thread, path, &disk.at(path)?) else { return Ok(None) };
        if !in_trash(path) {
            return Ok(Some(state));
        }
        // In the trash a name says little: somebody may have emptied it and deleted another of that name.
        let known = match (thread.kind, thread.trashed.inside) {
            (_, Some(folder)) => {
                let above = path.rsplit_once('/').and_then(|(above, _)| self.claimed.get(above));
                above == Some(&folder)
            }
            (EntryKind::Folder, None) => has_a_sign(thread, path, disk)?,
            (EntryKind::File, None) => true,
        };
        Ok(known.then_some(state))
    }

    pub(super) fn get(&self, thread: ThreadId) -> Option<Standing> {
        self.of[thread]
    }

    /// A file at this path that belongs to none of the threads.
    pub(super) fn stranger(&self, path: &str, disk: &Disk<'_>) -> Result<Option<FileState>, Fault> {
        if self.claimed.contains_key(path) {
            return Ok(None);
        }
        Ok(match disk.at(path)? {
            Seen::File { state, .. } => Some(state),
            Seen::Nothing | Seen::Folder | Seen::Other => None,
        })
    }
}

/// Whether a folder in the trash still has one of the files that it went there with.
fn has_a_sign(thread: &Thread, path: &str, disk: &Disk<'_>) -> Result<bool, Fault> {
    for (rest, hash) in &thread.trashed.signs {
        match disk.at(&format!("{path}/{rest}"))? {
            Seen::File { state, .. } if state.hash == *hash => return Ok(true),
            Seen::File { .. } | Seen::Nothing | Seen::Folder | Seen::Other => {}
        }
    }
    Ok(thread.trashed.signs.is_empty())
}

/// Whether what is seen can be the thread in one of its states; and what it holds.
fn fits(thread: &Thread, path: &str, seen: &Seen) -> Option<Option<FileState>> {
    // What came out of the trash is known by what it held there; what is still there with its folder, by that.
    let held = match (thread.trashed.inside, thread.trashed.spare) {
        (Some(_), _) if in_trash(path) => None,
        (Some(_), spare) => spare,
        (None, _) => thread.trashed.held,
    };
    match (thread.kind, seen) {
        (EntryKind::Folder, Seen::Folder) => Some(None),
        (EntryKind::File, Seen::File { state, .. }) => {
            let known = match thread.contents.is_empty() {
                true => held.is_none_or(|held| held.hash == state.hash),
                false => thread.contents.contains(&state.hash),
            };
            known.then_some(Some(*state))
        }
        // A link moves as a file does; it has no content of its own.
        (EntryKind::File, Seen::Other) => (thread.contents.is_empty() && held.is_none()).then_some(None),
        (EntryKind::File, Seen::Nothing | Seen::Folder)
        | (EntryKind::Folder, Seen::Nothing | Seen::File { .. } | Seen::Other) => None,
    }
}
