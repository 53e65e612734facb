//! Linux: `openat2` refuses links itself, and `O_PATH` opens a folder without permission to read it.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// Additional flags for a folder that is opened only to continue from it.
pub(crate) const TRAVERSE: OFlags = OFlags::PATH;

/// Opens a path without symbolic links in one system call. Returns `None` if the system has no such call.
pub(crate) fn open_in_one_call(path: &Path, flags: OFlags) -> Option<io::Result<OwnedFd>> {
    // Without NOFOLLOW: with it, a link at the end of the path is reported as "not a folder".
    match rustix::io::retry_on_intr(|| {
        rustix::fs::openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
    }) {
        // A kernel before 5.6, a system call filter that does not know `openat2`, or a race during the lookup.
        Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => None,
        opened => Some(opened.map_err(io::Error::from)),
    }
}
