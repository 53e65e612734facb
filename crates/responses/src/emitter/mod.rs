//! Turns the content of an answer into events in the right order.
//!
//! The caller (`answer/writer.rs`) calls `text`, `call`, `complete`. The emitter opens and closes items and parts, assigns ids and
//! indexes, keeps the items for the final object, and writes every event once. A message of white space alone is never
//! sent: models write line breaks between calls.
//!
//! Nothing here waits or reads a clock. The caller takes the bytes at its own pace.

mod ids;
mod message;
mod reasoning;

use std::mem;

use backend::TokenUsage;
use bytes::Bytes;
use serde_json::{Map, Value};

use self::ids::AnswerIds;
pub use self::ids::response_id;
use self::message::OpenMessage;
use self::reasoning::OpenReasoning;
use super::error::ApiError;
use super::event::{EventEncoder, EventFraming, EventPosition, ResponseEventType, json_line};
use super::object::{IncompleteReason, ResponseBase, ResponseOutcome, ResponseState};
use super::output::{EncryptedReasoning, ItemStatus, OutputItem, SentItem};
use super::request::{ENCRYPTED_REASONING, Request};
use super::tools::{OfferedTool, ToolKind};
use super::wire_item::WireItem;

/// The most bytes of arguments in one delta event, so that no event before the last grows without bound.
const ARGUMENT_CHUNK_BYTES: usize = 64 * 1024;

/// Emits the events of one answer.
pub struct AnswerEmitter {
    encoder: EventEncoder,
    base: ResponseBase,
    ids: AnswerIds,
    started: bool,
    open: OpenItem,
    /// White space that may start a message.
    leading_space: String,
    sent: Vec<SentItem>,
    shows_encrypted: bool,
    shows_extensions: bool,
}

/// The item that more can be added to.
enum OpenItem {
    Nothing,
    Message(OpenMessage),
    Reasoning(OpenReasoning),
}

/// An answer that ended.
pub struct FinishedResponse {
    pub output: Vec<SentItem>,
    encoder: EventEncoder,
    base: ResponseBase,
    outcome: ResponseOutcome,
    completed_at: Option<u64>,
    usage: Option<TokenUsage>,
}

impl FinishedResponse {
    /// Returns the response object as JSON text.
    pub fn object_json(&self) -> String {
        json_line(&self.base.object(&self.state()))
    }

    /// Lets the response say that it is not stored. Call it before the last events are taken.
    pub fn set_not_stored(&mut self) {
        self.base.set_not_stored();
    }

    /// Returns the last events, and the end of the stream. Call it once.
    pub fn last_events(&mut self) -> Bytes {
        let mut encoder = mem::replace(&mut self.encoder, EventEncoder::new(EventFraming::Nothing));
        let kind = match self.outcome {
            ResponseOutcome::Completed | ResponseOutcome::InProgress => ResponseEventType::Completed,
            ResponseOutcome::Incomplete(_) => ResponseEventType::Incomplete,
            ResponseOutcome::Failed(_) => ResponseEventType::Failed,
        };
        encoder.response(kind, self.base.object(&self.state()));
        encoder.end();
        encoder.take()
    }

    /// Returns the response object as a value.
    pub fn object(&self) -> Value {
        serde_json::from_str(&self.object_json()).unwrap_or_default()
    }

    fn state(&self) -> ResponseState<'_> {
        let FinishedResponse { outcome, completed_at, output, usage, .. } = self;
        ResponseState { outcome, completed_at: *completed_at, output, usage: *usage }
    }
}

impl AnswerEmitter {
    /// `unique` is the part that all ids of this answer share; the response is `resp_<unique>`. `created_at` is in
    /// seconds since 1970.
    pub fn new(request: &Request, unique: &str, created_at: u64, framing: EventFraming) -> AnswerEmitter {
        AnswerEmitter {
            encoder: EventEncoder::new(framing),
            base: ResponseBase::new(request, &response_id(unique), created_at),
            ids: AnswerIds::new(unique),
            started: false,
            open: OpenItem::Nothing,
            leading_space: String::new(),
            sent: Vec::new(),
            shows_encrypted: request.include.iter().any(|word| word == ENCRYPTED_REASONING),
            shows_extensions: request.server_tools.wants_events(),
        }
    }

