//! The overlay of a preview: changes in memory over the disk.
//!
//! Later steps of a plan see the changes of earlier ones, and the disk is never written. The overlay has a node
//! for every changed name; every other name is read from the disk, at the path where it is before the moves. A
//! step that the disk would refuse is refused here. Deliberately omitted: relative links that would lead
//! elsewhere after their folder moved; they still lead to their current target.

mod file_tree;
mod folder;
mod steps;

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use envelope::{EntryKind, Failure, Fault, FileState, VaultPath};

pub(super) use folder::{DiskBase, OverlayEntry, OverlayFolder, OverlayNode};

use self::folder::OverlayLookup;
use super::fault;
use super::folder::{self as disk, NodeKind};
use super::io_context::IoContext;
use super::locate::child;
use super::open_notes::OpenNotes;
use super::path_state::{PathState, ResolvedPath};
use super::relocate::{TRASH, in_trash};
use super::vault::Vault;

/// Limit for resolving links on disk that lead to changed names.
const MAX_ROUNDS: u32 = 16;

pub(super) struct Overlay {
    root: Mutex<OverlayFolder>,
    /// One step at a time, so that a step changes the state that it has checked.
    step_lock: Mutex<()>,
    /// Host of the preview: it is notified of moves and removals in the overlay.
    host: OnceLock<Arc<dyn OpenNotes>>,
}

/// Target of a path.
pub(super) enum OverlayTarget {
    /// This path on disk, which may be missing.
    Disk(VaultPath),
    /// A folder that is only in the overlay.
    Folder,
    File {
        bytes: Arc<[u8]>,
        state: FileState,
    },
    /// The path does not exist: this many of its names are missing.
    Missing {
        missing: usize,
    },
}

/// Content of a folder in the overlay.
pub(super) struct FolderChildren {
    /// Includes hidden names. Anything but a folder counts as a file.
    pub(super) named: Vec<(String, EntryKind)>,
    /// Names on disk that are not text.
    pub(super) unreadable: u64,
}

impl Default for Overlay {
    fn default() -> Overlay {
        Overlay {
            root: Mutex::new(OverlayFolder::new(DiskBase::Vault)),
            step_lock: Mutex::default(),
            host: OnceLock::new(),
        }
    }
}

impl Overlay {
    pub(super) fn root(&self) -> MutexGuard<'_, OverlayFolder> {
        self.root.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the target of a path. Links on disk are not followed.
    pub(super) fn target(&self, path: &VaultPath) -> Result<OverlayTarget, Fault> {
        Ok(match self.root().look_up(Some(path))? {
            OverlayLookup::File(file) => OverlayTarget::File { bytes: file.bytes.clone(), state: file.state },
            OverlayLookup::Disk { at, .. } => OverlayTarget::Disk(at),
            OverlayLookup::Missing { missing } => OverlayTarget::Missing { missing },
            OverlayLookup::Folder(folder) => match &folder.base {
                DiskBase::Nothing | DiskBase::Vault => OverlayTarget::Folder,
                DiskBase::At(at) => OverlayTarget::Disk(at.clone()),
            },
        })
    }

    /// [`Overlay::target`] with links followed, and the path without links.
    pub(super) fn resolve(
        &self,
        vault: &Vault,
        path: &VaultPath,
    ) -> Result<(VaultPath, OverlayTarget), Fault> {
        let mut path = path.clone();
        for _ in 0..MAX_ROUNDS {
            let target = self.target(&path)?;
            let OverlayTarget::Disk(at) = &target else { return Ok((path, target)) };
            // A path that is missing or leaves the vault is reported when it is accessed.
            let Some(real) = vault.real_path(at).filter(|real| real != at) else { return Ok((path, target)) };
            let spelled = self.spelled(&path, &real)?;
            if spelled == path {
                return Ok((path, target));
            }
            path = spelled;
        }
        Err(fault::unstable_path(path.as_str()))
    }

    /// [`Overlay::resolve`] for the entry itself: a link in the last component is not followed.
    pub(super) fn resolve_entry(&self, vault: &Vault, path: &VaultPath) -> Result<VaultPath, Fault> {
        let Some(parent) = path.parent().filter(|_| !in_trash(path)) else { return Ok(path.clone()) };
        let (parent, _) = self.resolve(vault, &parent)?;
        parsed(&child(Some(&parent), path.name()))
    }

