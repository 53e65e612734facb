//! Follows one turn: notifications go in, events of the turn come out. No I/O and no clock.
//!
//! A thread serves one turn only, so whatever names the thread is about this turn, except raw items: those
//! that were injected are echoed under another turn's id.

use super::alias::Aliases;
use super::failure;
use super::notice::{Item, Notice, RawItem, RawOutput, RawPart, TokenCounts, TurnEnd, TurnStatus};
use crate::{BackendError, ErrorKind, Finish, NativeCall, TurnEvent, Usage};

/// Codex hands on that a message was begun, and nothing of a refusal in it.
const REFUSED: &str = "The model refused to answer. Its words are lost: codex does not hand them on.";

/// Where one turn stands.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// Tools were given; otherwise a call is an error of the model, which codex answers by itself.
    native: bool,
    aliases: Aliases,
    /// Of the items that were injected.
    images: usize,
    images_echoed: usize,
    /// Injected items come back at all.
    echoes: bool,
    turn: Option<String>,
    message: Option<Message>,
    /// Some text is out, so that another message needs a mark before it.
    spoke: bool,
    thought: Option<Thought>,
    calls: Vec<String>,
    usage: Usage,
}

/// The message that is being written.
#[derive(Debug)]
struct Message {
    id: String,
    has_text: bool,
}

/// The reasoning that is being written. Its parts are counted on from those of earlier ones.
#[derive(Debug)]
struct Thought {
    id: String,
    first: u32,
    next: u32,
}

/// How a turn ends.
#[derive(Debug, PartialEq)]
pub(super) struct End {
    pub(super) outcome: Result<Finish, BackendError>,
    /// The app-server still works on the turn and must be told to stop.
    pub(super) still_running: bool,
}

impl Progress {
    pub(super) fn new(native: bool, aliases: Aliases, images: usize) -> Progress {
        Progress { native, aliases, images, ..Progress::default() }
    }

