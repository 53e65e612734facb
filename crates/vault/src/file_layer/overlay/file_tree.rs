//! The overlay as a file tree: its own nodes first, then the disk below it.

use std::sync::Arc;

use cap_std::fs::Dir;
use envelope::{EntryKind, Fault, FileState, VaultPath};

use super::super::apply::notify_host;
use super::super::change_step::{ChangeStep, FileContent, PreparedSteps};
use super::super::fault;
use super::super::file_tree::{FileTree, missing};
use super::super::folder_tree::name_too_long;
use super::super::io_context::IoContext;
use super::super::make_folder::{EnsuredFolder, not_a_folder};
use super::super::name_reservation::unique_names;
use super::super::open_notes::OpenNotes;
use super::super::overlay_diff::{TreeChange, diff_with_disk};
use super::super::path_state::{PathState, ResolvedPath};
use super::super::relocate::TRASH;
use super::super::vault::Vault;
use super::super::write::{WrittenFile, no_free_name, spelled_in};
use super::folder::{OverlayEntry, overlay_entry_for};
use super::{Overlay, OverlayTarget, already_exists};

impl FileTree for Overlay {
    fn attach(&self, _vault: &Vault, host: Arc<dyn OpenNotes>) {
        let _first_host_stays = self.host.set(host);
    }

    fn source(&self, vault: &Vault, path: &VaultPath) -> Result<(VaultPath, OverlayTarget), Fault> {
        self.resolve(vault, path)
    }

    fn entry_source(&self, vault: &Vault, path: &VaultPath) -> Result<(VaultPath, OverlayTarget), Fault> {
        let path = self.resolve_entry(vault, path)?;
        let target = self.target(&path)?;
        Ok((path, target))
    }

    fn overlay_entry(&self, path: &VaultPath) -> Option<OverlayEntry> {
        match self.target(path) {
            Ok(OverlayTarget::Disk(at)) if at == *path => None,
            Ok(OverlayTarget::Disk(at)) => Some(OverlayEntry::Moved(at)),
            Ok(OverlayTarget::Folder) => Some(OverlayEntry::Folder),
            Ok(OverlayTarget::File { bytes, .. }) => Some(OverlayEntry::File(bytes)),
            Ok(OverlayTarget::Missing { .. }) | Err(_) => Some(OverlayEntry::Removed),
        }
    }

    fn overlay_entries_in(&self, folder: Option<&VaultPath>) -> Vec<(String, OverlayEntry)> {
        self.entries_in(folder, overlay_entry_for).unwrap_or_default()
    }

    fn resolve_path(
        &self,
        vault: &Vault,
        path: &VaultPath,
        io: &dyn IoContext,
    ) -> Result<ResolvedPath, Fault> {
        Vault::refuse_protected(path)?;
        self.resolve_path_at(vault, path, io)
    }

    fn entry_state(&self, vault: &Vault, path: &VaultPath, io: &dyn IoContext) -> Result<PathState, Fault> {
        self.entry_state_at(vault, path, io)
    }

    fn entry_at(&self, vault: &Vault, path: &VaultPath, io: &dyn IoContext) -> Result<PathState, Fault> {
        match path.as_str() {
            TRASH => Ok(if self.lacks_trash_folder(vault)? { PathState::Missing } else { PathState::Folder }),
            _ => self.entry_state_at(vault, path, io),
        }
    }

    fn children_of(&self, vault: &Vault, path: &VaultPath) -> Result<Vec<(String, EntryKind)>, Fault> {
        let children = self.children(vault, Some(path))?;
        if children.unreadable > 0 { Err(name_too_long(path)) } else { Ok(children.named) }
    }

    fn names_in(&self, vault: &Vault, path: &VaultPath) -> Result<(Vec<String>, u64), Fault> {
        let children = self.children(vault, Some(path))?;
        Ok((children.named.into_iter().map(|(name, _)| name).collect(), children.unreadable))
    }

    /// Returns nothing: the step that makes a name in an overlay finds a collision itself, without harm.
    fn other_spellings(&self, _vault: &Vault, _path: &VaultPath) -> Result<Vec<String>, Fault> {
        Ok(Vec::new())
    }

    fn name_collision(&self, vault: &Vault, path: &VaultPath) -> Result<Option<String>, Fault> {
        let collision = self.colliding_name(vault, path)?;
        Ok(collision.filter(|collision| collision.as_str() != path.as_str()))
    }

    fn folder_mode(&self, _vault: &Vault, _path: &VaultPath) -> Result<Option<u32>, Fault> {
        Ok(None)
    }

