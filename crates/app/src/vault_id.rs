//! The id of a vault: random, in `.tollgate/vault-id`, which no tool reaches.
//!
//! A run names its vault. The id is not the path of the vault, so that a vault that is moved or synced keeps its runs,
//! and so that the settings of one vault cannot claim the runs of another.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use envelope::Hash;
use journal::{is_link_error, open_folder_no_links};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use crate::bounded_file;
use crate::display_text::display_path;
use crate::error::AppError;

const ID_FOLDER: &str = ".tollgate";
const ID_FILE: &str = "vault-id";
/// Hexadecimal digits of an id.
const ID_DIGITS: usize = 32;

/// Returns the id of a vault. `None` if it has none yet.
pub(crate) fn read(vault: &Path) -> Result<Option<String>, AppError> {
    let path = vault.join(ID_FOLDER).join(ID_FILE);
    let bad = |why: &str| {
        AppError::bad_input("bad_vault_id", format!("{}: {why}", display_path(&path)))
            .hint("put back the file as it was; runs of this vault are known by it. Without it they belong to another vault")
    };
    let Some(bytes) = bounded_file::read_in_vault(&path, 1 << 10).map_err(|why| bad(&why))? else {
        return Ok(None);
    };
    let text = String::from_utf8_lossy(&bytes);
    let id = text.trim_end();
    match id.len() == ID_DIGITS && id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        true => Ok(Some(id.to_owned())),
        false => Err(bad("it is not the id of a vault")),
    }
}

/// Returns the names of this vault in its runs: its id, and its path, which runs have if there was no id.
pub(crate) fn names(vault: &Path) -> Result<Vec<String>, AppError> {
    let path = format!("path:{}", Hash::of(vault.as_os_str().as_encoded_bytes()));
    Ok(read(vault)?.into_iter().chain([path]).collect())
}

/// Creates the id of a vault that has none. A read-only vault stays without.
pub(crate) fn ensure(vault: &Path) -> Result<(), AppError> {
    if read(vault)?.is_some() {
        return Ok(());
    }
    let folder = vault.join(ID_FOLDER);
    match write_new_id(&folder) {
        Ok(()) => Ok(()),
        Err(error) if is_link_error(&error) => {
            Err(AppError::bad_input("bad_vault_id", format!("{} is a link", display_path(&folder)))
                .hint("make .tollgate a folder"))
        }
        Err(error) if is_read_only(&error) => Ok(()),
        Err(error) => Err(AppError::io(format_args!("write {}", display_path(&folder.join(ID_FILE))), error)
            .hint("make room on that disk, or fix it; runs of this vault are known by this file")),
    }
}

fn is_read_only(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied)
}

/// Writes a new id, unless another process has written one meanwhile.
fn write_new_id(folder: &Path) -> io::Result<()> {
    let folder = open_folder_no_links(folder)?;
    let id = random_id()?;
    let temporary = format!("{ID_FILE}.{id}.tmp");
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::openat(&folder, &temporary, flags, Mode::RUSR | Mode::WUSR)?);
    let written = file.write_all(format!("{id}\n").as_bytes()).and_then(|()| file.sync_all());
    let linked = written.and_then(|()| {
        match rustix::fs::linkat(&folder, &temporary, &folder, ID_FILE, AtFlags::empty()) {
            Ok(()) | Err(Errno::EXIST) => Ok(rustix::fs::unlinkat(&folder, &temporary, AtFlags::empty())?),
            // A file system without hard links.
            Err(_unsupported) => Ok(rustix::fs::renameat(&folder, &temporary, &folder, ID_FILE)?),
        }
    });
    linked.inspect_err(|_error| {
        // Best effort: the name shows that the file is temporary.
        let _left = rustix::fs::unlinkat(&folder, &temporary, AtFlags::empty());
    })?;
    Ok(rustix::fs::fsync(&folder)?)
}

fn random_id() -> io::Result<String> {
    let mut bytes = [0; 32];
    let filled = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    if filled != bytes.len() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let digits = Hash::of(&bytes).to_string();
    Ok(digits.chars().rev().take(ID_DIGITS).collect())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{ensure, names, read};

    fn named(vault: &Path) -> String {
        ensure(vault).unwrap();
        names(vault).unwrap().remove(0)
    }

    #[test]
    fn a_vault_keeps_its_id_wherever_it_is_moved_and_no_two_have_the_same() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().canonicalize().unwrap();
        let (one, other, moved) = (dir.join("one"), dir.join("other"), dir.join("moved"));
        for vault in [&one, &other] {
            std::fs::create_dir_all(vault.join(".tollgate")).unwrap();
            assert_eq!(read(vault).unwrap(), None);
            assert!(names(vault).unwrap()[0].starts_with("path:"));
        }
        let id = named(&one);
        assert_eq!(id.len(), 32);
        assert_ne!(id, named(&other));
        std::fs::rename(&one, &moved).unwrap();
        assert_eq!(named(&moved), id);
        assert_eq!(std::fs::read_dir(moved.join(".tollgate")).unwrap().count(), 1, "no temporary file stays");
        std::fs::remove_file(moved.join(".tollgate/vault-id")).unwrap();
        std::os::unix::fs::symlink(other.join(".tollgate/vault-id"), moved.join(".tollgate/vault-id"))
            .unwrap();
        assert_eq!(read(&moved).unwrap_err().code, "bad_vault_id");
    }
}
