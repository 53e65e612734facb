//! What lies at the top of the vault, sorted by what a command may do with it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::Reach;

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
    pub(super) nested: Vec<PathBuf>,
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
        top.nested = nested(&top.open, reach);
        Ok(top)
    }

    /// The open entries in which nothing protected lies.
    pub(super) fn wholly_open(&self) -> impl Iterator<Item = &Path> {
        let holds_some = |entry: &PathBuf| {
            let mut protected = self.kept.iter().chain(&self.hidden).chain(&self.nested);
            protected.any(|protected| protected.starts_with(entry))
        };
        self.open.iter().filter(move |entry| !holds_some(entry)).map(PathBuf::as_path)
    }

    /// The entries that can be read as a whole: nothing hidden lies in them.
    pub(super) fn wholly_readable(&self) -> impl Iterator<Item = &Path> {
        let holds_some = |entry: &PathBuf| self.hidden.iter().any(|hidden| hidden.starts_with(entry));
        self.open.iter().chain(&self.kept).filter(move |entry| !holds_some(entry)).map(PathBuf::as_path)
    }
}

/// More folders than this are not looked through, and more names not held, before a command.
const MAX_FOLDERS: usize = 50_000;
const MAX_NESTED: usize = 500;

/// Folders with protected names below the open entries, such as the repository of a part of the vault. Those that
/// a command makes anew are not held: no mount covers a name that is not there.
fn nested(open: &[PathBuf], reach: &Reach) -> Vec<PathBuf> {
    let is_protected = |name: &std::ffi::OsStr| {
        let name = name.to_string_lossy().to_lowercase();
        reach.protected.iter().chain(&reach.hidden).any(|protected| protected.to_lowercase() == name)
    };
    let (mut found, mut looked) = (Vec::new(), 0);
    let mut folders: Vec<PathBuf> = open.iter().filter(|entry| entry.is_dir()).cloned().collect();
    while let Some(folder) = folders.pop() {
        looked += 1;
        if looked > MAX_FOLDERS || found.len() > MAX_NESTED {
            break;
        }
        // A folder that cannot be read by us cannot be read by the command.
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            let list = if is_protected(&entry.file_name()) { &mut found } else { &mut folders };
            list.push(entry.path());
        }
    }
    found.sort();
    found
}
