//! A folder of the vault by the path that a call gives, walked by the kernel.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};

/// The folder as the kernel calls it. It walks the path and is told to stay beneath the root, so a link that is swapped
/// in while we look leads nowhere else.
pub(in crate::sandbox) fn beneath(root: &Path, given: &str) -> Option<PathBuf> {
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
