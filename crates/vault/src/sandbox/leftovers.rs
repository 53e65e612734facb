//! The hidden names of files that are being written, and what a crash leaves of them.
//!
//! A hidden name carries the inode number of its file, and whoever writes the file holds a lock on it. So
//! a leftover is known by itself: its name and its inode agree, and its lock can be had. A copy, a restored
//! backup or a file that somebody gave such a name does not agree, and stays.
//!
//! What a file was exchanged for has the hidden name of another inode for a moment, and what is removed is taken
//! aside first. A crash in that moment leaves a person's old text under a hidden name. Nothing here touches
//! it; `taken_away.rs` does, when it is certain that the store has it.

use std::collections::HashSet;
use std::fs::File;
use std::sync::{Mutex, PoisonError};

use cap_std::fs::Dir;
use envelope::VaultPath;
use rustix::fs::{AtFlags, FlockOperation};

use super::folder::{self, Kind};

/// Folders remembered as looked through; a run rarely writes into more.
const MAX_REMEMBERED: usize = 4_096;

/// The folders that were looked through since the vault was opened.
#[derive(Default)]
pub(super) struct Leftovers {
    looked_through: Mutex<HashSet<(u64, u64)>>,
}

impl Leftovers {
    /// Removes what a crash left in a folder, the first time something is written there. As good as it
    /// goes: a leftover that stays is hidden and in nobody's way.
    pub(super) fn remove_once(&self, dir: &Dir) {
        let Ok(stat) = rustix::fs::fstat(dir) else {
            return;
        };
        {
            let mut known = self.looked_through.lock().unwrap_or_else(PoisonError::into_inner);
            if known.len() >= MAX_REMEMBERED {
                known.clear();
            }
            if !known.insert((stat.st_dev, stat.st_ino)) {
                return;
            }
        }
        for named in folder::names(dir).unwrap_or_default().named {
            if let Some(inode) = inode_in(&named.name) {
                remove(dir, &named.name, inode);
            }
        }
    }
}

/// A hidden name for the file with this inode; the numbers are for names that somebody else has taken.
pub(super) fn hidden_name(inode: u64, number: u32) -> String {
    format!("{}{inode:x}-{number}", VaultPath::TEMPORARY_PREFIX)
}

/// A hidden name for a file that is not there yet, where files cannot be made without a name.
pub(super) fn first_name(number: u32) -> String {
    format!("{}new-{number}", VaultPath::TEMPORARY_PREFIX)
}

/// The name of a file that is about to be removed.
pub(super) fn aside_name(inode: u64) -> String {
    format!("{}removed-{inode:x}", VaultPath::TEMPORARY_PREFIX)
}

/// Whether a file with this inode can have got this name from us, with somebody's old text in it: it was
/// exchanged for the file whose inode is in the name, or was taken aside under its own.
pub(super) fn held_old_text(name: &str, inode: u64) -> bool {
    name == aside_name(inode) || inode_in(name).is_some_and(|new| new != inode)
}

fn inode_in(name: &str) -> Option<u64> {
    let (inode, _number) = name.strip_prefix(VaultPath::TEMPORARY_PREFIX)?.split_once('-')?;
    u64::from_str_radix(inode, 16).ok()
}

/// Removes a file whose name says that it is ours and whose owner is gone. Whoever holds its lock is alive,
/// and only the holder of the lock moves the name, so a name that still means the locked file can go.
fn remove(dir: &Dir, hidden: &str, inode: u64) {
    let is_it = |dir: &Dir| {
        folder::stat(dir, hidden).is_ok_and(|stat| stat.st_ino == inode && folder::kind(&stat) == Kind::File)
    };
    if !is_it(dir) {
        return;
    }
    let Ok(file) = folder::open_file(dir, hidden) else {
        return;
    };
    if rustix::fs::fstat(&file).is_ok_and(|stat| stat.st_ino == inode) && lock(&file) && is_it(dir) {
        rustix::fs::unlinkat(dir, hidden, AtFlags::empty()).ok();
    }
}

/// Marks a file as being written by someone who is alive.
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
    use super::{Leftovers, hidden_name, lock};

    fn names(path: &Path) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// A file under the hidden name that belongs to it, as a writer leaves it when it is killed.
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
        let leftovers = Leftovers::default();
        leftovers.remove_once(&dir);
        assert_eq!(names(temp.path()), expected);
        drop(live);
        leftovers.remove_once(&dir);
        assert_eq!(names(temp.path()), expected, "a folder is looked through once");
        Leftovers::default().remove_once(&dir);
        assert!(!names(temp.path()).contains(&live_name));
    }
}
