//! One turn on a thread of its own: a thread that was interrupted holds a remark about it, and a second
//! turn on a busy one would be taken for a word to the first. So threads are never used again.

use std::time::Duration;

use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};
use tokio::runtime::Handle;

use super::app_server::{AppServer, ServerLease};
use super::error_mapping;
use super::event_queue::queue;
use super::protocol::{RpcError, ThreadStarted, TurnStarted};
use super::settings::CodexTimeouts;
use super::turn_stream::CodexTurnStream;
use super::turn_tracker::TurnTracker;
use crate::{BackendError, BackendErrorKind, TurnStream};

/// Attempts while the server says that it is overloaded.
const ATTEMPTS: u32 = 6;

/// A turn as parameters of the app-server's requests.
pub(super) struct PreparedTurn {
    pub(super) thread: Value,
    pub(super) items: Vec<Value>,
    /// `effort`, `summary` and `outputSchema`.
    pub(super) turn: serde_json::Map<String, Value>,
    pub(super) progress: TurnTracker,
}

/// Settings of a turn.
#[derive(Debug, Clone, Copy)]
pub(super) struct TurnLimits {
    pub(super) limits: CodexTimeouts,
    pub(super) waiting_bytes: usize,
    pub(super) first_pause: Duration,
}

/// Starts a thread, gives it the history, and starts its turn.
pub(super) async fn begin(
    lease: ServerLease,
    prepared: PreparedTurn,
    terms: TurnLimits,
) -> Result<TurnStream, BackendError> {
    let PreparedTurn { thread, items, mut turn, progress } = prepared;
    let thread = start(lease.server(), thread, terms).await?;
    let (sender, receiver) = queue(terms.waiting_bytes);
    lease.server().rpc.listen(&thread, progress, sender)?;
    // Dropped on the way, it stops listening; the turn is known from the answer on.
    let mut running =
        RunningTurn { lease: Some(lease), thread, turn: None, terms, runtime: Handle::current() };
    if let Some(server) = running.server().filter(|_| !items.is_empty()) {
        let params = json!({"threadId": running.thread, "items": items});
        let _done: IgnoredAny = request(server, "thread/inject_items", &params, terms).await?;
    }
    turn.insert("threadId".to_owned(), Value::String(running.thread.clone()));
    // Everything has been injected. As input it would be cut at a million characters.
    turn.insert("input".to_owned(), json!([]));
    if let Some(server) = running.server() {
        let started: TurnStarted = request(server, "turn/start", &Value::Object(turn), terms).await?;
        running.turn = Some(started.turn.id);
    }
    Ok(TurnStream::new(CodexTurnStream::new(receiver, running, terms.limits)))
}

/// Starts a thread; its id.
pub(super) async fn start(
    server: &AppServer,
    mut params: Value,
    terms: TurnLimits,
) -> Result<String, BackendError> {
    server.count_thread();
    params["config"] = server.thread_config().clone();
    let started: ThreadStarted = request(server, "thread/start", &params, terms).await?;
    server.warn_of(&started.instruction_sources);
    Ok(started.thread.id)
}

/// Asks, again if the server has too much to do. A server that does not answer gets no more turns.
async fn request<T: DeserializeOwned>(
    server: &AppServer,
    method: &str,
    params: &Value,
    terms: TurnLimits,
) -> Result<T, BackendError> {
    let mut pause = terms.first_pause;
    for _ in 1..ATTEMPTS {
        match request_once(server, method, params, terms).await? {
            Ok(answer) => return Ok(answer),
            Err(error) if error.code == RpcError::OVERLOADED => tokio::time::sleep(pause).await,
            Err(error) => return Err(error_mapping::refused(method, &error)),
        }
        pause *= 2;
    }
    request_once(server, method, params, terms).await?.map_err(|error| error_mapping::refused(method, &error))
}

async fn request_once<T: DeserializeOwned>(
    server: &AppServer,
    method: &str,
    params: &Value,
    terms: TurnLimits,
) -> Result<Result<T, RpcError>, BackendError> {
    let answered = server.rpc.request(method, params, terms.limits.request).await;
    if answered.as_ref().is_err_and(|error| error.kind == BackendErrorKind::Timeout) {
        server.retire();
    }
    answered
}

/// A turn under way. Dropping it interrupts it.
pub(super) struct RunningTurn {
    lease: Option<ServerLease>,
    thread: String,
    turn: Option<String>,
    terms: TurnLimits,
    runtime: Handle,
}

impl RunningTurn {
    fn server(&self) -> Option<&AppServer> {
        self.lease.as_ref().map(ServerLease::server)
    }

    /// The app-server has ended the turn by itself.
    pub(super) fn over(&mut self) {
        if let Some(lease) = self.lease.take() {
            lease.server().count_finished_turn();
            lease.server().rpc.stop_listening(&self.thread);
        }
    }

    /// Interrupts the turn. The lease is returned when the app-server has answered, or not answered in time.
    pub(super) fn interrupt(&mut self) {
        let Some(lease) = self.lease.take() else { return };
        lease.server().rpc.stop_listening(&self.thread);
        let Some(turn) = self.turn.take().filter(|_| lease.server().is_alive()) else { return };
        let params = json!({"threadId": self.thread, "turnId": turn});
        self.runtime.spawn(stop(lease, params, self.terms));
    }
}

/// Repeats the interrupt until it is answered. If it never is, the process takes no more turns.
async fn stop(lease: ServerLease, params: Value, terms: TurnLimits) {
    let server = lease.server();
    let mut pause = terms.first_pause;
    for _ in 0..ATTEMPTS {
        match server.rpc.request::<IgnoredAny>("turn/interrupt", &params, terms.limits.interrupt).await {
            Ok(Ok(_)) => return server.count_finished_turn(),
            Ok(Err(error)) if error.code == RpcError::OVERLOADED => tokio::time::sleep(pause).await,
            // It has ended by itself meanwhile.
            Ok(Err(error)) => return tracing::debug!(error.code, "an interrupt was refused"),
            Err(error) => {
                tracing::warn!(%error, "a turn could not be interrupted");
                break;
            }
        }
        pause *= 2;
    }
    server.retire();
}

impl Drop for RunningTurn {
    fn drop(&mut self) {
        self.interrupt();
    }
}
