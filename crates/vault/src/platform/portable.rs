//! Any Unix: `openat` for each component. For names that must not replace: flags on Apple's systems, hard links
//! elsewhere.

use std::fs::File;
use std::os::fd::AsFd;

use cap_std::fs::Dir;
use envelope::VaultPath;
#[cfg(not(target_vendor = "apple"))]
use rustix::fs::AtFlags;
#[cfg(target_vendor = "apple")]
use rustix::fs::RenameFlags;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::disk_name;

/// Opens a folder below `root`, one component at a time. Fails if a component is a link.
pub(crate) fn open_folder_beneath(root: &Dir, path: &VaultPath) -> Result<Dir, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = |dir: &Dir, name: &str| {
        rustix::fs::openat(dir, disk_name(name)?, flags, Mode::empty())
            .map(|fd| Dir::from_std_file(File::from(fd)))
    };
    // A `VaultPath` has at least one component, and none of them is `.` or `..`.
    let mut names = path.segments();
    let first = open(root, names.next().ok_or(Errno::INVAL)?)?;
    names.try_fold(first, |dir, name| open(&dir, name))
}

/// Fails always: POSIX has no files without a name.
pub(crate) fn create_unnamed_file(_dir: &Dir) -> Result<File, Errno> {
    Err(Errno::OPNOTSUPP)
}

/// Fails always, as no file is without a name.
pub(crate) fn link_unnamed_file(_file: &File, _dir: &Dir, _name: &str) -> Result<(), Errno> {
    Err(Errno::NOENT)
}

/// True if [`rename_noreplace`] is one step.
pub(crate) const RENAMES_IN_ONE_STEP: bool = cfg!(target_vendor = "apple");

/// Renames without replacing anything. Fails with `EXIST` if the new name is taken, and with `NOSYS` if the file
/// system cannot.
#[cfg(target_vendor = "apple")]
pub(crate) fn rename_noreplace(from: &Dir, name: &str, to: &Dir, new_name: &str) -> Result<(), Errno> {
    let (name, new_name) = (disk_name(name)?, disk_name(new_name)?);
    let renamed = rustix::fs::renameat_with(from, name, to, new_name, RenameFlags::NOREPLACE);
    renamed.map_err(without_flag)
}

/// Renames a file without replacing anything, by a second name that refuses to replace. Fails with `EXIST` if
/// the new name is taken, and with `NOSYS` for a folder, and where the file system has no hard links.
///
/// These are two steps: a file that another program renames to `name` between them is removed. So only a name
/// that no other program uses is safe.
#[cfg(not(target_vendor = "apple"))]
pub(crate) fn rename_noreplace(from: &Dir, name: &str, to: &Dir, new_name: &str) -> Result<(), Errno> {
    let (name, new_name) = (&*disk_name(name)?, &*disk_name(new_name)?);
    match rustix::fs::linkat(from, name, to, new_name, AtFlags::empty()) {
        Ok(()) => rustix::fs::unlinkat(from, name, AtFlags::empty()),
        Err(Errno::PERM | Errno::OPNOTSUPP) => Err(Errno::NOSYS),
        Err(error) => Err(error),
    }
}

/// Exchanges two names of a folder in one step. Fails with `NOSYS` if the file system cannot.
#[cfg(target_vendor = "apple")]
pub(crate) fn rename_exchange(dir: &Dir, one: &str, other: &str) -> Result<(), Errno> {
    rustix::fs::renameat_with(dir, disk_name(one)?, dir, disk_name(other)?, RenameFlags::EXCHANGE)
        .map_err(without_flag)
}

/// Returns `NOSYS` for a file system that does not know a flag.
#[cfg(target_vendor = "apple")]
fn without_flag(error: Errno) -> Errno {
    match error {
        Errno::NOTSUP | Errno::OPNOTSUPP => Errno::NOSYS,
        other => other,
    }
}

/// Fails always: POSIX cannot exchange two names.
#[cfg(not(target_vendor = "apple"))]
pub(crate) fn rename_exchange(_dir: &Dir, _one: &str, _other: &str) -> Result<(), Errno> {
    Err(Errno::NOSYS)
}

/// Makes a file, or the names in a folder, durable.
#[cfg(not(target_vendor = "apple"))]
pub(crate) fn sync(file: impl AsFd) -> Result<(), Errno> {
    rustix::fs::fsync(file)
}

/// Makes a file, or the names in a folder, durable. `fsync` leaves them in the cache of the disk on this system.
#[cfg(target_vendor = "apple")]
pub(crate) fn sync(file: impl AsFd) -> Result<(), Errno> {
    match rustix::fs::fcntl_fullfsync(&file) {
        // Not every file system can.
        Err(Errno::OPNOTSUPP | Errno::NOTTY | Errno::INVAL) => rustix::fs::fsync(file),
        synced => synced,
    }
}
