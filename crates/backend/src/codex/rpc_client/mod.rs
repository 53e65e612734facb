//! RPC client of one app-server: requests with their answers, and notifications for the turns that listen.
//!
//! One task writes and one reads. The reader serves every turn of the process, so nothing in it waits. Shared state is
//! behind one lock that is never held across an await.

mod line_reader;
mod reader;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot, watch};

use super::event_queue::TurnEventSender;
use super::protocol::RpcError;
use super::turn_tracker::{TurnEnding, TurnTracker};
use crate::{BackendError, BackendErrorKind};

pub(super) type ServerInput = Box<dyn AsyncWrite + Send + Unpin>;
pub(super) type ServerOutput = Box<dyn AsyncRead + Send + Unpin>;

/// Lines that may wait for a process that does not read: a few for each turn.
const OUTGOING_LINES: usize = 4096;

/// Cheap to clone; every clone is the same connection.
#[derive(Debug, Clone)]
pub(super) struct RpcClient {
    outgoing: mpsc::Sender<Vec<u8>>,
    shared: Arc<RpcState>,
}

#[derive(Debug)]
struct RpcState {
    state: Mutex<ConnectionTable>,
    closed: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct ConnectionTable {
    last_id: u64,
    pending: HashMap<u64, oneshot::Sender<Result<Box<RawValue>, RpcError>>>,
    turns: HashMap<String, TurnListener>,
    closed: bool,
}

/// A turn that listens to its thread.
#[derive(Debug)]
struct TurnListener {
    progress: TurnTracker,
    events: TurnEventSender,
}

#[derive(Serialize)]
struct RpcRequest<'a, P> {
    id: u64,
    method: &'a str,
    params: P,
}

#[derive(Serialize)]
struct RpcNotification<'a> {
    method: &'a str,
}

impl RpcClient {
    /// Starts the two tasks. They end when the process closes its output, or when `close` is called.
    pub(super) fn open(input: ServerInput, output: ServerOutput) -> RpcClient {
        let (outgoing, lines) = mpsc::channel(OUTGOING_LINES);
        let shared = Arc::new(RpcState { state: Mutex::default(), closed: watch::Sender::new(false) });
        tokio::spawn(write(input, lines, shared.closed.subscribe()));
        tokio::spawn(reader::read(output, outgoing.clone(), Arc::clone(&shared)));
        RpcClient { outgoing, shared }
    }

    /// Sends a request and waits for its answer, up to `limit`. The outer error is ours, the inner one the server's.
    pub(super) async fn request<T: DeserializeOwned>(
        &self,
        method: &str,
        params: impl Serialize,
        limit: Duration,
    ) -> Result<Result<T, RpcError>, BackendError> {
        let (id, answer) = self.shared.expect_answer()?;
        let mut waiting = PendingRequest { shared: &self.shared, id: Some(id) };
        let line = line_of(&RpcRequest { id, method, params })?;
        let exchange = async {
            self.outgoing.send(line).await.map_err(|_closed| server_died())?;
            answer.await.map_err(|_closed| server_died())
        };
        let Ok(answered) = tokio::time::timeout(limit, exchange).await else {
            let message = format!("codex did not answer `{method}` within {limit:?}");
            return Err(BackendError::new(BackendErrorKind::Timeout, message));
        };
        waiting.id = None;
        match answered? {
            Ok(result) => match serde_json::from_str(result.get()) {
                Ok(result) => Ok(Ok(result)),
                Err(error) => {
                    // The text of the error would quote the answer.
                    let kind = error.classify();
                    let message =
                        format!("codex's answer to `{method}` is not what was expected: {kind:?} error");
                    Err(BackendError::new(BackendErrorKind::Protocol, message))
                }
            },
            Err(error) => Ok(Err(error)),
        }
    }

    pub(super) async fn notify(&self, method: &str) -> Result<(), BackendError> {
        self.outgoing.send(line_of(&RpcNotification { method })?).await.map_err(|_closed| server_died())
    }

    /// Routes the notifications of a thread to this turn. Fails if the connection is closed.
    pub(super) fn listen(
        &self,
        thread: &str,
        progress: TurnTracker,
        events: TurnEventSender,
    ) -> Result<(), BackendError> {
        let mut state = self.shared.lock();
        if state.closed {
            return Err(server_died());
        }
        state.turns.insert(thread.to_owned(), TurnListener { progress, events });
        Ok(())
    }

    pub(super) fn stop_listening(&self, thread: &str) {
        self.shared.lock().turns.remove(thread);
    }

    /// Ends every turn and every request, and closes the input of the process.
    pub(super) fn close(&self) {
        self.shared.close();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.shared.lock().closed
    }

    pub(super) async fn closed(&self) {
        // An error would mean that the sender is gone, and it is ours.
        let mut closed = self.shared.closed.subscribe();
        drop(closed.wait_for(|closed| *closed).await);
    }
}

impl RpcState {
    /// A poisoned lock is fine: every change of the state is a single one.
    fn lock(&self) -> MutexGuard<'_, ConnectionTable> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn expect_answer(&self) -> Result<(u64, RpcAnswer), BackendError> {
        let (sender, answer) = oneshot::channel();
        let mut state = self.lock();
        if state.closed {
            return Err(server_died());
        }
        state.last_id += 1;
        let id = state.last_id;
        state.pending.insert(id, sender);
        Ok((id, answer))
    }

    fn close(&self) {
        let (turns, pending) = {
            let mut state = self.lock();
            state.closed = true;
            (std::mem::take(&mut state.turns), std::mem::take(&mut state.pending))
        };
        // Dropping the senders ends the requests.
        drop(pending);
        for listener in turns.into_values() {
            listener.events.end(TurnEnding { outcome: Err(server_died()), still_running: false });
        }
        self.closed.send_replace(true);
    }
}

type RpcAnswer = oneshot::Receiver<Result<Box<RawValue>, RpcError>>;

/// Removes an abandoned request from the table.
struct PendingRequest<'a> {
    shared: &'a RpcState,
    id: Option<u64>,
}

impl Drop for PendingRequest<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.shared.lock().pending.remove(&id);
        }
    }
}

/// Writes line after line. Dropping the input makes the process end.
async fn write(
    mut input: ServerInput,
    mut lines: mpsc::Receiver<Vec<u8>>,
    mut closed: watch::Receiver<bool>,
) {
    let pass_on = async {
        while let Some(line) = lines.recv().await {
            if input.write_all(&line).await.is_err() || input.flush().await.is_err() {
                // The reader notices the end of the process and ends every turn.
                break;
            }
        }
    };
    tokio::select! {
        biased;
        _ = closed.wait_for(|closed| *closed) => {}
        () = pass_on => {}
    }
}

fn line_of(message: &impl Serialize) -> Result<Vec<u8>, BackendError> {
    let mut line = serde_json::to_vec(message).map_err(|error| {
        BackendError::new(
            BackendErrorKind::BadRequest,
            format!("the turn cannot be written as JSON: {error}"),
        )
    })?;
    line.push(b'\n');
    Ok(line)
}

pub(super) fn server_died() -> BackendError {
    BackendError::new(BackendErrorKind::Died, "the codex app-server ended; the next request starts it again")
}