    fn not_found(&self, _vault: &Vault, path: &VaultPath) -> Fault {
        missing(path)
    }

    fn state_within(
        &self,
        vault: &Vault,
        path: &VaultPath,
        limit: u64,
        io: &dyn IoContext,
    ) -> Result<Option<FileState>, Fault> {
        Ok(match self.entry_state_at(vault, path, io)? {
            PathState::File { state, .. } if state.bytes <= limit => Some(state),
            PathState::File { .. } | PathState::Missing | PathState::Folder | PathState::Other => None,
        })
    }

    fn first_free(
        &self,
        vault: &Vault,
        path: &VaultPath,
        held: &dyn Fn(&str) -> bool,
    ) -> Result<VaultPath, Fault> {
        let path = self.resolve_entry(vault, path)?;
        for name in unique_names(path.name()) {
            let candidate = spelled_in(path.parent().as_ref(), &name)?;
            if !held(&candidate.folded()) && self.colliding_name(vault, &candidate)?.is_none() {
                return Ok(candidate);
            }
        }
        Err(no_free_name(&path))
    }

    fn lacks_trash(&self, vault: &Vault, _dir: Option<&Dir>) -> Result<bool, Fault> {
        self.lacks_trash_folder(vault)
    }

    fn is_taken_in_trash(&self, vault: &Vault, path: &VaultPath, _dir: Option<&Dir>) -> Result<bool, Fault> {
        self.colliding_name(vault, path).map(|collision| collision.is_some())
    }

    fn would_create(&self, vault: &Vault, path: &VaultPath, io: &dyn IoContext) -> Result<VaultPath, Fault> {
        let resolved = self.resolve_path(vault, path, io)?;
        if resolved.state != PathState::Missing {
            return Err(already_exists(path));
        }
        let first = resolved.missing_folders.first().unwrap_or(&resolved.path);
        match self.colliding_name(vault, first)? {
            Some(existing) => Err(fault::name_collision(first.as_str(), &existing)),
            None => Ok(resolved.path),
        }
    }

    fn would_make_folder(
        &self,
        vault: &Vault,
        path: &VaultPath,
        io: &dyn IoContext,
    ) -> Result<EnsuredFolder, Fault> {
        let resolved = self.resolve_path(vault, path, io)?;
        match resolved.state {
            PathState::Folder => Ok(EnsuredFolder { path: resolved.path, created: Vec::new() }),
            PathState::File { .. } | PathState::Other => Err(not_a_folder(path.as_str())),
            PathState::Missing => {
                let spelled = self.would_create(vault, path, io)?;
                let created = resolved.missing_folders.into_iter().chain([spelled.clone()]).collect();
                Ok(EnsuredFolder { path: spelled, created })
            }
        }
    }

    fn create(
        &self,
        vault: &Vault,
        path: &VaultPath,
        content: FileContent,
        io: &dyn IoContext,
    ) -> Result<WrittenFile, Fault> {
        let step = ChangeStep::CreateFile { path: path.clone(), content, mode: None };
        self.apply(vault, &step, io)?.ok_or_else(|| fault::unstable_path(path.as_str()))
    }

    fn ensure_folder(
        &self,
        vault: &Vault,
        path: &VaultPath,
        io: &dyn IoContext,
    ) -> Result<EnsuredFolder, Fault> {
        let made = self.would_make_folder(vault, path, io)?;
        self.apply(vault, &ChangeStep::create_folder(path.clone()), io)?;
        Ok(made)
    }

    fn apply_step(
        &self,
        vault: &Vault,
        step: &ChangeStep,
        io: &dyn IoContext,
    ) -> Result<Option<WrittenFile>, Fault> {
        let written = self.apply(vault, step, io)?;
        notify_host(self.host.get(), step);
        Ok(written)
    }

    fn store_overwritten(
        &self,
        _vault: &Vault,
        _prepared: &PreparedSteps,
        _io: &dyn IoContext,
    ) -> Result<(), Fault> {
        Ok(())
    }

    fn store_contents(&self, _contents: &[Arc<[u8]>], _io: &dyn IoContext) -> Result<(), Fault> {
        Ok(())
    }

    fn clear_crash_leftovers(
        &self,
        _vault: &Vault,
        _taken: &[(VaultPath, FileState)],
        _io: &dyn IoContext,
    ) -> Result<(), Fault> {
        Ok(())
    }

    fn changes(&self, vault: &Vault, io: &dyn IoContext) -> Result<Vec<TreeChange>, Fault> {
        diff_with_disk(vault, self, io)
    }
}
