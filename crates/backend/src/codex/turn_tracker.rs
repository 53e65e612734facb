//! Tracks one turn: notifications go in, events of the turn come out. No I/O and no clock.
//!
//! A thread serves one turn only, so whatever names the thread is about this turn, except raw items: those
//! that were injected are echoed under another turn's id.

use super::error_mapping;
use super::notification::{
    ResponseItem, ResponseOutput, ResponsePart, ThreadItem, ThreadNotification, TokenCounts, TurnResult,
    TurnStatus,
};
use super::tool_aliases::ToolAliases;
use crate::{BackendError, BackendErrorKind, FinishReason, NativeCall, TokenUsage, TurnEvent};

/// Codex hands on that a message was begun, and nothing of a refusal in it.
const REFUSED: &str = "The model refused to answer. Its words are lost: codex does not hand them on.";

/// State of one turn.
#[derive(Debug, Default)]
pub(super) struct TurnTracker {
    /// Tools were given; otherwise a call is an error of the model, which codex answers by itself.
    native: bool,
    aliases: ToolAliases,
    /// Of the items that were injected.
    images: usize,
    images_echoed: usize,
    /// Injected items come back at all.
    echoes: bool,
    turn: Option<String>,
    message: Option<TrackedMessage>,
    /// Some text is out, so that another message needs a mark before it.
    spoke: bool,
    thought: Option<TrackedReasoning>,
    calls: Vec<String>,
    usage: TokenUsage,
}

/// The message that is being written.
#[derive(Debug)]
struct TrackedMessage {
    id: String,
    has_text: bool,
}

/// The reasoning that is being written. Its parts are counted on from those of earlier ones.
#[derive(Debug)]
struct TrackedReasoning {
    id: String,
    first: u32,
    next: u32,
}

/// How a turn ends.
#[derive(Debug, PartialEq)]
pub(super) struct TurnEnding {
    pub(super) outcome: Result<FinishReason, BackendError>,
    /// The app-server still works on the turn and must be interrupted.
    pub(super) still_running: bool,
}

impl TurnTracker {
    pub(super) fn new(native: bool, aliases: ToolAliases, images: usize) -> TurnTracker {
        TurnTracker { native, aliases, images, ..TurnTracker::default() }
    }

    /// Takes one notification. Passes the events of the turn to `emit`; returns its end.
    pub(super) fn take(
        &mut self,
        notice: ThreadNotification,
        emit: &mut impl FnMut(TurnEvent),
    ) -> Option<TurnEnding> {
        match notice {
            ThreadNotification::TurnStarted { turn } => self.turn = Some(turn),
            ThreadNotification::Delta { item, text } => self.push_text(item, text, emit),
            ThreadNotification::ReasoningDelta { item, part, text } => {
                self.push_reasoning(item, part, text, emit);
            }
            ThreadNotification::ItemStarted { item } => return self.item_started(item, emit),
            ThreadNotification::ItemCompleted { item } => self.item_completed(item, emit),
            ThreadNotification::RawItem { turn, item } if self.is_ours(&turn) => self.raw_item(item, emit),
            ThreadNotification::RawItem { item, .. } => {
                self.echoes = true;
                self.images_echoed += images_in(&item);
            }
            ThreadNotification::RawResponse { turn, usage } if self.is_ours(&turn) => {
                return self.response_over(usage, emit);
            }
            ThreadNotification::Error { will_retry: true } if self.spoke || !self.calls.is_empty() => {
                return Some(broken());
            }
            ThreadNotification::RawResponse { .. } | ThreadNotification::Error { .. } => {}
            ThreadNotification::Usage { total } => self.count(usage_of(total), emit),
            ThreadNotification::TurnCompleted { turn } => return Some(self.completed(&turn, emit)),
        }
        None
    }

    /// Whether the app-server may wait for the output of this call. It cannot be seen before its raw item.
    pub(super) fn holds(&self, call_id: &str) -> bool {
        self.calls.iter().any(|known| known == call_id)
    }

    pub(super) fn turn(&self) -> Option<&str> {
        self.turn.as_deref()
    }

    fn is_ours(&self, turn: &str) -> bool {
        self.turn.as_deref() == Some(turn)
    }

    fn push_text(&mut self, item: String, text: String, emit: &mut impl FnMut(TurnEvent)) {
        if text.is_empty() {
            return;
        }
        match &mut self.message {
            Some(message) if message.id == item => {
                if !message.has_text && self.spoke {
                    emit(TurnEvent::NextMessage);
                }
                message.has_text = true;
            }
            Some(_) | None => {
                if self.spoke {
                    emit(TurnEvent::NextMessage);
                }
                self.message = Some(TrackedMessage { id: item, has_text: true });
            }
        }
        self.spoke = true;
        emit(TurnEvent::Text(text));
    }

    fn push_reasoning(&mut self, item: String, part: u32, text: String, emit: &mut impl FnMut(TurnEvent)) {
        if text.is_empty() {
            return;
        }
        let thought = match &mut self.thought {
            Some(thought) if thought.id == item => thought,
            other => {
                let first = other.as_ref().map_or(0, |earlier| earlier.next);
                other.insert(TrackedReasoning { id: item, first, next: first })
            }
        };
        let part = thought.first.saturating_add(part);
        thought.next = thought.next.max(part.saturating_add(1));
        emit(TurnEvent::Reasoning { part, text });
    }

    fn item_started(&mut self, item: ThreadItem, emit: &mut impl FnMut(TurnEvent)) -> Option<TurnEnding> {
        if self.echoes && self.images_echoed < self.images {
            return Some(self.images_lost());
        }
        match item {
            ThreadItem::AgentMessage { id, .. } => {
                self.refusal(emit);
                self.message = Some(TrackedMessage { id, has_text: false });
            }
            ThreadItem::Reasoning { .. } | ThreadItem::Other => {}
        }
        None
    }

