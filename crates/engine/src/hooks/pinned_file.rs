//! Files of a hook, bound to the checksum of their bytes: checked before each start of the hook.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use envelope::Hash;

use super::HookError;
use crate::call_inputs::visible_text;

/// Up to this size a file is hashed before each start. A larger one, such as an interpreter, is read again only if its
/// metadata has changed.
const ALWAYS_HASHED: u64 = 1 << 20;

/// A file whose bytes must be the same as when the user trusted it.
#[derive(Debug, Clone)]
pub struct PinnedFile(Arc<PinnedChecksum>);

#[derive(Debug)]
struct PinnedChecksum {
    path: PathBuf,
    /// `None` if no file is allowed at the path.
    hash: Option<Hash>,
    /// Identity of a large file when its checksum was last correct.
    checked: Mutex<Option<PinnedIdentity>>,
}

/// Device, inode, size, mtime and ctime. No program can set ctime.
type PinnedIdentity = (u64, u64, u64, (i64, i64), (i64, i64));

impl PinnedFile {
    /// Pins a file to the hash of its bytes; without a hash, pins a path to having no file.
    pub fn new(path: PathBuf, hash: Option<Hash>) -> PinnedFile {
        PinnedFile(Arc::new(PinnedChecksum { path, hash, checked: Mutex::default() }))
    }

    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Returns an error if the file has changed. Reads the file, so it blocks.
    pub(super) fn check(&self) -> Result<(), HookError> {
        let PinnedChecksum { path, hash, checked } = &*self.0;
        let shown = visible_text(&path.to_string_lossy());
        let changed = || HookError(format!("`{shown}` is not the file that you trusted; it was not run"));
        let file = match (File::open(path), hash) {
            (Err(error), None) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            (Err(_) | Ok(_), None) => return Err(changed()),
            (Err(error), Some(_)) => {
                return Err(HookError(format!("`{shown}` cannot be read, so it was not run: {error}")));
            }
            (Ok(file), Some(_)) => file,
        };
        let meta = file.metadata().map_err(|_unknown| changed())?;
        let now = (
            meta.dev(),
            meta.ino(),
            meta.size(),
            (meta.mtime(), meta.mtime_nsec()),
            (meta.ctime(), meta.ctime_nsec()),
        );
        let mut checked = checked.lock().unwrap_or_else(PoisonError::into_inner);
        if *checked == Some(now) {
            return Ok(());
        }
        let (_, found) = journal::hash_file(file).map_err(|_unreadable| changed())?;
        if Some(found) != *hash {
            return Err(changed());
        }
        *checked = (meta.size() > ALWAYS_HASHED).then_some(now);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;

    use envelope::Hash;

    use super::{ALWAYS_HASHED, PinnedFile};

    #[test]
    fn a_file_with_other_bytes_is_refused_also_with_the_same_size_and_time() {
        let temp = tempfile::tempdir().unwrap();
        for size in [4, ALWAYS_HASHED as usize + 1] {
            let path = temp.path().join(size.to_string());
            let put = |byte: u8| {
                let mut file = File::create(&path).unwrap();
                file.write_all(&vec![byte; size]).unwrap();
                file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
            };
            put(b'a');
            let pinned = PinnedFile::new(path.clone(), Some(Hash::of(&vec![b'a'; size])));
            pinned.check().unwrap();
            pinned.check().unwrap();
            let other = temp.path().join("other");
            std::fs::rename(&path, &other).unwrap();
            put(b'b');
            assert!(pinned.check().unwrap_err().0.contains("is not the file that you trusted"));
            std::fs::rename(&other, &path).unwrap();
            pinned.check().unwrap();
            std::fs::remove_file(&path).unwrap();
            assert!(pinned.check().unwrap_err().0.contains("cannot be read"));
        }
    }

    #[test]
    fn a_file_that_was_not_there_must_stay_away() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("late");
        let pinned = PinnedFile::new(path.clone(), None);
        pinned.check().unwrap();
        File::create(&path).unwrap();
        assert!(pinned.check().is_err());
    }
}
