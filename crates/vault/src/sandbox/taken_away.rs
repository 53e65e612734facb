//! What a crash left of a file in the moment in which it was replaced or removed.
//!
//! Its old text has a hidden name then. The call had it stored before it began, so when it is found that the
//! call has happened, the hidden file is one copy too many. It goes only if every sign agrees: the name is one
//! that we give, the content is what the call took away from that folder, the store gives that content back,
//! and no writer of ours is at work there. Anything else stays, hidden and untouched.

use cap_std::fs::Dir;
use envelope::{Fault, FileState, VaultPath};
use rustix::fs::AtFlags;

use super::change::Witness;
use super::folder::{self, Kind};
use super::leftovers::{held_old_text, lock};
use super::put_back::is_kept;
use super::state::state_at;
use super::turn::Turn;
use super::vault::Vault;

impl Vault {
    /// Removes the hidden copy of what was at `path` before a call that has happened. That there is none is the
    /// usual case, and that it cannot be removed is no fault: it is in nobody's way.
    pub(crate) fn clear_taken_away(
        &self,
        path: &VaultPath,
        before: &FileState,
        witness: &dyn Witness,
    ) -> Result<(), Fault> {
        if self.layer.is_some() {
            return Ok(());
        }
        let Ok(open) = self.open_folder(path.parent().as_ref()) else {
            return Ok(());
        };
        let names = folder::names(&open.dir).unwrap_or_default().named;
        let mut hidden =
            names.into_iter().map(|named| named.name).filter(|name| may_be_it(&open.dir, name, before));
        let Some(first) = hidden.next() else {
            return Ok(());
        };
        // Whoever replaces or removes a file in this folder right now holds the turn.
        let turn = Turn::take(&open.dir, path.as_str(), witness)?;
        for name in std::iter::once(first).chain(hidden) {
            let is_before =
                state_at(&open.dir, &name, path, witness).is_ok_and(|state| state.hash == before.hash);
            let idle = folder::open_file(&open.dir, &name).is_ok_and(|file| lock(&file));
            if is_before && idle && is_kept(before, witness) {
                rustix::fs::unlinkat(&*open.dir, name.as_str(), AtFlags::empty()).ok();
            }
        }
        drop(turn);
        Ok(())
    }
}

fn may_be_it(dir: &Dir, name: &str, before: &FileState) -> bool {
    name.starts_with(VaultPath::TEMPORARY_PREFIX)
        && folder::stat(dir, name).is_ok_and(|stat| {
            folder::kind(&stat) == Kind::File
                && u64::try_from(stat.st_size) == Ok(before.bytes)
                && held_old_text(name, stat.st_ino)
        })
}