    /// Codex could not decode an image, and the model would be asked about a picture that it does not see.
    fn images_lost(&self) -> TurnEnding {
        let lost = self.images - self.images_echoed;
        let message = format!(
            "{lost} of {} images cannot be decoded; codex takes PNG, JPEG, GIF and WebP",
            self.images
        );
        TurnEnding {
            outcome: Err(BackendError::new(BackendErrorKind::BadRequest, message)),
            still_running: true,
        }
    }

    /// Emits the text of an item that came without deltas.
    fn item_completed(&mut self, item: ThreadItem, emit: &mut impl FnMut(TurnEvent)) {
        match item {
            ThreadItem::AgentMessage { id, text } => {
                let was_said =
                    self.message.as_ref().is_some_and(|message| message.id == id && message.has_text);
                if !was_said {
                    self.push_text(id, text, emit);
                }
                self.message = None;
            }
            ThreadItem::Reasoning { id, summary } => {
                let was_said = self.thought.as_ref().is_some_and(|thought| thought.id == id);
                if !was_said {
                    for (part, text) in (0..).zip(summary) {
                        self.push_reasoning(id.clone(), part, text, emit);
                    }
                }
            }
            ThreadItem::Other => {}
        }
    }

    fn raw_item(&mut self, item: ResponseItem, emit: &mut impl FnMut(TurnEvent)) {
        match item {
            ResponseItem::FunctionCall { call_id, name, arguments } if self.native => {
                self.calls.push(call_id.clone());
                let name = self.aliases.to_client(name);
                emit(TurnEvent::Call(NativeCall { call_id, name, arguments }));
            }
            ResponseItem::Reasoning { encrypted_content: Some(sealed) } => {
                emit(TurnEvent::SealedReasoning(sealed));
            }
            ResponseItem::FunctionCall { .. }
            | ResponseItem::Reasoning { encrypted_content: None }
            | ResponseItem::Message { .. }
            | ResponseItem::FunctionCallOutput { .. }
            | ResponseItem::Other => {}
        }
    }

    /// The model's response is complete. If it has calls, the turn is over for us: the caller runs them and comes back
    /// with a history. Codex would wait for outputs, or answer by itself.
    fn response_over(
        &mut self,
        usage: Option<TokenCounts>,
        emit: &mut impl FnMut(TurnEvent),
    ) -> Option<TurnEnding> {
        if self.calls.is_empty() {
            return None;
        }
        if let Some(usage) = usage {
            let last = usage_of(usage);
            let total = TokenUsage {
                input_tokens: self.usage.input_tokens + last.input_tokens,
                cached_input_tokens: self.usage.cached_input_tokens + last.cached_input_tokens,
                output_tokens: self.usage.output_tokens + last.output_tokens,
                reasoning_tokens: self.usage.reasoning_tokens + last.reasoning_tokens,
            };
            self.count(total, emit);
        }
        self.refusal(emit);
        Some(TurnEnding { outcome: Ok(FinishReason::Stop), still_running: true })
    }

    fn count(&mut self, total: TokenUsage, emit: &mut impl FnMut(TurnEvent)) {
        // A failed turn reports zeros after its real figures.
        if total != TokenUsage::default() && total != self.usage {
            self.usage = total;
            emit(TurnEvent::Usage(total));
        }
    }

    fn completed(&mut self, turn: &TurnResult, emit: &mut impl FnMut(TurnEvent)) -> TurnEnding {
        let outcome = match (turn.status, &turn.error) {
            (TurnStatus::Completed, _) => {
                self.refusal(emit);
                Ok(FinishReason::Stop)
            }
            (TurnStatus::Failed | TurnStatus::Other, Some(error)) => error_mapping::outcome_of(error),
            (TurnStatus::Failed | TurnStatus::Other, None) => Err(BackendError::new(
                BackendErrorKind::Upstream,
                "the turn failed, and codex does not say why",
            )),
            (TurnStatus::Interrupted, _) => {
                Err(BackendError::new(BackendErrorKind::Upstream, "codex interrupted the turn"))
            }
        };
        TurnEnding { outcome, still_running: false }
    }

    /// A message that was begun, held no text and was never completed is a refusal. An empty one is completed.
    fn refusal(&mut self, emit: &mut impl FnMut(TurnEvent)) {
        if self.message.take().is_some_and(|message| !message.has_text) {
            emit(TurnEvent::Refusal(REFUSED.to_owned()));
        }
    }
}

/// Codex would ask the model a second time, and what is out already would come again.
fn broken() -> TurnEnding {
    let message = "the connection to the model's service broke in the middle of the answer";
    TurnEnding { outcome: Err(BackendError::new(BackendErrorKind::Upstream, message)), still_running: true }
}

fn images_in(item: &ResponseItem) -> usize {
    let count =
        |parts: &[ResponsePart]| parts.iter().filter(|part| matches!(part, ResponsePart::InputImage)).count();
    match item {
        ResponseItem::Message { content } => count(content),
        ResponseItem::FunctionCallOutput { output: ResponseOutput::Parts(parts) } => count(parts),
        ResponseItem::FunctionCallOutput { output: ResponseOutput::Other(_) }
        | ResponseItem::FunctionCall { .. }
        | ResponseItem::Reasoning { .. }
        | ResponseItem::Other => 0,
    }
}

fn usage_of(counts: TokenCounts) -> TokenUsage {
    TokenUsage {
        input_tokens: counts.input_tokens,
        cached_input_tokens: counts.cached_input_tokens,
        output_tokens: counts.output_tokens,
        reasoning_tokens: counts.reasoning_output_tokens,
    }
}

#[cfg(test)]
mod tests;
