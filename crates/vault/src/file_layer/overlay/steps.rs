//! Applies steps to the overlay, with the same checks as on disk.

use std::sync::{Arc, PoisonError};

use envelope::{EntryKind, Failure, Fault, FileState, VaultChange, VaultPath};

use super::super::change_step::{ChangeStep, DEFAULT_MODE, FileContent, MoveDetails};
use super::super::etag::etag_of;
use super::super::fault;
use super::super::io_context::IoContext;
use super::super::make_folder::not_a_folder;
use super::super::path_state::{PathState, ResolvedPath};
use super::super::relocate::in_trash;
use super::super::replace::{content_changed, no_longer_exists};
use super::super::vault::Vault;
use super::super::write::WrittenFile;
use super::folder::{OverlayFile, OverlayLookup};
use super::{DiskBase, Overlay, OverlayFolder, OverlayNode, OverlayTarget, already_exists};

impl Overlay {
    /// Applies one step.
    pub(in super::super) fn apply(
        &self,
        vault: &Vault,
        step: &ChangeStep,
        io: &dyn IoContext,
    ) -> Result<Option<WrittenFile>, Fault> {
        let _lock = self.step_lock.lock().unwrap_or_else(PoisonError::into_inner);
        match step {
            ChangeStep::MakeFolder { path, mode } => self.make_folder(vault, path, *mode, io).map(|()| None),
            ChangeStep::CreateFile { path, content, mode } => {
                self.create(vault, path, (content, *mode), io).map(Some)
            }
            ChangeStep::ReplaceFile { path, before, content, mode } => {
                self.replace(vault, path, before, (content, *mode), io).map(Some)
            }
            ChangeStep::RemoveFile { path, before } => self.remove(vault, path, before, io).map(|()| None),
            ChangeStep::RemoveFolder { path, mode } => {
                self.remove_folder(vault, path, *mode, io).map(|()| None)
            }
            ChangeStep::Move { from, to, kind, details } => {
                self.relocate(vault, (from, to), *kind, details, io).map(|()| None)
            }
        }
    }

    fn make_folder(
        &self,
        vault: &Vault,
        path: &VaultPath,
        mode: Option<u32>,
        io: &dyn IoContext,
    ) -> Result<(), Fault> {
        let path = match in_trash(path) {
            true => path.clone(),
            false => self.resolve(vault, path)?.0,
        };
        match self.kind_at(vault, &path)? {
            Some(EntryKind::Folder) => Ok(()),
            Some(EntryKind::File) => Err(not_a_folder(path.as_str())),
            None => self.make_missing(vault, &path, mode, io),
        }
    }

    /// Creates a missing folder and those above it.
    fn make_missing(
        &self,
        vault: &Vault,
        path: &VaultPath,
        mode: Option<u32>,
        io: &dyn IoContext,
    ) -> Result<(), Fault> {
        let parent = path.parent();
        if let Some(parent) = &parent {
            match self.kind_at(vault, parent)? {
                Some(EntryKind::Folder) => {}
                Some(EntryKind::File) => return Err(fault::below_a_file(parent.as_str())),
                None => self.make_missing(vault, parent, None, io)?,
            }
        }
        if let Some(existing) = self.colliding_name(vault, path)? {
            return Err(fault::name_collision(path.as_str(), &existing));
        }
        self.root().enter(parent.as_ref()).ok_or_else(|| no_longer_exists(path))?.create_folder(path.name());
        io.record_change(VaultChange::FolderCreated { path: path.to_string(), mode });
        Ok(())
    }

    fn create(
        &self,
        vault: &Vault,
        path: &VaultPath,
        (content, mode): (&FileContent, Option<u32>),
        io: &dyn IoContext,
    ) -> Result<WrittenFile, Fault> {
        Vault::refuse_protected(path)?;
        let path = self.resolve_entry(vault, path)?;
        if self.kind_at(vault, &path)?.is_some() {
            return Err(already_exists(&path));
        }
        if let Some(parent) = path.parent() {
            self.make_folder(vault, &parent, None, io).map_err(|fault| {
                let blocked = matches!(self.kind_at(vault, &parent), Ok(Some(EntryKind::File)));
                if blocked { fault::below_a_file(parent.as_str()) } else { fault }
            })?;
        }
        if let Some(existing) = self.colliding_name(vault, &path)? {
            return Err(fault::name_collision(path.as_str(), &existing));
        }
        let bytes = read_content(content, io)?;
        let state = FileContent::Bytes(bytes.clone()).state(mode.unwrap_or(DEFAULT_MODE));
        let etag = etag_of(&bytes);
        self.insert(&path, OverlayNode::File(OverlayFile { bytes, state, origin: None }))?;
        io.record_change(VaultChange::FileCreated { path: path.to_string(), after: state });
        Ok(WrittenFile { path, etag, mtime_ms: None, created: true })
    }

