//! A free name is chosen before anyone is asked about it, and kept for the call until it is written.
//!
//! What is permitted must be what is written, so the choice cannot wait for the moment of writing. A name
//! that one call has chosen is not free for another, so that calls side by side get different names. Another
//! program can still take it; then the call fails and does not move on to a name that nobody permitted.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cap_std::fs::Dir;
use envelope::{CallId, Fault, VaultPath};

use super::fault;
use super::folder::{self, Kind};
use super::layer::Layer;
use super::locate::{Found, LastLink};
use super::make_folder::{paths_of, refuse_twin};
use super::unique::unique_names;
use super::vault::Vault;
use super::write::{no_free_name, spelled_in};

/// Folded path, and who holds it how many times.
type Table = HashMap<String, (CallId, u32)>;

/// The names that are chosen and not yet written.
#[derive(Debug, Default, Clone)]
pub(super) struct Chosen(Arc<Mutex<Table>>);

/// A name that was free, held for one call until this is dropped.
#[derive(Debug)]
pub struct FreeName {
    path: VaultPath,
    chosen: Chosen,
}

impl FreeName {
    pub fn path(&self) -> &VaultPath {
        &self.path
    }
}

impl Chosen {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for FreeName {
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
    /// Chooses the first free name of `Note.md`, `Note 1.md`, `Note 2.md` and so on for a call. A call that
    /// chooses again, because its input was changed, may choose what it holds.
    pub fn choose_free(&self, path: &VaultPath, call: &CallId) -> Result<FreeName, Fault> {
        let mut table = self.chosen.table();
        let path = self.first_free(path, |key| table.get(key).is_some_and(|(holder, _)| holder != call))?;
        table.entry(path.folded()).or_insert_with(|| (call.clone(), 0)).1 += 1;
        Ok(FreeName { path, chosen: self.chosen.clone() })
    }

    /// Chooses a free name in the trash for something at `path`, so that calls side by side choose different ones. Also
    /// says whether the trash has to be made first.
    pub(crate) fn choose_in_trash(&self, path: &VaultPath, call: &CallId) -> Result<(bool, FreeName), Fault> {
        let mut table = self.chosen.table();
        let is_held = |key: &str| table.get(key).is_some_and(|(holder, _)| holder != call);
        let (missing, path) = self.place_in_trash(path, is_held)?;
        table.entry(path.folded()).or_insert_with(|| (call.clone(), 0)).1 += 1;
        Ok((missing, FreeName { path, chosen: self.chosen.clone() }))
    }

    fn first_free(&self, path: &VaultPath, held: impl Fn(&str) -> bool) -> Result<VaultPath, Fault> {
        Vault::refuse_protected(path)?;
        if let Some(layer) = &self.layer {
            return self.first_free_imagined(layer, path, held);
        }
        let (dir, folder) = self.folder_for(path)?;
        for name in unique_names(path.name()) {
            let candidate = spelled_in(folder.as_ref(), &name)?;
            if held(&candidate.folded()) {
                continue;
            }
            let Some(dir) = &dir else {
                return Ok(candidate);
            };
            // A glance first: what has the very name needs no look at all the others.
            let failed = |error| fault::from_errno("list the folder of", path.as_str(), error);
            if folder::stat(dir, &name).is_err() && !self.twins.has(dir, &name).map_err(failed)? {
                return Ok(candidate);
            }
        }
        Err(no_free_name(path))
    }

    fn first_free_imagined(
        &self,
        layer: &Layer,
        path: &VaultPath,
        held: impl Fn(&str) -> bool,
    ) -> Result<VaultPath, Fault> {
        let path = layer.resolve_entry(self, path)?;
        for name in unique_names(path.name()) {
            let candidate = spelled_in(path.parent().as_ref(), &name)?;
            if !held(&candidate.folded()) && layer.twin(self, &candidate)?.is_none() {
                return Ok(candidate);
            }
        }
        Err(no_free_name(&path))
    }

    /// The folder that a new file at `path` would be in, and its handle if it is there.
    fn folder_for(&self, path: &VaultPath) -> Result<(Option<Arc<Dir>>, Option<VaultPath>), Fault> {
        let Some(parent) = path.parent() else {
            return Ok((Some(self.root.clone()), None));
        };
        match self.locate(&parent, LastLink::Follow)? {
            Found::Nothing(gap) => {
                refuse_twin(&gap)?;
                Ok((None, paths_of(&gap)?.pop()))
            }
            Found::Place(place) if place.kind() != Kind::Folder => {
                Err(fault::below_a_file(place.path.as_str()))
            }
            Found::Place(place) => {
                let dir = folder::open_folder(&place.dir, &place.name)
                    .map_err(|error| fault::from_errno("open", parent.as_str(), error))?;
                Ok((Some(Arc::new(dir)), Some(place.path)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use envelope::{CallId, VaultPath};

    use super::super::vault::Vault;

    #[test]
    fn calls_side_by_side_choose_different_names_and_one_call_keeps_its_own() {
        let temp = tempfile::tempdir().unwrap();
        let vault = Vault::open(temp.path()).unwrap();
        std::fs::File::create(temp.path().join("Keep.md")).unwrap();
        let path = VaultPath::parse("KEEP.md").unwrap();
        let choose = |call: &str| vault.choose_free(&path, &CallId::parse(call).unwrap()).unwrap();
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
        assert!(vault.chosen.table().is_empty());
    }

    #[test]
    fn calls_side_by_side_get_different_names_in_the_trash() {
        let temp = tempfile::tempdir().unwrap();
        let vault = Vault::open(temp.path()).unwrap();
        let choose = |path: &str, call: &str| {
            vault.choose_in_trash(&VaultPath::parse(path).unwrap(), &CallId::parse(call).unwrap()).unwrap().1
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
        let held = vault.choose_free(&path, &CallId::parse("one").unwrap()).unwrap();
        assert_eq!(held.path(), &path);
        let other = vault.choose_free(&path, &CallId::parse("two").unwrap()).unwrap();
        assert_eq!(other.path().as_str(), "New/Folder/a 1.md");
    }
}
