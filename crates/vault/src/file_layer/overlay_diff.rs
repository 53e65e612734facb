//! Differences between the overlay of a preview and the disk: a comparison of two trees, not a list of steps.
//!
//! A file that was written and removed again is not a difference, nor is one that ends unchanged. Only states are
//! collected here; contents are read one at a time on demand.

use std::collections::HashSet;

use envelope::{EntryKind, Fault, FileState, Hash, VaultPath};

use super::io_context::IoContext;
use super::overlay::{DiskBase, Overlay, OverlayFolder, OverlayNode, kind_on_disk};
use super::path_state::PathState;
use super::relocate::in_trash;
use super::vault::Vault;

/// One file or folder that the preview changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeChange {
    /// Path afterwards; the current path of an entry that would be removed.
    pub path: VaultPath,
    pub kind: EntryKind,
    pub effect: TreeEffect,
    /// Current path, if it differs because the entry or a folder above it would be moved.
    pub from: Option<VaultPath>,
    /// State of an existing file; a digest of the content for a folder that would be moved or removed.
    pub before: Option<FileState>,
    /// State of a file afterwards.
    pub after: Option<FileState>,
}

/// Effect on a file or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TreeEffect {
    Created,
    Changed,
    /// Perhaps also changed.
    Moved,
    Trashed,
    /// Removed without the trash.
    Removed,
}

impl Vault {
    /// Returns every difference from the disk, in the order of the paths. Empty for a vault without an overlay.
    pub fn overlay_changes(&self, io: &dyn IoContext) -> Result<Vec<TreeChange>, Fault> {
        self.files.changes(self, io)
    }

    /// Returns the content of a file before, up to 64 MiB; `None` if there was none.
    pub fn content_before(&self, file: &TreeChange, io: &dyn IoContext) -> Result<Option<Vec<u8>>, Fault> {
        match (file.kind, file.before) {
            (EntryKind::File, Some(_)) => {
                self.load_without_overlay(file.from.as_ref().unwrap_or(&file.path), io).map(Some)
            }
            (EntryKind::File, None) | (EntryKind::Folder, _) => Ok(None),
        }
    }

    /// Returns the content of a file afterwards, up to 64 MiB; `None` if there would be none.
    pub fn content_after(&self, file: &TreeChange, io: &dyn IoContext) -> Result<Option<Vec<u8>>, Fault> {
        match file.after {
            Some(_) => self.load(&file.path, io).map(|loaded| Some(loaded.bytes)),
            None => Ok(None),
        }
    }
}

/// Compares an overlay with the disk.
pub(super) fn diff_with_disk(
    vault: &Vault,
    overlay: &Overlay,
    io: &dyn IoContext,
) -> Result<Vec<TreeChange>, Fault> {
    let mut comparison = OverlayComparison { vault, io, moved: HashSet::new(), found: Vec::new() };
    comparison.run(overlay)?;
    let mut found = comparison.found;
    found.sort_by(|a, b| a.path.segments().cmp(b.path.segments()).then_with(|| a.effect.cmp(&b.effect)));
    Ok(found)
}

struct OverlayComparison<'a> {
    vault: &'a Vault,
    io: &'a dyn IoContext,
    /// Paths on disk whose entry would be at another path.
    moved: HashSet<VaultPath>,
    found: Vec<TreeChange>,
}

/// A node of the overlay, copied so that the lock can be released.
struct OverlayRecord {
    path: VaultPath,
    /// Path of this name on disk.
    slot: Option<VaultPath>,
    what: OverlayContent,
}

enum OverlayContent {
    Nothing,
    File { state: FileState, origin: Option<VaultPath> },
    Moved(VaultPath),
    Folder(DiskBase),
}

