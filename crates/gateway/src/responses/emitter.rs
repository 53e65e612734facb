//! Turns what is said in an answer into events in the right order.
//!
//! Whoever drives an answer says "more text", "a call", "done". The emitter opens and closes items and parts by
//! itself, gives out ids and indexes, keeps the items for the final object, and writes every event once. A message
//! without anything but white space is never sent: models leave line breaks between calls.
//!
//! Nothing here waits or reads a clock. The bytes are taken out by the driver, at its own pace.

use std::fmt::Write as _;

use backend::Usage;
use bytes::{Bytes, BytesMut};
use serde_json::{Map, Value};

use super::error::ApiError;
use super::event::{Encoder, EventType, Framing, Part, Place};
use super::object::{Outcome, Reason, Shell, State};
use super::output::{ItemStatus, OutputItem, Sealed, SentItem};
use super::request::Request;
use super::tools::{OfferedTool, ToolKind};
use super::wire_item::{WireItem, WirePart};

/// Arguments go out in pieces of at most this many bytes, so that no event grows without bound before the last.
const PIECE_BYTES: usize = 64 * 1024;

/// What a request for reasoning to be handed over sealed looks like.
const SEALED_REASONING: &str = "reasoning.encrypted_content";

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

/// An answer that was written.
pub struct Ended {
    /// The last events, and the end of the stream.
    pub bytes: Bytes,
    pub output: Vec<SentItem>,
    shell: Shell,
    outcome: Outcome,
    completed_at: Option<u64>,
    usage: Option<Usage>,
}

/// The item that more can be added to.
enum Open {
    Nothing,
    Message(OpenMessage),
    Reasoning(OpenReasoning),
}

struct OpenMessage {
    id: String,
    place: Place,
    /// The text so far, and where its part is while it is open.
    text: String,
    text_part: Option<Place>,
    refusal: Option<(String, Place)>,
}

struct OpenReasoning {
    id: String,
    place: Place,
    summary: Vec<String>,
    /// The part that is open: the number that the backend gave it, and its place.
    part: Option<(u32, Place)>,
    sealed: Option<String>,
}

/// Unique across answers, because the id of the response is part of them.
struct Ids {
    response: String,
    messages: u32,
    reasonings: u32,
    calls: u32,
}

impl Ids {
    fn make(prefix: &str, response: &str, count: &mut u32) -> String {
        *count += 1;
        let mut id = String::with_capacity(prefix.len() + response.len() + 5);
        // Writing to a string cannot fail.
        let _ = write!(id, "{prefix}_{response}_{count:03}");
        id
    }
}

