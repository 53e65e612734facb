//! A folder of the overlay: nodes for the changed names, and the folder on disk that has all others.
//!
//! Folders contain folders, so moving one moves every change in it. A name is looked up as spelled; collisions
//! are found by the folded name.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use envelope::{Fault, FileState, VaultPath};

use super::super::fault;

/// Folder on disk that has the unchanged names of an overlay folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum DiskBase {
    /// None: the folder is only in the overlay.
    Nothing,
    /// The vault itself.
    Vault,
    /// This folder on disk, wherever the overlay folder is.
    At(VaultPath),
}

impl DiskBase {
    /// Returns the path on disk of an unchanged name.
    pub(in super::super) fn path_on_disk(&self, name: &str) -> Option<VaultPath> {
        match self {
            DiskBase::Nothing => None,
            DiskBase::Vault => VaultPath::parse_escaped(name).ok(),
            DiskBase::At(folder) => folder.join_escaped(name).ok(),
        }
    }
}

/// Node of a changed name.
#[derive(Debug)]
pub(in super::super) enum OverlayNode {
    /// Nothing. A folder that was emptied and removed is kept, in case it is created again.
    Removed {
        emptied: Option<Box<OverlayFolder>>,
    },
    /// A file with new or changed content.
    File(OverlayFile),
    /// The file that is on disk at another path.
    Moved(VaultPath),
    Folder(OverlayFolder),
}

#[derive(Debug, Clone)]
pub(in super::super) struct OverlayFile {
    pub(in super::super) bytes: Arc<[u8]>,
    pub(in super::super) state: FileState,
    /// Path of the file on disk, if it has one.
    pub(in super::super) origin: Option<VaultPath>,
}

/// A name, ordered by its folded form.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct FoldedName {
    folded: String,
    spelled: String,
}

impl FoldedName {
    fn of(name: &str) -> FoldedName {
        FoldedName { folded: VaultPath::fold_name(name), spelled: name.to_owned() }
    }
}

#[derive(Debug)]
pub(in super::super) struct OverlayFolder {
    pub(in super::super) base: DiskBase,
    names: BTreeMap<FoldedName, OverlayNode>,
    /// Names on disk by their folded form, read once when needed. A preview shows one moment.
    on_disk: Option<HashMap<String, Vec<String>>>,
}

