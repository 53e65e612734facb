//! Names that are the same file on another system: `Note.md` and `note.md`, or `é` encoded in two ways.
//!
//! A twin can only be found by looking at every name in the folder. For a small folder that is done each
//! time. For a large one the folded names are kept as hashes and trusted only while the folder's stamp
//! (times, size, links) is the one they were read under; our own additions are entered and the stamp is
//! taken anew. What another program adds in the very moment between our look and our own addition cannot
//! be seen in the stamp, so the names are read again whenever as many were added as were read: that bounds
//! how long such a name stays unseen and keeps the cost per addition constant.
//!
//! Within this process the check and the addition are one step under a lock. Against other programs only
//! the exact name is safe at the last moment, by the system's own refusal to link over an existing name.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Mutex, PoisonError};

use cap_std::fs::Dir;
use envelope::VaultPath;
use rustix::fs::Stat;
use rustix::io::Errno;

use super::folder;

/// Up to this many names a folder is simply read; it takes less time than the write that follows.
const READ_EACH_TIME: usize = 128;
/// Folders kept; a run rarely writes into more at a time.
const MAX_KEPT: usize = 64;

/// A folder: its device and its inode.
type Key = (u64, u64);

#[derive(Default)]
pub(super) struct Twins {
    kept: Mutex<HashMap<Key, Kept>>,
    hashing: RandomState,
}

/// The folded names of one large folder.
struct Kept {
    stamp: Stamp,
    hashes: HashSet<u64>,
    when_read: usize,
}

/// Changes whenever a name is added or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    modified: (i64, u64),
    changed: (i64, u64),
    links: u64,
    size: i64,
}

/// How an addition ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Claim {
    Made,
    /// A twin, or the very name, is there; nothing was done.
    Taken,
}

impl Twins {
    /// Calls `make`, which adds `name` to the folder, unless a twin of it is there.
    ///
    /// No other addition of this process comes between the look and `make`.
    pub(super) fn claim(
        &self,
        dir: &Dir,
        name: &str,
        make: impl FnOnce() -> Result<(), Errno>,
    ) -> Result<Claim, Errno> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = self.hash(name);
        let (key, taken) = self.look(&mut kept, dir, name, wanted)?;
        if taken {
            return Ok(Claim::Taken);
        }
        let claim = added(make())?;
        if claim == Claim::Made
            && let Some(folder) = kept.get_mut(&key)
        {
            folder.hashes.insert(wanted);
            folder.stamp = Stamp::of(&rustix::fs::fstat(dir)?);
        }
        Ok(claim)
    }

    /// Whether the name, or a twin of it, is there now.
    pub(super) fn has(&self, dir: &Dir, name: &str) -> Result<bool, Errno> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = self.hash(name);
        self.look(&mut kept, dir, name, wanted).map(|(_, taken)| taken)
    }

    /// Whether a twin is there, from what is kept of the folder or else from the folder.
    fn look(
        &self,
        kept: &mut HashMap<Key, Kept>,
        dir: &Dir,
        name: &str,
        wanted: u64,
    ) -> Result<(Key, bool), Errno> {
        let stat = rustix::fs::fstat(dir)?;
        let key = (stat.st_dev, stat.st_ino);
        let known = kept.get(&key).filter(|folder| folder.is_current(&stat));
        let may_be = match known {
            Some(folder) => folder.hashes.contains(&wanted),
            None => {
                kept.remove(&key);
                let hashes = self.read(dir)?;
                let may_be = hashes.contains(&wanted);
                let stamp = Stamp::of(&stat);
                // Names that changed while they were read are good enough for this look, not for the next.
                if hashes.len() > READ_EACH_TIME && stamp == Stamp::of(&rustix::fs::fstat(dir)?) {
                    if kept.len() >= MAX_KEPT {
                        kept.clear();
                    }
                    let when_read = hashes.len();
                    kept.insert(key, Kept { stamp, hashes, when_read });
                }
                may_be
            }
        };
        // Two folded names can share a hash; only the folder itself can tell.
        Ok((key, may_be && twin_of(dir, name)?.is_some()))
    }

    fn read(&self, dir: &Dir) -> Result<HashSet<u64>, Errno> {
        Ok(folder::names(dir)?.named.iter().map(|named| self.hash(&named.name)).collect())
    }

    fn hash(&self, name: &str) -> u64 {
        self.hashing.hash_one(VaultPath::fold_name(name))
    }
}

