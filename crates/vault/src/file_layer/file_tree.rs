//! A tree of files as the tools see it, implemented by the disk and by the in-memory overlay of a preview.
//!
//! [`Vault`] asks its tree and never which of the two it is. Methods get the vault, because the overlay reads
//! everything that it has no entry for from the vault's disk.

use std::sync::Arc;

use cap_std::fs::Dir;
use envelope::{EntryKind, Failure, Fault, FileState, VaultPath};

use super::apply::notify_host;
use super::change_step::{ChangeStep, FileContent, PreparedSteps};
use super::io_context::IoContext;
use super::make_folder::{EnsuredFolder, not_a_folder};
use super::open_notes::OpenNotes;
use super::overlay::{OverlayEntry, OverlayTarget};
use super::overlay_diff::TreeChange;
use super::path_state::{PathState, ResolvedPath};
use super::vault::Vault;
use super::write::WrittenFile;

/// Every operation that differs between the disk and an overlay over it.
pub(super) trait FileTree: Send + Sync {
    /// Attaches the host that has notes open. The first host stays.
    fn attach(&self, vault: &Vault, host: Arc<dyn OpenNotes>);

    /// Returns the path without links and where its content is. Links are followed.
    fn source(&self, vault: &Vault, path: &VaultPath) -> Result<(VaultPath, OverlayTarget), Fault>;

    /// [`FileTree::source`] for the name itself: a link in the last component is not followed.
    fn entry_source(&self, vault: &Vault, path: &VaultPath) -> Result<(VaultPath, OverlayTarget), Fault>;

    /// Returns the overlay's entry at a path; `None` if the path is as on disk.
    fn overlay_entry(&self, path: &VaultPath) -> Option<OverlayEntry>;

    /// Returns the names in a folder that are not as on disk; `None` is the vault itself.
    fn overlay_entries_in(&self, folder: Option<&VaultPath>) -> Vec<(String, OverlayEntry)>;

    fn resolve_path(
        &self,
        vault: &Vault,
        path: &VaultPath,
        io: &dyn IoContext,
    ) -> Result<ResolvedPath, Fault>;

    /// Returns what has exactly this name, also in the trash. Links are not followed.
    fn entry_state(&self, vault: &Vault, path: &VaultPath, io: &dyn IoContext) -> Result<PathState, Fault>;

    /// [`FileTree::entry_state`] with the trash itself, and with the unsaved text of an open note.
    fn entry_at(&self, vault: &Vault, path: &VaultPath, io: &dyn IoContext) -> Result<PathState, Fault>;

    /// Returns the names in a folder with their kinds. Fails if a name is not text.
    fn children_of(&self, vault: &Vault, path: &VaultPath) -> Result<Vec<(String, EntryKind)>, Fault>;

    /// Returns the names in a folder that keep it from being removed, and how many others are not text.
    fn names_in(&self, vault: &Vault, path: &VaultPath) -> Result<(Vec<String>, u64), Fault>;

    /// Returns the path of an entry whose name differs from this one only in case or encoding.
    fn name_collision(&self, vault: &Vault, path: &VaultPath) -> Result<Option<String>, Fault>;

    /// Returns the other names in the same folder that differ only in case or encoding.
    fn other_spellings(&self, vault: &Vault, path: &VaultPath) -> Result<Vec<String>, Fault>;

    /// Returns the permissions of a folder on disk; `None` if it does not exist, and in an overlay.
    fn folder_mode(&self, vault: &Vault, path: &VaultPath) -> Result<Option<u32>, Fault>;

    /// Returns the error for a missing path.
    fn not_found(&self, vault: &Vault, path: &VaultPath) -> Fault;

    /// Returns the state of a file of at most `limit` bytes; `None` for a larger one and for other kinds.
    fn state_within(
        &self,
        vault: &Vault,
        path: &VaultPath,
        limit: u64,
        io: &dyn IoContext,
    ) -> Result<Option<FileState>, Fault>;

