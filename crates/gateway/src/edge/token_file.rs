//! The file that holds the token: readable for its owner only, made once, however many start at the same time.

use std::io;
use std::path::{Path, PathBuf};

use super::private_file::PrivateFile;
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
    #[error(
        "`{path}` is no list of clients: {why}; delete it to start with an empty one, which makes every client's token \
         but the default one invalid"
    )]
    NoClients { path: PathBuf, why: String },
    #[error("a client named `{name}` has a token already; rotate it, or choose another name")]
    ClientExists { name: String },
    #[error("no client is named `{name}`")]
    NoSuchClient { name: String },
    #[error(
        "`{name}` is no name for a client: start with a letter or digit, then use letters, digits, `.`, `_` or `-`, at \
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
    // Ours, or that of whoever was faster.
    load(&file, path)?.ok_or_else(|| file.io("read", io::ErrorKind::NotFound.into()))
}

/// The token that is in the file; `None` if there is no file.
pub(super) fn load_if_there(path: &Path) -> Result<Option<Token>, TokenError> {
    load(&PrivateFile::open(path)?, path)
}

/// Puts a new token in the place of the one that is there.
pub(super) fn rotate(path: &Path) -> Result<Token, TokenError> {
    let file = PrivateFile::open(path)?;
    let token = Token::from_bytes(&file.random()?);
    file.replace(line(&token).as_bytes())?;
    Ok(token)
}

/// Writes a token to a file of its own, for the client that is meant to read it.
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
