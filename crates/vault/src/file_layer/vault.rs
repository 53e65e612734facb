//! The vault: the directory handle that all access goes through.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use cap_std::fs::Dir;
use envelope::Fault;
use rustix::io::Errno;

use super::file_tree::{DiskTree, FileTree};
use super::folder;
use super::io_context::IoContext;
use super::name_collisions::NameCollisions;
use super::name_reservation::ReservedNames;
use super::open_notes::OpenNotes;
use super::overlay::Overlay;
use super::temp_leftovers::TempLeftovers;

/// One folder of notes, held open. The vault stays this folder whatever happens to the path it was opened by,
/// and nothing outside of it can be accessed through it.
pub struct Vault {
    pub(super) root: Arc<Dir>,
    pub(super) name_collisions: NameCollisions,
    pub(super) reserved_names: ReservedNames,
    pub(super) leftovers: TempLeftovers,
    /// The disk, or an overlay over it for a preview.
    pub(super) files: Box<dyn FileTree>,
    pub(super) host: OnceLock<Arc<dyn OpenNotes>>,
}

/// Error from opening a folder as a vault.
#[derive(Debug, thiserror::Error)]
pub enum VaultOpenError {
    #[error("`{}` does not exist; give the folder that holds your notes", path.display())]
    Missing { path: PathBuf },
    #[error("`{}` is not a folder; give the folder that holds your notes", path.display())]
    NotAFolder { path: PathBuf },
    #[error("`{}` cannot be opened: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
}

impl Vault {
    /// Opens the folder at `path`. This is the only place where a path from outside is used on the file system.
    pub fn open(path: &Path) -> Result<Vault, VaultOpenError> {
        let failed = |source: std::io::Error| {
            let path = path.to_owned();
            match Errno::from_io_error(&source) {
                Some(Errno::NOENT) => VaultOpenError::Missing { path },
                Some(Errno::NOTDIR) => VaultOpenError::NotAFolder { path },
                Some(_) | None => VaultOpenError::Io { path, source },
            }
        };
        let root = folder::open_ambient(path).map_err(failed)?;
        Ok(Vault {
            root: Arc::new(root),
            name_collisions: NameCollisions::default(),
            reserved_names: ReservedNames::default(),
            leftovers: TempLeftovers::default(),
            files: Box::new(DiskTree),
            host: OnceLock::new(),
        })
    }

    /// Attaches a host: notes that it has open are read and edited through it. The first host stays. The host of a
    /// preview reads through the overlay and is only told what becomes of its files.
    pub fn attach(&self, host: Arc<dyn OpenNotes>) {
        self.files.attach(self, host);
    }

    /// Stores contents that a host is about to overwrite, so that they can be restored. A preview overwrites
    /// nothing.
    pub fn store_contents(&self, contents: &[Arc<[u8]>], io: &dyn IoContext) -> Result<(), Fault> {
        self.files.store_contents(contents, io)
    }

    /// Returns the same vault with an overlay: changes stay in memory and are visible through the returned
    /// vault only.
    pub fn with_overlay(&self) -> Vault {
        Vault {
            root: self.root.clone(),
            name_collisions: NameCollisions::default(),
            reserved_names: ReservedNames::default(),
            leftovers: TempLeftovers::default(),
            files: Box::new(Overlay::default()),
            host: self.host.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Vault;

    #[test]
    fn only_a_folder_that_exists_is_a_vault() {
        let temp = tempfile::tempdir().unwrap();
        assert!(Vault::open(temp.path()).is_ok());
        let shown = |path: &std::path::Path| Vault::open(path).err().map(|error| error.to_string());
        let missing = temp.path().join("nope");
        assert!(shown(&missing).unwrap().contains("does not exist"));
        let file = temp.path().join("file");
        std::fs::File::create(&file).unwrap();
        assert!(shown(&file).unwrap().contains("is not a folder"));
    }
}