    /// Returns the first free name of `path` and its numbered variants that is not `held`.
    fn first_free(
        &self,
        vault: &Vault,
        path: &VaultPath,
        held: &dyn Fn(&str) -> bool,
    ) -> Result<VaultPath, Fault>;

    /// Returns true if the trash has to be created; `dir` is the trash on disk.
    fn lacks_trash(&self, vault: &Vault, dir: Option<&Dir>) -> Result<bool, Fault>;

    /// Returns true if a path directly in the trash is taken; `dir` is the trash on disk.
    fn is_taken_in_trash(&self, vault: &Vault, path: &VaultPath, dir: Option<&Dir>) -> Result<bool, Fault>;

    fn would_create(&self, vault: &Vault, path: &VaultPath, io: &dyn IoContext) -> Result<VaultPath, Fault>;

    fn would_make_folder(
        &self,
        vault: &Vault,
        path: &VaultPath,
        io: &dyn IoContext,
    ) -> Result<EnsuredFolder, Fault>;

    fn create(
        &self,
        vault: &Vault,
        path: &VaultPath,
        content: FileContent,
        io: &dyn IoContext,
    ) -> Result<WrittenFile, Fault>;

    fn ensure_folder(
        &self,
        vault: &Vault,
        path: &VaultPath,
        io: &dyn IoContext,
    ) -> Result<EnsuredFolder, Fault>;

    fn apply_step(
        &self,
        vault: &Vault,
        step: &ChangeStep,
        io: &dyn IoContext,
    ) -> Result<Option<WrittenFile>, Fault>;

    /// Stores everything that the steps would overwrite or remove.
    fn store_overwritten(
        &self,
        vault: &Vault,
        prepared: &PreparedSteps,
        io: &dyn IoContext,
    ) -> Result<(), Fault>;

    /// Stores contents that a host is about to overwrite.
    fn store_contents(&self, contents: &[Arc<[u8]>], io: &dyn IoContext) -> Result<(), Fault>;

    /// Removes hidden copies that a crash left of these files.
    fn clear_crash_leftovers(
        &self,
        vault: &Vault,
        taken: &[(VaultPath, FileState)],
        io: &dyn IoContext,
    ) -> Result<(), Fault>;

    /// Returns every difference from the disk; nothing for the disk itself.
    fn changes(&self, vault: &Vault, io: &dyn IoContext) -> Result<Vec<TreeChange>, Fault>;
}

/// The files on disk.
pub(super) struct DiskTree;

impl FileTree for DiskTree {
    fn attach(&self, vault: &Vault, host: Arc<dyn OpenNotes>) {
        let _first_host_stays = vault.host.set(host);
    }

    fn source(&self, _vault: &Vault, path: &VaultPath) -> Result<(VaultPath, OverlayTarget), Fault> {
        Ok((path.clone(), OverlayTarget::Disk(path.clone())))
    }

    fn entry_source(&self, _vault: &Vault, path: &VaultPath) -> Result<(VaultPath, OverlayTarget), Fault> {
        Ok((path.clone(), OverlayTarget::Disk(path.clone())))
    }

    fn overlay_entry(&self, _path: &VaultPath) -> Option<OverlayEntry> {
        None
    }

    fn overlay_entries_in(&self, _folder: Option<&VaultPath>) -> Vec<(String, OverlayEntry)> {
        Vec::new()
    }

    fn resolve_path(
        &self,
        vault: &Vault,
        path: &VaultPath,
        io: &dyn IoContext,
    ) -> Result<ResolvedPath, Fault> {
        vault.resolve_without_overlay(path, io)
    }

    fn entry_state(&self, vault: &Vault, path: &VaultPath, io: &dyn IoContext) -> Result<PathState, Fault> {
        vault.entry_state_on_disk(path, io)
    }

    fn entry_at(&self, vault: &Vault, path: &VaultPath, io: &dyn IoContext) -> Result<PathState, Fault> {
        vault.entry_at_on_disk(path, io)
    }

    fn children_of(&self, vault: &Vault, path: &VaultPath) -> Result<Vec<(String, EntryKind)>, Fault> {
        vault.children_on_disk(path)
    }