    /// Returns the path in the overlay of an entry on disk to which `path` led.
    fn spelled(&self, path: &VaultPath, real: &VaultPath) -> Result<VaultPath, Fault> {
        let root = self.root();
        let OverlayLookup::Disk { under, depth, .. } = root.look_up(Some(path))? else {
            return Ok(real.clone());
        };
        let DiskBase::At(base) = &under.base else { return Ok(real.clone()) };
        // A link out of the folder leads to its target on disk.
        match real.as_str().strip_prefix(base.as_str()).and_then(|rest| rest.strip_prefix('/')) {
            Some(rest) => {
                let above: Vec<&str> = path.segments().take(depth).collect();
                parsed(&format!("{}/{rest}", above.join("/")))
            }
            None => Ok(real.clone()),
        }
    }

    /// Returns the content of a folder; `None` is the vault. Empty if it is not a folder.
    pub(super) fn children(
        &self,
        vault: &Vault,
        folder: Option<&VaultPath>,
    ) -> Result<FolderChildren, Fault> {
        let root = self.root();
        let mut children = FolderChildren { named: Vec::new(), unreadable: 0 };
        let (nodes, base) = match root.look_up(folder)? {
            OverlayLookup::Folder(folder) => (Some(folder), folder.base.clone()),
            OverlayLookup::Disk { at, .. } => (None, DiskBase::At(at)),
            OverlayLookup::File(_) | OverlayLookup::Missing { .. } => return Ok(children),
        };
        for (name, entry) in nodes.into_iter().flat_map(OverlayFolder::iter) {
            match entry {
                OverlayNode::Removed { .. } => {}
                OverlayNode::File(_) | OverlayNode::Moved(_) => {
                    children.named.push((name.to_owned(), EntryKind::File));
                }
                OverlayNode::Folder(_) => children.named.push((name.to_owned(), EntryKind::Folder)),
            }
        }
        let Some(dir) = open_base(vault, &base)? else { return Ok(children) };
        let shown = folder.map_or("the vault", VaultPath::as_str);
        let names = disk::list_names(&dir).map_err(|error| fault::from_errno("list", shown, error))?;
        children.unreadable = names.too_long.len() as u64;
        for named in names.named {
            if nodes.is_some_and(|folder| folder.get(&named.name).is_some()) {
                continue;
            }
            let looked = || disk::stat(&dir, &named.name).ok().map(|stat| disk::kind(&stat));
            let kind = match named.kind.or_else(looked) {
                Some(NodeKind::Folder) => EntryKind::Folder,
                Some(NodeKind::File | NodeKind::Link | NodeKind::Other) | None => EntryKind::File,
            };
            children.named.push((named.name, kind));
        }
        Ok(children)
    }

    /// Returns the changed names of a folder for which `what` returns a value; `what` gets the path of the name
    /// on disk.
    pub(super) fn entries_in<T>(
        &self,
        folder: Option<&VaultPath>,
        what: impl Fn(Option<&VaultPath>, &OverlayNode) -> Option<T>,
    ) -> Option<Vec<(String, T)>> {
        let root = self.root();
        let Ok(OverlayLookup::Folder(folder)) = root.look_up(folder) else { return None };
        let nodes = folder.iter().filter_map(|(name, entry)| {
            Some((name.to_owned(), what(folder.base.path_on_disk(name).as_ref(), entry)?))
        });
        Some(nodes.collect())
    }

    /// Returns the path of an entry whose name equals this one or collides with it.
    pub(super) fn colliding_name(&self, vault: &Vault, path: &VaultPath) -> Result<Option<String>, Fault> {
        let parent = path.parent();
        if let Some(parent) = &parent
            && self.kind_at(vault, parent)? != Some(EntryKind::Folder)
        {
            return Ok(None);
        }
        let mut root = self.root();
        let Some(folder) = root.enter(parent.as_ref()) else { return Ok(None) };
        let base = folder.base.clone();
        let names_on_disk = || {
            let Some(dir) = open_base(vault, &base)? else { return Ok(Vec::new()) };
            let names =
                disk::list_names(&dir).map_err(|error| fault::from_errno("list", path.as_str(), error))?;
            Ok(names.named.into_iter().map(|named| named.name).collect())
        };
        let collision = folder.colliding_name(path.name(), names_on_disk)?;
        Ok(collision.map(|name| child(parent.as_ref(), &name)))
    }

