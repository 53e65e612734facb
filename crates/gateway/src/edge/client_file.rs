//! The file with the clients that have a token of their own: names and hashes, never a token.

use std::path::{Path, PathBuf};

use envelope::{ClientId, Timestamp};
use serde::{Deserialize, Serialize};

use super::private_file::PrivateFile;
use super::token::Token;
use super::token_file::TokenError;

/// Names of clients that have no token of their own.
const TAKEN: [&str; 3] = [ClientId::DEFAULT, ClientId::LOCAL, ClientId::STDIO];
/// Some ten thousand clients; a file beyond it is something else.
const MAX_BYTES: u64 = 4 << 20;
const SERIAL_LETTERS: usize = 8;

/// One client that has a token of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClientRecord {
    /// The name it was issued under.
    pub name: String,
    /// Tells it from an earlier client of the same name, so that a revoked one leaves nothing to its successor.
    pub serial: String,
    /// The hash of its token, in hexadecimal digits.
    hash: String,
    pub created_at: Timestamp,
    /// When its token was last changed, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotated_at: Option<Timestamp>,
}

impl ClientRecord {
    /// The identity that everything about this client is keyed by. Rotating its token keeps it.
    pub fn id(&self) -> Option<ClientId> {
        ClientId::parse(&format!("{}/{}", self.name, self.serial)).ok()
    }

    pub(super) fn hash(&self) -> Option<blake3::Hash> {
        blake3::Hash::from_hex(&self.hash).ok()
    }
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    clients: Vec<ClientRecord>,
}

/// The list of clients on disk. Each change replaces the file as a whole, so that a running server notices it.
#[derive(Debug, Clone)]
pub struct ClientFile {
    path: PathBuf,
}

impl ClientFile {
    pub fn new(path: PathBuf) -> ClientFile {
        ClientFile { path }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All clients, in the order in which they were issued.
    pub fn list(&self) -> Result<Vec<ClientRecord>, TokenError> {
        Ok(self.read(&PrivateFile::open(&self.path)?)?.clients)
    }

    /// Makes a token for a new client. Only its hash is kept, so that this is the one time that it can be shown.
    pub fn issue(&self, name: &str, now: Timestamp) -> Result<(Token, ClientRecord), TokenError> {
        if TAKEN.contains(&name) || name.contains('/') || ClientId::parse(name).is_err() {
            return Err(TokenError::BadName { name: name.chars().take(80).collect() });
        }
        self.change(|file, listed| {
            if listed.clients.iter().any(|client| client.name == name) {
                return Err(TokenError::ClientExists { name: name.to_owned() });
            }
            let token = Token::from_bytes(&file.random()?);
            let serial: String =
                blake3::hash(&file.random()?).to_hex().chars().take(SERIAL_LETTERS).collect();
            let hash = token.hash().to_hex().to_string();
            let client =
                ClientRecord { name: name.to_owned(), serial, hash, created_at: now, rotated_at: None };
            listed.clients.push(client.clone());
            Ok((token, client))
        })
    }

    /// Makes the token of a client invalid, and forgets the client.
    pub fn revoke(&self, name: &str) -> Result<ClientRecord, TokenError> {
        self.change(|_, listed| {
            let place = listed.clients.iter().position(|client| client.name == name);
            let place = place.ok_or_else(|| TokenError::NoSuchClient { name: name.to_owned() })?;
            Ok(listed.clients.remove(place))
        })
    }

    /// Gives a client another token in the place of the one it has. It stays the same client.
    pub fn rotate(&self, name: &str, now: Timestamp) -> Result<(Token, ClientRecord), TokenError> {
        self.change(|file, listed| {
            let client = listed.clients.iter_mut().find(|client| client.name == name);
            let client = client.ok_or_else(|| TokenError::NoSuchClient { name: name.to_owned() })?;
            let token = Token::from_bytes(&file.random()?);
            client.hash = token.hash().to_hex().to_string();
            client.rotated_at = Some(now);
            Ok((token, client.clone()))
        })
    }

    /// Reads, changes and writes the list while no other process does.
    fn change<T>(
        &self,
        change: impl FnOnce(&PrivateFile<'_>, &mut Listed) -> Result<T, TokenError>,
    ) -> Result<T, TokenError> {
        let file = PrivateFile::open(&self.path)?;
        file.lock()?;
        let mut listed = self.read(&file)?;
        let changed = change(&file, &mut listed)?;
        let mut text = serde_json::to_string_pretty(&listed).map_err(|error| self.bad(error.to_string()))?;
        text.push('\n');
        file.replace(text.as_bytes())?;
        Ok(changed)
    }

    fn read(&self, file: &PrivateFile<'_>) -> Result<Listed, TokenError> {
        let Some(bytes) = file.read(MAX_BYTES)? else { return Ok(Listed::default()) };
        let listed: Listed = serde_json::from_slice(&bytes).map_err(|error| self.bad(error.to_string()))?;
        match listed.clients.iter().find(|client| client.id().is_none() || client.hash().is_none()) {
            Some(_) => Err(self.bad("a client in it has no usable name or hash".to_owned())),
            None => Ok(listed),
        }
    }

    fn bad(&self, why: String) -> TokenError {
        TokenError::NoClients { path: self.path.clone(), why }
    }
}
