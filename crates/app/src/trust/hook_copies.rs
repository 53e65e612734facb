//! Private copies of the files of a vault that hooks consist of.
//!
//! A file of the vault can be replaced at any moment, also between a check and the start of the hook. So the hashed
//! bytes are copied to `$XDG_STATE_HOME/tollgate/hooks/<hash>/`, for the owner only, and the hook is started from there.
//! The copy is checked again before each start.

use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use envelope::Hash;

use crate::bounded_file;
use crate::display_text::display_path;
use crate::error::AppError;
use crate::error::ErrorKind;
use crate::settings::HookFile;

/// Largest file of a vault that a hook can consist of.
const MAX_COPY_BYTES: u64 = 64 << 20;

/// Returns the copy of a file, creating it if it is missing. Fails if the file no longer has this hash.
pub(super) fn copy_of(folder: &Path, file: &HookFile, hash: &Hash) -> Result<PathBuf, AppError> {
    let digits = hash.to_string().replace("b3:", "");
    let folder = folder.join("hooks").join(digits);
    let copy = folder.join(file.path.file_name().unwrap_or_default());
    if bounded_file::read_own(&copy, MAX_COPY_BYTES)
        .is_ok_and(|kept| kept.is_some_and(|kept| Hash::of(&kept) == *hash))
    {
        return Ok(copy);
    }
    let shown = display_path(&file.path);
    let bytes = match bounded_file::read_in_vault(&file.path, MAX_COPY_BYTES) {
        Ok(Some(bytes)) if Hash::of(&bytes) == *hash => bytes,
        Ok(_) => return Err(changed(&format!("`{shown}` changed while it was read"))),
        Err(why) => return Err(changed(&format!("`{shown}` cannot be used: {why}"))),
    };
    let written = || {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let mut new = tempfile::NamedTempFile::new_in(&folder)?;
        new.write_all(&bytes)?;
        new.as_file().set_permissions(std::fs::Permissions::from_mode(0o500))?;
        new.as_file().sync_all()?;
        new.persist(&copy)?;
        Ok(())
    };
    written().map_err(|error: std::io::Error| {
        AppError::io(format_args!("write {}", display_path(&copy)), error)
    })?;
    Ok(copy)
}

fn changed(message: &str) -> AppError {
    AppError::new(ErrorKind::Denied, "untrusted_hooks", format!("nothing was run: {message}"))
        .hint("look at the hooks and decide with `tollgate trust`")
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    use envelope::Hash;

    use super::copy_of;
    use crate::settings::HookFile;

    #[test]
    fn a_copy_holds_what_was_hashed_whatever_becomes_of_the_file() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().canonicalize().unwrap();
        let put = |text: &str| {
            std::fs::File::create(dir.join("hook.sh")).unwrap().write_all(text.as_bytes()).unwrap();
        };
        let hash = Hash::of(b"one");
        let path = dir.join("hook.sh");
        let file = HookFile { word: 0, prefix: String::new(), path, in_vault: true, hash: Some(hash) };
        put("two");
        assert_eq!(copy_of(&dir, &file, &hash).unwrap_err().code, "untrusted_hooks");
        put("one");
        let copy = copy_of(&dir, &file, &hash).unwrap();
        put("two");
        assert_eq!(copy_of(&dir, &file, &hash).unwrap(), copy);
        assert_eq!(std::fs::read(&copy).unwrap(), b"one");
        let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&copy), mode(copy.parent().unwrap())), (0o500, 0o700));
        // A changed copy is made again, and only from the hashed bytes.
        std::fs::remove_file(&copy).unwrap();
        std::fs::File::create(&copy).unwrap().write_all(b"bad").unwrap();
        assert!(copy_of(&dir, &file, &hash).is_err());
        put("one");
        assert_eq!(std::fs::read(copy_of(&dir, &file, &hash).unwrap()).unwrap(), b"one");
    }
}
