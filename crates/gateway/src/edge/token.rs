//! The secret that lets a client in.

use std::fmt;
use std::path::Path;

use super::token_file::{self, TokenError};

/// Kept as it is for whoever must show it, and as a hash for comparing. Never printed by accident.
#[derive(Clone)]
pub struct Token {
    text: Box<str>,
    hash: blake3::Hash,
}

impl Token {
    /// The token in this file; makes file, folder and token if there are none.
    pub fn load_or_create(path: &Path) -> Result<Token, TokenError> {
        token_file::load_or_create(path)
    }

    /// Puts a new token into this file, in the place of the one that is there.
    pub fn rotate(path: &Path) -> Result<Token, TokenError> {
        token_file::rotate(path)
    }

    /// Writes the token to a file that only you can read.
    pub fn write_to(&self, path: &Path) -> Result<(), TokenError> {
        token_file::write(path, self)
    }

    /// From its text; `None` if it could not stand in a header, or be guessed.
    pub(super) fn parse(text: &str) -> Option<Token> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
        let usable = (24..=256).contains(&text.len()) && text.bytes().all(plain);
        usable.then(|| Token { text: text.into(), hash: blake3::hash(text.as_bytes()) })
    }

    /// From random bytes.
    pub(super) fn from_bytes(random: &[u8; 32]) -> Token {
        let text = format!("tg_{}", blake3::Hash::from_bytes(*random).to_hex());
        Token { hash: blake3::hash(text.as_bytes()), text: text.into() }
    }

    /// The secret itself, for the file and for the client that it is meant for.
    pub fn reveal(&self) -> &str {
        &self.text
    }

    /// The hash that presented tokens are compared with, in constant time.
    pub(super) fn hash(&self) -> blake3::Hash {
        self.hash
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}
