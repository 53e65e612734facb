//! Entries at the top level of the vault, by what a command can do with them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::SandboxProfile;
use super::nested_entries::NestedEntries;

/// The entries at the top level of a vault.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TopLevelEntries {
    /// Folders and files that a command can change. Links are in no list: their targets count.
    pub(super) open: Vec<PathBuf>,
    /// Folders and files that are read-only.
    pub(super) kept: Vec<PathBuf>,
    /// Folders and files that are neither writable nor readable.
    pub(super) hidden: Vec<PathBuf>,
    /// A protected name that cannot be held: a link into the vault or to nothing, or neither a file nor a folder.
    pub(super) unholdable: Option<PathBuf>,
    /// Protected entries further down.
    pub(super) nested: NestedEntries,
    /// A protected name is a link. A link itself cannot be held in place, so the whole top level is read-only.
    pub(super) has_protected_link: bool,
}

impl TopLevelEntries {
    pub(super) fn of(profile: &SandboxProfile) -> io::Result<TopLevelEntries> {
        let mut top = TopLevelEntries::default();
        for entry in fs::read_dir(&profile.root)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().to_lowercase();
            let named = |names: &[String]| names.iter().any(|protected| protected.to_lowercase() == name);
            let list = if named(&profile.hidden) {
                &mut top.hidden
            } else if named(&profile.protected) {
                &mut top.kept
            } else {
                &mut top.open
            };
            let kind = entry.file_type()?;
            if kind.is_dir() || kind.is_file() {
                list.push(entry.path());
            } else if kind.is_symlink() && (named(&profile.hidden) || named(&profile.protected)) {
                top.has_protected_link = true;
                // Outside of the root nothing can be changed. Inside, any part of the path could be changed, even if
                // the target does not exist.
                match fs::canonicalize(entry.path()) {
                    Ok(target) if !target.starts_with(&profile.root) => {}
                    Ok(_) | Err(_) => top.unholdable = Some(entry.path()),
                }
            } else if named(&profile.hidden) || named(&profile.protected) {
                // A pipe or a socket can be moved away, and cannot be a mount point.
                top.unholdable = Some(entry.path());
            }
        }
        for list in [&mut top.open, &mut top.kept, &mut top.hidden] {
            list.sort();
        }
        top.nested = NestedEntries::find(profile);
        Ok(top)
    }

    /// Open entries without anything protected in them.
    pub(super) fn writable(&self) -> impl Iterator<Item = &Path> {
        let holds_some = |entry: &PathBuf| {
            let mut protected = self.kept.iter().chain(&self.hidden).map(PathBuf::as_path);
            protected.any(|protected| protected.starts_with(entry)) || self.nested.is_any_below(entry)
        };
        self.open.iter().filter(move |entry| !holds_some(entry)).map(PathBuf::as_path)
    }

    /// Entries without anything hidden in them.
    pub(super) fn readable_entries(&self) -> impl Iterator<Item = &Path> {
        let holds_some = |entry: &PathBuf| self.hidden.iter().any(|hidden| hidden.starts_with(entry));
        self.open.iter().chain(&self.kept).filter(move |entry| !holds_some(entry)).map(PathBuf::as_path)
    }
}
