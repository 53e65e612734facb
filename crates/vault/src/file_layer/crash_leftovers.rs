//! Hidden copies that a crash left while a file was replaced or removed.
//!
//! The old content has a hidden name in that moment. The call stored it before, so after reconciliation found
//! that the call has happened, the hidden file is a spare copy. It is removed only if all of this is true: the
//! name is one that this crate gives, the content is what the call removed from that folder, the store returns
//! that content, and no writer of this crate works in the folder. Any other file stays hidden and untouched.

use std::collections::HashMap;

use cap_std::fs::Dir;
use envelope::{Fault, FileState, VaultPath};
use rustix::fs::AtFlags;

use super::folder::{self, NodeKind};
use super::folder_lock::FolderLock;
use super::io_context::IoContext;
use super::path_state::state_at;
use super::rollback::is_stored;
use super::temp_leftovers::{held_old_text, lock};
use super::vault::Vault;

impl Vault {
    /// Removes hidden copies of the previous content of these paths, after the calls have happened, and files that a killed
    /// process had not finished in their folders. Usually none exist. A copy that cannot be removed is not an error, as it does no harm. Each folder is read once,
    /// however many of its files were changed.
    pub(crate) fn clear_crash_leftovers(
        &self,
        taken: &[(VaultPath, FileState)],
        io: &dyn IoContext,
    ) -> Result<(), Fault> {
        self.files.clear_crash_leftovers(self, taken, io)
    }

    pub(super) fn clear_crash_leftovers_on_disk(
        &self,
        taken: &[(VaultPath, FileState)],
        io: &dyn IoContext,
    ) -> Result<(), Fault> {
        let mut folders: HashMap<Option<VaultPath>, Vec<&(VaultPath, FileState)>> = HashMap::new();
        for one in taken {
            folders.entry(one.0.parent()).or_default().push(one);
        }
        for (folder, taken) in folders {
            io.check_cancelled()?;
            self.clear_folder(folder.as_ref(), &taken, io)?;
        }
        Ok(())
    }

    fn clear_folder(
        &self,
        folder: Option<&VaultPath>,
        taken: &[&(VaultPath, FileState)],
        io: &dyn IoContext,
    ) -> Result<(), Fault> {
        let Ok(open) = self.open_folder(folder) else {
            return Ok(());
        };
        self.leftovers.remove_once(&open.dir);
        let mut by_size: HashMap<u64, Vec<&(VaultPath, FileState)>> = HashMap::new();
        for one in taken {
            by_size.entry(one.1.bytes).or_default().push(one);
        }
        let names = folder::list_names(&open.dir).unwrap_or_default().named;
        let hidden: Vec<(String, &Vec<&(VaultPath, FileState)>)> = names
            .into_iter()
            .filter_map(|named| {
                let candidates = by_size.get(&size_of_old_text(&open.dir, &named.name)?)?;
                Some((named.name, candidates))
            })
            .collect();
        let Some((path, _)) = hidden.first().and_then(|(_, candidates)| candidates.first()) else {
            return Ok(());
        };
        // A process that replaces or removes a file in this folder holds the lock.
        let lock_guard = FolderLock::acquire(&open.dir, path.as_str(), io)?;
        for (name, candidates) in hidden {
            let Ok(state) = state_at(&open.dir, &name, path, io) else { continue };
            let is_before = candidates.iter().any(|(_, before)| before.hash == state.hash);
            let idle = folder::open_file(&open.dir, &name).is_ok_and(|file| lock(&file));
            if is_before && idle && is_stored(&state, io) {
                rustix::fs::unlinkat(&*open.dir, name.as_str(), AtFlags::empty()).ok();
            }
        }
        drop(lock_guard);
        Ok(())
    }
}

/// Returns the size of a file that can be the old content under a hidden name.
fn size_of_old_text(dir: &Dir, name: &str) -> Option<u64> {
    if !name.starts_with(VaultPath::TEMPORARY_PREFIX) {
        return None;
    }
    let stat = folder::stat(dir, name).ok()?;
    let is_ours = folder::kind(&stat) == NodeKind::File && held_old_text(name, stat.identity.inode);
    is_ours.then_some(stat.size)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::MetadataExt as _;

    use envelope::{DataRef, Failure, Fault, FileState, Hash, VaultChange, VaultPath};

    use super::super::io_context::IoContext;
    use super::super::temp_leftovers::aside_name;
    use super::super::vault::Vault;

    /// Returns every content but one, and counts the cancellation checks.
    struct PartialStore {
        lost: Hash,
        asked: Cell<usize>,
    }

    impl IoContext for PartialStore {
        fn record_change(&self, _change: VaultChange) {}

        fn check_cancelled(&self) -> Result<(), Fault> {
            self.asked.set(self.asked.get() + 1);
            Ok(())
        }

        fn fetch(&self, wanted: &DataRef, _into: &mut dyn Write) -> Result<(), Fault> {
            match wanted.hash == self.lost {
                true => Err(Fault::new(Failure::NotFound, "lost")),
                false => Ok(()),
            }
        }
    }

    fn before(text: &str) -> FileState {
        FileState { hash: Hash::of(text.as_bytes()), bytes: text.len() as u64, mode: 0o644 }
    }

    #[test]
    fn only_what_calls_took_away_and_the_store_has_is_cleared() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("F");
        fs::create_dir(&folder).unwrap();
        for text in ["one", "two", "lost", "else"] {
            let path = folder.join(text);
            fs::File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
            fs::rename(&path, folder.join(aside_name(path.metadata().unwrap().ino()))).unwrap();
        }
        let taken: Vec<(VaultPath, FileState)> = ["one", "two", "lost"]
            .map(|text| (VaultPath::parse(&format!("F/{text}.md")).unwrap(), before(text)))
            .into();
        let store = PartialStore { lost: Hash::of(b"lost"), asked: Cell::default() };
        Vault::open(root.path()).unwrap().clear_crash_leftovers(&taken, &store).unwrap();
        let mut left: Vec<String> = fs::read_dir(&folder)
            .unwrap()
            .map(|file| fs::read_to_string(file.unwrap().path()).unwrap())
            .collect();
        left.sort();
        assert_eq!(left, ["else", "lost"]);
    }

    #[test]
    fn a_folder_is_looked_through_once_however_much_was_taken_from_it() {
        let root = tempfile::tempdir().unwrap();
        let taken: Vec<(VaultPath, FileState)> =
            (0..100).map(|n| (VaultPath::parse(&format!("{n}.md")).unwrap(), before("x"))).collect();
        let store = PartialStore { lost: Hash::of(b"lost"), asked: Cell::default() };
        Vault::open(root.path()).unwrap().clear_crash_leftovers(&taken, &store).unwrap();
        assert_eq!(store.asked.get(), 1);
    }
}
