//! Finds the hidden files that killed calls have left anywhere in the vault, and removes those that hold nothing of
//! the user's that is not kept elsewhere.

use cap_std::fs::Dir;
use envelope::{Fault, VaultPath};
use rustix::fs::AtFlags;
use serde::Serialize;

use super::folder::{self, NodeKind};
use super::folder_lock::FolderLock;
use super::io_context::IoContext;
use super::path_state::state_at;
use super::rollback::is_stored;
use super::temp_leftovers::{held_old_text, inode_in, lock};
use super::vault::Vault;
use crate::platform::FileStat;

/// Folders that are not searched: no tool writes to them.
const NOT_SEARCHED: [&str; 2] = [".tollgate", ".git"];
/// Deeper folders are not searched.
const MAX_DEPTH: usize = 128;

/// A file with a hidden name of this program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TempLeftover {
    pub path: String,
    pub kind: LeftoverKind,
    /// True if it was removed.
    pub removed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum LeftoverKind {
    /// A file that a killed call was writing; it never had a name of its own.
    Unfinished,
    /// Old content that the store has as well.
    StoredCopy,
    /// A call is writing it.
    InUse,
    /// Possibly the only copy of old content, or a file of another program.
    Unknown,
}

impl LeftoverKind {
    /// Whether nothing is lost with the file.
    pub fn is_removable(self) -> bool {
        match self {
            LeftoverKind::Unfinished | LeftoverKind::StoredCopy => true,
            LeftoverKind::InUse | LeftoverKind::Unknown => false,
        }
    }
}

impl Vault {
    /// Returns the hidden files of this program in the whole vault, and removes those that can be removed if `remove` is
    /// set. `io` reads the store. Folders that cannot be read are left out. Fails if it is cancelled.
    pub fn temp_leftovers(&self, remove: bool, io: &dyn IoContext) -> Result<Vec<TempLeftover>, Fault> {
        let mut found = Vec::new();
        if let Ok(root) = self.root.try_clone() {
            search(&root, "", (remove, io), &mut found, 0)?;
        }
        found.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }
}

fn search(
    dir: &Dir,
    above: &str,
    (remove, io): (bool, &dyn IoContext),
    found: &mut Vec<TempLeftover>,
    depth: usize,
) -> Result<(), Fault> {
    io.check_cancelled()?;
    for entry in folder::list_names(dir).unwrap_or_default().named {
        let path = if above.is_empty() { entry.name.clone() } else { format!("{above}/{}", entry.name) };
        if entry.name.starts_with(VaultPath::TEMPORARY_PREFIX) {
            let kind = kind_of(dir, &entry.name, io);
            let removed = remove && kind.is_removable() && remove_file(dir, &entry.name, io);
            found.push(TempLeftover { path, kind, removed });
            continue;
        }
        let can_be_folder = entry.kind.is_none_or(|kind| kind == NodeKind::Folder);
        let is_searched = !(above.is_empty() && NOT_SEARCHED.contains(&entry.name.as_str()));
        if can_be_folder
            && is_searched
            && depth < MAX_DEPTH
            && let Ok(below) = folder::open_folder(dir, &entry.name)
        {
            search(&below, &path, (remove, io), found, depth + 1)?;
        }
    }
    Ok(())
}

fn kind_of(dir: &Dir, name: &str, io: &dyn IoContext) -> LeftoverKind {
    let Ok(file) = folder::open_file(dir, name) else { return LeftoverKind::Unknown };
    let Ok(stat) = FileStat::of(&file) else { return LeftoverKind::Unknown };
    let inode = stat.identity.inode;
    let is_ours = inode_in(name) == Some(inode) || held_old_text(name, inode);
    if folder::kind(&stat) != NodeKind::File || !is_ours {
        return LeftoverKind::Unknown;
    }
    if !lock(&file) {
        return LeftoverKind::InUse;
    }
    if inode_in(name) == Some(inode) {
        return LeftoverKind::Unfinished;
    }
    // The path is only for messages, which nobody sees here.
    let Ok(path) = VaultPath::parse("file") else { return LeftoverKind::Unknown };
    match state_at(dir, name, &path, io) {
        Ok(state) if is_stored(&state, io) => LeftoverKind::StoredCopy,
        Ok(_) | Err(_) => LeftoverKind::Unknown,
    }
}

