//! Reads the lines of the app-server and dispatches each to its request or turn.

use std::sync::Arc;

use serde_json::value::RawValue;
use tokio::io::BufReader;
use tokio::sync::{mpsc, watch};

use super::line_reader::{LineRead, next_line};
use super::{RpcState, ServerOutput};
use crate::codex::event_queue::QueueItem;
use crate::codex::notification::{ThreadNotification, notice};
use crate::codex::protocol::{CodexToolCall, RpcMessage};

/// The longest line that is read. An injected image comes back as one.
const MAX_LINE_BYTES: usize = 64 * 1024 * 1024;

/// Runs until the process closes its output or the connection is closed; then ends every turn.
pub(super) async fn read(output: ServerOutput, outgoing: mpsc::Sender<Vec<u8>>, shared: Arc<RpcState>) {
    let mut closed: watch::Receiver<bool> = shared.closed.subscribe();
    let mut output = BufReader::with_capacity(32 * 1024, output);
    let mut line = Vec::new();
    let listen = async {
        loop {
            match next_line(&mut output, &mut line, MAX_LINE_BYTES).await {
                Ok(LineRead::Whole) => {
                    if !shared.handle_line(&line, &outgoing) {
                        tracing::warn!("the codex app-server does not read what it is sent");
                        return;
                    }
                }
                Ok(LineRead::TooLong) => {
                    tracing::warn!("a line of the codex app-server is too long to be read");
                }
                Ok(LineRead::End) => return,
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

impl RpcState {
    /// Handles one line. Returns false if a reply to it cannot be sent.
    fn handle_line(&self, line: &[u8], outgoing: &mpsc::Sender<Vec<u8>>) -> bool {
        let frame: RpcMessage<'_> = match serde_json::from_slice(line) {
            Ok(frame) => frame,
            Err(error) => {
                // The error's text would quote the line, which can hold parts of a conversation.
                let kind = error.classify();
                tracing::debug!(?kind, bytes = line.len(), "a line of the codex app-server is not a message");
                return true;
            }
        };
        match (&frame.method, frame.id) {
            (Some(method), Some(id)) => return self.handle_request(method, id, frame.params, outgoing),
            (Some(method), None) => return self.handle_notification(method, frame.params, outgoing),
            (None, Some(id)) => self.handle_answer(id, frame),
            (None, None) => tracing::debug!("a line of the codex app-server has neither an id nor a method"),
        }
        true
    }

    fn handle_answer(&self, id: &RawValue, frame: RpcMessage<'_>) {
        let waiting = id.get().parse().ok().and_then(|id: u64| self.lock().pending.remove(&id));
        let Some(waiting) = waiting else {
            tracing::debug!("an unexpected answer of the codex app-server");
            return;
        };
        let answer = match (frame.error, frame.result) {
            (Some(error), _) => Err(error),
            (None, result) => Ok(result.unwrap_or(RawValue::NULL).to_owned()),
        };
        // The request may have timed out meanwhile.
        let _gone = waiting.send(answer);
    }

    /// Handles a request of the app-server. A call that a turn has reported stays unanswered, and so does a call of a
    /// turn without a listener: such turns are being interrupted, and an answer would start the model again. Everything
    /// else is refused, so that nothing hangs.
    fn handle_request(
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
        let Ok(call) = serde_json::from_str::<CodexToolCall>(params.get()) else { return false };
        self.lock().turns.get(&call.thread_id).is_none_or(|listener| listener.progress.holds(&call.call_id))
    }

    fn handle_notification(
        &self,
        method: &str,
        params: Option<&RawValue>,
        outgoing: &mpsc::Sender<Vec<u8>>,
    ) -> bool {
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

    /// Passes a notification to its turn. Returns the id of a turn that is not read and must be interrupted.
    fn pass_on(&self, thread: &str, notice: ThreadNotification) -> Option<String> {
        let mut state = self.lock();
        let listener = state.turns.get_mut(thread)?;
        let is_sign_of_life = !matches!(notice, ThreadNotification::RawItem { .. });
        let (mut silent, mut taken) = (true, true);
        let events = &listener.events;
        let end = listener.progress.take(notice, &mut |event| {
            silent = false;
            taken = taken && events.send(QueueItem::Event(event));
        });
        if silent && is_sign_of_life && end.is_none() {
            taken = events.send(QueueItem::SignOfLife);
        }
        let stop = match end {
            // A client that does not read does not interrupt, either.
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

/// The id is not a number, so the answer is ignored.
fn interrupt(thread: &str, turn: &str) -> Vec<u8> {
    let params = serde_json::json!({"threadId": thread, "turnId": turn});
    let request = serde_json::json!({"id": "unread", "method": "turn/interrupt", "params": params});
    format!("{request}\n").into_bytes()
}
