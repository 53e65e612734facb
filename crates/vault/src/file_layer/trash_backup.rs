//! Backup of entries that go to the trash, in case the trash is emptied.
//!
//! The trash is the first way to restore and costs nothing. The store is the second, and bounded: deleting a
//! folder of films must not copy it. A folder is stored completely or not at all, because a half restored
//! folder looks complete.

use envelope::{EntryKind, Fault, FileState, KeptEntry, VaultPath};

use super::folder::NodeKind;
use super::folder_tree::FolderTree;
use super::io_context::IoContext;
use super::path_state::state_of;
use super::read::open_place;
use super::vault::Vault;

/// Most bytes that are stored of one entry.
pub(super) const MAX_KEPT_BYTES: u64 = 64 << 20;
/// Most files and folders that are stored of one folder.
const MAX_KEPT_ENTRIES: usize = 1_000;

/// Returns the backup of a file.
pub(super) fn backup_of_file(state: FileState) -> Vec<KeptEntry> {
    match state.bytes <= MAX_KEPT_BYTES {
        true => vec![KeptEntry { path: String::new(), state: Some(state) }],
        false => Vec::new(),
    }
}

impl Vault {
    /// Returns the backup of a folder; empty if it is too large or contains an entry that could not be created
    /// again.
    pub(crate) fn backup_of_folder(
        &self,
        tree: &FolderTree,
        io: &dyn IoContext,
    ) -> Result<Vec<KeptEntry>, Fault> {
        let Some(top) = tree.folders.first() else { return Ok(Vec::new()) };
        if tree.folders.len() + tree.files.len() > MAX_KEPT_ENTRIES {
            return Ok(Vec::new());
        }
        let below = |path: &VaultPath| {
            let rest = path.as_str().get(top.as_str().len()..).unwrap_or_default();
            rest.trim_start_matches('/').to_owned()
        };
        let mut kept: Vec<KeptEntry> =
            tree.folders.iter().map(|path| KeptEntry { path: below(path), state: None }).collect();
        let mut bytes = 0;
        for path in &tree.files {
            let Some(state) = self.files.state_within(self, path, MAX_KEPT_BYTES - bytes, io)? else {
                return Ok(Vec::new());
            };
            bytes += state.bytes;
            kept.push(KeptEntry { path: below(path), state: Some(state) });
        }
        Ok(kept)
    }

    /// Returns the state of a file of at most `limit` bytes; `None` for a larger one and for other kinds. The
    /// same in an overlay as on disk, as a forecast has to name the backup.
    pub(super) fn state_within_on_disk(
        &self,
        path: &VaultPath,
        limit: u64,
        io: &dyn IoContext,
    ) -> Result<Option<FileState>, Fault> {
        let Some(located) = self.locate_entry(path)?.filter(|located| located.kind() == NodeKind::File)
        else {
            return Ok(None);
        };
        if located.stat.size > limit {
            return Ok(None);
        }
        open_place(located)?.map(|open| state_of(&open, io)).transpose()
    }

    /// Returns the backup of a file or folder on disk that goes to the trash.
    pub(crate) fn trash_backup(
        &self,
        path: &VaultPath,
        kind: EntryKind,
        state: Option<FileState>,
        io: &dyn IoContext,
    ) -> Result<Vec<KeptEntry>, Fault> {
        match kind {
            EntryKind::File => Ok(state.map(backup_of_file).unwrap_or_default()),
            EntryKind::Folder => self.backup_of_folder(&self.folder_tree(path, io)?, io),
        }
    }
}
