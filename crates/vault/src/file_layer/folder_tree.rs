//! Entries and whole folders, for tools that move or remove them.

use envelope::{EntryKind, Failure, Fault, VaultPath};

use super::fault;
use super::file_tree::missing;
use super::folder::{self, NodeKind};
use super::io_context::IoContext;
use super::locate::{FinalLink, Location};
use super::overlay::OverlayTarget;
use super::relocate::TRASH;
use super::vault::Vault;

/// Deeper than any vault, and far from the end of the stack.
const MAX_DEPTH: usize = 200;

/// An existing entry. A link is not followed and counts as a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedEntry {
    /// As spelled on disk, with links in the folders above it resolved.
    pub(crate) path: VaultPath,
    pub(crate) kind: EntryKind,
}

/// A folder with all its content, hidden names included.
#[derive(Debug, Default)]
pub(crate) struct FolderTree {
    /// Unordered.
    pub(crate) files: Vec<VaultPath>,
    /// Each before its content; the folder itself is the first.
    pub(crate) folders: Vec<VaultPath>,
}

impl Vault {
    /// Returns the entry at `path`. A link in the last component is not followed.
    pub(crate) fn entry(&self, path: &VaultPath) -> Result<Option<NamedEntry>, Fault> {
        Vault::refuse_protected(path)?;
        let (path, at) = match self.files.entry_source(self, path)? {
            (path, OverlayTarget::Disk(at)) => (path, at),
            (path, OverlayTarget::Folder) => return Ok(Some(NamedEntry { path, kind: EntryKind::Folder })),
            (path, OverlayTarget::File { .. }) => {
                return Ok(Some(NamedEntry { path, kind: EntryKind::File }));
            }
            (_, OverlayTarget::Missing { .. }) => return Ok(None),
        };
        let Some(located) = self.locate_entry(&at)? else { return Ok(None) };
        let kind = match located.kind() {
            NodeKind::Folder => EntryKind::Folder,
            NodeKind::File | NodeKind::Link => EntryKind::File,
            NodeKind::Other => {
                return Err(Fault::new(
                    Failure::PreconditionFailed,
                    format!("`{path}` is a pipe, a socket or a device"),
                )
                .hint("name a file or a folder"));
            }
        };
        let path = if at == path { located.path } else { path };
        Ok(Some(NamedEntry { path, kind }))
    }

    /// Returns the permissions of a folder on disk; `None` if it does not exist, and in an overlay.
    pub(crate) fn folder_mode(&self, path: &VaultPath) -> Result<Option<u32>, Fault> {
        self.files.folder_mode(self, path)
    }

    pub(super) fn folder_mode_on_disk(&self, path: &VaultPath) -> Result<Option<u32>, Fault> {
        let located = match path.as_str() {
            TRASH => return Ok(folder::stat(&self.root, TRASH).ok().map(|stat| stat.permissions)),
            _ => self.locate_entry(path)?,
        };
        Ok(located
            .filter(|located| located.kind() == NodeKind::Folder)
            .map(|located| located.stat.permissions))
    }

    /// Returns the error for a missing path, with the most similar name as a hint.
    pub(crate) fn not_found(&self, path: &VaultPath) -> Fault {
        self.files.not_found(self, path)
    }

    pub(super) fn not_found_on_disk(&self, path: &VaultPath) -> Fault {
        match self.locate(path, FinalLink::Keep) {
            Ok(Location::Missing(missing_path)) => missing_path.not_found(path),
            Ok(Location::Found(_)) | Err(_) => missing(path),
        }
    }

    /// Returns everything in a folder. Fails if it contains a protected folder, such as a nested repository: no
    /// tool may change that, also not as a part of a larger folder.
    pub(crate) fn folder_tree(&self, folder: &VaultPath, io: &dyn IoContext) -> Result<FolderTree, Fault> {
        let mut tree = FolderTree::default();
        let mut todo = vec![folder.clone()];
        while let Some(path) = todo.pop() {
            io.check_cancelled()?;
            if path.segments().count() > MAX_DEPTH {
                return Err(Fault::new(Failure::PreconditionFailed, format!("`{path}` is nested too deep")));
            }
            let mut names = self.files.children_of(self, &path)?;
            // Sorted, so that the same vault gives the same steps on any file system.
            names.sort_unstable_by(|a, b| a.0.cmp(&b.0));
            for (name, kind) in names {
                let below = path.join_escaped(&name).map_err(|bad| {
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

    /// Returns the names in a folder with their kinds. Anything but a folder counts as a file.
    pub(super) fn children_on_disk(&self, path: &VaultPath) -> Result<Vec<(String, EntryKind)>, Fault> {
        let open = self.open_folder(Some(path))?;
        let failed = |error| fault::from_errno("list", path.as_str(), error);
        let names = folder::list_names(&open.dir).map_err(failed)?;
        if !names.too_long.is_empty() {
            return Err(name_too_long(path));
        }
        let kind_of = |named: folder::DirEntry| {
            let kind = match named.kind {
                Some(kind) => kind,
                None => folder::kind(&folder::stat(&open.dir, &named.name).map_err(failed)?),
            };
            let kind = if kind == NodeKind::Folder { EntryKind::Folder } else { EntryKind::File };
            Ok((named.name, kind))
        };
        names.named.into_iter().map(kind_of).collect()
    }
}

pub(super) fn name_too_long(path: &VaultPath) -> Fault {
    Fault::new(Failure::PreconditionFailed, format!("`{path}` holds a name of more than 255 bytes"))
        .hint("rename that file with another program first")
}