    /// Takes one notification. What the turn says goes to `say`; the end comes back.
    pub(super) fn take(&mut self, notice: Notice, say: &mut impl FnMut(TurnEvent)) -> Option<End> {
        match notice {
            Notice::TurnStarted { turn } => self.turn = Some(turn),
            Notice::Delta { item, text } => self.speak(item, text, say),
            Notice::ReasoningDelta { item, part, text } => self.think(item, part, text, say),
            Notice::ItemStarted { item } => return self.item_started(item, say),
            Notice::ItemCompleted { item } => self.item_completed(item, say),
            Notice::RawItem { turn, item } if self.is_ours(&turn) => self.raw_item(item, say),
            Notice::RawItem { item, .. } => {
                self.echoes = true;
                self.images_echoed += images_in(&item);
            }
            Notice::RawResponse { turn, usage } if self.is_ours(&turn) => {
                return self.response_over(usage, say);
            }
            Notice::Error { will_retry: true } if self.spoke || !self.calls.is_empty() => {
                return Some(broken());
            }
            Notice::RawResponse { .. } | Notice::Error { .. } => {}
            Notice::Usage { total } => self.count(usage_of(total), say),
            Notice::TurnCompleted { turn } => return Some(self.completed(&turn, say)),
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

    fn speak(&mut self, item: String, text: String, say: &mut impl FnMut(TurnEvent)) {
        if text.is_empty() {
            return;
        }
        match &mut self.message {
            Some(message) if message.id == item => {
                if !message.has_text && self.spoke {
                    say(TurnEvent::NextMessage);
                }
                message.has_text = true;
            }
            Some(_) | None => {
                if self.spoke {
                    say(TurnEvent::NextMessage);
                }
                self.message = Some(Message { id: item, has_text: true });
            }
        }
        self.spoke = true;
        say(TurnEvent::Text(text));
    }

    fn think(&mut self, item: String, part: u32, text: String, say: &mut impl FnMut(TurnEvent)) {
        if text.is_empty() {
            return;
        }
        let thought = match &mut self.thought {
            Some(thought) if thought.id == item => thought,
            other => {
                let first = other.as_ref().map_or(0, |earlier| earlier.next);
                other.insert(Thought { id: item, first, next: first })
            }
        };
        let part = thought.first.saturating_add(part);
        thought.next = thought.next.max(part.saturating_add(1));
        say(TurnEvent::Reasoning { part, text });
    }

    fn item_started(&mut self, item: Item, say: &mut impl FnMut(TurnEvent)) -> Option<End> {
        if self.echoes && self.images_echoed < self.images {
            return Some(self.images_lost());
        }
        match item {
            Item::AgentMessage { id, .. } => {
                self.refusal(say);
                self.message = Some(Message { id, has_text: false });
            }
            Item::Reasoning { .. } | Item::Other => {}
        }
        None
    }

    /// Codex could not decode an image, and the model would be asked about a picture that it does not see.
    fn images_lost(&self) -> End {
        let lost = self.images - self.images_echoed;
        let message = format!(
            "{lost} of {} images cannot be decoded; codex takes PNG, JPEG, GIF and WebP",
            self.images
        );
        End { outcome: Err(BackendError::new(ErrorKind::BadRequest, message)), still_running: true }
    }

    /// What came without deltas is said now.
    fn item_completed(&mut self, item: Item, say: &mut impl FnMut(TurnEvent)) {
        match item {
            Item::AgentMessage { id, text } => {
                let was_said =
                    self.message.as_ref().is_some_and(|message| message.id == id && message.has_text);
                if !was_said {
                    self.speak(id, text, say);
                }
                self.message = None;
            }
            Item::Reasoning { id, summary } => {
                let was_said = self.thought.as_ref().is_some_and(|thought| thought.id == id);
                if !was_said {
                    for (part, text) in (0..).zip(summary) {
                        self.think(id.clone(), part, text, say);
                    }
                }
            }
            Item::Other => {}
        }
    }

    fn raw_item(&mut self, item: RawItem, say: &mut impl FnMut(TurnEvent)) {
        match item {
            RawItem::FunctionCall { call_id, name, arguments } if self.native => {
                self.calls.push(call_id.clone());
                let name = self.aliases.to_client(name);
                say(TurnEvent::Call(NativeCall { call_id, name, arguments }));
            }
            RawItem::Reasoning { encrypted_content: Some(sealed) } => say(TurnEvent::SealedReasoning(sealed)),
            RawItem::FunctionCall { .. }
            | RawItem::Reasoning { encrypted_content: None }
            | RawItem::Message { .. }
            | RawItem::FunctionCallOutput { .. }
            | RawItem::Other => {}
        }
    }

    /// The model has said all that it says now. With calls in it, the turn is over for us: whoever asked
    /// runs them and comes back with a history. Codex would wait for outputs, or answer by itself.
    fn response_over(&mut self, usage: Option<TokenCounts>, say: &mut impl FnMut(TurnEvent)) -> Option<End> {
        if self.calls.is_empty() {
            return None;
        }
        if let Some(usage) = usage {
            let last = usage_of(usage);
            let total = Usage {
                input_tokens: self.usage.input_tokens + last.input_tokens,
                cached_input_tokens: self.usage.cached_input_tokens + last.cached_input_tokens,
                output_tokens: self.usage.output_tokens + last.output_tokens,
                reasoning_tokens: self.usage.reasoning_tokens + last.reasoning_tokens,
            };
            self.count(total, say);
        }
        self.refusal(say);
        Some(End { outcome: Ok(Finish::Stop), still_running: true })
    }

    fn count(&mut self, total: Usage, say: &mut impl FnMut(TurnEvent)) {
        // A failed turn reports zeros after its real figures.
        if total != Usage::default() && total != self.usage {
            self.usage = total;
            say(TurnEvent::Usage(total));
        }
    }

    fn completed(&mut self, turn: &TurnEnd, say: &mut impl FnMut(TurnEvent)) -> End {
        let outcome = match (turn.status, &turn.error) {
            (TurnStatus::Completed, _) => {
                self.refusal(say);
                Ok(Finish::Stop)
            }
            (TurnStatus::Failed | TurnStatus::Other, Some(error)) => failure::end_of(error),
            (TurnStatus::Failed | TurnStatus::Other, None) => {
                Err(BackendError::new(ErrorKind::Upstream, "the turn failed, and codex does not say why"))
            }
            (TurnStatus::Interrupted, _) => {
                Err(BackendError::new(ErrorKind::Upstream, "codex interrupted the turn"))
            }
        };
        End { outcome, still_running: false }
    }

    /// A message that was begun, held no text and was never completed is a refusal. An empty one is completed.
    fn refusal(&mut self, say: &mut impl FnMut(TurnEvent)) {
        if self.message.take().is_some_and(|message| !message.has_text) {
            say(TurnEvent::Refusal(REFUSED.to_owned()));
        }
    }
}

/// Codex would ask the model a second time, and what is out already would come again.
fn broken() -> End {
    let message = "the connection to the model's service broke in the middle of the answer";
    End { outcome: Err(BackendError::new(ErrorKind::Upstream, message)), still_running: true }
}

fn images_in(item: &RawItem) -> usize {
    let count = |parts: &[RawPart]| parts.iter().filter(|part| matches!(part, RawPart::InputImage)).count();
    match item {
        RawItem::Message { content } => count(content),
        RawItem::FunctionCallOutput { output: RawOutput::Parts(parts) } => count(parts),
        RawItem::FunctionCallOutput { output: RawOutput::Other(_) }
        | RawItem::FunctionCall { .. }
        | RawItem::Reasoning { .. }
        | RawItem::Other => 0,
    }
}

fn usage_of(counts: TokenCounts) -> Usage {
    Usage {
        input_tokens: counts.input_tokens,
        cached_input_tokens: counts.cached_input_tokens,
        output_tokens: counts.output_tokens,
        reasoning_tokens: counts.reasoning_output_tokens,
    }
}

#[cfg(test)]
mod tests;
