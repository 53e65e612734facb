//! The settings file of a client: read, and replaced atomically.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::client::ConfigScope;

/// A longer file is not a settings file.
const MAX_BYTES: u64 = 16 << 20;

/// A settings file as it was read.
#[derive(Debug)]
pub(crate) struct ConfigFile {
    /// The real path: behind a link, its target.
    pub(crate) target: PathBuf,
    pub(crate) is_link: bool,
    /// `None` if the file does not exist.
    pub(crate) text: Option<String>,
}

impl ConfigFile {
    pub(crate) fn read(path: &Path) -> io::Result<ConfigFile> {
        let is_link = fs::symlink_metadata(path).is_ok_and(|about| about.is_symlink());
        let target = if is_link { path.canonicalize()? } else { path.to_owned() };
        let text = match fs::metadata(&target) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
            Ok(about) if !about.is_file() => return Err(io::Error::other("it is not a file")),
            Ok(about) if about.len() > MAX_BYTES => return Err(io::Error::other("it is too long")),
            Ok(_) => Some(fs::read_to_string(&target)?),
        };
        Ok(ConfigFile { target, is_link, text })
    }

    /// Replaces the file and keeps its mode. Returns an error if the file has changed since it was read.
    pub(crate) fn replace(&self, text: &str, scope: ConfigScope) -> io::Result<()> {
        let folder = self.target.parent().ok_or_else(|| io::Error::other("it has no folder"))?;
        DirBuilder::new().recursive(true).mode(0o755).create(folder)?;
        let mode = match (fs::metadata(&self.target), scope) {
            (Ok(about), _) => about.permissions().mode() & 0o7777,
            (Err(_), ConfigScope::User) => 0o600,
            (Err(_), ConfigScope::Project) => 0o644,
        };
        let mut new = tempfile::Builder::new().prefix(".tollgate-").tempfile_in(folder)?;
        new.write_all(text.as_bytes())?;
        new.as_file().set_permissions(Permissions::from_mode(mode))?;
        new.as_file().sync_all()?;
        if ConfigFile::read(&self.target)?.text != self.text {
            return Err(io::Error::other("it has changed meanwhile"));
        }
        match self.text {
            Some(_) => new.persist(&self.target)?,
            None => new.persist_noclobber(&self.target)?,
        };
        Ok(())
    }
}