    /// Returns the events written since the last call.
    pub fn take(&mut self) -> Bytes {
        self.encoder.take()
    }

    /// How many bytes [`AnswerEmitter::take`] would return.
    pub fn pending_bytes(&self) -> usize {
        self.encoder.pending_bytes()
    }

    /// Announces the answer. Every other method does so first, if it was not done.
    pub fn start(&mut self) {
        if mem::replace(&mut self.started, true) {
            return;
        }
        for kind in [ResponseEventType::Created, ResponseEventType::InProgress] {
            let outcome = &ResponseOutcome::InProgress;
            let state = ResponseState { outcome, completed_at: None, output: &[], usage: None };
            self.encoder.response(kind, self.base.object(&state));
        }
    }

    /// Adds to the answer's text.
    pub fn text(&mut self, delta: &str) {
        if let OpenItem::Message(message) = &mut self.open
            && message.append_text(delta, &mut self.encoder)
        {
            return;
        }
        self.leading_space.push_str(delta);
        if delta.trim_start().is_empty() {
            return;
        }
        let text = mem::take(&mut self.leading_space);
        let mut message = self.new_message();
        message.begin_text(text, &mut self.encoder);
        self.open = OpenItem::Message(message);
    }

    /// Ends the message: text after it is another message.
    pub fn end_message(&mut self) {
        self.leading_space.clear();
        if matches!(self.open, OpenItem::Message(_)) {
            self.close(ItemStatus::Completed);
        }
    }

    /// Closes the open item. Returns the items sent so far.
    pub fn close_item(&mut self) -> &[SentItem] {
        self.leading_space.clear();
        self.close(ItemStatus::Completed);
        &self.sent
    }

    /// Adds to the model's refusal to answer.
    pub fn refusal(&mut self, delta: &str) {
        if delta.is_empty() {
            return;
        }
        self.leading_space.clear();
        let mut message = match mem::replace(&mut self.open, OpenItem::Nothing) {
            OpenItem::Message(message) => message,
            other @ (OpenItem::Nothing | OpenItem::Reasoning(_)) => {
                self.open = other;
                self.new_message()
            }
        };
        message.append_refusal(delta, &mut self.encoder);
        self.open = OpenItem::Message(message);
    }

    /// Adds to the summary of the model's reasoning. The backend numbers the parts.
    pub fn reasoning(&mut self, part: u32, delta: &str) {
        if delta.is_empty() {
            return;
        }
        let mut reasoning = self.take_reasoning();
        reasoning.append(part, delta, &mut self.encoder);
        self.open = OpenItem::Reasoning(reasoning);
    }

    /// Ends the reasoning with its encrypted form, which the service wants back.
    pub fn encrypted_reasoning(&mut self, text: String) {
        let encrypted = EncryptedReasoning { text, shown: self.shows_encrypted };
        let item = self.take_reasoning().close(Some(encrypted), &mut self.encoder);
        self.finish(item, ItemStatus::Completed);
    }

    /// Emits a call that the client runs. Returns its id, which is also the `call_id`.
    pub fn call(&mut self, tool: &OfferedTool, arguments: &str) -> String {
        self.close_item();
        self.start();
        let payload = tool.payload(arguments);
        let (id, delta) = match tool.kind {
            ToolKind::Function => (self.ids.function_call(), ResponseEventType::ArgumentsDelta),
            ToolKind::Custom => (self.ids.custom_call(), ResponseEventType::InputDelta),
        };
        let position = EventPosition::new(&id, self.sent.len());
        self.announce(&call_item(&id, tool, String::new()));
        for chunk in chunks(&payload) {
            self.encoder.text(delta, &position, &[("delta", chunk)]);
        }
        let (done, fields): (ResponseEventType, &[(&str, &str)]) = match tool.kind {
            ToolKind::Function => {
                (ResponseEventType::ArgumentsDone, &[("name", &tool.own_name), ("arguments", &payload)])
            }
            ToolKind::Custom => (ResponseEventType::InputDone, &[("input", &payload)]),
        };
        self.encoder.text(done, &position, fields);
        self.finish(call_item(&id, tool, payload.into_owned()), ItemStatus::Completed);
        id
    }

