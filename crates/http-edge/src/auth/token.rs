//! The bearer token of a client.

use std::fmt;
use std::path::Path;

use super::token_file::{self, TokenError};

/// A token as text, to be shown once, and as a hash, to be compared. `Debug` does not print it.
#[derive(Clone)]
pub struct Token {
    text: Box<str>,
    hash: blake3::Hash,
}

impl Token {
    /// Reads the token from this file; creates file, folder and token if they are missing.
    pub fn load_or_create(path: &Path) -> Result<Token, TokenError> {
        token_file::load_or_create(path)
    }

    /// Replaces the token in this file by a new one.
    pub fn rotate(path: &Path) -> Result<Token, TokenError> {
        token_file::rotate(path)
    }

    /// Writes the token to a file that only you can read.
    pub fn write_to(&self, path: &Path) -> Result<(), TokenError> {
        token_file::write(path, self)
    }

    /// Parses a token; `None` if it cannot be sent in a header, or could be guessed.
    pub(super) fn parse(text: &str) -> Option<Token> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
        let usable = (24..=256).contains(&text.len()) && text.bytes().all(plain);
        usable.then(|| Token { text: text.into(), hash: blake3::hash(text.as_bytes()) })
    }

    /// Makes a token from random bytes.
    pub(super) fn from_bytes(random: &[u8; 32]) -> Token {
        let text = format!("tg_{}", blake3::Hash::from_bytes(*random).to_hex());
        Token { hash: blake3::hash(text.as_bytes()), text: text.into() }
    }

    /// Returns the secret, for the file and for its client.
    pub fn reveal(&self) -> &str {
        &self.text
    }

    /// Returns the hash that presented tokens are compared with, in constant time.
    pub(super) fn hash(&self) -> blake3::Hash {
        self.hash
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}
