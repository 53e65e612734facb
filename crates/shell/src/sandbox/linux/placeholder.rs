//! Protected names that are absent, and must stay so while a command runs.
//!
//! A name can only be held in the command's view of the vault by mounting something on it, and a mount needs
//! an entry to stand on. So an empty folder is made for the time of the command: git and Obsidian do not take
//! an empty folder for theirs. Removing the entry would take the mount away in every command that runs by then,
//! so each holds a shared lock on the folder, and whoever gets the lock alone removes it. A folder that was
//! left by a crash is known by its sticky bit, and goes with the next command.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};

/// A common folder with the mark that is ours: nobody makes a sticky folder that others cannot write to.
const MARKED: u32 = 0o1755;

/// How often a folder may vanish between the look and the lock before we give up.
const TRIES: usize = 64;

/// A folder that stands in for nothing, for as long as this lives.
#[derive(Debug)]
pub(super) struct Placeholder {
    path: PathBuf,
    folder: File,
    /// Whether it was made for a command. An empty folder of the person's is locked as well: where a file system
    /// knows no marks it cannot be told from one of another command's, which must not vanish under us.
    made: bool,
}

impl Placeholder {
    /// Sees to it that something stands at the path. Nothing comes back if what stands there stays by itself, or
    /// if nothing can be made there, by the command neither.
    pub(super) fn hold(path: &Path) -> io::Result<Option<Placeholder>> {
        let mut made = false;
        for _ in 0..TRIES {
            match fs::symlink_metadata(path) {
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    match DirBuilder::new().mode(MARKED).create(path).map_err(|error| error.kind()) {
                        Ok(()) => made = true,
                        // Another command was quicker, which the next look tells.
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
                    if let Some(folder) = locked(path)? {
                        return Ok(Some(Placeholder { path: path.to_owned(), folder, made }));
                    }
                    made = false;
                }
                Ok(_) => return Ok(None),
            }
        }
        Err(io::Error::new(ErrorKind::TimedOut, "it comes and goes"))
    }
}

/// The folder with a shared lock, unless it was removed before we had the lock.
fn locked(path: &Path) -> io::Result<Option<File>> {
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

impl Drop for Placeholder {
    fn drop(&mut self) {
        // Another command may need it. The last one removes it.
        if !self.made || flock(&self.folder, FlockOperation::NonBlockingLockExclusive).is_err() {
            return;
        }
        if fs::remove_dir(&self.path).is_err() && self.path.is_dir() {
            // Somebody has begun to use it: from now on it is an ordinary folder.
            let _unmarked = self.folder.set_permissions(fs::Permissions::from_mode(MARKED & 0o777));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::Placeholder;

    #[test]
    fn an_absent_name_is_held_until_the_last_one_lets_go() {
        let vault = tempfile::tempdir().unwrap();
        let path = vault.path().join(".git");
        let first = Placeholder::hold(&path).unwrap().unwrap();
        let second = Placeholder::hold(&path).unwrap().unwrap();
        drop(first);
        assert!(path.is_dir(), "removing it would take the mount from the second command");
        drop(second);
        assert!(!path.exists());
    }

    #[test]
    fn what_a_crash_left_goes_with_the_next_command() {
        let vault = tempfile::tempdir().unwrap();
        let path = vault.path().join(".git");
        std::mem::forget(Placeholder::hold(&path).unwrap().unwrap().folder.try_clone().unwrap());
        drop(Placeholder::hold(&path).unwrap().unwrap());
        assert!(!path.exists());
    }

    #[test]
    fn what_the_person_made_is_left_alone() {
        let vault = tempfile::tempdir().unwrap();
        let empty = vault.path().join(".trash");
        fs::create_dir(&empty).unwrap();
        drop(Placeholder::hold(&empty).unwrap());
        assert!(empty.is_dir());
        let path = vault.path().join(".git");
        let held = Placeholder::hold(&path).unwrap().unwrap();
        fs::create_dir(path.join("refs")).unwrap();
        drop(held);
        assert!(path.join("refs").is_dir());
        assert!(Placeholder::hold(&path).unwrap().is_none(), "it is an ordinary folder now");
        let file = vault.path().join(".obsidian");
        fs::File::create(&file).unwrap();
        assert!(Placeholder::hold(&file).unwrap().is_none());
    }
}
