//! Which files move where, all at once.

use std::collections::{HashMap, HashSet};

use envelope::VaultPath;

/// File moves that happen together. The move of a folder is given as the moves of its files.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Moves {
    to: HashMap<VaultPath, VaultPath>,
    taken: HashSet<VaultPath>,
}

impl Moves {
    pub(crate) fn new(moves: impl IntoIterator<Item = (VaultPath, VaultPath)>) -> Moves {
        let to: HashMap<_, _> = moves.into_iter().filter(|(from, to)| from != to).collect();
        let taken = to.values().cloned().collect();
        Moves { to, taken }
    }

    /// Where a file is afterwards; `None` when another file takes its place.
    pub(crate) fn after<'a>(&'a self, path: &'a VaultPath) -> Option<&'a VaultPath> {
        match self.to.get(path) {
            Some(to) => Some(to),
            None if self.taken.contains(path) => None,
            None => Some(path),
        }
    }

    pub(super) fn moves(&self, path: &VaultPath) -> bool {
        self.to.contains_key(path)
    }

    /// The paths on both sides of every move.
    pub(super) fn paths(&self) -> impl Iterator<Item = &VaultPath> {
        self.to.iter().flat_map(|(from, to)| [from, to])
    }
}
