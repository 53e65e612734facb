//! Linux: one call for a whole path, files without a name, and renames that cannot replace.
//!
//! A file system may lack any of these; the errors that say so are those that `portable` returns always.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd as _};

use cap_std::fs::Dir;
use envelope::VaultPath;
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, ResolveFlags};
use rustix::io::Errno;

use super::{disk_name, disk_path};

/// Opens a folder below `root` in one call. Fails if a link is on the way.
pub(crate) fn open_folder_beneath(root: &Dir, path: &VaultPath) -> Result<Dir, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(root, disk_path(path)?, flags, Mode::empty(), beneath)
        .map(|fd| Dir::from_std_file(File::from(fd)))
}

/// Creates a file without a name in a folder. Fails with `OPNOTSUPP`, `ISDIR`, `INVAL` or `NOSYS` if the file
/// system cannot.
pub(crate) fn create_unnamed_file(dir: &Dir) -> Result<File, Errno> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    rustix::fs::openat(dir, ".", flags, Mode::from_raw_mode(0o666)).map(File::from)
}

/// Gives an unnamed file a name. Fails with `EXIST` if the name is taken, and with `NOENT` if this system permits
/// linking by handle in neither of the two ways.
pub(crate) fn link_unnamed_file(file: &File, dir: &Dir, name: &str) -> Result<(), Errno> {
    let name = &*disk_name(name)?;
    match rustix::fs::linkat(file, "", dir, name, AtFlags::EMPTY_PATH) {
        // Older kernels require a privilege for that; /proc requires none.
        Err(Errno::NOENT | Errno::PERM) => {
            let handle = format!("/proc/self/fd/{}", file.as_raw_fd());
            rustix::fs::linkat(rustix::fs::CWD, handle.as_str(), dir, name, AtFlags::SYMLINK_FOLLOW)
        }
        linked => linked,
    }
}

/// True: [`rename_noreplace`] is one step.
pub(crate) const RENAMES_IN_ONE_STEP: bool = true;

/// Renames without replacing anything. Fails with `EXIST` if the new name is taken, and with `INVAL` or `NOSYS`
/// if the file system does not know the flag.
pub(crate) fn rename_noreplace(from: &Dir, name: &str, to: &Dir, new_name: &str) -> Result<(), Errno> {
    rustix::fs::renameat_with(from, disk_name(name)?, to, disk_name(new_name)?, RenameFlags::NOREPLACE)
}

/// Exchanges two names of a folder in one step. Fails with `INVAL`, `NOSYS` or `OPNOTSUPP` if the file system
/// cannot.
pub(crate) fn rename_exchange(dir: &Dir, one: &str, other: &str) -> Result<(), Errno> {
    rustix::fs::renameat_with(dir, disk_name(one)?, dir, disk_name(other)?, RenameFlags::EXCHANGE)
}

/// Makes a file, or the names in a folder, durable.
pub(crate) fn sync(file: impl AsFd) -> Result<(), Errno> {
    rustix::fs::fsync(file)
}
