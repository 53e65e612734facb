//! One writer at a time in a folder, across processes that play by the same rule.
//!
//! To compare a file and then replace it takes two looks, and another program can write between them. Among
//! processes of ours an advisory lock on the folder closes that gap. Programs that know nothing of it are
//! caught by the exchange in `replace.rs`; this lock is what makes two of *us* lose nothing.

use std::fs::File;
use std::time::Duration;

use cap_std::fs::Dir;
use envelope::{Failure, Fault};
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::change::Witness;

/// How long another writer is waited for: far longer than any write takes.
const MAX_WAITS: u32 = 10_000;
const WAIT: Duration = Duration::from_millis(1);

/// Held while a file of the folder is compared and replaced.
pub(super) struct Turn {
    /// Closing it gives the turn up.
    _lock: Option<File>,
}

impl Turn {
    pub(super) fn take(dir: &Dir, path: &str, witness: &dyn Witness) -> Result<Turn, Fault> {
        // A handle of its own: handles that share an open file share its lock too, so threads of this
        // process would not keep each other out.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let Ok(fd) = rustix::fs::openat(dir, ".", flags, Mode::empty()) else {
            return Ok(Turn { _lock: None });
        };
        let handle = File::from(fd);
        for _ in 0..MAX_WAITS {
            match rustix::fs::flock(&handle, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Turn { _lock: Some(handle) }),
                Err(Errno::WOULDBLOCK | Errno::INTR) => {
                    witness.may_go_on()?;
                    std::thread::sleep(WAIT);
                }
                // A file system without locks: the exchange is still there.
                Err(_) => return Ok(Turn { _lock: None }),
            }
        }
        Err(Fault::new(Failure::Conflict, format!("another program keeps the folder of `{path}` locked"))
            .hint("try again when the other program has finished")
            .retryable(true))
    }
}
