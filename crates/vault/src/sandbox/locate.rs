//! From a path to a place on disk.

use std::fs::File;
use std::sync::Arc;

use cap_std::fs::Dir;
use envelope::{Failure, Fault, VaultPath, nearest};
use rustix::fs::{Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use super::fault;
use super::folder::{self, Kind};
use super::make_folder::paths_of;
use super::vault::Vault;
use super::walk::walk;

/// Names looked at for "did you mean". A guess is not worth more.
const MAX_GUESSES: usize = 2_000;

/// What to do with a link in the last place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LastLink {
    Follow,
    /// The link itself is meant: something is there, wherever it points.
    Keep,
}

pub(super) enum Found {
    Place(Place),
    Nothing(Gap),
}

/// Something that exists: a name in a folder that is held open.
pub(super) struct Place {
    pub(super) dir: Arc<Dir>,
    pub(super) name: String,
    /// The path as it is spelled on disk, all links resolved.
    pub(super) path: VaultPath,
    pub(super) stat: Stat,
}

/// Where a path ends: the deepest folder of it that exists, and the names that are missing below it.
pub(super) struct Gap {
    pub(super) dir: Arc<Dir>,
    /// That folder as it is spelled on disk; `None` for the vault itself.
    pub(super) folder: Option<VaultPath>,
    /// Never empty.
    pub(super) missing: Vec<String>,
}

/// A folder that is held open.
pub(super) struct OpenFolder {
    pub(super) dir: Arc<Dir>,
    pub(super) path: Option<VaultPath>,
}

impl Place {
    pub(super) fn kind(&self) -> Kind {
        folder::kind(&self.stat)
    }
}

impl Gap {
    /// The path of the first missing name.
    pub(super) fn first_path(&self) -> String {
        let name = self.missing.first().map(String::as_str).unwrap_or_default();
        child(self.folder.as_ref(), name)
    }

    /// That nothing is there, with the name that was most likely meant.
    pub(super) fn not_found(&self, asked: &VaultPath) -> Fault {
        let fault = Fault::new(Failure::NotFound, format!("`{asked}` does not exist"));
        let name = self.missing.first().map(String::as_str).unwrap_or_default();
        let Ok(names) = folder::names(&self.dir) else {
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

/// A name that Obsidian does not show either.
pub(super) fn is_hidden(name: &str) -> bool {
    name.starts_with('.')
}

pub(super) fn child(folder: Option<&VaultPath>, name: &str) -> String {
    folder.map_or_else(|| name.to_owned(), |folder| format!("{folder}/{name}"))
}

impl Vault {
    /// Refuses what no tool may touch. Links into such places are refused on the way.
    pub(super) fn refuse_protected(path: &VaultPath) -> Result<(), Fault> {
        path.protected_by().map_or(Ok(()), |by| Err(fault::protected(path.as_str(), by)))
    }

    /// The path as it is on disk, links resolved and missing names added; `None` where it leads nowhere
    /// that a tool may go. Rules about paths must hold for this one too.
    pub fn real_path(&self, path: &VaultPath) -> Option<VaultPath> {
        match self.locate(path, LastLink::Follow).ok()? {
            Found::Place(place) => Some(place.path),
            Found::Nothing(gap) => paths_of(&gap).ok()?.pop(),
        }
    }

    /// Finds a path. The quick way asks the system for the whole folder at once and forbids every link;
    /// whatever it cannot answer plainly is walked.
    pub(super) fn locate(&self, path: &VaultPath, last: LastLink) -> Result<Found, Fault> {
        Vault::refuse_protected(path)?;
        let parent = path.parent();
        let Some(dir) = self.quick_folder(parent.as_ref()) else {
            return walk(&self.root, path, last);
        };
        match folder::stat(&dir, path.name()) {
            Ok(stat) if last == LastLink::Keep || folder::kind(&stat) != Kind::Link => {
                Ok(Found::Place(Place { dir, name: path.name().to_owned(), path: path.clone(), stat }))
            }
            Err(Errno::NOENT) if path.name().is_ascii() => {
                Ok(Found::Nothing(Gap { dir, folder: parent, missing: vec![path.name().to_owned()] }))
            }
            Ok(_) | Err(_) => walk(&self.root, path, last),
        }
    }

    /// Opens a folder that exists; `None` is the vault itself.
    pub(super) fn open_folder(&self, path: Option<&VaultPath>) -> Result<OpenFolder, Fault> {
        let Some(path) = path else {
            return Ok(OpenFolder { dir: self.root.clone(), path: None });
        };
        Vault::refuse_protected(path)?;
        if let Some(dir) = self.quick_folder(Some(path)) {
            return Ok(OpenFolder { dir, path: Some(path.clone()) });
        }
        match self.locate(path, LastLink::Follow)? {
            Found::Nothing(gap) => Err(gap.not_found(path)),
            Found::Place(place) if place.kind() != Kind::Folder => {
                Err(Fault::new(Failure::PreconditionFailed, format!("`{path}` is a file, not a folder"))
                    .hint("name a folder"))
            }
            Found::Place(place) => folder::open_folder(&place.dir, &place.name)
                .map(|dir| OpenFolder { dir: Arc::new(dir), path: Some(place.path) })
                .map_err(|error| fault::from_errno("open", path.as_str(), error)),
        }
    }

    /// The folder in one system call, if it exists and no link is on the way.
    pub(super) fn quick_folder(&self, path: Option<&VaultPath>) -> Option<Arc<Dir>> {
        let Some(path) = path else {
            return Some(self.root.clone());
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        rustix::fs::openat2(&*self.root, path.as_str(), flags, Mode::empty(), beneath)
            .ok()
            .map(|fd| Arc::new(Dir::from_std_file(File::from(fd))))
    }
}
