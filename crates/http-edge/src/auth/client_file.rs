//! The file of clients that have their own token: names and token hashes, never tokens.

use std::path::{Path, PathBuf};

use envelope::{ClientId, Timestamp};
use serde::{Deserialize, Serialize};

use super::private_file::PrivateFile;
use super::token::Token;
use super::token_file::TokenError;

/// Names of clients without their own token.
const RESERVED_NAMES: [&str; 3] = [ClientId::DEFAULT, ClientId::LOCAL, ClientId::STDIO];
/// Enough for some ten thousand clients. A larger file is not a list of clients.
const MAX_BYTES: u64 = 4 << 20;
const SERIAL_LETTERS: usize = 8;

/// A client that has its own token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClientRecord {
    /// The name that the token was issued for.
    pub name: String,
    /// Distinguishes the client from an earlier one of the same name, which leaves it no approvals.
    pub serial: String,
    /// The hash of the token, in hexadecimal digits.
    hash: String,
    pub created_at: Timestamp,
    /// When the token was last replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotated_at: Option<Timestamp>,
}

impl ClientRecord {
    /// Returns the identity that approvals and records are keyed by. It survives a rotation of the token.
    pub fn id(&self) -> Option<ClientId> {
        ClientId::parse(&format!("{}/{}", self.name, self.serial)).ok()
    }

    pub(super) fn hash(&self) -> Option<blake3::Hash> {
        blake3::Hash::from_hex(&self.hash).ok()
    }
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClientList {
    clients: Vec<ClientRecord>,
}

/// The list of clients on disk. Each change replaces the whole file, so that a running server notices it.
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

    /// Returns all clients, in the order of their creation.
    pub fn list(&self) -> Result<Vec<ClientRecord>, TokenError> {
        Ok(self.read(&PrivateFile::open(&self.path)?)?.clients)
    }

    /// Creates a client and its token. Only the hash is stored, so the token can be shown only now.
    pub fn issue(&self, name: &str, now: Timestamp) -> Result<(Token, ClientRecord), TokenError> {
        if RESERVED_NAMES.contains(&name) || name.contains('/') || ClientId::parse(name).is_err() {
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

    /// Removes a client; its token becomes invalid.
    pub fn revoke(&self, name: &str) -> Result<ClientRecord, TokenError> {
        self.change(|_, listed| {
            let index = listed.clients.iter().position(|client| client.name == name);
            let index = index.ok_or_else(|| TokenError::NoSuchClient { name: name.to_owned() })?;
            Ok(listed.clients.remove(index))
        })
    }

    /// Replaces the token of a client, which keeps its identity.
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

    /// Reads, changes and writes the list under a lock.
    fn change<T>(
        &self,
        change: impl FnOnce(&PrivateFile<'_>, &mut ClientList) -> Result<T, TokenError>,
    ) -> Result<T, TokenError> {
        let file = PrivateFile::open(&self.path)?;
        file.lock()?;
        let mut listed = self.read(&file)?;
        let changed = change(&file, &mut listed)?;
        let mut text =
            serde_json::to_string_pretty(&listed).map_err(|error| self.bad_file(error.to_string()))?;
        text.push('\n');
        file.replace(text.as_bytes())?;
        Ok(changed)
    }

    fn read(&self, file: &PrivateFile<'_>) -> Result<ClientList, TokenError> {
        let Some(bytes) = file.read(MAX_BYTES)? else { return Ok(ClientList::default()) };
        let listed: ClientList =
            serde_json::from_slice(&bytes).map_err(|error| self.bad_file(error.to_string()))?;
        match listed.clients.iter().find(|client| client.id().is_none() || client.hash().is_none()) {
            Some(_) => Err(self.bad_file("a client in it has no usable name or hash".to_owned())),
            None => Ok(listed),
        }
    }

    fn bad_file(&self, why: String) -> TokenError {
        TokenError::NoClients { path: self.path.clone(), why }
    }
}
