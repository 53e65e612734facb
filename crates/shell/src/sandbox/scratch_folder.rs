//! A private folder for one command, if its sandbox does not provide one.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Fixed: `TMPDIR` is a setting of the user, which does not guarantee that the folder is private.
const WHERE: &str = "/tmp";

/// Attempts to find a free name.
const TRIES: usize = 1000;

static COUNT: AtomicU64 = AtomicU64::new(0);

/// A folder that only this user can read. Dropping it removes it with its contents.
#[derive(Debug)]
pub(crate) struct ScratchFolder(PathBuf);

impl ScratchFolder {
    pub(crate) fn new() -> io::Result<ScratchFolder> {
        for _ in 0..TRIES {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = Path::new(WHERE).join(format!("tollgate-{}-{count}", std::process::id()));
            // This follows no link and does not reuse an existing folder.
            match DirBuilder::new().mode(0o700).create(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => return made.map(|()| ScratchFolder(path)),
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("every name in {WHERE} is taken")))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        // A file that cannot be removed stays in a folder that only this user can read.
        let _left = fs::remove_dir_all(&self.0);
    }
}
