//! The file that holds the token: readable for its owner only, made once, however many start at the same time.
//!
//! Everything happens relative to the folder's handle, so that what was looked at is what is used.

use std::ffi::OsStr;
use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};

use super::token::Token;

/// Longer than any token and its line feed; a file beyond it is something else.
const MAX_BYTES: u64 = 1024;

/// Why a token file is not used. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    #[error("`{path}` names no file to keep the token in")]
    NoName { path: PathBuf },
    #[error(
        "`{path}` is a link, and whoever can change what it points at can change the token; put the file itself \
         there, or delete the link to have a token made"
    )]
    Link { path: PathBuf },
    #[error("`{path}` is not a file; move it away to have a token made there")]
    NotAFile { path: PathBuf },
    #[error("`{path}` belongs to somebody else; delete it to have a token of your own made")]
    ForeignOwner { path: PathBuf },
    #[error(
        "others can read `{path}` (mode {mode:03o}), so its token is no secret any more; delete it to have a new \
         one made"
    )]
    OpenToOthers { path: PathBuf, mode: u32 },
    #[error("others can change what is in `{path}` (mode {mode:03o}); run `chmod 700` on it")]
    OpenFolder { path: PathBuf, mode: u32 },
    #[error("`{path}` belongs to somebody else; keep the token in a folder of your own")]
    ForeignFolder { path: PathBuf },
    #[error(
        "`{path}` holds no token: one line of 24 to 256 letters, digits and `-._~+/=` is expected; delete it to \
         have one made"
    )]
    NoToken { path: PathBuf },
    #[error("cannot {action} `{path}`: {source}")]
    Io { action: &'static str, path: PathBuf, source: io::Error },
}

pub(super) fn load_or_create(path: &Path) -> Result<Token, TokenError> {
    let place = Place::open(path)?;
    if let Some(token) = place.load()? {
        return Ok(token);
    }
    place.create()?;
    // Ours, or that of whoever was faster.
    place.load()?.ok_or_else(|| place.io("read", io::ErrorKind::NotFound.into()))
}

/// A name in a folder that is open and ours.
struct Place<'a> {
    folder: OwnedFd,
    name: &'a OsStr,
    path: &'a Path,
}

impl<'a> Place<'a> {
    fn open(path: &'a Path) -> Result<Place<'a>, TokenError> {
        let name = path.file_name().ok_or_else(|| TokenError::NoName { path: path.to_owned() })?;
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            Some(_) | None => Path::new("."),
        };
        let failed = |action, source: io::Error| TokenError::Io { action, path: folder.to_owned(), source };
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(|error| failed("make the folder", error))?;
        let opened = rustix::fs::open(folder, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .map_err(|error| failed("open the folder", error.into()))?;
        let stat = rustix::fs::fstat(&opened).map_err(|error| failed("look at the folder", error.into()))?;
        let mode = stat.st_mode & 0o777;
        if mode & 0o022 != 0 {
            return Err(TokenError::OpenFolder { path: folder.to_owned(), mode });
        }
        if !is_ours(&stat) {
            return Err(TokenError::ForeignFolder { path: folder.to_owned() });
        }
        Ok(Place { folder: opened, name, path })
    }

    /// The token that is there; `None` if there is no file.
    fn load(&self) -> Result<Option<Token>, TokenError> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&self.folder, self.name, flags, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err(TokenError::Link { path: self.path.to_owned() }),
            Err(error) => return Err(self.io("open", error.into())),
        };
        let stat = rustix::fs::fstat(&file).map_err(|error| self.io("look at", error.into()))?;
        let mode = stat.st_mode & 0o777;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(TokenError::NotAFile { path: self.path.to_owned() });
        }
        if !is_ours(&stat) {
            return Err(TokenError::ForeignOwner { path: self.path.to_owned() });
        }
        if mode & 0o077 != 0 {
            return Err(TokenError::OpenToOthers { path: self.path.to_owned(), mode });
        }
        let mut bytes = Vec::new();
        File::from(file).take(MAX_BYTES).read_to_end(&mut bytes).map_err(|error| self.io("read", error))?;
        let token = std::str::from_utf8(&bytes).ok().map(str::trim_ascii_end).and_then(Token::parse);
        token.map(Some).ok_or_else(|| TokenError::NoToken { path: self.path.to_owned() })
    }

    /// Writes a new token beside the name and then takes the name, unless somebody else was faster.
    fn create(&self) -> Result<(), TokenError> {
        let token = Token::from_bytes(&self.random()?);
        let beside = format!(".{}", blake3::hash(&self.random()?).to_hex());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.folder, &beside, flags, Mode::RUSR | Mode::WUSR)
            .map_err(|error| self.io("make", error.into()))?;
        let named = self.fill(&File::from(file), &token).and_then(|()| {
            rustix::fs::renameat_with(&self.folder, &beside, &self.folder, self.name, RenameFlags::NOREPLACE)
                .map_err(|error| self.io("name", error.into()))
        });
        if named.is_err() {
            // Best effort: a leftover is a secret of nobody, readable for its owner only.
            let _gone_already = rustix::fs::unlinkat(&self.folder, &beside, AtFlags::empty());
        }
        match named {
            Err(TokenError::Io { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            named => named,
        }
    }

    fn fill(&self, mut file: &File, token: &Token) -> Result<(), TokenError> {
        // The mode of a new file is cut by the process' mask, never widened; but the mask may cut our own bits.
        rustix::fs::fchmod(file, Mode::RUSR | Mode::WUSR)
            .map_err(|error| self.io("close to others", error.into()))?;
        writeln!(file, "{}", token.reveal()).map_err(|error| self.io("write", error))?;
        file.sync_all().map_err(|error| self.io("write", error))
    }

    /// From the system, or not at all.
    fn random(&self) -> Result<[u8; 32], TokenError> {
        let mut bytes = [0; 32];
        match getrandom(&mut bytes, GetRandomFlags::empty()) {
            Ok(32) => Ok(bytes),
            Ok(_) => Err(self.io("find randomness for", io::ErrorKind::UnexpectedEof.into())),
            Err(error) => Err(self.io("find randomness for", error.into())),
        }
    }

    fn io(&self, action: &'static str, source: io::Error) -> TokenError {
        TokenError::Io { action, path: self.path.to_owned(), source }
    }
}

fn is_ours(stat: &Stat) -> bool {
    stat.st_uid == rustix::process::geteuid().as_raw()
}
