//! A private folder for one command, where no wall gives it one that exists for the command alone.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Fixed: what `TMPDIR` says is a setting of the person's, not a promise about who can look there.
const WHERE: &str = "/tmp";

/// How many names may be taken already before we give up.
const TRIES: usize = 1000;

static COUNT: AtomicU64 = AtomicU64::new(0);

/// A folder that only this user can look into. Dropping it removes it with all that is in it.
#[derive(Debug)]
pub(super) struct Scratch(PathBuf);

impl Scratch {
    pub(super) fn new() -> io::Result<Scratch> {
        for _ in 0..TRIES {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = Path::new(WHERE).join(format!("tollgate-{}-{count}", std::process::id()));
            // Making a folder follows no link and takes over nothing that is there.
            match DirBuilder::new().mode(0o700).create(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => return made.map(|()| Scratch(path)),
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("every name in {WHERE} is taken")))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// A folder in it.
    #[cfg(target_os = "linux")]
    pub(super) fn folder(&self, name: &str) -> io::Result<PathBuf> {
        let path = self.0.join(name);
        fs::create_dir(&path).map(|()| path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed stays behind closed doors.
        let _left = fs::remove_dir_all(&self.0);
    }
}
