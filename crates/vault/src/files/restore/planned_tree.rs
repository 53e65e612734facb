//! State of the vault after the steps that are planned so far.

use envelope::Fault;

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
}

impl<'a> PlannedTree<'a> {
    pub(super) fn new(disk: &'a PathStateCache<'a>) -> PlannedTree<'a> {
        PlannedTree { disk, names: PathMap::default() }
    }

    pub(super) fn put(&mut self, path: &str, what: PlannedEntry) {
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

    /// Returns a path that differs only in case or encoding and is present after the planned steps.
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
