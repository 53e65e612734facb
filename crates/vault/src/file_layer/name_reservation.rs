//! Free names, chosen before approval and reserved for a call until they are written.
//!
//! The approved path must be the one that is written, so the choice cannot wait for the write. A name that one
//! call has reserved is not free for another, so parallel calls get different names. Another program can still
//! take the name; the call then fails instead of using a name that was not approved.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cap_std::fs::Dir;
use envelope::{CallId, Fault, VaultPath};

use super::fault;
use super::folder::{self, NodeKind};
use super::locate::{FinalLink, Location};
use super::make_folder::paths_of;
use super::vault::Vault;
use super::write::{no_free_name, spelled_in};

/// Maps a folded path to the call that reserved it and its number of reservations.
type ReservationTable = HashMap<String, (CallId, u32)>;

/// Names that are chosen and not yet written.
#[derive(Debug, Default, Clone)]
pub(super) struct ReservedNames(Arc<Mutex<ReservationTable>>);

/// A free name, reserved for one call until this is dropped.
#[derive(Debug)]
pub struct NameReservation {
    path: VaultPath,
    chosen: ReservedNames,
}

impl NameReservation {
    pub fn path(&self) -> &VaultPath {
        &self.path
    }
}

impl ReservedNames {
    fn table(&self) -> MutexGuard<'_, ReservationTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for NameReservation {
    fn drop(&mut self) {
        let key = self.path.folded();
        let mut table = self.chosen.table();
        if let Some((_, times)) = table.get_mut(&key) {
            *times -= 1;
            if *times == 0 {
                table.remove(&key);
            }
        }
    }
}

impl Vault {
    /// Reserves the first free name of `Note.md`, `Note 1.md`, `Note 2.md` and so on. A call that chooses
    /// again, because its input was changed, can get the name that it holds.
    pub fn reserve_name(&self, path: &VaultPath, call: &CallId) -> Result<NameReservation, Fault> {
        let mut table = self.reserved_names.table();
        let path = self.first_free(path, |key| table.get(key).is_some_and(|(holder, _)| holder != call))?;
        table.entry(path.folded()).or_insert_with(|| (call.clone(), 0)).1 += 1;
        Ok(NameReservation { path, chosen: self.reserved_names.clone() })
    }

    /// Reserves a free name in the trash for an entry at `path`. Also returns true if the trash has to be
    /// created first.
    pub(crate) fn reserve_trash_name(
        &self,
        path: &VaultPath,
        call: &CallId,
    ) -> Result<(bool, NameReservation), Fault> {
        let mut table = self.reserved_names.table();
        let is_held = |key: &str| table.get(key).is_some_and(|(holder, _)| holder != call);
        let (missing, path) = self.free_name_in_trash(path, is_held)?;
        table.entry(path.folded()).or_insert_with(|| (call.clone(), 0)).1 += 1;
        Ok((missing, NameReservation { path, chosen: self.reserved_names.clone() }))
    }

    fn first_free(&self, path: &VaultPath, held: impl Fn(&str) -> bool) -> Result<VaultPath, Fault> {
        Vault::refuse_protected(path)?;
        self.files.first_free(self, path, &held)
    }

    pub(super) fn first_free_on_disk(
        &self,
        path: &VaultPath,
        held: &dyn Fn(&str) -> bool,
    ) -> Result<VaultPath, Fault> {
        let (dir, folder) = self.folder_for(path)?;
        for name in unique_names(path.name()) {
            let candidate = spelled_in(folder.as_ref(), &name)?;
            if held(&candidate.folded()) {
                continue;
            }
            let Some(dir) = &dir else {
                return Ok(candidate);
            };
            // The exact name is checked first: if it exists, the other names need not be read.
            let failed = |error| fault::from_errno("list the folder of", path.as_str(), error);
            if folder::stat(dir, &name).is_err()
                && !self.name_collisions.exists(dir, &name).map_err(failed)?
            {
                return Ok(candidate);
            }
        }
        Err(no_free_name(path))
    }

    /// Returns the path of the folder for a new file at `path`, and its handle if it exists.
    fn folder_for(&self, path: &VaultPath) -> Result<(Option<Arc<Dir>>, Option<VaultPath>), Fault> {
        let Some(parent) = path.parent() else {
            return Ok((Some(self.root.clone()), None));
        };
        match self.locate(&parent, FinalLink::Follow)? {
            Location::Missing(missing_path) => {
                self.refuse_collision(&missing_path)?;
                Ok((None, paths_of(&missing_path)?.pop()))
            }
            Location::Found(located) if located.kind() != NodeKind::Folder => {
                Err(fault::below_a_file(located.path.as_str()))
            }
            Location::Found(located) => {
                let dir = folder::open_folder(&located.dir, &located.name)
                    .map_err(|error| fault::from_errno("open", parent.as_str(), error))?;
                Ok((Some(Arc::new(dir)), Some(located.path)))
            }
        }
    }
}

