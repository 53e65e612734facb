//! Names that mean the same file on another system: `Note.md` and `note.md`, or `é` in two encodings.
//!
//! A collision is found by reading all names of the folder. A small folder is read each time. For a large one
//! the hashes of the folded names are cached. They are valid while the stamp of the folder (times, size, links)
//! is unchanged; names that this process adds are entered, and the stamp is read again. The stamp does not show
//! a name that another program adds between our check and our own addition, so the names are also read again
//! after as many additions as there were names. That bounds how long such a name stays unseen, and keeps the
//! cost per addition constant.
//!
//! Within this process, check and addition are one step under a lock. Against other programs only the exact
//! name is safe at the last moment, because the system refuses to link over an existing name.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Mutex, PoisonError};

use cap_std::fs::Dir;
use envelope::VaultPath;
use rustix::io::Errno;

use super::folder;
use crate::platform::{FileIdentity, FileStat, FileTime};

/// A folder with up to this many names is read each time, which is faster than the write that follows.
const READ_EACH_TIME: usize = 128;
/// Cached folders; a run rarely writes to more at a time.
const MAX_KEPT: usize = 64;

#[derive(Default)]
pub(super) struct NameCollisions {
    cached: Mutex<HashMap<FileIdentity, CachedFolder>>,
    hashing: RandomState,
}

/// Folded names of one large folder.
struct CachedFolder {
    stamp: FolderStamp,
    hashes: HashSet<u64>,
    when_read: usize,
}

/// Changes if a name is added or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FolderStamp {
    modified: FileTime,
    changed: FileTime,
    links: u64,
    size: u64,
}

/// Outcome of an addition.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ClaimOutcome {
    Made,
    /// The name, or one that collides with it, exists; nothing was done.
    Taken,
}

impl NameCollisions {
    /// Calls `make`, which adds `name` to the folder, unless a name collides with it.
    ///
    /// No other addition of this process happens between the check and `make`.
    pub(super) fn claim(
        &self,
        dir: &Dir,
        name: &str,
        make: impl FnOnce() -> Result<(), Errno>,
    ) -> Result<ClaimOutcome, Errno> {
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = self.hash(name);
        let (key, taken) = self.find_collision(&mut cached, dir, name, wanted)?;
        if taken {
            return Ok(ClaimOutcome::Taken);
        }
        let claim = claim_outcome(make())?;
        if claim == ClaimOutcome::Made
            && let Some(folder) = cached.get_mut(&key)
        {
            folder.hashes.insert(wanted);
            folder.stamp = FolderStamp::of(&FileStat::of(dir)?);
        }
        Ok(claim)
    }

    /// Returns true if the name, or one that collides with it, exists.
    pub(super) fn exists(&self, dir: &Dir, name: &str) -> Result<bool, Errno> {
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = self.hash(name);
        self.find_collision(&mut cached, dir, name, wanted).map(|(_, taken)| taken)
    }

    /// Looks for a collision in the cache, or else in the folder.
    fn find_collision(
        &self,
        cached: &mut HashMap<FileIdentity, CachedFolder>,
        dir: &Dir,
        name: &str,
        wanted: u64,
    ) -> Result<(FileIdentity, bool), Errno> {
        let stat = FileStat::of(dir)?;
        let key = stat.identity;
        let known = cached.get(&key).filter(|folder| folder.is_current(&stat));
        let may_be = match known {
            Some(folder) => folder.hashes.contains(&wanted),
            None => {
                cached.remove(&key);
                let hashes = self.read(dir)?;
                let may_be = hashes.contains(&wanted);
                let stamp = FolderStamp::of(&stat);
                // Names that changed during the read are good enough for this check, but not for the cache.
                if hashes.len() > READ_EACH_TIME && stamp == FolderStamp::of(&FileStat::of(dir)?) {
                    if cached.len() >= MAX_KEPT {
                        cached.clear();
                    }
                    let when_read = hashes.len();
                    cached.insert(key, CachedFolder { stamp, hashes, when_read });
                }
                may_be
            }
        };
        // Two folded names can have the same hash; the folder decides.
        Ok((key, may_be && colliding_name(dir, name)?.is_some()))
    }

    fn read(&self, dir: &Dir) -> Result<HashSet<u64>, Errno> {
        Ok(folder::list_names(dir)?.named.iter().map(|named| self.hash(&named.name)).collect())
    }

    fn hash(&self, name: &str) -> u64 {
        self.hashing.hash_one(VaultPath::fold_name(name))
    }
}

impl CachedFolder {
    fn is_current(&self, stat: &FileStat) -> bool {
        self.stamp == FolderStamp::of(stat) && self.hashes.len() < 2 * self.when_read
    }
}

impl FolderStamp {
    fn of(stat: &FileStat) -> FolderStamp {
        FolderStamp { modified: stat.modified, changed: stat.changed, links: stat.links, size: stat.size }
    }
}

