//! The file of the token: readable for its owner only, and created once even if several servers start together.

use std::io;
use std::path::{Path, PathBuf};

use super::private_file::PrivateFile;
use super::token::Token;

/// Longer than any token and its line feed. A longer file is not a token file.
const MAX_BYTES: u64 = 1024;

/// Why a token file cannot be used. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    #[error("`{path}` has no file name for the token")]
    NoName { path: PathBuf },
    #[error(
        "`{path}` is a link, and anyone who can change its target can change the token; replace it by the \
         file itself, or delete the link, and a token is created"
    )]
    Link { path: PathBuf },
    #[error("`{path}` is not a file; move it away, and a token is created there")]
    NotAFile { path: PathBuf },
    #[error("`{path}` belongs to another user; delete it, and a token of your own is created")]
    ForeignOwner { path: PathBuf },
    #[error(
        "others can read `{path}` (mode {mode:03o}), so its token is not secret any more; delete it, and a new one \
         is created"
    )]
    OpenToOthers { path: PathBuf, mode: u32 },
    #[error("others can change files in `{path}` (mode {mode:03o}); run `chmod 700` on it")]
    OpenFolder { path: PathBuf, mode: u32 },
    #[error("`{path}` belongs to another user; keep the token in a folder of your own")]
    ForeignFolder { path: PathBuf },
    #[error(
        "`{path}` contains no token: one line of 24 to 256 letters, digits and `-._~+/=` is expected; delete it, \
         and one is created"
    )]
    NoToken { path: PathBuf },
    #[error(
        "`{path}` is not a list of clients: {why}; delete it to start with an empty one, which makes every client's \
         token except the default one invalid"
    )]
    NoClients { path: PathBuf, why: String },
    #[error("a client named `{name}` has a token already; rotate it, or choose another name")]
    ClientExists { name: String },
    #[error("no client is named `{name}`")]
    NoSuchClient { name: String },
    #[error(
        "`{name}` is not a valid client name: start with a letter or digit, then use letters, digits, `.`, `_` or `-`, at \
         most 64; `default`, `local` and `stdio` are taken"
    )]
    BadName { name: String },
    #[error("cannot {action} `{path}`: {source}")]
    Io { action: &'static str, path: PathBuf, source: io::Error },
}

pub(super) fn load_or_create(path: &Path) -> Result<Token, TokenError> {
    let file = PrivateFile::open(path)?;
    if let Some(token) = load(&file, path)? {
        return Ok(token);
    }
    file.create(line(&Token::from_bytes(&file.random()?)).as_bytes())?;
    // The new one, or that of another process that was faster.
    load(&file, path)?.ok_or_else(|| file.io("read", io::ErrorKind::NotFound.into()))
}

/// Returns the token in the file; `None` without a file.
pub(super) fn load_if_exists(path: &Path) -> Result<Option<Token>, TokenError> {
    load(&PrivateFile::open(path)?, path)
}

/// Replaces the token in the file by a new one.
pub(super) fn rotate(path: &Path) -> Result<Token, TokenError> {
    let file = PrivateFile::open(path)?;
    let token = Token::from_bytes(&file.random()?);
    file.replace(line(&token).as_bytes())?;
    Ok(token)
}

/// Writes a token to a file of its own, for its client to read.
pub(super) fn write(path: &Path, token: &Token) -> Result<(), TokenError> {
    PrivateFile::open(path)?.replace(line(token).as_bytes())
}

fn line(token: &Token) -> String {
    format!("{}\n", token.reveal())
}

fn load(file: &PrivateFile<'_>, path: &Path) -> Result<Option<Token>, TokenError> {
    let Some(bytes) = file.read(MAX_BYTES)? else { return Ok(None) };
    let token = std::str::from_utf8(&bytes).ok().map(str::trim_ascii_end).and_then(Token::parse);
    token.map(Some).ok_or_else(|| TokenError::NoToken { path: path.to_owned() })
}