    fn names_in(&self, vault: &Vault, path: &VaultPath) -> Result<(Vec<String>, u64), Fault> {
        vault.names_on_disk(path)
    }

    fn other_spellings(&self, vault: &Vault, path: &VaultPath) -> Result<Vec<String>, Fault> {
        vault.other_spellings_on_disk(path)
    }

    fn name_collision(&self, vault: &Vault, path: &VaultPath) -> Result<Option<String>, Fault> {
        vault.name_collision_on_disk(path)
    }

    fn folder_mode(&self, vault: &Vault, path: &VaultPath) -> Result<Option<u32>, Fault> {
        vault.folder_mode_on_disk(path)
    }

    fn not_found(&self, vault: &Vault, path: &VaultPath) -> Fault {
        vault.not_found_on_disk(path)
    }

    fn state_within(
        &self,
        vault: &Vault,
        path: &VaultPath,
        limit: u64,
        io: &dyn IoContext,
    ) -> Result<Option<FileState>, Fault> {
        vault.state_within_on_disk(path, limit, io)
    }

    fn first_free(
        &self,
        vault: &Vault,
        path: &VaultPath,
        held: &dyn Fn(&str) -> bool,
    ) -> Result<VaultPath, Fault> {
        vault.first_free_on_disk(path, held)
    }

    fn lacks_trash(&self, _vault: &Vault, dir: Option<&Dir>) -> Result<bool, Fault> {
        Ok(dir.is_none())
    }

    fn is_taken_in_trash(&self, vault: &Vault, path: &VaultPath, dir: Option<&Dir>) -> Result<bool, Fault> {
        dir.map_or(Ok(false), |dir| vault.is_taken_in(dir, path.name()))
    }

    fn would_create(&self, vault: &Vault, path: &VaultPath, _io: &dyn IoContext) -> Result<VaultPath, Fault> {
        vault.would_create_on_disk(path)
    }

    fn would_make_folder(
        &self,
        vault: &Vault,
        path: &VaultPath,
        _io: &dyn IoContext,
    ) -> Result<EnsuredFolder, Fault> {
        vault.would_make_folder_on_disk(path)
    }

    fn create(
        &self,
        vault: &Vault,
        path: &VaultPath,
        content: FileContent,
        io: &dyn IoContext,
    ) -> Result<WrittenFile, Fault> {
        vault.create_content(path, &content, None, io)
    }

    fn ensure_folder(
        &self,
        vault: &Vault,
        path: &VaultPath,
        io: &dyn IoContext,
    ) -> Result<EnsuredFolder, Fault> {
        vault.open_or_make(path, None, io, not_a_folder).map(|(_, made)| made)
    }

    fn apply_step(
        &self,
        vault: &Vault,
        step: &ChangeStep,
        io: &dyn IoContext,
    ) -> Result<Option<WrittenFile>, Fault> {
        let written = vault.make_step(step, io)?;
        notify_host(vault.host.get(), step);
        Ok(written)
    }

    fn store_overwritten(
        &self,
        vault: &Vault,
        prepared: &PreparedSteps,
        io: &dyn IoContext,
    ) -> Result<(), Fault> {
        vault.store_overwritten_on_disk(prepared, io)
    }

    fn store_contents(&self, contents: &[Arc<[u8]>], io: &dyn IoContext) -> Result<(), Fault> {
        contents.iter().try_for_each(|content| io.store(&mut &content[..]).map(drop))
    }

    fn clear_crash_leftovers(
        &self,
        vault: &Vault,
        taken: &[(VaultPath, FileState)],
        io: &dyn IoContext,
    ) -> Result<(), Fault> {
        vault.clear_crash_leftovers_on_disk(taken, io)
    }

    fn changes(&self, _vault: &Vault, _io: &dyn IoContext) -> Result<Vec<TreeChange>, Fault> {
        Ok(Vec::new())
    }
}

/// The error for a missing path where no better name can be suggested.
pub(super) fn missing(path: &VaultPath) -> Fault {
    Fault::new(Failure::NotFound, format!("`{path}` does not exist"))
        .hint("list the folder to see what is there")
}