fn claim_outcome(made: Result<(), Errno>) -> Result<ClaimOutcome, Errno> {
    match made {
        Ok(()) => Ok(ClaimOutcome::Made),
        Err(Errno::EXIST) => Ok(ClaimOutcome::Taken),
        Err(error) => Err(error),
    }
}

/// Returns the name on disk that collides with `name`; the exact name comes first.
pub(super) fn colliding_name(dir: &Dir, name: &str) -> Result<Option<String>, Errno> {
    Ok(colliding_names(dir, name)?.into_iter().next())
}

/// Returns every name on disk that collides with `name`; the exact name comes first.
pub(super) fn colliding_names(dir: &Dir, name: &str) -> Result<Vec<String>, Errno> {
    let folded = VaultPath::fold_name(name);
    let mut collisions: Vec<String> = folder::list_names(dir)?
        .named
        .into_iter()
        .map(|named| named.name)
        .filter(|existing| VaultPath::fold_name(existing) == folded)
        .collect();
    collisions.sort_by_key(|existing| existing != name);
    Ok(collisions)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fs::File;
    use std::path::Path;

    use super::super::folder::open_ambient;
    use crate::platform::FileStat;

    use super::{ClaimOutcome, FolderStamp, NameCollisions, READ_EACH_TIME, colliding_name};

    fn add(collisions: &NameCollisions, folder: &Path, name: &str) -> ClaimOutcome {
        let dir = open_ambient(folder).unwrap();
        collisions
            .claim(&dir, name, || {
                File::create_new(folder.join(name)).map(drop).map_err(|error| {
                    rustix::io::Errno::from_io_error(&error).unwrap_or(rustix::io::Errno::IO)
                })
            })
            .unwrap()
    }

    #[test]
    fn a_twin_is_seen_in_small_and_large_folders_whoever_made_it() {
        let temp = tempfile::tempdir().unwrap();
        let collisions = NameCollisions::default();
        assert_eq!(add(&collisions, temp.path(), "Straße.md"), ClaimOutcome::Made);
        assert_eq!(add(&collisions, temp.path(), "STRASSE.md"), ClaimOutcome::Taken);
        for n in 0..READ_EACH_TIME * 3 {
            assert_eq!(add(&collisions, temp.path(), &format!("note {n}.md")), ClaimOutcome::Made);
        }
        assert_eq!(collisions.cached.lock().unwrap().len(), 1, "the folder is cached once it is large");
        assert_eq!(add(&collisions, temp.path(), "NOTE 7.md"), ClaimOutcome::Taken);
        // Another program adds a name.
        File::create(temp.path().join("Café.md")).unwrap();
        assert_eq!(add(&collisions, temp.path(), "CAFE\u{301}.md"), ClaimOutcome::Taken);
        let dir = open_ambient(temp.path()).unwrap();
        assert_eq!(colliding_name(&dir, "cafe\u{301}.MD").unwrap().as_deref(), Some("Café.md"));
        // And removes one.
        std::fs::remove_file(temp.path().join("note 7.md")).unwrap();
        assert_eq!(add(&collisions, temp.path(), "NOTE 7.md"), ClaimOutcome::Made);
    }

    #[test]
    fn a_name_that_slipped_in_with_one_of_ours_is_seen_after_as_many_as_were_read() {
        let temp = tempfile::tempdir().unwrap();
        let collisions = NameCollisions::default();
        for n in 0..=READ_EACH_TIME {
            File::create(temp.path().join(format!("{n}.md"))).unwrap();
        }
        assert_eq!(add(&collisions, temp.path(), "ours.md"), ClaimOutcome::Made);
        // Added between the check and our own addition: the new stamp covers it.
        File::create(temp.path().join("Slipped.md")).unwrap();
        let stat = FileStat::of(open_ambient(temp.path()).unwrap()).unwrap();
        collisions
            .cached
            .lock()
            .unwrap()
            .values_mut()
            .for_each(|folder| folder.stamp = FolderStamp::of(&stat));
        for n in 0..=READ_EACH_TIME {
            assert_eq!(add(&collisions, temp.path(), &format!("more {n}.md")), ClaimOutcome::Made);
        }
        assert_eq!(add(&collisions, temp.path(), "SLIPPED.md"), ClaimOutcome::Taken);
    }

    #[test]
    fn a_large_folder_is_read_a_few_times_not_once_per_note() {
        let temp = tempfile::tempdir().unwrap();
        let collisions = NameCollisions::default();
        for n in 0..=READ_EACH_TIME {
            File::create(temp.path().join(format!("{n}.md"))).unwrap();
        }
        let readings = Cell::new(0);
        let mut when_read = 0;
        for n in 0..2_000 {
            assert_eq!(add(&collisions, temp.path(), &format!("new {n}.md")), ClaimOutcome::Made);
            let cached = collisions.cached.lock().unwrap();
            let now = cached.values().next().unwrap().when_read;
            if now != when_read {
                readings.set(readings.get() + 1);
                when_read = now;
            }
        }
        assert!(readings.get() <= 6, "{} readings", readings.get());
    }
}