/// Removes a file after another look at it: meanwhile a call could have begun to use the name. A process that replaces
/// or removes a file in this folder holds the lock of the folder.
fn remove_file(dir: &Dir, name: &str, io: &dyn IoContext) -> bool {
    let Ok(lock_guard) = FolderLock::acquire(dir, name, io) else { return false };
    let removed =
        kind_of(dir, name, io).is_removable() && rustix::fs::unlinkat(dir, name, AtFlags::empty()).is_ok();
    drop(lock_guard);
    removed
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::MetadataExt as _;
    use std::path::Path;

    use envelope::{DataRef, Failure, Fault, Hash, VaultChange};

    use super::super::io_context::IoContext;
    use super::super::temp_leftovers::{aside_name, hidden_name, lock};
    use super::super::vault::Vault;
    use super::{LeftoverKind, TempLeftover};

    /// A store with one content.
    struct Store(Hash);

    impl IoContext for Store {
        fn record_change(&self, _change: VaultChange) {}

        fn check_cancelled(&self) -> Result<(), Fault> {
            Ok(())
        }

        fn fetch(&self, wanted: &DataRef, _into: &mut dyn Write) -> Result<(), Fault> {
            match wanted.hash == self.0 {
                true => Ok(()),
                false => Err(Fault::new(Failure::NotFound, "not stored")),
            }
        }
    }

    fn put(folder: &Path, text: &str, name: impl FnOnce(u64) -> String) -> String {
        fs::create_dir_all(folder).unwrap();
        let first = folder.join("first");
        fs::File::create(&first).unwrap().write_all(text.as_bytes()).unwrap();
        let name = name(first.metadata().unwrap().ino());
        fs::rename(first, folder.join(&name)).unwrap();
        name
    }

    #[test]
    fn only_what_is_ours_or_stored_is_removed_and_only_when_asked() {
        let root = tempfile::tempdir().unwrap();
        let deep = root.path().join("A/.hidden/B");
        let unfinished = put(&deep, "half", |inode| hidden_name(inode, 0));
        let stored = put(&deep, "stored", aside_name);
        let exchanged = put(root.path(), "stored", |inode| hidden_name(inode + 1, 0));
        let only_copy = put(root.path(), "only here", aside_name);
        let theirs = put(root.path(), "stored", |_| ".tollgate-tmp-mine".to_owned());
        let busy = put(root.path(), "busy", |inode| hidden_name(inode, 1));
        put(&root.path().join(".tollgate"), "stored", aside_name);
        let writer = fs::File::open(root.path().join(&busy)).unwrap();
        assert!(lock(&writer));
        let vault = Vault::open(root.path()).unwrap();
        let store = Store(Hash::of(b"stored"));
        let mut expected = vec![
            (format!("A/.hidden/B/{unfinished}"), LeftoverKind::Unfinished),
            (format!("A/.hidden/B/{stored}"), LeftoverKind::StoredCopy),
            (exchanged, LeftoverKind::StoredCopy),
            (only_copy, LeftoverKind::Unknown),
            (theirs, LeftoverKind::Unknown),
            (busy, LeftoverKind::InUse),
        ];
        expected.sort_by(|a, b| a.0.cmp(&b.0));
        let of = |found: Vec<TempLeftover>, removed: bool| -> Vec<(String, LeftoverKind)> {
            assert!(found.iter().all(|one| one.removed == (removed && one.kind.is_removable())));
            found.into_iter().map(|one| (one.path, one.kind)).collect()
        };
        assert_eq!(of(vault.temp_leftovers(false, &store).unwrap(), false), expected);
        assert!(expected.iter().all(|(path, _)| root.path().join(path).exists()));
        assert_eq!(of(vault.temp_leftovers(true, &store).unwrap(), true), expected);
        for (path, kind) in &expected {
            assert_eq!(root.path().join(path).exists(), !kind.is_removable(), "{path}");
        }
    }
}
