//! Path functions for other Unix systems, such as macOS. They open paths component by component.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::OFlags;

/// Additional flags for a folder that is opened only to continue from it. Empty, so opening needs read permission.
pub(crate) const TRAVERSE: OFlags = OFlags::empty();

/// Opens a path without symbolic links in one system call. Always `None`: no portable call does this.
pub(crate) fn open_in_one_call(_path: &Path, _flags: OFlags) -> Option<io::Result<OwnedFd>> {
    None
}