    /// Emits an event of Tollgate's own, if the client asked for those.
    pub fn extension(&mut self, name: &str, payload: Map<String, Value>) {
        if self.shows_extensions {
            self.start();
            self.encoder.extension(name, payload);
        }
    }

    /// Shows that the connection lives. This is not an event.
    pub fn keep_alive(&mut self) {
        self.encoder.keep_alive();
    }

    /// Ends a complete answer. `now` is in seconds since 1970.
    pub fn complete(self, usage: Option<TokenUsage>, now: u64) -> FinishedResponse {
        self.end(ResponseOutcome::Completed, usage, Some(now))
    }

    /// Ends an answer that was cut off.
    pub fn incomplete(self, reason: IncompleteReason, usage: Option<TokenUsage>) -> FinishedResponse {
        self.end(ResponseOutcome::Incomplete(reason), usage, None)
    }

    /// Ends an answer that failed after it had started.
    pub fn fail(self, error: ApiError, usage: Option<TokenUsage>) -> FinishedResponse {
        self.end(ResponseOutcome::Failed(error), usage, None)
    }

    fn end(
        mut self,
        outcome: ResponseOutcome,
        usage: Option<TokenUsage>,
        completed_at: Option<u64>,
    ) -> FinishedResponse {
        self.start();
        let status = match outcome {
            ResponseOutcome::Completed | ResponseOutcome::InProgress => ItemStatus::Completed,
            ResponseOutcome::Incomplete(_) | ResponseOutcome::Failed(_) => ItemStatus::Incomplete,
        };
        self.close(status);
        let AnswerEmitter { encoder, base, sent, .. } = self;
        FinishedResponse { output: sent, encoder, base, outcome, completed_at, usage }
    }

    /// Closes the open item and announces a message.
    fn new_message(&mut self) -> OpenMessage {
        self.close(ItemStatus::Completed);
        self.start();
        let message = OpenMessage::new(self.ids.message(), self.sent.len());
        self.announce(&message.announced());
        message
    }

    /// Takes the open reasoning. Without one, closes the open item and announces one.
    fn take_reasoning(&mut self) -> OpenReasoning {
        self.leading_space.clear();
        match mem::replace(&mut self.open, OpenItem::Nothing) {
            OpenItem::Reasoning(reasoning) => return reasoning,
            other @ (OpenItem::Nothing | OpenItem::Message(_)) => self.open = other,
        }
        self.close(ItemStatus::Completed);
        self.start();
        let reasoning = OpenReasoning::new(self.ids.reasoning(), self.sent.len());
        self.announce(&reasoning.announced());
        reasoning
    }

    fn close(&mut self, status: ItemStatus) {
        let item = match mem::replace(&mut self.open, OpenItem::Nothing) {
            OpenItem::Nothing => return,
            OpenItem::Message(message) => message.close(&mut self.encoder),
            OpenItem::Reasoning(reasoning) => reasoning.close(None, &mut self.encoder),
        };
        self.finish(item, status);
    }

    fn announce(&mut self, item: &OutputItem) {
        let item = WireItem::new(item, ItemStatus::InProgress);
        self.encoder.item(ResponseEventType::ItemAdded, self.sent.len(), item);
    }

    fn finish(&mut self, item: OutputItem, status: ItemStatus) {
        self.encoder.item(ResponseEventType::ItemDone, self.sent.len(), WireItem::new(&item, status));
        self.sent.push(SentItem { item, status });
    }
}

fn call_item(id: &str, tool: &OfferedTool, payload: String) -> OutputItem {
    let (id, name, namespace) = (id.to_owned(), tool.own_name.clone(), tool.namespace.clone());
    match tool.kind {
        ToolKind::Function => OutputItem::FunctionCall { id, name, namespace, arguments: payload },
        ToolKind::Custom => OutputItem::CustomToolCall { id, name, namespace, input: payload },
    }
}

/// Splits a text at character boundaries. Returns at least one chunk, since some clients wait for one.
fn chunks(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let (chunk, next) = text.split_at(text.floor_char_boundary(ARGUMENT_CHUNK_BYTES));
        rest = (!next.is_empty()).then_some(next);
        Some(chunk)
    })
}
