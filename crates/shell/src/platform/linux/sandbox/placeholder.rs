//! Placeholders for protected names that do not exist, and must not appear while a command runs.
//!
//! A name can only be held in the command's view of the vault by a mount on it, and a mount needs an existing entry. So
//! an empty folder is made for the time of the command: git and Obsidian do not take an empty folder for theirs.
//! Removing the entry would remove the mount in every command that runs by then, so each holds a shared lock on the
//! folder, and the one that gets an exclusive lock removes it. A folder that a crash left behind is recognised by its
//! sticky bit, and the next command removes it.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};

/// Mode of a placeholder. The sticky bit is our mark: it is unusual for a folder that others cannot write to.
const MARKED: u32 = 0o1755;

/// How often a folder may vanish between the check and the lock before we give up.
const TRIES: usize = 64;

/// A folder in place of a missing name, as long as this value lives.
#[derive(Debug)]
pub(super) struct FolderPlaceholder {
    path: PathBuf,
    folder: File,
    /// Whether it was made for a command. An empty folder of the user is locked as well: on a file system without a
    /// sticky bit it looks like the placeholder of another command, which must not vanish while we use it.
    made: bool,
}

impl FolderPlaceholder {
    /// Makes sure that an entry exists at the path. Returns `None` if there is an entry that needs no placeholder, or
    /// if neither we nor the command can create one.
    pub(super) fn acquire(path: &Path) -> io::Result<Option<FolderPlaceholder>> {
        let mut made = false;
        for _ in 0..TRIES {
            match fs::symlink_metadata(path) {
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    match DirBuilder::new().mode(MARKED).create(path).map_err(|error| error.kind()) {
                        Ok(()) => made = true,
                        // Another command was faster, which the next check shows.
                        Err(ErrorKind::AlreadyExists) => {}
                        Err(ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) => return Ok(None),
                        Err(other) => return Err(other.into()),
                    }
                }
                Err(error) => return Err(error),
                Ok(about) if about.is_dir() => {
                    made |= about.permissions().mode() & 0o1000 != 0;
                    let empty = fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
                    if !made && !empty {
                        return Ok(None);
                    }
                    if let Some(folder) = open_locked(path)? {
                        return Ok(Some(FolderPlaceholder { path: path.to_owned(), folder, made }));
                    }
                    made = false;
                }
                Ok(_) => return Ok(None),
            }
        }
        Err(io::Error::new(ErrorKind::TimedOut, "it comes and goes"))
    }
}

/// Opens a folder with a shared lock. Returns `None` if it was removed before we had the lock.
fn open_locked(path: &Path) -> io::Result<Option<File>> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let folder = match File::options().read(true).custom_flags(flags).open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    flock(&folder, FlockOperation::LockShared)?;
    let same = fs::symlink_metadata(path).is_ok_and(|now| {
        folder.metadata().is_ok_and(|held| (held.dev(), held.ino()) == (now.dev(), now.ino()))
    });
    Ok(same.then_some(folder))
}

impl Drop for FolderPlaceholder {
    fn drop(&mut self) {
        // Another command may need it. The last one removes it.
        if !self.made || flock(&self.folder, FlockOperation::NonBlockingLockExclusive).is_err() {
            return;
        }
        if fs::remove_dir(&self.path).is_err() && self.path.is_dir() {
            // It is in use: from now on it is an ordinary folder.
            let _unmarked = self.folder.set_permissions(fs::Permissions::from_mode(MARKED & 0o777));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::FolderPlaceholder;

    #[test]
    fn an_absent_name_is_held_until_the_last_one_lets_go() {
        let vault = tempfile::tempdir().unwrap();
        let path = vault.path().join(".git");
        let first = FolderPlaceholder::acquire(&path).unwrap().unwrap();
        let second = FolderPlaceholder::acquire(&path).unwrap().unwrap();
        drop(first);
        assert!(path.is_dir(), "removing it would take the mount from the second command");
        drop(second);
        assert!(!path.exists());
    }

    #[test]
    fn what_a_crash_left_goes_with_the_next_command() {
        let vault = tempfile::tempdir().unwrap();
        let path = vault.path().join(".git");
        std::mem::forget(FolderPlaceholder::acquire(&path).unwrap().unwrap().folder.try_clone().unwrap());
        drop(FolderPlaceholder::acquire(&path).unwrap().unwrap());
        assert!(!path.exists());
    }

    #[test]
    fn what_the_person_made_is_left_alone() {
        let vault = tempfile::tempdir().unwrap();
        let empty = vault.path().join(".trash");
        fs::create_dir(&empty).unwrap();
        drop(FolderPlaceholder::acquire(&empty).unwrap());
        assert!(empty.is_dir());
        let path = vault.path().join(".git");
        let held = FolderPlaceholder::acquire(&path).unwrap().unwrap();
        fs::create_dir(path.join("refs")).unwrap();
        drop(held);
        assert!(path.join("refs").is_dir());
        assert!(FolderPlaceholder::acquire(&path).unwrap().is_none(), "it is an ordinary folder now");
        let file = vault.path().join(".obsidian");
        fs::File::create(&file).unwrap();
        assert!(FolderPlaceholder::acquire(&file).unwrap().is_none());
    }
}
