//! Which parts of the vault a call touches.

use envelope::VaultPath;

/// One place a call reaches: a path with everything below it, or the whole vault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    Vault,
    Path(VaultPath),
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