/// Result of a lookup.
pub(super) enum OverlayLookup<'a> {
    Folder(&'a OverlayFolder),
    File(&'a OverlayFile),
    /// The last names of the path are unchanged: they are on disk, at this path.
    Disk {
        at: VaultPath,
        /// Deepest overlay folder on the path, and how many names of the path lead to it.
        under: &'a OverlayFolder,
        depth: usize,
    },
    /// This many names of the path are missing.
    Missing {
        missing: usize,
    },
}

impl OverlayFolder {
    pub(in super::super) fn new(base: DiskBase) -> OverlayFolder {
        OverlayFolder { base, names: BTreeMap::new(), on_disk: None }
    }

    pub(in super::super) fn get(&self, name: &str) -> Option<&OverlayNode> {
        self.names.get(&FoldedName::of(name))
    }

    /// Returns every changed name with its node.
    pub(in super::super) fn iter(&self) -> impl Iterator<Item = (&str, &OverlayNode)> {
        self.names.iter().map(|(name, entry)| (name.spelled.as_str(), entry))
    }

    /// Looks up a path below this folder; `None` is the folder itself.
    pub(super) fn look_up(&self, path: Option<&VaultPath>) -> Result<OverlayLookup<'_>, Fault> {
        let Some(path) = path else { return Ok(OverlayLookup::Folder(self)) };
        let count = path.segments().count();
        let mut folder = self;
        for (depth, name) in path.segments().enumerate() {
            let left = count - depth - 1;
            match folder.get(name) {
                Some(OverlayNode::Folder(below)) => folder = below,
                Some(OverlayNode::Removed { .. }) => return Ok(OverlayLookup::Missing { missing: left + 1 }),
                Some(OverlayNode::File(_) | OverlayNode::Moved(_)) if left > 0 => {
                    return Err(fault::below_a_file(&path_prefix(path, depth + 1)));
                }
                Some(OverlayNode::File(file)) => return Ok(OverlayLookup::File(file)),
                Some(OverlayNode::Moved(at)) => {
                    return Ok(OverlayLookup::Disk { at: at.clone(), under: folder, depth });
                }
                None => {
                    let mut rest = path.segments().skip(depth);
                    let first = rest.next().and_then(|name| folder.base.path_on_disk(name));
                    let at = rest.try_fold(first, |at, name| at.map(|at| at.join_escaped(name).ok()));
                    return Ok(match at.flatten() {
                        Some(at) => OverlayLookup::Disk { at, under: folder, depth },
                        None => OverlayLookup::Missing { missing: left + 1 },
                    });
                }
            }
        }
        Ok(OverlayLookup::Folder(folder))
    }

    /// Returns the folder at a path, which must be one. Creates overlay folders on the way.
    pub(super) fn enter(&mut self, path: Option<&VaultPath>) -> Option<&mut OverlayFolder> {
        let Some(path) = path else { return Some(self) };
        let mut folder = self;
        for name in path.segments() {
            let base = folder.base.path_on_disk(name).map_or(DiskBase::Nothing, DiskBase::At);
            let entry = folder
                .names
                .entry(FoldedName::of(name))
                .or_insert_with(|| OverlayNode::Folder(OverlayFolder::new(base)));
            folder = match entry {
                OverlayNode::Folder(below) => below,
                OverlayNode::Removed { .. } | OverlayNode::File(_) | OverlayNode::Moved(_) => return None,
            };
        }
        Some(folder)
    }

    /// Sets the node of a name. A file that is back at its path on disk needs no node.
    pub(super) fn insert(&mut self, name: &str, entry: OverlayNode) {
        let key = FoldedName::of(name);
        match &entry {
            OverlayNode::Moved(at) if self.base.path_on_disk(name).as_ref() == Some(at) => {
                self.names.remove(&key)
            }
            OverlayNode::Removed { .. }
            | OverlayNode::File(_)
            | OverlayNode::Moved(_)
            | OverlayNode::Folder(_) => self.names.insert(key, entry),
        };
    }

    /// Creates a folder. A folder that was emptied and removed before is used again.
    pub(super) fn create_folder(&mut self, name: &str) {
        let folder = match self.names.remove(&FoldedName::of(name)) {
            Some(OverlayNode::Removed { emptied: Some(folder) }) => *folder,
            Some(
                OverlayNode::Removed { emptied: None }
                | OverlayNode::File(_)
                | OverlayNode::Moved(_)
                | OverlayNode::Folder(_),
            )
            | None => OverlayFolder::new(DiskBase::Nothing),
        };
        self.insert(name, OverlayNode::Folder(folder));
    }

    /// Removes and returns the node of a name; the name is absent afterwards.
    pub(super) fn remove_node(&mut self, name: &str) -> Option<OverlayNode> {
        let gone = OverlayNode::Removed { emptied: None };
        match self.base {
            DiskBase::Nothing => self.names.remove(&FoldedName::of(name)),
            DiskBase::Vault | DiskBase::At(_) => self.names.insert(FoldedName::of(name), gone),
        }
    }

    /// Returns a name that equals this one or collides with it. Calls `names_on_disk` at most once.
    pub(super) fn colliding_name(
        &mut self,
        name: &str,
        names_on_disk: impl FnOnce() -> Result<Vec<String>, Fault>,
    ) -> Result<Option<String>, Fault> {
        let wanted = FoldedName { folded: VaultPath::fold_name(name), spelled: String::new() };
        let nodes = self.names.range(wanted.clone()..).take_while(|(key, _)| key.folded == wanted.folded);
        for (key, entry) in nodes {
            match entry {
                OverlayNode::Removed { .. } => {}
                OverlayNode::File(_) | OverlayNode::Moved(_) | OverlayNode::Folder(_) => {
                    return Ok(Some(key.spelled.clone()));
                }
            }
        }
        if self.base == DiskBase::Nothing {
            return Ok(None);
        }
        if self.on_disk.is_none() {
            let mut by_fold: HashMap<String, Vec<String>> = HashMap::new();
            for name in names_on_disk()? {
                by_fold.entry(VaultPath::fold_name(&name)).or_default().push(name);
            }
            self.on_disk = Some(by_fold);
        }
        let unchanged = |name: &&String| self.get(name).is_none();
        let on_disk = self.on_disk.as_ref().and_then(|names| names.get(&wanted.folded));
        Ok(on_disk.into_iter().flatten().find(unchanged).cloned())
    }
}

/// Returns the first names of a path.
fn path_prefix(path: &VaultPath, count: usize) -> String {
    path.segments().take(count).collect::<Vec<_>>().join("/")
}

/// Entry of the overlay that hides the one on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum OverlayEntry {
    /// Nothing, whatever is on disk.
    Removed,
    /// A file with this content.
    File(Arc<[u8]>),
    /// A folder that is not on disk. A folder on disk in which something changed has no entry; the changed
    /// names have.
    Folder,
    /// The entry that is on disk at this other path. A folder includes its content.
    Moved(VaultPath),
}

/// Returns the overlay entry of a node; `slot` is the path of its name on disk.
pub(in super::super) fn overlay_entry_for(
    slot: Option<&VaultPath>,
    entry: &OverlayNode,
) -> Option<OverlayEntry> {
    match entry {
        OverlayNode::Removed { .. } => Some(OverlayEntry::Removed),
        OverlayNode::File(file) => Some(OverlayEntry::File(file.bytes.clone())),
        OverlayNode::Moved(at) => Some(OverlayEntry::Moved(at.clone())),
        OverlayNode::Folder(folder) => match &folder.base {
            DiskBase::Nothing | DiskBase::Vault => Some(OverlayEntry::Folder),
            DiskBase::At(at) if Some(at) == slot => None,
            DiskBase::At(at) => Some(OverlayEntry::Moved(at.clone())),
        },
    }
}