    fn replace(
        &self,
        vault: &Vault,
        path: &VaultPath,
        before: &FileState,
        (content, mode): (&FileContent, Option<u32>),
        io: &dyn IoContext,
    ) -> Result<WrittenFile, Fault> {
        let ResolvedPath { path, state: seen, .. } = self.resolve_path_at(vault, path, io)?;
        let now = require_state(&path, before, &seen)?;
        let origin = match self.root().look_up(Some(&path))? {
            OverlayLookup::File(file) => file.origin.clone(),
            OverlayLookup::Disk { at, .. } => Some(at),
            OverlayLookup::Folder(_) | OverlayLookup::Missing { .. } => None,
        };
        let bytes = read_content(content, io)?;
        let state = FileContent::Bytes(bytes.clone()).state(mode.unwrap_or(now.mode));
        let etag = etag_of(&bytes);
        self.insert(&path, OverlayNode::File(OverlayFile { bytes, state, origin }))?;
        io.record_change(VaultChange::FileReplaced { path: path.to_string(), before: now, after: state });
        Ok(WrittenFile { path, etag, mtime_ms: None, created: false })
    }

    fn remove(
        &self,
        vault: &Vault,
        path: &VaultPath,
        before: &FileState,
        io: &dyn IoContext,
    ) -> Result<(), Fault> {
        let path = self.resolve_entry(vault, path)?;
        let now = require_state(&path, before, &self.entry_state_at(vault, &path, io)?)?;
        self.remove_node(&path)?;
        io.record_change(VaultChange::FileRemoved { path: path.to_string(), before: now });
        Ok(())
    }

    fn remove_folder(
        &self,
        vault: &Vault,
        path: &VaultPath,
        mode: Option<u32>,
        io: &dyn IoContext,
    ) -> Result<(), Fault> {
        let path = self.resolve_entry(vault, path)?;
        if self.kind_at(vault, &path)? != Some(EntryKind::Folder) {
            return Err(no_longer_exists(&path));
        }
        let children = self.children(vault, Some(&path))?;
        if !children.named.is_empty() || children.unreadable > 0 {
            return Err(Fault::new(Failure::Conflict, format!("the folder `{path}` is not empty"))
                .hint("look at what is in it; it was not there when this was prepared"));
        }
        let mut root = self.root();
        // Looked up first, so that the removed node has the folder if it is created again.
        root.enter(Some(&path));
        let parent = root.enter(path.parent().as_ref()).ok_or_else(|| no_longer_exists(&path))?;
        if let Some(OverlayNode::Folder(folder)) = parent.remove_node(path.name())
            && folder.base != DiskBase::Nothing
        {
            parent.insert(path.name(), OverlayNode::Removed { emptied: Some(Box::new(folder)) });
        }
        io.record_change(VaultChange::FolderRemoved { path: path.to_string(), mode });
        Ok(())
    }

