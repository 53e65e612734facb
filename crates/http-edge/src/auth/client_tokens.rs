//! Identifies the client of a presented token.
//!
//! A running server follows changes of the token files: each request compares the metadata of the two files and reads them
//! again only after a change. If the list of clients cannot be read, none of them is accepted.

use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use envelope::ClientId;

use super::client_file::ClientFile;
use super::token::Token;
use super::token_file::{self, TokenError};

/// The accepted tokens, each with its client.
pub struct ClientTokens {
    /// Absent where the one token never changes.
    files: Option<TokenFiles>,
    loaded: RwLock<Arc<LoadedTokens>>,
}

struct TokenFiles {
    token: PathBuf,
    clients: ClientFile,
}

struct LoadedTokens {
    stamps: [FileStamp; 2],
    tokens: Vec<(blake3::Hash, ClientId)>,
}

/// Inode, size, and times of modification and change. The time of change cannot be set back.
type FileStamp = Option<(u64, u64, i64, i64, i64, i64)>;

impl ClientTokens {
    /// Accepts one token for all clients.
    pub fn single(token: &Token) -> ClientTokens {
        let tokens = vec![(token.hash(), ClientId::default_token())];
        let loaded = LoadedTokens { stamps: [None; 2], tokens };
        ClientTokens { files: None, loaded: RwLock::new(Arc::new(loaded)) }
    }

    /// Accepts the token in one file (created if missing) for the client `default`, and the clients in the other file.
    pub fn open(token: PathBuf, clients: PathBuf) -> Result<ClientTokens, TokenError> {
        token_file::load_or_create(&token)?;
        let files = TokenFiles { token, clients: ClientFile::new(clients) };
        let loaded = files.load()?;
        Ok(ClientTokens { files: Some(files), loaded: RwLock::new(Arc::new(loaded)) })
    }

    /// Returns the client of a token. The time it takes reveals nothing: all hashes are compared, each in constant time.
    pub fn identify(&self, given: &[u8]) -> Option<ClientId> {
        let given = blake3::hash(given);
        let loaded = self.current();
        loaded
            .tokens
            .iter()
            .fold(None, |found, (hash, id)| if *hash == given { Some(id) } else { found })
            .cloned()
    }

    /// Whether this client still has a token.
    pub fn has_token(&self, client: &ClientId) -> bool {
        self.current().tokens.iter().any(|(_, id)| id == client)
    }

    fn current(&self) -> Arc<LoadedTokens> {
        let loaded = self.loaded.read().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(files) = &self.files else { return loaded };
        if files.stamps() == loaded.stamps {
            return loaded;
        }
        let fresh = Arc::new(files.reload(&loaded));
        *self.loaded.write().unwrap_or_else(PoisonError::into_inner) = fresh.clone();
        fresh
    }
}

impl TokenFiles {
    fn stamps(&self) -> [FileStamp; 2] {
        [stamp(&self.token), stamp(self.clients.path())]
    }

    fn load(&self) -> Result<LoadedTokens, TokenError> {
        // Taken before reading, so that a change in between is noticed at the next request.
        let stamps = self.stamps();
        let default = token_file::load_if_exists(&self.token)?;
        let own = self.clients.list()?;
        let own = own.iter().filter_map(|client| Some((client.hash()?, client.id()?)));
        let default = default.map(|token| (token.hash(), ClientId::default_token()));
        Ok(LoadedTokens { stamps, tokens: default.into_iter().chain(own).collect() })
    }

    fn reload(&self, before: &LoadedTokens) -> LoadedTokens {
        match self.load() {
            Ok(loaded) => {
                tracing::info!(clients = loaded.tokens.len(), "the tokens of clients have changed");
                loaded
            }
            Err(error) => {
                tracing::error!(%error, "the tokens of clients cannot be read; only the default token is accepted");
                let is_default = |(_, id): &&(blake3::Hash, ClientId)| id.as_str() == ClientId::DEFAULT;
                LoadedTokens {
                    stamps: self.stamps(),
                    tokens: before.tokens.iter().filter(is_default).cloned().collect(),
                }
            }
        }
    }
}

/// The permission of one client to be served, for connections that outlive their first request.
#[derive(Debug, Clone)]
pub struct Admission {
    client: ClientId,
    tokens: Arc<ClientTokens>,
}

impl Admission {
    pub(crate) fn new(client: ClientId, tokens: Arc<ClientTokens>) -> Admission {
        Admission { client, tokens }
    }

    pub fn client(&self) -> &ClientId {
        &self.client
    }

    /// Whether the client still has a token.
    pub fn is_valid(&self) -> bool {
        self.tokens.has_token(&self.client)
    }
}

fn stamp(path: &Path) -> FileStamp {
    let of = std::fs::symlink_metadata(path).ok()?;
    Some((of.ino(), of.size(), of.mtime(), of.mtime_nsec(), of.ctime(), of.ctime_nsec()))
}

impl fmt::Debug for ClientTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientTokens(..)")
    }
}
