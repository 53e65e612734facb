//! Turns what is said in an answer into events in the right order.
//!
//! Whoever drives an answer says "more text", "a call", "done". The emitter opens and closes items and parts by
//! itself, gives out ids and indexes, keeps the items for the final object, and writes every event once. A message
//! without anything but white space is never sent: models leave line breaks between calls.
//!
//! Nothing here waits or reads a clock. The bytes are taken out by the driver, at its own pace.

mod ended;
mod ids;
mod message;
mod reasoning;

use std::mem;

use backend::Usage;
use bytes::Bytes;
use serde_json::{Map, Value};

pub use self::ended::Ended;
use self::ids::Ids;
pub use self::ids::response_id;
use self::message::OpenMessage;
use self::reasoning::OpenReasoning;
use super::error::ApiError;
use super::event::{Encoder, EventType, Framing};
use super::object::{Outcome, Reason, Shell, State};
use super::output::{ItemStatus, OutputItem, Sealed, SentItem};
use super::request::{Request, SEALED_REASONING};
use super::tools::{OfferedTool, ToolKind};
use super::wire_item::WireItem;

/// Arguments go out in pieces of at most this many bytes, so that no event grows without bound before the last.
const PIECE_BYTES: usize = 64 * 1024;

/// An answer being written.
pub struct Emitter {
    encoder: Encoder,
    shell: Shell,
    ids: Ids,
    started: bool,
    open: Open,
    /// White space that may turn out to begin a message.
    held: String,
    sent: Vec<SentItem>,
    shows_sealed: bool,
    shows_extensions: bool,
}

/// The item that more can be added to.
enum Open {
    Nothing,
    Message(OpenMessage),
    Reasoning(OpenReasoning),
}

impl Emitter {
    /// `unique` is what all ids of this answer are made of; the response is `resp_<unique>`. `created_at` is in
    /// seconds since 1970.
    pub fn new(request: &Request, unique: &str, created_at: u64, framing: Framing) -> Emitter {
        let shell = Shell::new(request, &response_id(unique), created_at);
        Emitter::inside(shell, request, unique, framing)
    }

    /// The same, with what stays the same about the answer written out already.
    pub fn inside(shell: Shell, request: &Request, unique: &str, framing: Framing) -> Emitter {
        Emitter {
            encoder: Encoder::new(framing),
            shell,
            ids: Ids::new(unique),
            started: false,
            open: Open::Nothing,
            held: String::new(),
            sent: Vec::new(),
            shows_sealed: request.include.iter().any(|asked| asked == SEALED_REASONING),
            shows_extensions: request.server_tools.wants_events(),
        }
    }

    /// The events that were written since the last time.
    pub fn take(&mut self) -> Bytes {
        self.encoder.take()
    }

    /// Says that the answer is on its way. Everything else says it first, if nobody has.
    pub fn start(&mut self) {
        if mem::replace(&mut self.started, true) {
            return;
        }
        let state = State { outcome: &Outcome::InProgress, completed_at: None, output: &[], usage: None };
        self.encoder.response(EventType::Created, &self.shell, &state);
        self.encoder.response(EventType::InProgress, &self.shell, &state);
    }

    /// More of the answer's text.
    pub fn text(&mut self, delta: &str) {
        if let Open::Message(message) = &mut self.open
            && message.more_text(delta, &mut self.encoder)
        {
            return;
        }
        self.held.push_str(delta);
        // What was held before is white space.
        if delta.trim_start().is_empty() {
            return;
        }
        let text = mem::take(&mut self.held);
        let mut message = self.new_message();
        message.first_text(text, &mut self.encoder);
        self.open = Open::Message(message);
    }

    /// What follows is another message.
    pub fn end_message(&mut self) {
        self.held.clear();
        if matches!(self.open, Open::Message(_)) {
            self.close(ItemStatus::Completed);
        }
    }

    /// Closes what is open: whatever is said next is an item of its own. Gives what was sent so far.
    pub fn settle(&mut self) -> &[SentItem] {
        self.held.clear();
        self.close(ItemStatus::Completed);
        &self.sent
    }

    /// More of the model's refusal to answer.
    pub fn refusal(&mut self, delta: &str) {
        if delta.is_empty() {
            return;
        }
        self.held.clear();
        let mut message = match mem::replace(&mut self.open, Open::Nothing) {
            Open::Message(message) => message,
            other @ (Open::Nothing | Open::Reasoning(_)) => {
                self.open = other;
                self.new_message()
            }
        };
        message.refusal(delta, &mut self.encoder);
        self.open = Open::Message(message);
    }

    /// More of the summary of the model's reasoning. Parts are numbered by the backend.
    pub fn reasoning(&mut self, part: u32, delta: &str) {
        if delta.is_empty() {
            return;
        }
        let mut reasoning = self.take_reasoning();
        reasoning.more(part, delta, &mut self.encoder);
        self.open = Open::Reasoning(reasoning);
    }

