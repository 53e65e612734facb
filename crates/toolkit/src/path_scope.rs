//! The parts of the vault that a call touches.

use envelope::VaultPath;

/// One path scope of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathScope {
    /// The whole vault.
    Vault,
    /// One file.
    File(VaultPath),
    /// A folder and everything in it.
    Folder(VaultPath),
    /// A path that may be a file or a folder.
    Path(VaultPath),
}

impl PathScope {
    /// Returns the path, or `None` for the whole vault.
    pub fn path(&self) -> Option<&VaultPath> {
        match self {
            PathScope::Vault => None,
            PathScope::File(path) | PathScope::Folder(path) | PathScope::Path(path) => Some(path),
        }
    }
}

/// The paths that a call reads and writes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathKeys {
    pub reads: Vec<PathScope>,
    pub writes: Vec<PathScope>,
}

impl PathKeys {
    pub fn read(path: &VaultPath) -> PathKeys {
        PathKeys { reads: vec![PathScope::Path(path.clone())], writes: Vec::new() }
    }

    pub fn write(path: &VaultPath) -> PathKeys {
        PathKeys { reads: Vec::new(), writes: vec![PathScope::Path(path.clone())] }
    }

    pub fn read_vault() -> PathKeys {
        PathKeys { reads: vec![PathScope::Vault], writes: Vec::new() }
    }

    /// Iterates over all paths, reads first.
    pub fn all(&self) -> impl Iterator<Item = &PathScope> {
        self.reads.iter().chain(&self.writes)
    }
}
