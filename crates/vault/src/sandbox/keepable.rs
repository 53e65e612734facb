//! What is stored of something before it goes to the trash, for the day when the trash was emptied.
//!
//! The trash is the first way back and costs nothing. The store is the second, and a bounded one: to delete a
//! folder of films must not take the time and the space of copying it. It is all or nothing, because half of a
//! folder that comes back looks like the whole.

use envelope::{EntryKind, Fault, FileState, KeptEntry, VaultPath};

use super::change::Witness;
use super::entries::Tree;
use super::folder::Kind;
use super::read::open_place;
use super::state::state_of;
use super::survey::Seen;
use super::vault::Vault;

/// More bytes than this are not stored when something goes to the trash.
pub(super) const MAX_KEPT_BYTES: u64 = 64 << 20;
/// Nor are more files and folders than this, of one that is deleted with all that is in it.
const MAX_KEPT_ENTRIES: usize = 1_000;

/// What is stored of a file.
pub(super) fn keepable_file(state: FileState) -> Vec<KeptEntry> {
    match state.bytes <= MAX_KEPT_BYTES {
        true => vec![KeptEntry { path: String::new(), state: Some(state) }],
        false => Vec::new(),
    }
}

impl Vault {
    /// What is to be stored of a folder that goes to the trash; nothing if it is too much, or if there is
    /// something in it that could not be made again.
    pub(crate) fn keepable_folder(
        &self,
        tree: &Tree,
        witness: &dyn Witness,
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
            let Some(state) = self.keepable_state(path, MAX_KEPT_BYTES - bytes, witness)? else {
                return Ok(Vec::new());
            };
            bytes += state.bytes;
            kept.push(KeptEntry { path: below(path), state: Some(state) });
        }
        Ok(kept)
    }

    /// The state of a file of at most `limit` bytes; `None` for a larger one, and for what is no file. The same over an
    /// overlay as on disk: a forecast has to tell what would be stored.
    fn keepable_state(
        &self,
        path: &VaultPath,
        limit: u64,
        witness: &dyn Witness,
    ) -> Result<Option<FileState>, Fault> {
        if self.layer.is_some() {
            return Ok(match self.survey_entry(path, witness)? {
                Seen::File { state, .. } if state.bytes <= limit => Some(state),
                Seen::File { .. } | Seen::Nothing | Seen::Folder | Seen::Other => None,
            });
        }
        let Some(place) = self.entry_at(path)?.filter(|place| place.kind() == Kind::File) else {
            return Ok(None);
        };
        if u64::try_from(place.stat.st_size).unwrap_or(u64::MAX) > limit {
            return Ok(None);
        }
        open_place(place)?.map(|open| state_of(&open, witness)).transpose()
    }

    /// What is to be stored of a file or a folder that goes to the trash from where it is on disk.
    pub(crate) fn keepable(
        &self,
        path: &VaultPath,
        kind: EntryKind,
        state: Option<FileState>,
        witness: &dyn Witness,
    ) -> Result<Vec<KeptEntry>, Fault> {
        match kind {
            EntryKind::File => Ok(state.map(keepable_file).unwrap_or_default()),
            EntryKind::Folder => self.keepable_folder(&self.tree(path, witness)?, witness),
        }
    }
}
