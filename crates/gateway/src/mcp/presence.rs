//! Sessions of the older era: whose they are, and whether their client is still there.
//!
//! A session outlives its connections, so a connection that closes ends no call: its client may come back for the
//! result. A client that does not come back within a while is gone, and its calls are cancelled, which withdraws the
//! questions that they ask. Otherwise a yes would still count for a client that nobody runs any more.

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

use super::face::McpFace;

/// After how long without a connection a client is gone. Clients that lost theirs try again within seconds.
const GONE_AFTER: Duration = Duration::from_secs(30);

/// How often a client is looked for that left a call behind. By then its question has expired.
const MOST_LOOKS: u32 = 30;

/// The sessions that are open.
pub(super) struct Presence {
    pub(super) sessions: Arc<LocalSessionManager>,
    known: Mutex<HashMap<String, Session>>,
}

struct Session {
    owner: ClientId,
    /// Requests that are being answered, among them those for news.
    connected: usize,
    /// When the last of them ended.
    seen: Instant,
}

impl Presence {
    pub(super) fn new(sessions: Arc<LocalSessionManager>) -> Presence {
        Presence { sessions, known: Mutex::default() }
    }

    /// Notes who opened a session, and forgets sessions that are over.
    pub(super) async fn opened(&self, session: String, owner: ClientId) {
        let open = self.sessions.sessions.read().await;
        let mut known = self.known();
        known.retain(|session, _| open.contains_key(session.as_str()));
        known.insert(session, Session { owner, connected: 0, seen: Instant::now() });
    }

    /// Whether a session is somebody else's.
    pub(super) fn is_of_another(&self, session: &str, client: Option<&ClientId>) -> bool {
        self.known().get(session).is_some_and(|known| client != Some(&known.owner))
    }

    fn is_gone(&self, session: &str) -> bool {
        let is_gone = |known: &Session| known.connected == 0 && known.seen.elapsed() >= GONE_AFTER;
        self.known().get(session).is_none_or(is_gone)
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, Session>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Cancels a call, as its client would.
    async fn cancel(&self, session: &str, call: &Value) {
        let params = json!({ "requestId": call, "reason": "the client went away" });
        let message = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
        let Ok(message) = serde_json::from_value::<ClientJsonRpcMessage>(message) else { return };
        // A session that is over has no calls.
        let _over = self.sessions.accept_message(&session.into(), message).await;
        tracing::info!("a client is gone; its call is cancelled");
    }
}

/// One request of a session, from its arrival to the last byte of its answer.
pub(super) struct Connected {
    presence: Arc<Presence>,
    face: Arc<McpFace>,
    session: String,
    /// The call that the client waits for.
    call: Option<Value>,
}

impl Connected {
    pub(super) fn new(
        presence: &Arc<Presence>,
        face: &Arc<McpFace>,
        session: &str,
        call: Option<Value>,
    ) -> Connected {
        if let Some(known) = presence.known().get_mut(session) {
            known.connected += 1;
        }
        Connected { presence: presence.clone(), face: face.clone(), session: session.to_owned(), call }
    }

    /// The body of the answer, which this lives as long as.
    pub(super) fn around(self, body: Body) -> Body {
        Body::new(ConnectedBody { body, connected: self })
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        if let Some(known) = self.presence.known().get_mut(&self.session) {
            known.connected = known.connected.saturating_sub(1);
            known.seen = Instant::now();
        }
        let Some(call) = self.call.take() else { return };
        if tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        let (presence, session) = (self.presence.clone(), std::mem::take(&mut self.session));
        self.face.runs.beside(async move {
            for _ in 0..MOST_LOOKS {
                tokio::time::sleep(GONE_AFTER).await;
                if presence.is_gone(&session) {
                    presence.cancel(&session, &call).await;
                    return;
                }
            }
        });
    }
}

struct ConnectedBody {
    body: Body,
    connected: Connected,
}

impl http_body::Body for ConnectedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if matches!(polled, Poll::Ready(None)) {
            // The call has its result, and its client all of it.
            self.connected.call = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }
}
