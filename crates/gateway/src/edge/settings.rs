//! What an edge lets in, and for how long it waits.

use std::sync::Arc;
use std::time::Duration;

use super::client_tokens::ClientTokens;
use super::token::Token;

/// Who may come in, and where to.
#[derive(Debug, Clone)]
pub struct EdgeSettings {
    pub tokens: Arc<ClientTokens>,
    /// Paths that need no token, compared as a whole: `/healthz`. Everything else is checked for them too.
    pub open_paths: Vec<String>,
    /// Names under which clients may address the server besides its loopback ones, with the port if it is not
    /// 80: `notes.home.arpa:8787`.
    pub hosts: Vec<String>,
    /// Pages that may call from a browser, as the browser names them: `app://obsidian.md`.
    pub origins: Vec<String>,
    /// Whether an address that other machines can reach may be bound. Whoever has the token then commands this
    /// machine's tools from anywhere, and the token travels unencrypted.
    pub allow_remote: bool,
    pub limits: Limits,
}

/// How much and how long, for one connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Connections at once; lowered to what the descriptor limit of the process leaves room for.
    pub connections: usize,
    /// Bytes of a request's line and headers.
    pub head_bytes: usize,
    pub headers: usize,
    /// From the connection to its first byte.
    pub first_byte: Duration,
    /// From the first byte of a head to its end.
    pub head: Duration,
    /// From the moment somebody wants a body to its end.
    pub body: Duration,
    /// Between an answer and the next request.
    pub idle: Duration,
    /// How long a client may take none of the bytes that wait for it.
    pub write_stall: Duration,
    /// How long answers may go on after the server was told to stop.
    pub drain: Duration,
}

impl EdgeSettings {
    /// For programs on this machine that have the one token; no browser, no open path.
    pub fn new(token: Token) -> EdgeSettings {
        EdgeSettings::for_clients(Arc::new(ClientTokens::single(&token)))
    }

    /// For programs on this machine that have a token each; no browser, no open path.
    pub fn for_clients(tokens: Arc<ClientTokens>) -> EdgeSettings {
        EdgeSettings {
            tokens,
            open_paths: Vec::new(),
            hosts: Vec::new(),
            origins: Vec::new(),
            allow_remote: false,
            limits: Limits::default(),
        }
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections: 12_000,
            head_bytes: 16 * 1024,
            headers: 64,
            first_byte: Duration::from_secs(5),
            head: Duration::from_secs(10),
            body: Duration::from_secs(30),
            idle: Duration::from_secs(30),
            write_stall: Duration::from_secs(30),
            drain: Duration::from_secs(10),
        }
    }
}
