//! Lock on a folder for one writer at a time, across processes of this program.
//!
//! Comparing a file and then replacing it are two operations, and another process could write between them.
//! Among processes of this program an advisory lock on the folder prevents that. Other programs do not know the
//! lock; the exchange in `replace.rs` detects their writes.

use std::fs::File;
use std::time::Duration;

use cap_std::fs::Dir;
use envelope::{Failure, Fault};
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::io_context::IoContext;

/// How often another writer is waited for: far longer than any write takes.
const MAX_WAITS: u32 = 10_000;
const WAIT: Duration = Duration::from_millis(1);

/// Held while a file of the folder is compared and replaced.
pub(super) struct FolderLock {
    /// Dropping the handle releases the lock.
    _lock: Option<File>,
}

impl FolderLock {
    pub(super) fn acquire(dir: &Dir, path: &str, io: &dyn IoContext) -> Result<FolderLock, Fault> {
        // A handle of its own: handles that share an open file also share its lock, so threads of this process
        // would not exclude each other.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let Ok(fd) = rustix::fs::openat(dir, ".", flags, Mode::empty()) else {
            return Ok(FolderLock { _lock: None });
        };
        let handle = File::from(fd);
        for _ in 0..MAX_WAITS {
            match rustix::fs::flock(&handle, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(FolderLock { _lock: Some(handle) }),
                Err(Errno::WOULDBLOCK | Errno::INTR) => {
                    io.check_cancelled()?;
                    std::thread::sleep(WAIT);
                }
                // A file system without locks. The exchange still detects other writers.
                Err(_) => return Ok(FolderLock { _lock: None }),
            }
        }
        Err(Fault::new(Failure::Conflict, format!("another program keeps the folder of `{path}` locked"))
            .hint("try again when the other program has finished")
            .retryable(true))
    }
}
