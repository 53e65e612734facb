//! What stands where, while the steps are thought through.

use envelope::Fault;

use super::locate::{Disk, parsed};
use super::names::{Known, Names};
use crate::sandbox::Seen;

/// What stands at a path while the steps are thought through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    /// Made by one of the steps.
    Folder,
    File,
    /// What the disk has at this path.
    Disk(String),
}

/// The disk, with the steps so far made in thought.
pub(super) struct Space<'a> {
    disk: &'a Disk<'a>,
    names: Names<What>,
}

impl<'a> Space<'a> {
    pub(super) fn new(disk: &'a Disk<'a>) -> Space<'a> {
        Space { disk, names: Names::default() }
    }

    pub(super) fn put(&mut self, path: &str, what: What) {
        self.names.put(path, what);
    }

    pub(super) fn remove(&mut self, path: &str) {
        self.names.remove(path);
    }

    /// A step changes what the file there holds.
    pub(super) fn touch(&mut self, path: &str) {
        self.names.put(path, What::Disk(path.to_owned()));
    }

    pub(super) fn rename(&mut self, from: &str, to: &str, what: What) {
        self.names.rename(from, to, what);
    }

    /// What stands at a path, if anything does.
    pub(super) fn what(&self, path: &str) -> Result<Option<What>, Fault> {
        let at = match self.names.get(path) {
            Known::Here(What::Disk(at)) => at.clone(),
            Known::Here(what) => return Ok(Some(what.clone())),
            Known::Below(What::Disk(at), rest) => format!("{at}/{rest}"),
            Known::Below(What::Folder | What::File, _) | Known::Gone => return Ok(None),
            Known::Nothing => path.to_owned(),
        };
        Ok((self.disk.at(&at)? != Seen::Nothing).then_some(What::Disk(at)))
    }

    /// Where on disk a folder is that no step so far has changed anything in.
    pub(super) fn untouched_folder(&self, path: &str) -> Result<Option<String>, Fault> {
        Ok(match self.what(path)? {
            Some(What::Disk(at)) if !self.names.knows_below(path) && self.disk.at(&at)? == Seen::Folder => {
                Some(at)
            }
            Some(What::Disk(_) | What::Folder | What::File) | None => None,
        })
    }

    pub(super) fn is_folder(&self, path: &str) -> Result<bool, Fault> {
        Ok(match self.what(path)? {
            Some(What::Folder) => true,
            Some(What::Disk(at)) => self.disk.at(&at)? == Seen::Folder,
            Some(What::File) | None => false,
        })
    }

    /// What a folder may be used for, if it is one that the disk has.
    pub(super) fn folder_mode(&self, path: &str) -> Result<Option<u32>, Fault> {
        match self.what(path)? {
            Some(What::Disk(at)) => self.disk.vault.folder_mode(&parsed(&at)?),
            Some(What::Folder | What::File) | None => Ok(None),
        }
    }

    /// Where on disk the file is that stands at a path.
    pub(super) fn disk_file(&self, path: &str) -> Result<Option<String>, Fault> {
        Ok(match self.what(path)? {
            Some(What::Disk(at)) => matches!(self.disk.at(&at)?, Seen::File { .. }).then_some(at),
            Some(What::Folder | What::File) | None => None,
        })
    }

    pub(super) fn is_empty(&self, folder: &str) -> Result<bool, Fault> {
        if self.names.below(folder).any(|(rest, _)| !rest.contains('/')) {
            return Ok(false);
        }
        let Some(What::Disk(at)) = self.what(folder)? else { return Ok(true) };
        let names = self.disk.vault.names_held_by(&parsed(&at)?)?;
        let gone = |name: &String| self.names.get(&format!("{folder}/{name}")) == Known::Gone;
        Ok(names.iter().all(gone))
    }

    /// Another spelling of the same name that is still there by then.
    pub(super) fn twin(&self, path: &str) -> Result<Option<String>, Fault> {
        let at = match self.names.get(path) {
            Known::Here(_) => return Ok(None),
            Known::Below(What::Disk(at), rest) => format!("{at}/{rest}"),
            Known::Below(What::Folder | What::File, _) => return Ok(None),
            Known::Gone | Known::Nothing => path.to_owned(),
        };
        let Some(twin) = self.disk.vault.twin_at(&parsed(&at)?)? else { return Ok(None) };
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let name = twin.rsplit('/').next().unwrap_or(&twin);
        let here = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
        Ok(self.what(&here)?.map(|_| here))
    }
}