impl OverlayComparison<'_> {
    fn run(&mut self, overlay: &Overlay) -> Result<(), Fault> {
        let mut record = Vec::new();
        collect(&overlay.root(), None, &mut record);
        self.moved = record.iter().filter_map(|record| record.what.origin().cloned()).collect();
        for record in record {
            self.io.check_cancelled()?;
            self.compare(record)?;
        }
        Ok(())
    }

    fn compare(&mut self, record: OverlayRecord) -> Result<(), Fault> {
        let OverlayRecord { path, slot, what } = record;
        let here = what.origin().is_some() && what.origin() == slot.as_ref();
        let replaced = match &slot {
            Some(slot) if !here && !self.moved.contains(slot) => kind_on_disk(self.vault, slot)?,
            Some(_) | None => None,
        };
        match (what, replaced, slot) {
            (OverlayContent::File { state, origin: None }, Some(EntryKind::File), Some(slot)) => {
                self.record_changed(path, slot, state)
            }
            (what, replaced, slot) => {
                if let (Some(kind), Some(slot)) = (replaced, slot) {
                    self.record_removed(slot, kind)?;
                }
                self.record_new(path, what, here)
            }
        }
    }

    /// Records the entry that would be at a path and is not there, or not so, on disk.
    fn record_new(&mut self, path: VaultPath, what: OverlayContent, here: bool) -> Result<(), Fault> {
        let trashed = in_trash(&path);
        match what {
            OverlayContent::Nothing => Ok(()),
            // A new entry in the trash was never seen outside of it.
            OverlayContent::File { origin: None, .. } | OverlayContent::Folder(DiskBase::Nothing)
                if trashed =>
            {
                Ok(())
            }
            OverlayContent::File { .. } if here && trashed => Ok(()),
            OverlayContent::File { state, origin: Some(at) } if here => self.record_changed(path, at, state),
            OverlayContent::File { origin: Some(at), .. } | OverlayContent::Moved(at) if trashed => {
                self.record_trashed(at, EntryKind::File)
            }
            OverlayContent::File { state, origin: Some(at) } => self.record_moved(path, at, Some(state)),
            OverlayContent::Moved(at) => self.record_moved(path, at, None),
            OverlayContent::File { state, origin: None } => {
                self.add(path, EntryKind::File, TreeEffect::Created, None, (None, Some(state)));
                Ok(())
            }
            OverlayContent::Folder(DiskBase::At(at)) if !here && trashed => {
                self.record_trashed(at, EntryKind::Folder)
            }
            OverlayContent::Folder(DiskBase::At(at)) if !here => {
                let before = self.digest(&at)?;
                self.add(path, EntryKind::Folder, TreeEffect::Moved, Some(at), (Some(before), None));
                Ok(())
            }
            OverlayContent::Folder(DiskBase::Nothing) => {
                self.add(path, EntryKind::Folder, TreeEffect::Created, None, (None, None));
                Ok(())
            }
            OverlayContent::Folder(DiskBase::Vault | DiskBase::At(_)) => Ok(()),
        }
    }

    fn record_changed(&mut self, path: VaultPath, at: VaultPath, after: FileState) -> Result<(), Fault> {
        let before = self.state(&at)?;
        if before.is_some_and(|before| before.hash == after.hash) {
            return Ok(());
        }
        let from = (at != path).then_some(at);
        self.add(path, EntryKind::File, TreeEffect::Changed, from, (before, Some(after)));
        Ok(())
    }

    fn record_moved(
        &mut self,
        path: VaultPath,
        at: VaultPath,
        after: Option<FileState>,
    ) -> Result<(), Fault> {
        let before = self.state(&at)?;
        self.add(path, EntryKind::File, TreeEffect::Moved, Some(at), (before, after.or(before)));
        Ok(())
    }

    fn record_trashed(&mut self, at: VaultPath, kind: EntryKind) -> Result<(), Fault> {
        let before = match kind {
            EntryKind::File => self.state(&at)?,
            EntryKind::Folder => Some(self.digest(&at)?),
        };
        self.add(at, kind, TreeEffect::Trashed, None, (before, None));
        Ok(())
    }

    /// Returns a digest of names, sizes and times in a folder that moves or is removed as a whole. It shows a
    /// note that was added or edited after the preview; reading all content would take too long.
    fn digest(&self, at: &VaultPath) -> Result<FileState, Fault> {
        let mut hasher = blake3::Hasher::new();
        let mut bytes = 0;
        let mut todo = vec![at.clone()];
        while let Some(folder) = todo.pop() {
            self.io.check_cancelled()?;
            for (name, kind) in Overlay::default().children(self.vault, Some(&folder))?.named {
                let Ok(path) = folder.join_escaped(&name) else { continue };
                hasher.update(path.as_str().as_bytes()).update(&[0]);
                match kind {
                    EntryKind::Folder => todo.push(path),
                    EntryKind::File => {
                        let Some(located) = self.vault.locate_entry(&path)? else { continue };
                        let stat = located.stat;
                        bytes += stat.size;
                        hasher.update(&stat.size.to_le_bytes());
                        let (seconds, nanos) = stat.modified;
                        hasher.update(&seconds.to_le_bytes()).update(&nanos.to_le_bytes());
                    }
                }
            }
        }
        Ok(FileState { hash: Hash::from_bytes(*hasher.finalize().as_bytes()), bytes, mode: 0 })
    }

    /// Records an entry on disk that would be gone, with its content that was not moved out.
    fn record_removed(&mut self, at: VaultPath, kind: EntryKind) -> Result<(), Fault> {
        let mut todo = vec![(at, kind)];
        while let Some((at, kind)) = todo.pop() {
            self.io.check_cancelled()?;
            if self.moved.contains(&at) {
                continue;
            }
            let before = match kind {
                EntryKind::File => self.state(&at)?,
                EntryKind::Folder => {
                    let below = Overlay::default().children(self.vault, Some(&at))?;
                    let below = below.named.into_iter();
                    todo.extend(below.filter_map(|(name, kind)| Some((at.join_escaped(&name).ok()?, kind))));
                    None
                }
            };
            self.add(at, kind, TreeEffect::Removed, None, (before, None));
        }
        Ok(())
    }

    /// Returns the state of a file on disk; `None` for other kinds, such as a dangling link.
    fn state(&self, at: &VaultPath) -> Result<Option<FileState>, Fault> {
        let seen = match in_trash(at) {
            true => self.vault.entry_state_on_disk(at, self.io)?,
            false => self.vault.resolve_without_overlay(at, self.io)?.state,
        };
        Ok(match seen {
            PathState::File { state, .. } => Some(state),
            PathState::Missing | PathState::Folder | PathState::Other => None,
        })
    }

    fn add(
        &mut self,
        path: VaultPath,
        kind: EntryKind,
        fate: TreeEffect,
        from: Option<VaultPath>,
        (before, after): (Option<FileState>, Option<FileState>),
    ) {
        self.found.push(TreeChange { path, kind, effect: fate, from, before, after });
    }
}