    fn relocate(
        &self,
        vault: &Vault,
        (from, to): (&VaultPath, &VaultPath),
        kind: EntryKind,
        details: &MoveDetails,
        io: &dyn IoContext,
    ) -> Result<(), Fault> {
        for path in [from, to] {
            // In the trash, only direct children can be moved.
            if !in_trash(path) || path.segments().count() != 2 {
                Vault::refuse_protected(path)?;
            }
        }
        let (source, target) = (self.resolve_entry(vault, from)?, self.resolve_entry(vault, to)?);
        if self.kind_at(vault, &source)? != Some(kind) {
            return Err(no_longer_exists(from));
        }
        if let Some(parent) = target.parent() {
            match self.kind_at(vault, &parent)? {
                Some(EntryKind::Folder) => {}
                Some(EntryKind::File) => return Err(fault::below_a_file(parent.as_str())),
                None => return Err(Fault::new(Failure::NotFound, format!("`{parent}` does not exist"))),
            }
        }
        if target.as_str().strip_prefix(source.as_str()).is_some_and(|rest| rest.starts_with('/')) {
            return Err(Fault::new(
                Failure::InvalidArguments,
                format!("`{from}` cannot be moved into itself (`{to}`)"),
            )
            .hint("choose a place that is not below it"));
        }
        self.refuse_taken(vault, &source, &target)?;
        let state = match (details, kind) {
            (MoveDetails { before: Some(before), must_match: true, .. }, _) => {
                Some(require_state(from, before, &self.entry_state_at(vault, &source, io)?)?)
            }
            (_, EntryKind::File) => match self.entry_state_at(vault, &source, io)? {
                PathState::File { state, .. } => Some(state),
                PathState::Missing | PathState::Folder | PathState::Other => None,
            },
            (_, EntryKind::Folder) => None,
        };
        let entry = self.take_node(&source, kind)?;
        self.insert(&target, entry)?;
        let (from, to) = (from.to_string(), to.to_string());
        io.record_change(VaultChange::Moved { from, to, kind, state, kept: details.backup.clone() });
        Ok(())
    }

    /// Fails if an entry is at the target of a move, also in another spelling, except the moved one itself.
    fn refuse_taken(&self, vault: &Vault, source: &VaultPath, target: &VaultPath) -> Result<(), Fault> {
        let respelled = source.parent() == target.parent()
            && VaultPath::fold_name(source.name()) == VaultPath::fold_name(target.name());
        let existing = match respelled {
            true => self.kind_at(vault, target)?.map(|_| target.to_string()),
            false => self.colliding_name(vault, target)?,
        };
        match existing {
            None => Ok(()),
            Some(existing) if existing == target.as_str() => Err(already_exists(target)),
            Some(existing) => Err(fault::name_collision(target.as_str(), &existing)),
        }
    }

    /// Removes a node for a move.
    fn take_node(&self, path: &VaultPath, kind: EntryKind) -> Result<OverlayNode, Fault> {
        let on_disk = match self.target(path)? {
            OverlayTarget::Disk(at) => Some(at),
            OverlayTarget::Folder | OverlayTarget::File { .. } | OverlayTarget::Missing { .. } => None,
        };
        match (self.remove_node(path)?, on_disk, kind) {
            (Some(entry @ (OverlayNode::File(_) | OverlayNode::Moved(_) | OverlayNode::Folder(_))), _, _) => {
                Ok(entry)
            }
            (Some(OverlayNode::Removed { .. }) | None, Some(at), EntryKind::File) => {
                Ok(OverlayNode::Moved(at))
            }
            (Some(OverlayNode::Removed { .. }) | None, Some(at), EntryKind::Folder) => {
                Ok(OverlayNode::Folder(OverlayFolder::new(DiskBase::At(at))))
            }
            (Some(OverlayNode::Removed { .. }) | None, None, _) => Err(no_longer_exists(path)),
        }
    }

    fn remove_node(&self, path: &VaultPath) -> Result<Option<OverlayNode>, Fault> {
        let mut root = self.root();
        Ok(root.enter(path.parent().as_ref()).ok_or_else(|| no_longer_exists(path))?.remove_node(path.name()))
    }

    fn insert(&self, path: &VaultPath, entry: OverlayNode) -> Result<(), Fault> {
        let mut root = self.root();
        root.enter(path.parent().as_ref()).ok_or_else(|| no_longer_exists(path))?.insert(path.name(), entry);
        Ok(())
    }
}

/// Fails unless the file is exactly `before`. Returns its state.
fn require_state(path: &VaultPath, before: &FileState, seen: &PathState) -> Result<FileState, Fault> {
    match seen {
        PathState::File { state, .. } if state.hash == before.hash => Ok(*state),
        PathState::File { state, .. } => Err(content_changed(path, before, state)),
        PathState::Missing | PathState::Folder | PathState::Other => Err(no_longer_exists(path)),
    }
}

fn read_content(content: &FileContent, io: &dyn IoContext) -> Result<Arc<[u8]>, Fault> {
    match content {
        FileContent::Bytes(bytes) => Ok(bytes.clone()),
        FileContent::Stored(_) => {
            let mut bytes = Vec::new();
            content.write_to(&mut bytes, io)?;
            Ok(bytes.into())
        }
    }
}
