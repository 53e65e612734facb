//! The handle that everything in the vault is reached through.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use cap_std::fs::Dir;
use rustix::io::Errno;

use super::folder;
use super::free_name::Chosen;
use super::layer::Layer;
use super::leftovers::Leftovers;
use super::open_notes::OpenNotes;
use super::twins::Twins;

/// One folder of notes, held open. Whatever happens to the path it was opened by, the vault stays this
/// folder, and nothing outside it can be reached through it.
pub struct Vault {
    pub(super) root: Arc<Dir>,
    pub(super) twins: Twins,
    pub(super) chosen: Chosen,
    pub(super) leftovers: Leftovers,
    /// Set for a preview: what is written goes here.
    pub(super) layer: Option<Layer>,
    pub(super) host: OnceLock<Arc<dyn OpenNotes>>,
    /// Of a preview: hears of what is moved and removed in imagination, and is asked nothing.
    pub(super) imagined_host: OnceLock<Arc<dyn OpenNotes>>,
}

/// Why a folder cannot be used as a vault.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("`{}` does not exist; give the folder that holds your notes", path.display())]
    Missing { path: PathBuf },
    #[error("`{}` is not a folder; give the folder that holds your notes", path.display())]
    NotAFolder { path: PathBuf },
    #[error("`{}` cannot be opened: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
}

impl Vault {
    /// Opens the folder at `path`. The only place where a path from outside reaches the file system.
    pub fn open(path: &Path) -> Result<Vault, OpenError> {
        let failed = |source: std::io::Error| {
            let path = path.to_owned();
            match Errno::from_io_error(&source) {
                Some(Errno::NOENT) => OpenError::Missing { path },
                Some(Errno::NOTDIR) => OpenError::NotAFolder { path },
                Some(_) | None => OpenError::Io { path, source },
            }
        };
        let root = folder::open_ambient(path).map_err(failed)?;
        Ok(Vault {
            root: Arc::new(root),
            twins: Twins::default(),
            chosen: Chosen::default(),
            leftovers: Leftovers::default(),
            layer: None,
            host: OnceLock::new(),
            imagined_host: OnceLock::new(),
        })
    }

    /// From now on, notes that this host has open are read and edited through it. The first host stays. The
    /// host of a preview reads what is imagined from here, and is only told what becomes of its files.
    pub fn attach(&self, host: Arc<dyn OpenNotes>) {
        let slot = if self.is_imagined() { &self.imagined_host } else { &self.host };
        let _another_is_there = slot.set(host);
    }

    /// Whether this is the layer of a preview.
    pub fn is_imagined(&self) -> bool {
        self.layer.is_some()
    }

    /// The same vault with a layer over it: whatever is written is only imagined, and seen by whoever looks
    /// through the layer.
    pub fn imagined(&self) -> Vault {
        Vault {
            root: self.root.clone(),
            twins: Twins::default(),
            chosen: Chosen::default(),
            leftovers: Leftovers::default(),
            layer: Some(Layer::default()),
            host: self.host.clone(),
            imagined_host: OnceLock::new(),
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
