//! One connection to an app-server: requests with their answers, and the turns that listen on it.
//!
//! One task writes and one reads. The reader serves every turn of the process, so nothing in it waits. What
//! is shared is behind one lock that is never held while something waits.

mod lines;
mod reader;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot, watch};

use super::progress::{End, Progress};
use super::queue::Sender;
use super::wire::RpcError;
use crate::{BackendError, ErrorKind};

pub(super) type Input = Box<dyn AsyncWrite + Send + Unpin>;
pub(super) type Output = Box<dyn AsyncRead + Send + Unpin>;

/// Lines that may wait for a process that does not read: a few for each turn.
const OUTGOING_LINES: usize = 4096;

/// Cheap to clone; every clone is the same connection.
#[derive(Debug, Clone)]
pub(super) struct Link {
    outgoing: mpsc::Sender<Vec<u8>>,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    closed: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct State {
    last_id: u64,
    pending: HashMap<u64, oneshot::Sender<Result<Box<RawValue>, RpcError>>>,
    turns: HashMap<String, Listener>,
    closed: bool,
}

/// A turn that listens for what its thread says.
#[derive(Debug)]
struct Listener {
    progress: Progress,
    events: Sender,
}

#[derive(Serialize)]
struct Request<'a, P> {
    id: u64,
    method: &'a str,
    params: P,
}

#[derive(Serialize)]
struct Notification<'a> {
    method: &'a str,
}

impl Link {
    /// Starts the two tasks. They end when the process closes its output, or when `close` is called.
    pub(super) fn open(input: Input, output: Output) -> Link {
        let (outgoing, lines) = mpsc::channel(OUTGOING_LINES);
        let shared = Arc::new(Shared { state: Mutex::default(), closed: watch::Sender::new(false) });
        tokio::spawn(write(input, lines, shared.closed.subscribe()));
        tokio::spawn(reader::read(output, outgoing.clone(), Arc::clone(&shared)));
        Link { outgoing, shared }
    }

    /// Asks and waits for the answer, at most so long. The outer error is ours, the inner one the server's.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        method: &str,
        params: impl Serialize,
        limit: Duration,
    ) -> Result<Result<T, RpcError>, BackendError> {
        let (id, answer) = self.shared.expect_answer()?;
        let mut waiting = Waiting { shared: &self.shared, id: Some(id) };
        let line = line_of(&Request { id, method, params })?;
        let exchange = async {
            self.outgoing.send(line).await.map_err(|_closed| died())?;
            answer.await.map_err(|_closed| died())
        };
        let Ok(answered) = tokio::time::timeout(limit, exchange).await else {
            let message = format!("codex did not answer `{method}` within {limit:?}");
            return Err(BackendError::new(ErrorKind::Timeout, message));
        };
        waiting.id = None;
        match answered? {
            Ok(result) => match serde_json::from_str(result.get()) {
                Ok(result) => Ok(Ok(result)),
                Err(error) => {
                    // The words of the error would quote the answer.
                    let kind = error.classify();
                    let message =
                        format!("codex's answer to `{method}` is not what was expected: {kind:?} error");
                    Err(BackendError::new(ErrorKind::Protocol, message))
                }
            },
            Err(error) => Ok(Err(error)),
        }
    }

    pub(super) async fn tell(&self, method: &str) -> Result<(), BackendError> {
        self.outgoing.send(line_of(&Notification { method })?).await.map_err(|_closed| died())
    }

    /// From now on, what the thread says goes to this turn.
    pub(super) fn listen(
        &self,
        thread: &str,
        progress: Progress,
        events: Sender,
    ) -> Result<(), BackendError> {
        let mut state = self.shared.lock();
        if state.closed {
            return Err(died());
        }
        state.turns.insert(thread.to_owned(), Listener { progress, events });
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

impl Shared {
    /// What a panic elsewhere left behind is whole: every change is a single one.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn expect_answer(&self) -> Result<(u64, Answer), BackendError> {
        let (sender, answer) = oneshot::channel();
        let mut state = self.lock();
        if state.closed {
            return Err(died());
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
        // Whoever waits for an answer learns it from the end of the channel.
        drop(pending);
        for listener in turns.into_values() {
            listener.events.end(End { outcome: Err(died()), still_running: false });
        }
        self.closed.send_replace(true);
    }
}

type Answer = oneshot::Receiver<Result<Box<RawValue>, RpcError>>;

/// Forgets a request that nobody waits for any more.
struct Waiting<'a> {
    shared: &'a Shared,
    id: Option<u64>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.shared.lock().pending.remove(&id);
        }
    }
}

/// Writes line after line. Dropping the input is what tells the process to end.
async fn write(mut input: Input, mut lines: mpsc::Receiver<Vec<u8>>, mut closed: watch::Receiver<bool>) {
    let pass_on = async {
        while let Some(line) = lines.recv().await {
            if input.write_all(&line).await.is_err() || input.flush().await.is_err() {
                // The reader notices the end of the process, and says so to everybody.
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
        BackendError::new(ErrorKind::BadRequest, format!("the turn cannot be written as JSON: {error}"))
    })?;
    line.push(b'\n');
    Ok(line)
}

pub(super) fn died() -> BackendError {
    BackendError::new(ErrorKind::Died, "the codex app-server ended; the next request starts it again")
}
