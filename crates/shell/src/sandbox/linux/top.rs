//! What lies at the top of the vault, sorted by what a command may do with it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::Reach;
use super::nested::Nested;

/// The entries at the top of a vault.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Top {
    /// Folders and files that a command may change. Links are in no list: their targets count.
    pub(super) open: Vec<PathBuf>,
    /// Folders and files that stay as they are.
    pub(super) kept: Vec<PathBuf>,
    /// Folders and files that stay as they are and cannot be read.
    pub(super) hidden: Vec<PathBuf>,
    /// A protected name that cannot be kept as it is: a link into the vault or into nothing, or no file at all.
    pub(super) unholdable: Option<PathBuf>,
    /// Protected names further down that are there.
    pub(super) nested: Nested,
    /// A protected name is a link. No rule holds a link itself in place, so the whole top has to be closed.
    pub(super) has_protected_link: bool,
}

impl Top {
    pub(super) fn of(reach: &Reach) -> io::Result<Top> {
        let mut top = Top::default();
        for entry in fs::read_dir(&reach.root)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().to_lowercase();
            let named = |names: &[String]| names.iter().any(|protected| protected.to_lowercase() == name);
            let list = if named(&reach.hidden) {
                &mut top.hidden
            } else if named(&reach.protected) {
                &mut top.kept
            } else {
                &mut top.open
            };
            let kind = entry.file_type()?;
            if kind.is_dir() || kind.is_file() {
                list.push(entry.path());
            } else if kind.is_symlink() && (named(&reach.hidden) || named(&reach.protected)) {
                top.has_protected_link = true;
                // Outside the root nothing can be changed. Inside it any part of the way there could be, also
                // that to something that is not there yet.
                match fs::canonicalize(entry.path()) {
                    Ok(target) if !target.starts_with(&reach.root) => {}
                    Ok(_) | Err(_) => top.unholdable = Some(entry.path()),
                }
            } else if named(&reach.hidden) || named(&reach.protected) {
                // A pipe or a socket can be moved away, and nothing can be put over it.
                top.unholdable = Some(entry.path());
            }
        }
        for list in [&mut top.open, &mut top.kept, &mut top.hidden] {
            list.sort();
        }
        top.nested = Nested::find(reach);
        Ok(top)
    }

    /// The open entries in which nothing protected lies.
    pub(super) fn wholly_open(&self) -> impl Iterator<Item = &Path> {
        let holds_some = |entry: &PathBuf| {
            let mut protected = self.kept.iter().chain(&self.hidden).map(PathBuf::as_path);
            protected.any(|protected| protected.starts_with(entry)) || self.nested.is_any_below(entry)
        };
        self.open.iter().filter(move |entry| !holds_some(entry)).map(PathBuf::as_path)
    }

    /// The entries that can be read as a whole: nothing hidden lies in them.
    pub(super) fn wholly_readable(&self) -> impl Iterator<Item = &Path> {
        let holds_some = |entry: &PathBuf| self.hidden.iter().any(|hidden| hidden.starts_with(entry));
        self.open.iter().chain(&self.kept).filter(move |entry| !holds_some(entry)).map(PathBuf::as_path)
    }
}
