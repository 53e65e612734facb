//! Hidden names of files that are being written, and the files that a crash leaves under them.
//!
//! A hidden name contains the inode number of its file, and the writer holds a lock on the file. So a leftover
//! is a file whose name matches its inode and whose lock is free. A copy, a restored backup or a file that a
//! user gave such a name does not match, and stays.
//!
//! During an exchange the old file has the hidden name of another inode, and a removed file is first renamed to
//! a hidden name. A crash in that moment leaves old content of the user under a hidden name. This module does
//! not touch it; `crash_leftovers.rs` removes it after it has made sure that the store has it.

use std::collections::HashSet;
use std::fs::File;
use std::sync::{Mutex, PoisonError};

use cap_std::fs::Dir;
use envelope::VaultPath;
use rustix::fs::{AtFlags, FlockOperation};

use super::folder::{self, NodeKind};
use crate::platform::{FileIdentity, FileStat};

/// Remembered folders; a run rarely writes to more.
const MAX_REMEMBERED: usize = 4_096;

/// Folders that were checked since the vault was opened.
#[derive(Default)]
pub(super) struct TempLeftovers {
    looked_through: Mutex<HashSet<FileIdentity>>,
}

impl TempLeftovers {
    /// Removes the leftovers of a folder before the first write to it. Failures are ignored: a leftover that
    /// stays is hidden and does no harm.
    pub(super) fn remove_once(&self, dir: &Dir) {
        let Ok(stat) = FileStat::of(dir) else {
            return;
        };
        {
            let mut known = self.looked_through.lock().unwrap_or_else(PoisonError::into_inner);
            if known.len() >= MAX_REMEMBERED {
                known.clear();
            }
            if !known.insert(stat.identity) {
                return;
            }
        }
        for named in folder::list_names(dir).unwrap_or_default().named {
            if let Some(inode) = inode_in(&named.name) {
                remove(dir, &named.name, inode);
            }
        }
    }
}

/// Returns a hidden name for the file with this inode; `number` distinguishes it from taken names.
pub(super) fn hidden_name(inode: u64, number: u32) -> String {
    format!("{}{inode:x}-{number}", VaultPath::TEMPORARY_PREFIX)
}

/// Returns a hidden name for a file that does not exist yet, on systems without unnamed files.
pub(super) fn first_name(number: u32) -> String {
    format!("{}new-{number}", VaultPath::TEMPORARY_PREFIX)
}

/// Returns the hidden name of a file that will be removed.
pub(super) fn aside_name(inode: u64) -> String {
    format!("{}removed-{inode:x}", VaultPath::TEMPORARY_PREFIX)
}

/// Returns true if a file can have got this name from this crate with old content: by an exchange with the file
/// whose inode is in the name, or by a removal.
pub(super) fn held_old_text(name: &str, inode: u64) -> bool {
    name == aside_name(inode) || inode_in(name).is_some_and(|new| new != inode)
}

pub(super) fn inode_in(name: &str) -> Option<u64> {
    let (inode, _number) = name.strip_prefix(VaultPath::TEMPORARY_PREFIX)?.split_once('-')?;
    u64::from_str_radix(inode, 16).ok()
}

/// Removes a leftover. A process that holds its lock is alive, and only the holder of the lock renames the
/// file, so a name that still belongs to the locked file can be removed.
fn remove(dir: &Dir, hidden: &str, inode: u64) {
    let is_it = |dir: &Dir| {
        folder::stat(dir, hidden)
            .is_ok_and(|stat| stat.identity.inode == inode && folder::kind(&stat) == NodeKind::File)
    };
    if !is_it(dir) {
        return;
    }
    let Ok(file) = folder::open_file(dir, hidden) else {
        return;
    };
    if FileStat::of(&file).is_ok_and(|stat| stat.identity.inode == inode) && lock(&file) && is_it(dir) {
        rustix::fs::unlinkat(dir, hidden, AtFlags::empty()).ok();
    }
}

/// Locks a file as being written. Returns false if another process holds the lock, or without locks.
pub(super) fn lock(file: &File) -> bool {
    rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive).is_ok()
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write as _;
    use std::os::unix::fs::MetadataExt as _;
    use std::path::Path;

    use super::super::folder::open_ambient;
    use super::{TempLeftovers, hidden_name, lock};

    fn names(path: &Path) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Creates a file under its hidden name, as a killed writer leaves it.
    fn hidden(folder: &Path) -> (File, String) {
        let first = folder.join("first");
        let mut file = File::create(&first).unwrap();
        file.write_all(b"half").unwrap();
        let name = hidden_name(file.metadata().unwrap().ino(), 0);
        std::fs::rename(first, folder.join(&name)).unwrap();
        (file, name)
    }

    #[test]
    fn a_leftover_goes_and_a_live_file_and_all_that_is_not_ours_stay() {
        let temp = tempfile::tempdir().unwrap();
        let dir = open_ambient(temp.path()).unwrap();
        let (dead, dead_name) = hidden(temp.path());
        let inode = dead.metadata().unwrap().ino();
        drop(dead);
        let (live, live_name) = hidden(temp.path());
        assert!(lock(&live));
        let mut expected = vec![live_name.clone()];
        for theirs in [
            ".tollgate-tmp-0".to_owned(),
            ".tollgate-tmp-my important file".to_owned(),
            ".tollgate-tmp-new-0".to_owned(),
            // A copy of a leftover has its name and another inode.
            hidden_name(inode, 1),
            format!("{inode:x}-0"),
        ] {
            File::create(temp.path().join(&theirs)).unwrap();
            expected.push(theirs);
        }
        expected.sort();
        assert!(names(temp.path()).contains(&dead_name));
        let leftovers = TempLeftovers::default();
        leftovers.remove_once(&dir);
        assert_eq!(names(temp.path()), expected);
        drop(live);
        leftovers.remove_once(&dir);
        assert_eq!(names(temp.path()), expected, "a folder is looked through once");
        TempLeftovers::default().remove_once(&dir);
        assert!(!names(temp.path()).contains(&live_name));
    }
}
