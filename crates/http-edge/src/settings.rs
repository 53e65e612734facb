//! Settings of the HTTP edge: who may connect, and the limits of a connection.

use std::sync::Arc;
use std::time::Duration;

use crate::auth::{ClientTokens, Token};

/// Who may connect, and to which paths.
#[derive(Debug, Clone)]
pub struct EdgeSettings {
    pub tokens: Arc<ClientTokens>,
    /// Paths that need no token, compared as a whole: `/healthz`. All other checks apply to them too.
    pub open_paths: Vec<String>,
    /// Host names that the server answers to besides its loopback ones, with the port unless it is 80:
    /// `notes.home.arpa:8787`.
    pub hosts: Vec<String>,
    /// Pages that may call from a browser, as the browser names them: `app://obsidian.md`.
    pub origins: Vec<String>,
    /// Whether an address that other machines can reach may be bound. Anyone with the token can then run tools of
    /// this machine from anywhere, and the token travels unencrypted.
    pub allow_remote: bool,
    pub limits: ConnectionLimits,
}

/// Limits of one connection in size and time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Connections at once; lowered to what the descriptor limit of the process leaves room for.
    pub connections: usize,
    /// Bytes of a request's line and headers.
    pub head_bytes: usize,
    pub headers: usize,
    /// From the connection to its first byte.
    pub first_byte: Duration,
    /// From the first byte of a head to its end.
    pub head: Duration,
    /// From the first read of a body to its end.
    pub body: Duration,
    /// Between an answer and the next request.
    pub idle: Duration,
    /// How long a client may accept none of the bytes that wait for it.
    pub write_stall: Duration,
    /// How long answers may continue after shutdown has begun.
    pub drain: Duration,
}

impl EdgeSettings {
    /// Settings for programs on this machine that share one token; no browser, no open path.
    pub fn new(token: Token) -> EdgeSettings {
        EdgeSettings::for_clients(Arc::new(ClientTokens::single(&token)))
    }

    /// Settings for programs on this machine that have a token each; no browser, no open path.
    pub fn for_clients(tokens: Arc<ClientTokens>) -> EdgeSettings {
        EdgeSettings {
            tokens,
            open_paths: Vec::new(),
            hosts: Vec::new(),
            origins: Vec::new(),
            allow_remote: false,
            limits: ConnectionLimits::default(),
        }
    }
}

impl Default for ConnectionLimits {
    fn default() -> ConnectionLimits {
        ConnectionLimits {
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
