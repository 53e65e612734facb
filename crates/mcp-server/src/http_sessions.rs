//! HTTP sessions: who owns each, and whether its client is still connected.
//!
//! A session outlives its connections, so a closed connection ends no call: the client may reconnect for the
//! result. If it does not reconnect within [`DISCONNECT_TIMEOUT`], its calls are cancelled, which withdraws their
//! questions. Otherwise an approval could still count for a client that no longer runs.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use envelope::ClientId;
use http_body::Frame;
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::streamable_http_server::session::SessionManager as _;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::server::McpServer;

/// Time without a connection after which a client counts as disconnected. Clients reconnect within seconds.
const DISCONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Number of checks for a client that left a call behind. By then its question has expired.
const MAX_CHECKS: u32 = 30;

/// The open sessions.
pub(super) struct HttpSessions {
    pub(super) manager: Arc<LocalSessionManager>,
    known: Mutex<HashMap<String, HttpSession>>,
}

struct HttpSession {
    owner: ClientId,
    /// Requests in progress, including event streams.
    connected: usize,
    /// When the last of them ended.
    seen: Instant,
}

impl HttpSessions {
    pub(super) fn new(manager: Arc<LocalSessionManager>) -> HttpSessions {
        HttpSessions { manager, known: Mutex::default() }
    }

    /// Registers a session with its owner, and removes sessions that have ended.
    pub(super) async fn register(&self, session: String, owner: ClientId) {
        let open = self.manager.sessions.read().await;
        let mut known = self.known();
        known.retain(|session, _| open.contains_key(session.as_str()));
        known.insert(session, HttpSession { owner, connected: 0, seen: Instant::now() });
    }

    /// Ends the session that was unused for longest, of the client that has most sessions, so that another one can be
    /// opened. Its client gets 404 for its next request and opens a new one, as the protocol says. Returns false if every
    /// session has a request in progress.
    pub(super) async fn evict_one(&self) -> bool {
        let Some(evicted) = self.take_longest_unused() else { return false };
        tracing::info!("closed the MCP session that was unused for longest, to make room for another one");
        // One that has ended meanwhile has made room as well.
        let _ended = self.manager.close_session(&evicted.into()).await;
        true
    }

    /// Removes that session under the lock under which it is chosen: no request may come to it in between.
    fn take_longest_unused(&self) -> Option<String> {
        let mut known = self.known();
        let mut count: HashMap<&ClientId, usize> = HashMap::new();
        known.values().for_each(|session| *count.entry(&session.owner).or_default() += 1);
        let unused = known.iter().filter(|(_, session)| session.connected == 0);
        let evicted = unused.max_by_key(|(_, session)| (count.get(&session.owner), session.seen.elapsed()));
        let evicted = evicted.map(|(id, _)| id.clone())?;
        known.remove(&evicted);
        Some(evicted)
    }

    /// Returns true if the session belongs to another client.
    pub(super) fn belongs_to_other(&self, session: &str, client: Option<&ClientId>) -> bool {
        self.known().get(session).is_some_and(|known| client != Some(&known.owner))
    }

    fn is_abandoned(&self, session: &str) -> bool {
        let is_gone =
            |known: &HttpSession| known.connected == 0 && known.seen.elapsed() >= DISCONNECT_TIMEOUT;
        self.known().get(session).is_none_or(is_gone)
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, HttpSession>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Cancels a call on behalf of its client.
    async fn cancel(&self, session: &str, call: &Value) {
        let params = json!({ "requestId": call, "reason": "the client disconnected" });
        let message = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
        let Ok(message) = serde_json::from_value::<ClientJsonRpcMessage>(message) else { return };
        // A session that has ended has no calls.
        let _over = self.manager.accept_message(&session.into(), message).await;
        tracing::info!("a client disconnected; its call is cancelled");
    }
}

/// Tracks one request of a session, from its arrival to the last byte of its response.
pub(super) struct SessionRequestGuard {
    sessions: Arc<HttpSessions>,
    server: Arc<McpServer>,
    session: String,
    /// Id of the call that the client waits for.
    call: Option<Value>,
}

impl SessionRequestGuard {
    pub(super) fn new(
        sessions: &Arc<HttpSessions>,
        server: &Arc<McpServer>,
        session: &str,
        call: Option<Value>,
    ) -> SessionRequestGuard {
        if let Some(known) = sessions.known().get_mut(session) {
            known.connected += 1;
        }
        SessionRequestGuard {
            sessions: sessions.clone(),
            server: server.clone(),
            session: session.to_owned(),
            call,
        }
    }

    /// Wraps the response body, so that the guard lives as long as the body.
    pub(super) fn guard_body(self, body: Body) -> Body {
        Body::new(GuardedBody { body, connected: self })
    }
}

impl Drop for SessionRequestGuard {
    fn drop(&mut self) {
        if let Some(known) = self.sessions.known().get_mut(&self.session) {
            known.connected = known.connected.saturating_sub(1);
            known.seen = Instant::now();
        }
        let Some(call) = self.call.take() else { return };
        if tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        let (sessions, session) = (self.sessions.clone(), std::mem::take(&mut self.session));
        self.server.runs.spawn_background(async move {
            for _ in 0..MAX_CHECKS {
                tokio::time::sleep(DISCONNECT_TIMEOUT).await;
                if sessions.is_abandoned(&session) {
                    sessions.cancel(&session, &call).await;
                    return;
                }
            }
        });
    }
}

struct GuardedBody {
    body: Body,
    connected: SessionRequestGuard,
}

impl http_body::Body for GuardedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if matches!(polled, Poll::Ready(None)) {
            // The call has its result and the client has received it completely.
            self.connected.call = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }
}
