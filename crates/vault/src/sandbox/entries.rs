//! What is at a path itself, and everything below it: for tools that move or remove whole folders.

use envelope::{EntryKind, Failure, Fault, VaultPath};

use super::change::Witness;
use super::fault;
use super::folder::{self, Kind};
use super::layer::Lead;
use super::locate::{Found, LastLink, child};
use super::relocate::TRASH;
use super::vault::Vault;

/// Deeper than any vault, and far from the end of the stack.
const MAX_DEPTH: usize = 200;

/// Something that exists, by its very name: a link counts as a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    /// As it is spelled on disk, links in the folders above it resolved.
    pub(crate) path: VaultPath,
    pub(crate) kind: EntryKind,
}

/// A folder with everything in it, hidden names too.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    /// In no particular order.
    pub(crate) files: Vec<VaultPath>,
    /// Each before what is in it; the folder itself is the first.
    pub(crate) folders: Vec<VaultPath>,
}

impl Vault {
    /// What is at `path`, a link in the last place not followed.
    pub(crate) fn entry(&self, path: &VaultPath) -> Result<Option<Named>, Fault> {
        Vault::refuse_protected(path)?;
        let (path, at) = match &self.layer {
            None => (path.clone(), path.clone()),
            Some(layer) => {
                let path = layer.resolve_entry(self, path)?;
                match layer.lead(&path)? {
                    Lead::Disk(at) => (path, at),
                    Lead::Folder => return Ok(Some(Named { path, kind: EntryKind::Folder })),
                    Lead::File { .. } => return Ok(Some(Named { path, kind: EntryKind::File })),
                    Lead::Nowhere { .. } => return Ok(None),
                }
            }
        };
        let Some(place) = self.entry_at(&at)? else { return Ok(None) };
        let kind = match place.kind() {
            Kind::Folder => EntryKind::Folder,
            Kind::File | Kind::Link => EntryKind::File,
            Kind::Other => {
                return Err(Fault::new(
                    Failure::PreconditionFailed,
                    format!("`{path}` is a pipe, a socket or a device"),
                )
                .hint("name a file or a folder"));
            }
        };
        let path = if at == path { place.path } else { path };
        Ok(Some(Named { path, kind }))
    }

    /// What a folder on disk may be used for; `None` where there is none, and for one that is only imagined.
    pub(crate) fn folder_mode(&self, path: &VaultPath) -> Result<Option<u32>, Fault> {
        if self.layer.is_some() {
            return Ok(None);
        }
        let place = match path.as_str() {
            TRASH => return Ok(folder::stat(&self.root, TRASH).ok().map(|stat| folder::permissions(&stat))),
            _ => self.entry_at(path)?,
        };
        Ok(place.filter(|place| place.kind() == Kind::Folder).map(|place| folder::permissions(&place.stat)))
    }

    /// That nothing is there, with the name that was most likely meant.
    pub(crate) fn not_found(&self, path: &VaultPath) -> Fault {
        match self.locate(path, LastLink::Keep) {
            Ok(Found::Nothing(gap)) if self.layer.is_none() => gap.not_found(path),
            Ok(_) | Err(_) => Fault::new(Failure::NotFound, format!("`{path}` does not exist"))
                .hint("list the folder to see what is there"),
        }
    }

    /// Everything in a folder. A folder that holds a protected one, such as a repository of its own, is
    /// refused: no tool may touch that, also not as part of something larger.
    pub(crate) fn tree(&self, folder: &VaultPath, witness: &dyn Witness) -> Result<Tree, Fault> {
        let mut tree = Tree::default();
        let mut todo = vec![folder.clone()];
        while let Some(path) = todo.pop() {
            witness.may_go_on()?;
            if path.segments().count() > MAX_DEPTH {
                return Err(Fault::new(Failure::PreconditionFailed, format!("`{path}` is nested too deep")));
            }
            let mut names = self.names_in(&path)?;
            // The same vault gives the same steps, in whatever order the disk has them.
            names.sort_unstable_by(|a, b| a.0.cmp(&b.0));
            for (name, kind) in names {
                let below = VaultPath::parse(&child(Some(&path), &name)).map_err(|bad| {
                    Fault::new(Failure::PreconditionFailed, bad.to_string())
                        .hint("rename that file with another program first")
                })?;
                if let Some(by) = below.protected_by() {
                    return Err(fault::protected(below.as_str(), by));
                }
                match kind {
                    EntryKind::Folder => todo.push(below),
                    EntryKind::File => tree.files.push(below),
                }
            }
            tree.folders.push(path);
        }
        Ok(tree)
    }

    /// The names in a folder with their kinds; whatever is no folder counts as a file.
    fn names_in(&self, path: &VaultPath) -> Result<Vec<(String, EntryKind)>, Fault> {
        if let Some(layer) = &self.layer {
            let children = layer.children(self, Some(path))?;
            return if children.unreadable > 0 { Err(not_text(path)) } else { Ok(children.named) };
        }
        let open = self.open_folder(Some(path))?;
        let failed = |error| fault::from_errno("list", path.as_str(), error);
        let names = folder::names(&open.dir).map_err(failed)?;
        if names.unreadable > 0 {
            return Err(not_text(path));
        }
        let kind_of = |named: folder::Named| {
            let kind = match named.kind {
                Some(kind) => kind,
                None => folder::kind(&folder::stat(&open.dir, &named.name).map_err(failed)?),
            };
            let kind = if kind == Kind::Folder { EntryKind::Folder } else { EntryKind::File };
            Ok((named.name, kind))
        };
        names.named.into_iter().map(kind_of).collect()
    }
}

fn not_text(path: &VaultPath) -> Fault {
    Fault::new(Failure::PreconditionFailed, format!("`{path}` holds a name that is not text"))
        .hint("rename that file with another program first")
}