    /// The reasoning in the form in which the service wants it back. Ends the item.
    pub fn seal_reasoning(&mut self, sealed: String) {
        let sealed = Sealed { text: sealed, shown: self.shows_sealed };
        let item = self.take_reasoning().close(Some(sealed), &mut self.encoder);
        self.finish(item, ItemStatus::Completed);
    }

    /// A call that the client is to run. Returns its id, which is also the `call_id`.
    pub fn call(&mut self, tool: &OfferedTool, arguments: &str) -> String {
        self.settle();
        self.start();
        let payload = tool.payload(arguments);
        let (id, delta) = match tool.kind {
            ToolKind::Function => (self.ids.function_call(), EventType::ArgumentsDelta),
            ToolKind::Custom => (self.ids.custom_call(), EventType::InputDelta),
        };
        let place = self.encoder.place(&id, self.sent.len());
        self.announce(|| call_item(&id, tool, String::new()));
        for piece in pieces(&payload) {
            self.encoder.delta(delta, &place, piece);
        }
        match tool.kind {
            ToolKind::Function => self.encoder.arguments_done(&place, &tool.own_name, &payload),
            ToolKind::Custom => self.encoder.done(EventType::InputDone, &place, "input", &payload),
        }
        self.finish(call_item(&id, tool, payload.into_owned()), ItemStatus::Completed);
        id
    }

    /// An event of our own, if the client asked for those.
    pub fn extension(&mut self, name: &str, payload: &Map<String, Value>) {
        if self.shows_extensions {
            self.start();
            self.encoder.extension(name, payload);
        }
    }

    /// Says that the connection lives. Counts as no event.
    pub fn keep_alive(&mut self) {
        self.encoder.keep_alive();
    }

    /// The model had said what it wanted to say. `now` is in seconds since 1970.
    pub fn complete(self, usage: Option<Usage>, now: u64) -> Ended {
        self.end(Outcome::Completed, usage, Some(now))
    }

    /// The model was cut off.
    pub fn incomplete(self, reason: Reason, usage: Option<Usage>) -> Ended {
        self.end(Outcome::Incomplete(reason), usage, None)
    }

    /// Something went wrong after the answer had begun.
    pub fn fail(self, error: ApiError, usage: Option<Usage>) -> Ended {
        self.end(Outcome::Failed(error), usage, None)
    }

    fn end(mut self, outcome: Outcome, usage: Option<Usage>, completed_at: Option<u64>) -> Ended {
        self.start();
        let (kind, status) = match outcome {
            Outcome::Completed | Outcome::InProgress => (EventType::Completed, ItemStatus::Completed),
            Outcome::Incomplete(_) => (EventType::Incomplete, ItemStatus::Incomplete),
            Outcome::Failed(_) => (EventType::Failed, ItemStatus::Incomplete),
        };
        self.close(status);
        let state = State { outcome: &outcome, completed_at, output: &self.sent, usage };
        self.encoder.response(kind, &self.shell, &state);
        self.encoder.end();
        let Emitter { mut encoder, shell, sent, .. } = self;
        Ended { bytes: encoder.take(), output: sent, shell, outcome, completed_at, usage }
    }

    /// Closes what is open and announces a message.
    fn new_message(&mut self) -> OpenMessage {
        self.close(ItemStatus::Completed);
        self.start();
        let message = OpenMessage::new(self.ids.message(), self.sent.len(), &self.encoder);
        self.announce(|| message.bare());
        message
    }

    /// The open reasoning, taken out of its place. If there is none, closes what is open and announces one.
    fn take_reasoning(&mut self) -> OpenReasoning {
        self.held.clear();
        match mem::replace(&mut self.open, Open::Nothing) {
            Open::Reasoning(reasoning) => return reasoning,
            other @ (Open::Nothing | Open::Message(_)) => self.open = other,
        }
        self.close(ItemStatus::Completed);
        self.start();
        let reasoning = OpenReasoning::new(self.ids.reasoning(), self.sent.len(), &self.encoder);
        self.announce(|| reasoning.bare());
        reasoning
    }

    /// Closes whatever is open.
    fn close(&mut self, status: ItemStatus) {
        let item = match mem::replace(&mut self.open, Open::Nothing) {
            Open::Nothing => return,
            Open::Message(message) => message.close(&mut self.encoder),
            Open::Reasoning(reasoning) => reasoning.close(None, &mut self.encoder),
        };
        self.finish(item, status);
    }

    /// `item` is made only if anybody hears of it.
    fn announce(&mut self, item: impl FnOnce() -> OutputItem) {
        if !self.encoder.is_heard() {
            return;
        }
        let wire = WireItem { item: &item(), status: ItemStatus::InProgress };
        self.encoder.item(EventType::ItemAdded, self.sent.len(), &wire);
    }

    fn finish(&mut self, item: OutputItem, status: ItemStatus) {
        self.encoder.item(EventType::ItemDone, self.sent.len(), &WireItem { item: &item, status });
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

/// Cuts a text at boundaries of characters. At least one piece, since some clients wait for one.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let (piece, next) = text.split_at(text.floor_char_boundary(PIECE_BYTES));
        rest = (!next.is_empty()).then_some(next);
        Some(piece)
    })
}
