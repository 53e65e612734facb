//! What a crash left of a file in the moment in which it was replaced or removed.
//!
//! Its old text has a hidden name then. The call had it stored before it began, so when it is found that the
//! call has happened, the hidden file is one copy too many. It goes only if every sign agrees: the name is one
//! that we give, the content is what the call took away from that folder, the store gives that content back,
//! and no writer of ours is at work there. Anything else stays, hidden and untouched.

use std::collections::HashMap;

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
    /// Removes the hidden copies of what was at these paths before calls that have happened. That there are none
    /// is the usual case, and that one cannot be removed is no fault: it is in nobody's way. Each folder is looked
    /// through once, however many of its files were changed.
    pub(crate) fn clear_taken_away(
        &self,
        taken: &[(VaultPath, FileState)],
        witness: &dyn Witness,
    ) -> Result<(), Fault> {
        if self.layer.is_some() {
            return Ok(());
        }
        let mut folders: HashMap<Option<VaultPath>, Vec<&(VaultPath, FileState)>> = HashMap::new();
        for one in taken {
            folders.entry(one.0.parent()).or_default().push(one);
        }
        for (folder, taken) in folders {
            witness.may_go_on()?;
            self.clear_folder(folder.as_ref(), &taken, witness)?;
        }
        Ok(())
    }

    fn clear_folder(
        &self,
        folder: Option<&VaultPath>,
        taken: &[&(VaultPath, FileState)],
        witness: &dyn Witness,
    ) -> Result<(), Fault> {
        let Ok(open) = self.open_folder(folder) else {
            return Ok(());
        };
        let mut by_size: HashMap<u64, Vec<&(VaultPath, FileState)>> = HashMap::new();
        for one in taken {
            by_size.entry(one.1.bytes).or_default().push(one);
        }
        let names = folder::names(&open.dir).unwrap_or_default().named;
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
        // Whoever replaces or removes a file in this folder right now holds the turn.
        let turn = Turn::take(&open.dir, path.as_str(), witness)?;
        for (name, candidates) in hidden {
            let Ok(state) = state_at(&open.dir, &name, path, witness) else { continue };
            let is_before = candidates.iter().any(|(_, before)| before.hash == state.hash);
            let idle = folder::open_file(&open.dir, &name).is_ok_and(|file| lock(&file));
            if is_before && idle && is_kept(&state, witness) {
                rustix::fs::unlinkat(&*open.dir, name.as_str(), AtFlags::empty()).ok();
            }
        }
        drop(turn);
        Ok(())
    }
}

/// How large the old text is that has this name, if it can have got the name from us.
fn size_of_old_text(dir: &Dir, name: &str) -> Option<u64> {
    if !name.starts_with(VaultPath::TEMPORARY_PREFIX) {
        return None;
    }
    let stat = folder::stat(dir, name).ok()?;
    let is_ours = folder::kind(&stat) == Kind::File && held_old_text(name, stat.st_ino);
    u64::try_from(stat.st_size).ok().filter(|_| is_ours)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::MetadataExt as _;

    use envelope::{Change, DataRef, Failure, Fault, FileState, Hash, VaultPath};

    use super::super::change::Witness;
    use super::super::leftovers::aside_name;
    use super::super::vault::Vault;

    /// Has stored everything but one content, and counts how often it is asked whether to go on.
    struct Keeper {
        lost: Hash,
        asked: Cell<usize>,
    }

    impl Witness for Keeper {
        fn saw(&self, _change: Change) {}

        fn may_go_on(&self) -> Result<(), Fault> {
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
        let keeper = Keeper { lost: Hash::of(b"lost"), asked: Cell::default() };
        Vault::open(root.path()).unwrap().clear_taken_away(&taken, &keeper).unwrap();
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
        let keeper = Keeper { lost: Hash::of(b"lost"), asked: Cell::default() };
        Vault::open(root.path()).unwrap().clear_taken_away(&taken, &keeper).unwrap();
        assert_eq!(keeper.asked.get(), 1);
    }
}
