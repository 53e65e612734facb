//! What a listing or a search sees in a preview: the disk, and what is imagined over it.
//!
//! The disk is walked as ever; whatever is shadowed is taken from memory, or from elsewhere on disk. A path
//! that is not shadowed is as it is on disk, below the folder that it is in.

use std::ops::Bound;
use std::sync::Arc;

use envelope::VaultPath;

use super::layer::{Layer, Lead, What};
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
        self.layer.as_ref().map(|layer| names_in(layer, folder)).unwrap_or_default()
    }
}

fn names_in(layer: &Layer, folder: Option<&VaultPath>) -> Vec<(String, Shadowed)> {
    let prefix = folder.map_or_else(String::new, |folder| format!("{}/", folder.folded()));
    layer
        .nodes()
        .range::<str, _>((Bound::Included(prefix.as_str()), Bound::Unbounded))
        .take_while(|(key, _)| key.starts_with(&prefix))
        .filter(|(key, _)| !key[prefix.len()..].contains('/'))
        .map(|(_, node)| {
            let shadowed = match &node.what {
                What::Gone => Shadowed::Removed,
                What::Folder => Shadowed::Folder,
                What::File { bytes, .. } => Shadowed::File(bytes.clone()),
                What::FromDisk { at, .. } => Shadowed::Moved(at.clone()),
            };
            (node.path.name().to_owned(), shadowed)
        })
        .collect()
}
