//! Resolves a folder of the vault, in the kernel.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};

/// Returns the real path of a folder. The kernel resolves the path beneath the root, so a link that is swapped in
/// meanwhile does not lead outside.
pub(crate) fn resolve_beneath(root: &Path, given: &str) -> Option<PathBuf> {
    let root = File::open(root).ok()?;
    let folder = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let found = openat2(&root, given, folder, Mode::empty(), beneath).ok()?;
    name_of(&found)
}

fn name_of(folder: impl AsFd) -> Option<PathBuf> {
    let handle = std::os::fd::AsRawFd::as_raw_fd(&folder.as_fd());
    std::fs::read_link(format!("/proc/self/fd/{handle}")).ok()
}
