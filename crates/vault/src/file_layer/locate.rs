//! Finds the entry on disk for a path.

use std::sync::Arc;

use cap_std::fs::Dir;
use envelope::{Failure, Fault, VaultPath, nearest};
use rustix::io::Errno;

use super::fault;
use super::folder::{self, NodeKind};
use super::make_folder::paths_of;
use super::path_resolver::resolve_links;
use super::vault::Vault;
use crate::platform::{self, FileStat};

/// Most names that are compared for "did you mean".
const MAX_GUESSES: usize = 2_000;

/// Treatment of a link in the last component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FinalLink {
    Follow,
    /// The link itself is meant, wherever it points.
    Keep,
}

pub(super) enum Location {
    Found(LocatedEntry),
    Missing(MissingPath),
}

/// An existing entry: a name in an open folder.
pub(super) struct LocatedEntry {
    pub(super) dir: Arc<Dir>,
    pub(super) name: String,
    /// As spelled on disk, with all links resolved.
    pub(super) path: VaultPath,
    pub(super) stat: FileStat,
}

/// A path that does not exist: its deepest existing folder, and the missing names below it.
pub(super) struct MissingPath {
    pub(super) dir: Arc<Dir>,
    /// That folder as spelled on disk; `None` for the vault itself.
    pub(super) folder: Option<VaultPath>,
    /// Never empty.
    pub(super) missing: Vec<String>,
}

/// An open folder.
pub(super) struct OpenFolder {
    pub(super) dir: Arc<Dir>,
    pub(super) path: Option<VaultPath>,
}

impl LocatedEntry {
    pub(super) fn kind(&self) -> NodeKind {
        folder::kind(&self.stat)
    }
}

impl MissingPath {
    /// Returns the path of the first missing name.
    pub(super) fn first_path(&self) -> String {
        let name = self.missing.first().map(String::as_str).unwrap_or_default();
        child(self.folder.as_ref(), name)
    }

    /// Returns the error for a missing path, with the most similar name as a hint.
    pub(super) fn not_found(&self, asked: &VaultPath) -> Fault {
        let fault = Fault::new(Failure::NotFound, format!("`{asked}` does not exist"));
        let name = self.missing.first().map(String::as_str).unwrap_or_default();
        let Ok(names) = folder::list_names(&self.dir) else {
            return fault;
        };
        let visible = names.named.iter().map(|named| named.name.as_str()).filter(|name| !is_hidden(name));
        match nearest(name, visible.take(MAX_GUESSES)) {
            Some(near) => {
                let mut near = child(self.folder.as_ref(), near);
                for name in self.missing.iter().skip(1) {
                    near = format!("{near}/{name}");
                }
                fault.detail("nearest", near.as_str()).hint(format!("did you mean `{near}`?"))
            }
            None => fault.hint(match &self.folder {
                Some(folder) => format!("list `{folder}` to see what is there"),
                None => "list the vault to see what is there".to_owned(),
            }),
        }
    }
}

/// Returns true for a name that Obsidian does not show.
pub(super) fn is_hidden(name: &str) -> bool {
    name.starts_with('.')
}

pub(super) fn child(folder: Option<&VaultPath>, name: &str) -> String {
    folder.map_or_else(|| name.to_owned(), |folder| format!("{folder}/{name}"))
}

impl Vault {
    /// Fails with `SandboxViolation` if the path is protected. Links into protected folders are detected on the
    /// way.
    pub(super) fn refuse_protected(path: &VaultPath) -> Result<(), Fault> {
        path.protected_by().map_or(Ok(()), |by| Err(fault::protected(path.as_str(), by)))
    }

    /// Returns the path with links resolved and missing names appended; `None` if no tool may access it. Path
    /// rules apply to this path too.
    pub fn real_path(&self, path: &VaultPath) -> Option<VaultPath> {
        match self.locate(path, FinalLink::Follow).ok()? {
            Location::Found(located) => Some(located.path),
            Location::Missing(missing_path) => paths_of(&missing_path).ok()?.pop(),
        }
    }

    /// Finds the entry at a path. The fast way opens the folder in one system call that fails on any link;
    /// otherwise the path is resolved by component.
    pub(super) fn locate(&self, path: &VaultPath, last: FinalLink) -> Result<Location, Fault> {
        Vault::refuse_protected(path)?;
        let parent = path.parent();
        let Some(dir) = self.quick_folder(parent.as_ref()) else {
            return resolve_links(&self.root, &self.name_collisions, path, last);
        };
        match folder::stat(&dir, path.name()) {
            Ok(stat) if last == FinalLink::Keep || folder::kind(&stat) != NodeKind::Link => {
                Ok(Location::Found(LocatedEntry {
                    dir,
                    name: path.name().to_owned(),
                    path: path.clone(),
                    stat,
                }))
            }
            Err(Errno::NOENT) if path.name().is_ascii() => Ok(Location::Missing(MissingPath {
                dir,
                folder: parent,
                missing: vec![path.name().to_owned()],
            })),
            Ok(_) | Err(_) => resolve_links(&self.root, &self.name_collisions, path, last),
        }
    }

    /// Opens an existing folder; `None` is the vault itself.
    pub(super) fn open_folder(&self, path: Option<&VaultPath>) -> Result<OpenFolder, Fault> {
        let Some(path) = path else {
            return Ok(OpenFolder { dir: self.root.clone(), path: None });
        };
        Vault::refuse_protected(path)?;
        if let Some(dir) = self.quick_folder(Some(path)) {
            return Ok(OpenFolder { dir, path: Some(path.clone()) });
        }
        match self.locate(path, FinalLink::Follow)? {
            Location::Missing(missing_path) => Err(missing_path.not_found(path)),
            Location::Found(located) if located.kind() != NodeKind::Folder => {
                Err(Fault::new(Failure::PreconditionFailed, format!("`{path}` is a file, not a folder"))
                    .hint("name a folder"))
            }
            Location::Found(located) => folder::open_folder(&located.dir, &located.name)
                .map(|dir| OpenFolder { dir: Arc::new(dir), path: Some(located.path) })
                .map_err(|error| fault::from_errno("open", path.as_str(), error)),
        }
    }

    /// Opens a folder in one system call. Returns `None` if it is missing or a link is on the way.
    pub(super) fn quick_folder(&self, path: Option<&VaultPath>) -> Option<Arc<Dir>> {
        let Some(path) = path else {
            return Some(self.root.clone());
        };
        platform::open_folder_beneath(&self.root, path).ok().map(Arc::new)
    }
}