/// Highest number that is tried.
const MAX_NUMBER: u32 = 9_999;

/// Returns the name itself, then the numbered ones. The stem is cut if the number would make the name too long. A number
/// can make an escape needless: after `\x43ON.md` comes `CON 1.md`.
pub(super) fn unique_names(name: &str) -> impl Iterator<Item = String> {
    let (stem, extension) = match name.rfind('.') {
        Some(dot) if dot > 0 => name.split_at(dot),
        Some(_) | None => (name, ""),
    };
    let numbered = (1..=MAX_NUMBER).filter_map(move |number| {
        let ending = format!(" {number}{extension}");
        let room = VaultPath::MAX_SEGMENT_BYTES.saturating_sub(ending.len());
        let numbered = format!("{}{ending}", stem[..stem.floor_char_boundary(room)].trim_end());
        if numbered.contains('\\') { VaultPath::respell_name(&numbered) } else { Some(numbered) }
    });
    std::iter::once(name.to_owned()).chain(numbered)
}

#[cfg(test)]
mod tests {
    use envelope::{CallId, VaultPath};

    use super::super::vault::Vault;
    use super::unique_names;

    #[test]
    fn calls_side_by_side_choose_different_names_and_one_call_keeps_its_own() {
        let temp = tempfile::tempdir().unwrap();
        let vault = Vault::open(temp.path()).unwrap();
        std::fs::File::create(temp.path().join("Keep.md")).unwrap();
        let path = VaultPath::parse("KEEP.md").unwrap();
        let choose = |call: &str| vault.reserve_name(&path, &CallId::parse(call).unwrap()).unwrap();
        let first = choose("one");
        let second = choose("two");
        let again = choose("one");
        let chosen = [&first, &second, &again].map(|name| name.path().as_str());
        assert_eq!(chosen, ["KEEP 1.md", "KEEP 2.md", "KEEP 1.md"]);
        drop(first);
        assert_eq!(choose("three").path().as_str(), "KEEP 3.md", "held twice, let go once");
        drop(again);
        assert_eq!(choose("three").path().as_str(), "KEEP 1.md");
        drop(second);
        assert!(vault.reserved_names.table().is_empty());
    }

    #[test]
    fn calls_side_by_side_get_different_names_in_the_trash() {
        let temp = tempfile::tempdir().unwrap();
        let vault = Vault::open(temp.path()).unwrap();
        let choose = |path: &str, call: &str| {
            vault
                .reserve_trash_name(&VaultPath::parse(path).unwrap(), &CallId::parse(call).unwrap())
                .unwrap()
                .1
        };
        let (first, second) = (choose("a.md", "one"), choose("sub/A.md", "two"));
        assert_eq!([first.path().as_str(), second.path().as_str()], [".trash/a.md", ".trash/A 1.md"]);
        drop(first);
        assert_eq!(choose("other/a.md", "three").path().as_str(), ".trash/a.md");
    }

    #[test]
    fn a_name_is_held_also_in_a_folder_that_is_not_there_yet() {
        let temp = tempfile::tempdir().unwrap();
        let vault = Vault::open(temp.path()).unwrap();
        let path = VaultPath::parse("New/Folder/a.md").unwrap();
        let held = vault.reserve_name(&path, &CallId::parse("one").unwrap()).unwrap();
        assert_eq!(held.path(), &path);
        let other = vault.reserve_name(&path, &CallId::parse("two").unwrap()).unwrap();
        assert_eq!(other.path().as_str(), "New/Folder/a 1.md");
    }

    #[test]
    fn names_are_numbered_before_the_extension_and_stay_short_enough() {
        let first = |name: &str| unique_names(name).take(3).collect::<Vec<_>>();
        assert_eq!(first("Note.md"), ["Note.md", "Note 1.md", "Note 2.md"]);
        assert_eq!(first("a.tar.gz"), ["a.tar.gz", "a.tar 1.gz", "a.tar 2.gz"]);
        assert_eq!(first(".hidden"), [".hidden", ".hidden 1", ".hidden 2"]);
        let long = format!("{}.md", "ü".repeat(126));
        assert_eq!(long.len(), 255);
        for name in unique_names(&long).skip(1).take(100) {
            assert!(name.len() <= 255 && name.ends_with(".md"), "{name}");
        }
    }
}