impl Kept {
    fn is_current(&self, stat: &Stat) -> bool {
        self.stamp == Stamp::of(stat) && self.hashes.len() < 2 * self.when_read
    }
}

impl Stamp {
    fn of(stat: &Stat) -> Stamp {
        Stamp {
            modified: (stat.st_mtime, stat.st_mtime_nsec),
            changed: (stat.st_ctime, stat.st_ctime_nsec),
            links: stat.st_nlink,
            size: stat.st_size,
        }
    }
}

fn added(made: Result<(), Errno>) -> Result<Claim, Errno> {
    match made {
        Ok(()) => Ok(Claim::Made),
        Err(Errno::EXIST) => Ok(Claim::Taken),
        Err(error) => Err(error),
    }
}

/// The name on disk that is `name` on another system; the very name comes first.
pub(super) fn twin_of(dir: &Dir, name: &str) -> Result<Option<String>, Errno> {
    let folded = VaultPath::fold_name(name);
    let mut twins: Vec<String> = folder::names(dir)?
        .named
        .into_iter()
        .map(|named| named.name)
        .filter(|existing| VaultPath::fold_name(existing) == folded)
        .collect();
    twins.sort_by_key(|existing| existing != name);
    Ok(twins.into_iter().next())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fs::File;
    use std::path::Path;

    use super::super::folder::open_ambient;
    use super::{Claim, READ_EACH_TIME, Stamp, Twins, twin_of};

    fn add(twins: &Twins, folder: &Path, name: &str) -> Claim {
        let dir = open_ambient(folder).unwrap();
        twins
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
        let twins = Twins::default();
        assert_eq!(add(&twins, temp.path(), "Straße.md"), Claim::Made);
        assert_eq!(add(&twins, temp.path(), "STRASSE.md"), Claim::Taken);
        for n in 0..READ_EACH_TIME * 3 {
            assert_eq!(add(&twins, temp.path(), &format!("note {n}.md")), Claim::Made);
        }
        assert_eq!(twins.kept.lock().unwrap().len(), 1, "the folder is kept once it is large");
        assert_eq!(add(&twins, temp.path(), "NOTE 7.md"), Claim::Taken);
        // Another program adds a name behind our back.
        File::create(temp.path().join("Café.md")).unwrap();
        assert_eq!(add(&twins, temp.path(), "CAFE\u{301}.md"), Claim::Taken);
        let dir = open_ambient(temp.path()).unwrap();
        assert_eq!(twin_of(&dir, "cafe\u{301}.MD").unwrap().as_deref(), Some("Café.md"));
        // And takes one away.
        std::fs::remove_file(temp.path().join("note 7.md")).unwrap();
        assert_eq!(add(&twins, temp.path(), "NOTE 7.md"), Claim::Made);
    }

    #[test]
    fn a_name_that_slipped_in_with_one_of_ours_is_seen_after_as_many_as_were_read() {
        let temp = tempfile::tempdir().unwrap();
        let twins = Twins::default();
        for n in 0..=READ_EACH_TIME {
            File::create(temp.path().join(format!("{n}.md"))).unwrap();
        }
        assert_eq!(add(&twins, temp.path(), "ours.md"), Claim::Made);
        // Added between our look and our own addition: the stamp that was taken anew covers it.
        File::create(temp.path().join("Slipped.md")).unwrap();
        let stat = rustix::fs::fstat(open_ambient(temp.path()).unwrap()).unwrap();
        twins.kept.lock().unwrap().values_mut().for_each(|folder| folder.stamp = Stamp::of(&stat));
        for n in 0..=READ_EACH_TIME {
            assert_eq!(add(&twins, temp.path(), &format!("more {n}.md")), Claim::Made);
        }
        assert_eq!(add(&twins, temp.path(), "SLIPPED.md"), Claim::Taken);
    }

    #[test]
    fn a_large_folder_is_read_a_few_times_not_once_per_note() {
        let temp = tempfile::tempdir().unwrap();
        let twins = Twins::default();
        for n in 0..=READ_EACH_TIME {
            File::create(temp.path().join(format!("{n}.md"))).unwrap();
        }
        let readings = Cell::new(0);
        let mut when_read = 0;
        for n in 0..2_000 {
            assert_eq!(add(&twins, temp.path(), &format!("new {n}.md")), Claim::Made);
            let kept = twins.kept.lock().unwrap();
            let now = kept.values().next().unwrap().when_read;
            if now != when_read {
                readings.set(readings.get() + 1);
                when_read = now;
            }
        }
        assert!(readings.get() <= 6, "{} readings", readings.get());
    }
}