impl Emitter {
    /// `unique` is what all ids of this answer are made of; the response is `resp_<unique>`. `created_at` is in
    /// seconds since 1970.
    pub fn new(request: &Request, unique: &str, created_at: u64, framing: Framing) -> Emitter {
        Emitter {
            encoder: Encoder::new(framing),
            shell: Shell::new(request, &response_id(unique), created_at),
            ids: Ids { response: unique.to_owned(), messages: 0, reasonings: 0, calls: 0 },
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
        if self.started {
            return;
        }
        self.started = true;
        let state = State { outcome: &Outcome::InProgress, completed_at: None, output: &[], usage: None };
        self.encoder.response(EventType::Created, &self.shell, &state);
        self.encoder.response(EventType::InProgress, &self.shell, &state);
    }

    /// More of the answer's text.
    pub fn text(&mut self, delta: &str) {
        if let Open::Message(OpenMessage { text, text_part: Some(place), refusal: None, .. }) = &mut self.open
        {
            if !delta.is_empty() {
                text.push_str(delta);
                self.encoder.delta(EventType::TextDelta, place, delta);
            }
            return;
        }
        self.held.push_str(delta);
        if self.held.trim_start().is_empty() {
            return;
        }
        let text = std::mem::take(&mut self.held);
        self.close(ItemStatus::Completed);
        let mut message = self.open_message();
        let place = message.place.part(Part::Content(0));
        self.encoder.part(EventType::PartAdded, &place, &WirePart::Text(""));
        self.encoder.delta(EventType::TextDelta, &place, &text);
        message.text = text;
        message.text_part = Some(place);
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
        let mut message = match std::mem::replace(&mut self.open, Open::Nothing) {
            Open::Message(message) => message,
            other => {
                self.open = other;
                self.close(ItemStatus::Completed);
                self.open_message()
            }
        };
        let (mut refusal, place) = match message.refusal.take() {
            Some(begun) => begun,
            None => {
                let index = usize::from(!message.text.is_empty());
                self.close_text(&mut message);
                let place = message.place.part(Part::Content(index));
                self.encoder.part(EventType::PartAdded, &place, &WirePart::Refusal(""));
                (String::new(), place)
            }
        };
        self.encoder.delta(EventType::RefusalDelta, &place, delta);
        refusal.push_str(delta);
        message.refusal = Some((refusal, place));
        self.open = Open::Message(message);
    }

    /// More of the summary of the model's reasoning. Parts are numbered by the backend; only their change counts.
    pub fn reasoning(&mut self, part: u32, delta: &str) {
        if delta.is_empty() {
            return;
        }
        let mut reasoning = self.reasoning_item();
        if reasoning.part.as_ref().is_none_or(|(open, _)| *open != part) {
            self.close_summary(&mut reasoning);
            let place = reasoning.place.part(Part::Summary(reasoning.summary.len()));
            self.encoder.part(EventType::SummaryPartAdded, &place, &WirePart::Summary(""));
            reasoning.summary.push(String::new());
            reasoning.part = Some((part, place));
        }
        if let (Some((_, place)), Some(text)) = (&reasoning.part, reasoning.summary.last_mut()) {
            self.encoder.delta(EventType::SummaryTextDelta, place, delta);
            text.push_str(delta);
        }
        self.open = Open::Reasoning(reasoning);
    }

    /// The reasoning in the form in which the service wants it back. Ends the item.
    pub fn seal_reasoning(&mut self, sealed: String) {
        let mut reasoning = self.reasoning_item();
        reasoning.sealed = Some(sealed);
        self.open = Open::Reasoning(reasoning);
        self.close(ItemStatus::Completed);
    }

    /// A call that the client is to run. Returns its id, which is also the `call_id`.
    pub fn call(&mut self, tool: &OfferedTool, arguments: &str) -> String {
        self.held.clear();
        self.close(ItemStatus::Completed);
        self.start();
        let payload = tool.payload(arguments);
        let (prefix, delta) = match tool.kind {
            ToolKind::Function => ("fc", EventType::ArgumentsDelta),
            ToolKind::Custom => ("ctc", EventType::InputDelta),
        };
        let id = Ids::make(prefix, &self.ids.response, &mut self.ids.calls);
        let place = Place::new(&id, self.sent.len());
        self.announce(&call_item(&id, tool, String::new()));
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

    fn open_message(&mut self) -> OpenMessage {
        self.start();
        let id = Ids::make("msg", &self.ids.response, &mut self.ids.messages);
        let place = Place::new(&id, self.sent.len());
        self.announce(&OutputItem::Message { id: id.clone(), text: String::new(), refusal: None });
        OpenMessage { id, place, text: String::new(), text_part: None, refusal: None }
    }

    /// The open reasoning item, taken out of its place; a new one if there is none.
    fn reasoning_item(&mut self) -> OpenReasoning {
        self.held.clear();
        match std::mem::replace(&mut self.open, Open::Nothing) {
            Open::Reasoning(reasoning) => return reasoning,
            other => self.open = other,
        }
        self.close(ItemStatus::Completed);
        self.start();
        let id = Ids::make("rs", &self.ids.response, &mut self.ids.reasonings);
        let place = Place::new(&id, self.sent.len());
        self.announce(&OutputItem::Reasoning { id: id.clone(), summary: Vec::new(), encrypted: None });
        OpenReasoning { id, place, summary: Vec::new(), part: None, sealed: None }
    }

    /// Closes whatever is open.
    fn close(&mut self, status: ItemStatus) {
        match std::mem::replace(&mut self.open, Open::Nothing) {
            Open::Nothing => {}
            Open::Message(mut message) => {
                self.close_text(&mut message);
                let refusal = message.refusal.map(|(refusal, place)| {
                    self.encoder.done(EventType::RefusalDone, &place, "refusal", &refusal);
                    self.encoder.part(EventType::PartDone, &place, &WirePart::Refusal(&refusal));
                    refusal
                });
                self.finish(OutputItem::Message { id: message.id, text: message.text, refusal }, status);
            }
            Open::Reasoning(mut reasoning) => {
                self.close_summary(&mut reasoning);
                let shown = self.shows_sealed;
                let encrypted = reasoning.sealed.map(|text| Sealed { text, shown });
                let OpenReasoning { id, summary, .. } = reasoning;
                self.finish(OutputItem::Reasoning { id, summary, encrypted }, status);
            }
        }
    }

    fn close_text(&mut self, message: &mut OpenMessage) {
        if let Some(place) = message.text_part.take() {
            self.encoder.done(EventType::TextDone, &place, "text", &message.text);
            self.encoder.part(EventType::PartDone, &place, &WirePart::Text(&message.text));
        }
    }

    fn close_summary(&mut self, reasoning: &mut OpenReasoning) {
        if let (Some((_, place)), Some(text)) = (reasoning.part.take(), reasoning.summary.last()) {
            self.encoder.done(EventType::SummaryTextDone, &place, "text", text);
            self.encoder.part(EventType::SummaryPartDone, &place, &WirePart::Summary(text));
        }
    }

    fn announce(&mut self, item: &OutputItem) {
        let wire = WireItem { item, status: ItemStatus::InProgress };
        self.encoder.item(EventType::ItemAdded, self.sent.len(), &wire);
    }

    fn finish(&mut self, item: OutputItem, status: ItemStatus) {
        self.encoder.item(EventType::ItemDone, self.sent.len(), &WireItem { item: &item, status });
        self.sent.push(SentItem { item, status });
    }
}

impl Ended {
    /// The response object as JSON text.
    pub fn object_json(&self) -> Bytes {
        let mut out = BytesMut::new();
        let Ended { outcome, completed_at, output, usage, .. } = self;
        let state = State { outcome, completed_at: *completed_at, output, usage: *usage };
        self.shell.write(&mut out, &state);
        out.freeze()
    }

    /// The response object as a value, for whoever keeps it.
    pub fn object(&self) -> Value {
        serde_json::from_slice(&self.object_json()).unwrap_or_default()
    }
}

/// The id of a response.
pub fn response_id(unique: &str) -> String {
    format!("resp_{unique}")
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
