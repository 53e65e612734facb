//! Which parts of the vault a call touches.

use envelope::VaultPath;

/// One place a call reaches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// Everything.
    Vault,
    /// One file and nothing else.
    File(VaultPath),
    /// A folder with everything below it.
    Folder(VaultPath),
    /// A path of which nobody can say yet whether it is a file or a folder.
    Path(VaultPath),
}

impl Reach {
    /// The path, unless it is the whole vault.
    pub fn path(&self) -> Option<&VaultPath> {
        match self {
            Reach::Vault => None,
            Reach::File(path) | Reach::Folder(path) | Reach::Path(path) => Some(path),
        }
    }
}

/// What a call reads and what it writes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathKeys {
    pub reads: Vec<Reach>,
    pub writes: Vec<Reach>,
}

impl PathKeys {
    pub fn read(path: &VaultPath) -> PathKeys {
        PathKeys { reads: vec![Reach::Path(path.clone())], writes: Vec::new() }
    }

    pub fn write(path: &VaultPath) -> PathKeys {
        PathKeys { reads: Vec::new(), writes: vec![Reach::Path(path.clone())] }
    }

    pub fn read_vault() -> PathKeys {
        PathKeys { reads: vec![Reach::Vault], writes: Vec::new() }
    }

    /// Every path named, reads first.
    pub fn all(&self) -> impl Iterator<Item = &Reach> {
        self.reads.iter().chain(&self.writes)
    }
}
