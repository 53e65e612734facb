//! A set of file moves that happen together, with the files that appear and disappear at the same time.

use std::collections::{HashMap, HashSet};

use envelope::VaultPath;

/// File moves that happen together. The move of a folder is listed as the moves of its files.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FileMoves {
    to: HashMap<VaultPath, VaultPath>,
    taken: HashSet<VaultPath>,
    added: HashSet<VaultPath>,
    removed: HashSet<VaultPath>,
}

impl FileMoves {
    pub fn new(moves: impl IntoIterator<Item = (VaultPath, VaultPath)>) -> FileMoves {
        let to: HashMap<_, _> = moves.into_iter().filter(|(from, to)| from != to).collect();
        let taken = to.values().cloned().collect();
        FileMoves { to, taken, added: HashSet::new(), removed: HashSet::new() }
    }

    /// Adds files that are created and removed together with the moves. Links that a created file captures are not
    /// rewritten; a rewritten link never leads to a created or a removed file.
    pub fn with_others(
        mut self,
        added: impl IntoIterator<Item = VaultPath>,
        removed: impl IntoIterator<Item = VaultPath>,
    ) -> FileMoves {
        self.added.extend(added);
        self.removed.extend(removed);
        self
    }

    /// Whether no file moves.
    pub fn is_empty(&self) -> bool {
        self.to.is_empty()
    }

    /// Returns the path of a file after the moves; `None` if it is removed or another file replaces it.
    pub fn after<'a>(&'a self, path: &'a VaultPath) -> Option<&'a VaultPath> {
        match self.to.get(path) {
            Some(to) => Some(to),
            None if self.taken.contains(path) || self.removed.contains(path) => None,
            None => Some(path),
        }
    }

    pub(super) fn moves(&self, path: &VaultPath) -> bool {
        self.to.contains_key(path)
    }

    /// Returns the files that are created.
    pub(super) fn added(&self) -> &HashSet<VaultPath> {
        &self.added
    }

    /// Returns the source and target paths of all moves.
    pub(super) fn paths(&self) -> impl Iterator<Item = &VaultPath> {
        self.to.iter().flat_map(|(from, to)| [from, to])
    }
}