    /// Returns the state at a path, with links followed.
    pub(super) fn resolve_path_at(
        &self,
        vault: &Vault,
        path: &VaultPath,
        io: &dyn IoContext,
    ) -> Result<ResolvedPath, Fault> {
        let (path, target) = self.resolve(vault, path)?;
        let missing = |count: usize| -> Vec<VaultPath> {
            let above = std::iter::successors(path.parent(), VaultPath::parent);
            let mut folders: Vec<VaultPath> = above.take(count.saturating_sub(1)).collect();
            folders.reverse();
            folders
        };
        let (missing, seen) = match target {
            OverlayTarget::Folder => (Vec::new(), PathState::Folder),
            OverlayTarget::File { state, .. } => (Vec::new(), PathState::File { state, mtime_ms: 0 }),
            OverlayTarget::Missing { missing: count } => (missing(count), PathState::Missing),
            OverlayTarget::Disk(at) => {
                let found = vault.resolve_without_overlay(&at, io)?;
                let above = match found.state {
                    PathState::Missing => missing(found.missing_folders.len() + 1),
                    PathState::Folder | PathState::File { .. } | PathState::Other => Vec::new(),
                };
                (above, found.state)
            }
        };
        Ok(ResolvedPath { missing_folders: missing, path, state: seen })
    }

    /// Returns the state of the entry itself, also in the trash.
    pub(super) fn entry_state_at(
        &self,
        vault: &Vault,
        path: &VaultPath,
        io: &dyn IoContext,
    ) -> Result<PathState, Fault> {
        let path = self.resolve_entry(vault, path)?;
        Ok(match self.target(&path)? {
            OverlayTarget::Folder => PathState::Folder,
            OverlayTarget::File { state, .. } => PathState::File { state, mtime_ms: 0 },
            OverlayTarget::Missing { .. } => PathState::Missing,
            OverlayTarget::Disk(at) => match kind_on_disk(vault, &at)? {
                Some(EntryKind::Folder) => PathState::Folder,
                Some(EntryKind::File) => vault.entry_state_on_disk(&at, io)?,
                None => PathState::Missing,
            },
        })
    }

    /// Returns true if the trash has to be created.
    pub(super) fn lacks_trash_folder(&self, vault: &Vault) -> Result<bool, Fault> {
        self.kind_at(vault, &parsed(TRASH)?).map(|kind| kind.is_none())
    }

    fn kind_at(&self, vault: &Vault, path: &VaultPath) -> Result<Option<EntryKind>, Fault> {
        match self.target(path)? {
            OverlayTarget::Folder => Ok(Some(EntryKind::Folder)),
            OverlayTarget::File { .. } => Ok(Some(EntryKind::File)),
            OverlayTarget::Missing { .. } => Ok(None),
            OverlayTarget::Disk(at) => kind_on_disk(vault, &at),
        }
    }
}

/// Opens the folder on disk that has the unchanged names, if there is one.
fn open_base(vault: &Vault, base: &DiskBase) -> Result<Option<Arc<cap_std::fs::Dir>>, Fault> {
    match base {
        DiskBase::Nothing => Ok(None),
        DiskBase::Vault => vault.open_folder(None).map(|open| Some(open.dir)),
        DiskBase::At(at) if at.as_str() == TRASH => {
            Ok(disk::open_folder(&vault.root, TRASH).ok().map(Arc::new))
        }
        DiskBase::At(at) => vault.open_folder(Some(at)).map(|open| Some(open.dir)),
    }
}

/// Returns the kind of an entry on disk, also in the trash. Anything but a folder counts as a file.
pub(super) fn kind_on_disk(vault: &Vault, at: &VaultPath) -> Result<Option<EntryKind>, Fault> {
    let kind = match at.as_str() == TRASH {
        true => disk::stat(&vault.root, TRASH).ok().map(|stat| disk::kind(&stat)),
        false => vault.locate_entry(at)?.map(|located| located.kind()),
    };
    Ok(kind.map(|kind| match kind {
        NodeKind::Folder => EntryKind::Folder,
        NodeKind::File | NodeKind::Link | NodeKind::Other => EntryKind::File,
    }))
}

fn parsed(path: &str) -> Result<VaultPath, Fault> {
    VaultPath::parse_escaped(path).map_err(|bad| Fault::new(Failure::InvalidArguments, bad.to_string()))
}

pub(super) fn already_exists(path: &VaultPath) -> Fault {
    Fault::new(Failure::Conflict, format!("`{path}` already exists"))
        .detail("existing", path.as_str())
        .hint("choose another path, or set collisionStrategy to \"create-unique\" or \"overwrite\"")
}
