//! A set of file moves that happen together.

use std::collections::{HashMap, HashSet};

use envelope::VaultPath;

/// File moves that happen together. The move of a folder is listed as the moves of its files.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FileMoves {
    to: HashMap<VaultPath, VaultPath>,
    taken: HashSet<VaultPath>,
}

impl FileMoves {
    pub fn new(moves: impl IntoIterator<Item = (VaultPath, VaultPath)>) -> FileMoves {
        let to: HashMap<_, _> = moves.into_iter().filter(|(from, to)| from != to).collect();
        let taken = to.values().cloned().collect();
        FileMoves { to, taken }
    }

    /// Returns the path of a file after the moves; `None` if another file replaces it.
    pub fn after<'a>(&'a self, path: &'a VaultPath) -> Option<&'a VaultPath> {
        match self.to.get(path) {
            Some(to) => Some(to),
            None if self.taken.contains(path) => None,
            None => Some(path),
        }
    }

    pub(super) fn moves(&self, path: &VaultPath) -> bool {
        self.to.contains_key(path)
    }

    /// Returns the source and target paths of all moves.
    pub(super) fn paths(&self) -> impl Iterator<Item = &VaultPath> {
        self.to.iter().flat_map(|(from, to)| [from, to])
    }
}
