//! One turn on a thread of its own: a thread that was interrupted holds a remark about it, and a second
//! turn on a busy one would be taken for a word to the first. So threads are never used again.

use std::time::Duration;

use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};
use tokio::runtime::Handle;

use super::failure;
use super::lease::Lease;
use super::progress::Progress;
use super::queue::queue;
use super::server::Server;
use super::settings::Limits;
use super::stream::Events;
use super::wire::{RpcError, ThreadStarted, TurnStarted};
use crate::{BackendError, ErrorKind, TurnStream};

/// A server that is asked for patience gets it so many times.
const ATTEMPTS: u32 = 6;

/// A turn in the words of the app-server.
pub(super) struct Prepared {
    pub(super) thread: Value,
    pub(super) items: Vec<Value>,
    /// `effort`, `summary` and `outputSchema`.
    pub(super) turn: serde_json::Map<String, Value>,
    pub(super) progress: Progress,
}

/// What a turn needs to know of the settings.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    pub(super) limits: Limits,
    pub(super) waiting_bytes: usize,
    pub(super) first_pause: Duration,
}

/// Starts a thread, gives it the history, and starts its turn.
pub(super) async fn begin(
    lease: Lease,
    prepared: Prepared,
    terms: Terms,
) -> Result<TurnStream, BackendError> {
    let Prepared { thread, items, mut turn, progress } = prepared;
    let thread = start(lease.server(), thread, terms).await?;
    let (sender, receiver) = queue(terms.waiting_bytes);
    lease.server().link.listen(&thread, progress, sender)?;
    // Dropped on the way, it stops listening; the turn is known from the answer on.
    let mut running = Running { lease: Some(lease), thread, turn: None, terms, runtime: Handle::current() };
    if let Some(server) = running.server().filter(|_| !items.is_empty()) {
        let params = json!({"threadId": running.thread, "items": items});
        let _done: IgnoredAny = ask(server, "thread/inject_items", &params, terms).await?;
    }
    turn.insert("threadId".to_owned(), Value::String(running.thread.clone()));
    // Everything has been injected. As input it would be cut at a million characters.
    turn.insert("input".to_owned(), json!([]));
    if let Some(server) = running.server() {
        let started: TurnStarted = ask(server, "turn/start", &Value::Object(turn), terms).await?;
        running.turn = Some(started.turn.id);
    }
    Ok(TurnStream::new(Events::new(receiver, running, terms.limits)))
}

/// Starts a thread; its id.
pub(super) async fn start(server: &Server, mut params: Value, terms: Terms) -> Result<String, BackendError> {
    server.count_thread();
    params["config"] = server.thread_config().clone();
    let started: ThreadStarted = ask(server, "thread/start", &params, terms).await?;
    server.warn_of(&started.instruction_sources);
    Ok(started.thread.id)
}

/// Asks, again if the server has too much to do. A server that does not answer gets no more turns.
async fn ask<T: DeserializeOwned>(
    server: &Server,
    method: &str,
    params: &Value,
    terms: Terms,
) -> Result<T, BackendError> {
    let mut pause = terms.first_pause;
    for _ in 1..ATTEMPTS {
        match ask_once(server, method, params, terms).await? {
            Ok(answer) => return Ok(answer),
            Err(error) if error.code == RpcError::OVERLOADED => tokio::time::sleep(pause).await,
            Err(error) => return Err(failure::refused(method, &error)),
        }
        pause *= 2;
    }
    ask_once(server, method, params, terms).await?.map_err(|error| failure::refused(method, &error))
}

async fn ask_once<T: DeserializeOwned>(
    server: &Server,
    method: &str,
    params: &Value,
    terms: Terms,
) -> Result<Result<T, RpcError>, BackendError> {
    let answered = server.link.ask(method, params, terms.limits.request).await;
    if answered.as_ref().is_err_and(|error| error.kind == ErrorKind::Timeout) {
        server.retire();
    }
    answered
}

/// A turn under way. Dropping it interrupts it.
pub(super) struct Running {
    lease: Option<Lease>,
    thread: String,
    turn: Option<String>,
    terms: Terms,
    runtime: Handle,
}

impl Running {
    fn server(&self) -> Option<&Server> {
        self.lease.as_ref().map(Lease::server)
    }

    /// The app-server has ended the turn by itself.
    pub(super) fn over(&mut self) {
        if let Some(lease) = self.lease.take() {
            lease.server().count_finished_turn();
            lease.server().link.stop_listening(&self.thread);
        }
    }

    /// Tells the app-server to stop. The place on it is free when it has answered, or not answered in time.
    pub(super) fn interrupt(&mut self) {
        let Some(lease) = self.lease.take() else { return };
        lease.server().link.stop_listening(&self.thread);
        let Some(turn) = self.turn.take().filter(|_| lease.server().is_alive()) else { return };
        let params = json!({"threadId": self.thread, "turnId": turn});
        self.runtime.spawn(stop(lease, params, self.terms));
    }
}

/// Asks for an end until it is heard. A turn that may go on unheard is the last of its process.
async fn stop(lease: Lease, params: Value, terms: Terms) {
    let server = lease.server();
    let mut pause = terms.first_pause;
    for _ in 0..ATTEMPTS {
        match server.link.ask::<IgnoredAny>("turn/interrupt", &params, terms.limits.interrupt).await {
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

impl Drop for Running {
    fn drop(&mut self) {
        self.interrupt();
    }
}