impl OverlayContent {
    /// Returns the path on disk that the entry comes from.
    fn origin(&self) -> Option<&VaultPath> {
        match self {
            OverlayContent::File { origin, .. } => origin.as_ref(),
            OverlayContent::Moved(at) | OverlayContent::Folder(DiskBase::At(at)) => Some(at),
            OverlayContent::Nothing | OverlayContent::Folder(DiskBase::Nothing | DiskBase::Vault) => None,
        }
    }
}

/// Collects every changed name, a folder before its content.
fn collect(folder: &OverlayFolder, above: Option<&VaultPath>, record: &mut Vec<OverlayRecord>) {
    for (name, entry) in folder.iter() {
        let joined = match above {
            Some(above) => above.join_escaped(name),
            None => VaultPath::parse_escaped(name),
        };
        let Ok(path) = joined else { continue };
        let slot = folder.base.path_on_disk(name);
        let what = match entry {
            OverlayNode::Removed { .. } => OverlayContent::Nothing,
            OverlayNode::File(file) => {
                OverlayContent::File { state: file.state, origin: file.origin.clone() }
            }
            OverlayNode::Moved(at) => OverlayContent::Moved(at.clone()),
            OverlayNode::Folder(below) => OverlayContent::Folder(below.base.clone()),
        };
        record.push(OverlayRecord { path: path.clone(), slot, what });
        if let OverlayNode::Folder(below) = entry {
            collect(below, Some(&path), record);
        }
    }
}
