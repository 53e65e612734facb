//! Which client a presented token belongs to.
//!
//! The tokens of a running server change with their files: each request compares what the system says of the two files,
//! and only a difference makes anybody read them. A list that cannot be read lets none of its clients in.

use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use envelope::ClientId;

use super::client_file::ClientFile;
use super::token::Token;
use super::token_file::{self, TokenError};

/// The tokens that are accepted, each with the client that it stands for.
pub struct ClientTokens {
    /// Where tokens are kept; absent where the one token never changes.
    files: Option<Files>,
    loaded: RwLock<Arc<Loaded>>,
}

struct Files {
    token: PathBuf,
    clients: ClientFile,
}

struct Loaded {
    stamps: [Stamp; 2],
    tokens: Vec<(blake3::Hash, ClientId)>,
}

/// What the system says of a file. Times of change are part of it: they cannot be set back.
type Stamp = Option<(u64, u64, i64, i64, i64, i64)>;

impl ClientTokens {
    /// One token for everybody.
    pub fn single(token: &Token) -> ClientTokens {
        let tokens = vec![(token.hash(), ClientId::default_token())];
        let loaded = Loaded { stamps: [None; 2], tokens };
        ClientTokens { files: None, loaded: RwLock::new(Arc::new(loaded)) }
    }

    /// The token in one file, made if there is none, as that of the client `default`, and the clients in the other.
    pub fn open(token: PathBuf, clients: PathBuf) -> Result<ClientTokens, TokenError> {
        token_file::load_or_create(&token)?;
        let files = Files { token, clients: ClientFile::new(clients) };
        let loaded = files.load()?;
        Ok(ClientTokens { files: Some(files), loaded: RwLock::new(Arc::new(loaded)) })
    }

    /// The client whose token this is. How long it takes says nothing about how much of a token was right: hashes are
    /// compared, each in constant time, and all of them whichever is the right one.
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
    pub fn has(&self, client: &ClientId) -> bool {
        self.current().tokens.iter().any(|(_, id)| id == client)
    }

    fn current(&self) -> Arc<Loaded> {
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

impl Files {
    fn stamps(&self) -> [Stamp; 2] {
        [stamp(&self.token), stamp(self.clients.path())]
    }

    fn load(&self) -> Result<Loaded, TokenError> {
        // Before they are read: a change in between is then seen at the next look.
        let stamps = self.stamps();
        let default = token_file::load_if_there(&self.token)?;
        let own = self.clients.list()?;
        let own = own.iter().filter_map(|client| Some((client.hash()?, client.id()?)));
        let default = default.map(|token| (token.hash(), ClientId::default_token()));
        Ok(Loaded { stamps, tokens: default.into_iter().chain(own).collect() })
    }

    fn reload(&self, before: &Loaded) -> Loaded {
        match self.load() {
            Ok(loaded) => {
                tracing::info!(clients = loaded.tokens.len(), "the tokens of clients have changed");
                loaded
            }
            Err(error) => {
                tracing::error!(%error, "the tokens of clients cannot be read; only the default token is accepted");
                let is_default = |(_, id): &&(blake3::Hash, ClientId)| id.as_str() == ClientId::DEFAULT;
                Loaded {
                    stamps: self.stamps(),
                    tokens: before.tokens.iter().filter(is_default).cloned().collect(),
                }
            }
        }
    }
}

/// The right of one client to be served, for connections that outlive the request they began with.
#[derive(Debug, Clone)]
pub struct Admission {
    client: ClientId,
    tokens: Arc<ClientTokens>,
}

impl Admission {
    pub(super) fn new(client: ClientId, tokens: Arc<ClientTokens>) -> Admission {
        Admission { client, tokens }
    }

    pub fn client(&self) -> &ClientId {
        &self.client
    }

    /// Whether the client still has a token.
    pub fn holds(&self) -> bool {
        self.tokens.has(&self.client)
    }
}

fn stamp(path: &Path) -> Stamp {
    let of = std::fs::symlink_metadata(path).ok()?;
    Some((of.ino(), of.size(), of.mtime(), of.mtime_nsec(), of.ctime(), of.ctime_nsec()))
}

impl fmt::Debug for ClientTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientTokens(..)")
    }
}
