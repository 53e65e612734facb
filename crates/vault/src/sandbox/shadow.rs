//! What a listing or a search sees in a preview: the disk, and what is imagined over it.
//!
//! The disk is walked as ever; whatever is shadowed is taken from memory, or from elsewhere on disk. A path
//! that is not shadowed is as it is on disk, below the folder that it is in.

use std::sync::Arc;

use envelope::VaultPath;

use super::layer::{Base, Entry, Lead};
use super::vault::Vault;

/// What stands at a path instead of what the disk has there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shadowed {
    /// Nothing, whatever the disk has.
    Removed,
    /// A file with this content.
    File(Arc<[u8]>),
    /// A folder that the disk does not have. A folder on disk in which something changed is not shadowed;
    /// the names in it are.
    Folder,
    /// What the disk has at this other path: moved from there, a folder with all that is in it.
    Moved(VaultPath),
}

impl Vault {
    /// What stands at a path; `None` when it is as on disk.
    pub(super) fn shadowed(&self, path: &VaultPath) -> Option<Shadowed> {
        match self.layer.as_ref()?.lead(path) {
            Ok(Lead::Disk(at)) if at == *path => None,
            Ok(Lead::Disk(at)) => Some(Shadowed::Moved(at)),
            Ok(Lead::Folder) => Some(Shadowed::Folder),
            Ok(Lead::File { bytes, .. }) => Some(Shadowed::File(bytes)),
            Ok(Lead::Nowhere { .. }) | Err(_) => Some(Shadowed::Removed),
        }
    }

    /// The names in a folder that are not what the folder has on disk, wherever that is; `None` is the vault
    /// itself.
    pub(super) fn shadowed_in(&self, folder: Option<&VaultPath>) -> Vec<(String, Shadowed)> {
        self.layer.as_ref().and_then(|layer| layer.said_in(folder, shadow)).unwrap_or_default()
    }
}

/// What a name that somebody has said something about stands for; `slot` is where the folder has it on disk.
fn shadow(slot: Option<&VaultPath>, entry: &Entry) -> Option<Shadowed> {
    match entry {
        Entry::Gone { .. } => Some(Shadowed::Removed),
        Entry::File(file) => Some(Shadowed::File(file.bytes.clone())),
        Entry::Moved(at) => Some(Shadowed::Moved(at.clone())),
        Entry::Folder(folder) => match &folder.base {
            Base::Nothing | Base::Vault => Some(Shadowed::Folder),
            Base::At(at) if Some(at) == slot => None,
            Base::At(at) => Some(Shadowed::Moved(at.clone())),
        },
    }
}
