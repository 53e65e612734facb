//! Reads what the app-server says, and gives each line to whoever it is for.

use std::sync::Arc;

use serde_json::value::RawValue;
use tokio::io::BufReader;
use tokio::sync::{mpsc, watch};

use super::lines::{Line, next_line};
use super::{Output, Shared};
use crate::codex::notice::{Notice, notice};
use crate::codex::queue::Delivery;
use crate::codex::wire::{Frame, ToolCall};

/// The longest line that is read. An injected image comes back as one.
const MAX_LINE_BYTES: usize = 64 * 1024 * 1024;

/// Until the process closes its output or the connection is closed; then every turn is told.
pub(super) async fn read(output: Output, outgoing: mpsc::Sender<Vec<u8>>, shared: Arc<Shared>) {
    let mut closed: watch::Receiver<bool> = shared.closed.subscribe();
    let mut output = BufReader::with_capacity(32 * 1024, output);
    let mut line = Vec::new();
    let listen = async {
        loop {
            match next_line(&mut output, &mut line, MAX_LINE_BYTES).await {
                Ok(Line::Whole) => {
                    if !shared.hear(&line, &outgoing) {
                        tracing::warn!("the codex app-server does not read what it is sent");
                        return;
                    }
                }
                Ok(Line::TooLong) => tracing::warn!("a line of the codex app-server is too long to be read"),
                Ok(Line::End) => return,
                Err(error) => {
                    tracing::warn!(%error, "the codex app-server cannot be heard any more");
                    return;
                }
            }
        }
    };
    tokio::select! {
        biased;
        _ = closed.wait_for(|closed| *closed) => {}
        () = listen => {}
    }
    shared.close();
}

impl Shared {
    /// Takes one line. `false` when an answer that it needs cannot be sent.
    fn hear(&self, line: &[u8], outgoing: &mpsc::Sender<Vec<u8>>) -> bool {
        let frame: Frame<'_> = match serde_json::from_slice(line) {
            Ok(frame) => frame,
            Err(error) => {
                // Its own words would quote the line, which can hold anything that was said.
                let kind = error.classify();
                tracing::debug!(?kind, bytes = line.len(), "a line of the codex app-server is not a message");
                return true;
            }
        };
        match (&frame.method, frame.id) {
            (Some(method), Some(id)) => return self.asked(method, id, frame.params, outgoing),
            (Some(method), None) => return self.noticed(method, frame.params, outgoing),
            (None, Some(id)) => self.answered(id, frame),
            (None, None) => tracing::debug!("a line of the codex app-server has neither an id nor a method"),
        }
        true
    }

    fn answered(&self, id: &RawValue, frame: Frame<'_>) {
        let waiting = id.get().parse().ok().and_then(|id: u64| self.lock().pending.remove(&id));
        let Some(waiting) = waiting else {
            tracing::debug!("an answer of the codex app-server that nobody waits for");
            return;
        };
        let answer = match (frame.error, frame.result) {
            (Some(error), _) => Err(error),
            (None, result) => Ok(result.unwrap_or(RawValue::NULL).to_owned()),
        };
        // Whoever asked may have given up meanwhile.
        let _gone = waiting.send(answer);
    }

    /// The app-server asks us. A call that a turn has reported is held, and so is one of a turn that nobody
    /// listens to any more: such turns are being interrupted, and an answer would set the model to work
    /// again. Everything else is refused, so that nothing hangs.
    fn asked(
        &self,
        method: &str,
        id: &RawValue,
        params: Option<&RawValue>,
        outgoing: &mpsc::Sender<Vec<u8>>,
    ) -> bool {
        if method == "item/tool/call" && params.is_some_and(|params| self.holds(params)) {
            return true;
        }
        tracing::debug!(method, "a request of the codex app-server is refused");
        let refusal = serde_json::json!({
            "id": id,
            "error": {"code": -32601, "message": format!("this client does not serve `{method}`")},
        });
        outgoing.try_send(format!("{refusal}\n").into_bytes()).is_ok()
    }

    fn holds(&self, params: &RawValue) -> bool {
        let Ok(call) = serde_json::from_str::<ToolCall>(params.get()) else { return false };
        self.lock().turns.get(&call.thread_id).is_none_or(|listener| listener.progress.holds(&call.call_id))
    }

    fn noticed(&self, method: &str, params: Option<&RawValue>, outgoing: &mpsc::Sender<Vec<u8>>) -> bool {
        let Some(params) = params else { return true };
        match notice(method, params) {
            Ok(Some((thread, notice))) => {
                if let Some(turn) = self.pass_on(&thread, notice) {
                    return outgoing.try_send(interrupt(&thread, &turn)).is_ok();
                }
            }
            Ok(None) => {}
            Err(error) => {
                let (kind, bytes) = (error.classify(), params.get().len());
                tracing::debug!(method, ?kind, bytes, "a notification is not what was expected");
            }
        }
        true
    }

    /// Gives what a thread says to its turn. The turn comes back if it is not read and must be stopped.
    fn pass_on(&self, thread: &str, notice: Notice) -> Option<String> {
        let mut state = self.lock();
        let listener = state.turns.get_mut(thread)?;
        let is_sign_of_life = !matches!(notice, Notice::RawItem { .. });
        let (mut silent, mut taken) = (true, true);
        let events = &listener.events;
        let end = listener.progress.take(notice, &mut |event| {
            silent = false;
            taken = taken && events.send(Delivery::Event(event));
        });
        if silent && is_sign_of_life && end.is_none() {
            taken = events.send(Delivery::SignOfLife);
        }
        let stop = match end {
            // Whoever does not read does not interrupt, either, for as long as the connection lasts.
            _ if !taken => {
                events.give_up();
                listener.progress.turn().map(str::to_owned)
            }
            Some(end) => {
                events.end(end);
                None
            }
            None => return None,
        };
        state.turns.remove(thread);
        stop
    }
}

/// Nobody waits for the answer: the id is none that we count to.
fn interrupt(thread: &str, turn: &str) -> Vec<u8> {
    let params = serde_json::json!({"threadId": thread, "turnId": turn});
    let request = serde_json::json!({"id": "unread", "method": "turn/interrupt", "params": params});
    format!("{request}\n").into_bytes()
}
