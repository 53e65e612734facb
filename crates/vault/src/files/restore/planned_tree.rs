//! State of the vault after the steps that are planned so far.

use std::collections::{BTreeMap, HashMap};

use envelope::{Fault, VaultPath};

use super::locations::{PathStateCache, parsed};
use super::path_map::{MapLookup, PathMap};
use crate::file_layer::PathState;

/// Entry at a path after the planned steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PlannedEntry {
    /// Created by one of the steps.
    Folder,
    File,
    /// The entry that is on disk at this path.
    Disk(String),
}

/// The disk with the planned steps applied.
pub(super) struct PlannedTree<'a> {
    disk: &'a PathStateCache<'a>,
    names: PathMap<PlannedEntry>,
    /// Paths that the steps create, by their folded spelling. Some may be gone again.
    created: HashMap<String, Vec<String>>,
}

impl<'a> PlannedTree<'a> {
    pub(super) fn new(disk: &'a PathStateCache<'a>) -> PlannedTree<'a> {
        PlannedTree { disk, names: PathMap::default(), created: HashMap::new() }
    }

    pub(super) fn put(&mut self, path: &str, what: PlannedEntry) {
        self.note_created(path);
        self.names.insert(path, what);
    }

    pub(super) fn remove(&mut self, path: &str) {
        self.names.remove(path);
    }

    /// Notes that a step changes the content of a file.
    pub(super) fn touch(&mut self, path: &str) {
        self.names.insert(path, PlannedEntry::Disk(path.to_owned()));
    }

    pub(super) fn rename(&mut self, from: &str, to: &str, what: PlannedEntry) {
        self.names.rename(from, to, what);
        let inside: Vec<String> = self.names.below(to).map(|(rest, _)| format!("{to}/{rest}")).collect();
        inside.iter().map(String::as_str).chain([to]).for_each(|path| self.note_created(path));
    }

    fn note_created(&mut self, path: &str) {
        self.created.entry(VaultPath::fold_name(path)).or_default().push(path.to_owned());
    }

    /// Returns the entry at a path, if there is one.
    pub(super) fn entry_at(&self, path: &str) -> Result<Option<PlannedEntry>, Fault> {
        let at = match self.names.get(path) {
            MapLookup::Present(PlannedEntry::Disk(at)) => at.clone(),
            MapLookup::Present(what) => return Ok(Some(what.clone())),
            MapLookup::Below(PlannedEntry::Disk(at), rest) => format!("{at}/{rest}"),
            MapLookup::Below(PlannedEntry::Folder | PlannedEntry::File, _) | MapLookup::Absent => {
                return Ok(None);
            }
            MapLookup::Unknown => path.to_owned(),
        };
        Ok((self.disk.at(&at)? != PathState::Missing).then_some(PlannedEntry::Disk(at)))
    }

    /// Returns the path on disk of a folder in which no planned step changes anything.
    pub(super) fn untouched_folder(&self, path: &str) -> Result<Option<String>, Fault> {
        Ok(match self.entry_at(path)? {
            Some(PlannedEntry::Disk(at))
                if !self.names.knows_below(path) && self.disk.at(&at)? == PathState::Folder =>
            {
                Some(at)
            }
            Some(PlannedEntry::Disk(_) | PlannedEntry::Folder | PlannedEntry::File) | None => None,
        })
    }

    /// Returns the files on disk that are in a folder after the planned steps, in the order of their names: the path below
    /// the folder, and the path on disk.
    pub(super) fn files_in(&self, folder: &str) -> Result<Vec<(String, String)>, Fault> {
        let mut places = Vec::new();
        if let Some(PlannedEntry::Disk(at)) = self.entry_at(folder)? {
            places.push((String::new(), at));
        }
        for (rest, what) in self.names.below(folder) {
            if let PlannedEntry::Disk(at) = what {
                places.push((rest.to_owned(), at.clone()));
            }
        }
        let mut files = BTreeMap::new();
        for (above, at) in places {
            let join = |rest: &str| match (above.as_str(), rest) {
                ("", rest) => rest.to_owned(),
                (above, "") => above.to_owned(),
                (above, rest) => format!("{above}/{rest}"),
            };
            let on_disk = match self.disk.at(&at)? {
                PathState::Folder => self.disk.vault.folder_tree(&parsed(&at)?, self.disk.io)?.files,
                PathState::File { .. } | PathState::Other => vec![parsed(&at)?],
                PathState::Missing => Vec::new(),
            };
            for file in on_disk {
                let rest = join(file.as_str()[at.len()..].trim_start_matches('/'));
                let is_there = self.entry_at(&format!("{folder}/{rest}"))?;
                if is_there == Some(PlannedEntry::Disk(file.to_string())) {
                    files.insert(rest, file.to_string());
                }
            }
        }
        Ok(files.into_iter().collect())
    }

    pub(super) fn is_folder(&self, path: &str) -> Result<bool, Fault> {
        Ok(match self.entry_at(path)? {
            Some(PlannedEntry::Folder) => true,
            Some(PlannedEntry::Disk(at)) => self.disk.at(&at)? == PathState::Folder,
            Some(PlannedEntry::File) | None => false,
        })
    }

    /// Returns the permissions of a folder that is on disk.
    pub(super) fn folder_mode(&self, path: &str) -> Result<Option<u32>, Fault> {
        match self.entry_at(path)? {
            Some(PlannedEntry::Disk(at)) => self.disk.vault.folder_mode(&parsed(&at)?),
            Some(PlannedEntry::Folder | PlannedEntry::File) | None => Ok(None),
        }
    }

    /// Returns the path on disk of the file at a path.
    pub(super) fn disk_file(&self, path: &str) -> Result<Option<String>, Fault> {
        Ok(match self.entry_at(path)? {
            Some(PlannedEntry::Disk(at)) => {
                matches!(self.disk.at(&at)?, PathState::File { .. }).then_some(at)
            }
            Some(PlannedEntry::Folder | PlannedEntry::File) | None => None,
        })
    }

    pub(super) fn is_empty(&self, folder: &str) -> Result<bool, Fault> {
        if self.names.below(folder).any(|(rest, _)| !rest.contains('/')) {
            return Ok(false);
        }
        let Some(PlannedEntry::Disk(at)) = self.entry_at(folder)? else { return Ok(true) };
        let names = self.disk.vault.names_in(&parsed(&at)?)?;
        let gone = |name: &String| self.names.get(&format!("{folder}/{name}")) == MapLookup::Absent;
        Ok(names.iter().all(gone))
    }

    /// Returns another path in the same folder that differs only in case or encoding and is present after the planned
    /// steps.
    pub(super) fn other_spelling(&self, path: &str, itself: Option<&str>) -> Result<Option<String>, Fault> {
        let (folder, name) =
            path.rsplit_once('/').map_or((None, path), |(folder, name)| (Some(folder), name));
        let place = |name: &str| folder.map_or_else(|| name.to_owned(), |folder| format!("{folder}/{name}"));
        let on_disk = match folder.map(|folder| self.entry_at(folder)).transpose()? {
            None => Some(name.to_owned()),
            Some(Some(PlannedEntry::Disk(at))) => Some(format!("{at}/{name}")),
            Some(Some(PlannedEntry::Folder | PlannedEntry::File) | None) => None,
        };
        let mut candidates = Vec::new();
        if let Some(at) = on_disk {
            candidates.extend(self.disk.vault.other_spellings(&parsed(&at)?)?.iter().map(|name| place(name)));
        }
        let created = self.created.get(&VaultPath::fold_name(path)).into_iter().flatten();
        candidates.extend(
            created.filter(|other| other.rsplit_once('/').map(|(above, _)| above) == folder).cloned(),
        );
        for other in candidates {
            if other != path && Some(other.as_str()) != itself && self.entry_at(&other)?.is_some() {
                return Ok(Some(other));
            }
        }
        Ok(None)
    }

    /// Returns the path of an entry on disk that the system takes for the one at `path`, although it is spelled
    /// otherwise.
    pub(super) fn name_collision(&self, path: &str) -> Result<Option<String>, Fault> {
        let at = match self.names.get(path) {
            MapLookup::Present(_) => return Ok(None),
            MapLookup::Below(PlannedEntry::Disk(at), rest) => format!("{at}/{rest}"),
            MapLookup::Below(PlannedEntry::Folder | PlannedEntry::File, _) => return Ok(None),
            MapLookup::Absent | MapLookup::Unknown => path.to_owned(),
        };
        let Some(twin) = self.disk.vault.name_collision_at(&parsed(&at)?)? else { return Ok(None) };
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let name = twin.rsplit('/').next().unwrap_or(&twin);
        let here = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
        Ok(self.entry_at(&here)?.map(|_| here))
    }
}
