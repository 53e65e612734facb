//! Encodes and numbers events.

use bytes::Bytes;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::event_type::ResponseEventType;
use super::serializer::write_json;
use super::{DONE, KEEP_ALIVE};
use crate::error::ApiError;
use crate::object::ResponseObject;
use crate::wire_item::{WireItem, WirePart};

/// The transport that events are written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventFraming {
    /// `text/event-stream`.
    Stream,
    /// One JSON text a line, for WebSocket messages. No event contains a line break.
    Lines,
    /// No events: the answer is sent as one object.
    Nothing,
}

/// The position of an event in the answer.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct EventPosition {
    item_id: String,
    output_index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_index: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary_index: Option<usize>,
}

/// A part of a message or of a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContentPart {
    Content(usize),
    Summary(usize),
}

impl EventPosition {
    pub(crate) fn new(item_id: &str, output_index: usize) -> EventPosition {
        let item_id = item_id.to_owned();
        EventPosition { item_id, output_index, content_index: None, summary_index: None }
    }

    /// Returns the position of one part of the item.
    pub(crate) fn of_part(&self, part: ContentPart) -> EventPosition {
        let mut position = self.clone();
        match part {
            ContentPart::Content(index) => position.content_index = Some(index),
            ContentPart::Summary(index) => position.summary_index = Some(index),
        }
        position
    }
}

#[derive(Serialize)]
struct WireEvent<'a, P> {
    r#type: &'a str,
    sequence_number: u64,
    #[serde(flatten)]
    payload: P,
}

#[derive(Serialize)]
struct ResponsePayload<'a> {
    response: ResponseObject<'a>,
}

#[derive(Serialize)]
struct ItemPayload<'a> {
    output_index: usize,
    item: WireItem<'a>,
}

#[derive(Serialize)]
struct PartPayload<'a> {
    #[serde(flatten)]
    position: &'a EventPosition,
    part: WirePart<'a>,
}

#[derive(Serialize)]
struct TextPayload<'a> {
    #[serde(flatten)]
    position: &'a EventPosition,
    #[serde(flatten, serialize_with = "serialize_fields")]
    fields: &'a [(&'a str, &'a str)],
    /// Always empty; clients with generated types need the list.
    #[serde(skip_serializing_if = "Option::is_none")]
    logprobs: Option<[(); 0]>,
}

fn serialize_fields<S: Serializer>(fields: &&[(&str, &str)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(fields.iter().copied())
}

/// One dialect of clients reads the fields here, another below `error`.
#[derive(Serialize)]
struct ErrorPayload<'a> {
    status: u16,
    code: &'a Value,
    message: &'a Value,
    param: &'a Value,
    error: &'a Value,
}

pub(crate) struct EventEncoder {
    framing: EventFraming,
    /// The number of the next event.
    sequence: u64,
    out: Vec<u8>,
}

impl EventEncoder {
    pub(crate) fn new(framing: EventFraming) -> EventEncoder {
        EventEncoder { framing, sequence: 0, out: Vec::new() }
    }

    /// Returns the bytes written since the last call.
    pub(crate) fn take(&mut self) -> Bytes {
        std::mem::take(&mut self.out).into()
    }

    /// How many bytes [`EventEncoder::take`] would return.
    pub(crate) fn pending_bytes(&self) -> usize {
        self.out.len()
    }

    pub(crate) fn response(&mut self, kind: ResponseEventType, response: ResponseObject<'_>) {
        self.write(kind.as_str(), ResponsePayload { response });
    }

    pub(crate) fn item(&mut self, kind: ResponseEventType, output_index: usize, item: WireItem<'_>) {
        self.write(kind.as_str(), ItemPayload { output_index, item });
    }

    pub(crate) fn part(&mut self, kind: ResponseEventType, position: &EventPosition, part: WirePart<'_>) {
        self.write(kind.as_str(), PartPayload { position, part });
    }

    /// Writes an event about a text: a delta, or the whole text in the field that the event has for it.
    pub(crate) fn text(
        &mut self,
        kind: ResponseEventType,
        position: &EventPosition,
        fields: &[(&str, &str)],
    ) {
        let logprobs =
            matches!(kind, ResponseEventType::TextDelta | ResponseEventType::TextDone).then_some([]);
        self.write(kind.as_str(), TextPayload { position, fields, logprobs });
    }

    /// Writes an error outside of a response.
    pub(crate) fn error(&mut self, error: &ApiError) {
        let body = error.body();
        let fields = &body["error"];
        let (code, message, param) = (&fields["code"], &fields["message"], &fields["param"]);
        let payload = ErrorPayload { status: error.status, code, message, param, error: fields };
        self.write(ResponseEventType::Error.as_str(), payload);
    }

    /// Writes an event `tollgate:<name>`. Some clients fail on unknown events, so these are only for those that asked
    /// for them.
    pub(crate) fn extension(&mut self, name: &str, mut payload: Map<String, Value>) {
        let name: String =
            name.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_')).collect();
        payload.retain(|key, _| !matches!(key.as_str(), "type" | "sequence_number"));
        self.write(&format!("tollgate:{name}"), payload);
    }

    pub(crate) fn keep_alive(&mut self) {
        if self.framing == EventFraming::Stream {
            self.out.extend_from_slice(KEEP_ALIVE);
        }
    }

    /// Ends the stream. A WebSocket has no end here: the next answer follows on it.
    pub(crate) fn end(&mut self) {
        if self.framing == EventFraming::Stream {
            self.out.extend_from_slice(DONE);
        }
    }

    fn write(&mut self, kind: &str, payload: impl Serialize) {
        let end: &[u8] = match self.framing {
            EventFraming::Stream => {
                self.out.extend_from_slice(format!("event: {kind}\ndata: ").as_bytes());
                b"\n\n"
            }
            EventFraming::Lines => b"\n",
            EventFraming::Nothing => return,
        };
        write_json(&mut self.out, &WireEvent { r#type: kind, sequence_number: self.sequence, payload });
        self.out.extend_from_slice(end);
        self.sequence += 1;
    }
}
