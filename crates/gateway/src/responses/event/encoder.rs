//! Writes events one after the other, and counts them.

use bytes::{BufMut, Bytes, BytesMut};
use serde::Serialize;
use serde_json::Value;

use super::escape::{push_json, push_text};
use super::kind::EventType;
use super::{DONE, KEEP_ALIVE};
use crate::responses::error::ApiError;
use crate::responses::object::{Shell, State};
use crate::responses::wire_item::{WireItem, WirePart};

/// What the events are written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// `text/event-stream`.
    Stream,
    /// One JSON text a line, for messages of a WebSocket. No event has a line break inside.
    Lines,
    /// Nobody: the answer is sent as one object.
    Nothing,
}

/// Where in the answer an event belongs, written out once for all events of an item; nothing where none is written.
pub(in crate::responses) struct Place(Bytes);

/// A part of a message or of a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::responses) enum Part {
    Content(usize),
    Summary(usize),
}

/// More than most events need.
const ROOM: usize = 512;

pub(in crate::responses) struct Encoder {
    framing: Framing,
    /// Of the next event.
    sequence: u64,
    out: BytesMut,
}

impl Encoder {
    pub(in crate::responses) fn new(framing: Framing) -> Encoder {
        Encoder { framing, sequence: 0, out: BytesMut::new() }
    }

    /// What was written since the last time.
    pub(in crate::responses) fn take(&mut self) -> Bytes {
        if self.out.is_empty() {
            return Bytes::new();
        }
        let written = self.out.split().freeze();
        // The rest of a large buffer would keep all of it for as long as the stream lives, which says little from here on.
        if written.len() >= ROOM {
            self.out = BytesMut::new();
        }
        written
    }

    /// Whether anybody gets the events.
    pub(in crate::responses) fn is_heard(&self) -> bool {
        self.framing != Framing::Nothing
    }

    pub(in crate::responses) fn place(&self, item_id: &str, output_index: usize) -> Place {
        if !self.is_heard() {
            return Place(Bytes::new());
        }
        let mut place = BytesMut::from(r#","item_id":""#);
        push_text(&mut place, item_id);
        place.put_slice(br#"","output_index":"#);
        push_number(&mut place, output_index as u64);
        Place(place.freeze())
    }

    /// Inside of one part of the item.
    pub(in crate::responses) fn place_of(&self, item: &Place, part: Part) -> Place {
        if !self.is_heard() {
            return Place(Bytes::new());
        }
        let (name, index) = match part {
            Part::Content(index) => (&br#","content_index":"#[..], index),
            Part::Summary(index) => (&br#","summary_index":"#[..], index),
        };
        let mut place = BytesMut::from(&item.0[..]);
        place.put_slice(name);
        push_number(&mut place, index as u64);
        Place(place.freeze())
    }

    pub(in crate::responses) fn response(&mut self, kind: EventType, shell: &Shell, state: &State<'_>) {
        self.event(kind, |out| {
            out.put_slice(br#","response":"#);
            shell.write(out, state);
        });
    }

    pub(in crate::responses) fn item(&mut self, kind: EventType, output_index: usize, item: &WireItem<'_>) {
        self.event(kind, |out| {
            out.put_slice(br#","output_index":"#);
            push_number(out, output_index as u64);
            out.put_slice(br#","item":"#);
            item.write(out);
        });
    }

    pub(in crate::responses) fn part(&mut self, kind: EventType, place: &Place, part: &WirePart<'_>) {
        self.event(kind, |out| {
            out.put_slice(&place.0);
            out.put_slice(br#","part":"#);
            part.write(out);
        });
    }

    /// More of a text. The one that must be quick.
    pub(in crate::responses) fn delta(&mut self, kind: EventType, place: &Place, delta: &str) {
        self.event(kind, |out| {
            out.put_slice(&place.0);
            out.put_slice(br#","delta":""#);
            push_text(out, delta);
            out.put_u8(b'"');
            push_logprobs(out, kind);
        });
    }

    /// The whole text, in the field that the event has for it.
    pub(in crate::responses) fn done(&mut self, kind: EventType, place: &Place, field: &str, text: &str) {
        self.event(kind, |out| {
            out.put_slice(&place.0);
            push_string(out, field, text);
            push_logprobs(out, kind);
        });
    }

    /// The whole arguments of a call, with the name of the function. Clients find the `call_id` in the item.
    pub(in crate::responses) fn arguments_done(&mut self, place: &Place, name: &str, arguments: &str) {
        self.event(EventType::ArgumentsDone, |out| {
            out.put_slice(&place.0);
            push_string(out, "name", name);
            push_string(out, "arguments", arguments);
        });
    }

    /// An error outside of a response. One dialect reads its fields here, another below `error`.
    pub(in crate::responses) fn error(&mut self, error: &ApiError) {
        let body = error.body();
        self.event(EventType::Error, |out| {
            push_field(out, "status", &error.status);
            for field in ["code", "message", "param"] {
                push_field(out, field, &body["error"][field]);
            }
            push_field(out, "error", &body["error"]);
        });
    }

    /// An event of our own, `tollgate:<name>`. Some clients fail on events that they do not know, so these are only
    /// for those that asked for them.
    pub(in crate::responses) fn extension(&mut self, name: &str, payload: &serde_json::Map<String, Value>) {
        let (before, after): (&[u8], &[u8]) = match self.framing {
            Framing::Stream => (b"event: tollgate:", b"\ndata: {\"type\":\"tollgate:"),
            Framing::Lines => (b"", b"{\"type\":\"tollgate:"),
            Framing::Nothing => return,
        };
        let name: String =
            name.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_')).collect();
        self.out.put_slice(before);
        if self.framing == Framing::Stream {
            self.out.put_slice(name.as_bytes());
        }
        self.out.put_slice(after);
        self.out.put_slice(name.as_bytes());
        self.out.put_slice(br#"","sequence_number":"#);
        push_number(&mut self.out, self.sequence);
        for (key, value) in
            payload.iter().filter(|(key, _)| !matches!(key.as_str(), "type" | "sequence_number"))
        {
            self.out.put_u8(b',');
            push_json(&mut self.out, key);
            self.out.put_u8(b':');
            push_json(&mut self.out, value);
        }
        self.close();
    }

    pub(in crate::responses) fn keep_alive(&mut self) {
        if self.framing == Framing::Stream {
            self.out.put_slice(KEEP_ALIVE);
        }
    }

    /// The end of the stream. A WebSocket has none: the next answer follows on it.
    pub(in crate::responses) fn end(&mut self) {
        if self.framing == Framing::Stream {
            self.out.put_slice(DONE);
        }
    }

    fn event(&mut self, kind: EventType, fields: impl FnOnce(&mut BytesMut)) {
        let head = match self.framing {
            Framing::Stream => kind.stream_head(),
            Framing::Lines => kind.message_head(),
            Framing::Nothing => return,
        };
        self.out.reserve(ROOM);
        self.out.put_slice(head.as_bytes());
        push_number(&mut self.out, self.sequence);
        fields(&mut self.out);
        self.close();
    }

    fn close(&mut self) {
        self.sequence += 1;
        self.out.put_slice(if self.framing == Framing::Stream { b"}\n\n" } else { b"}\n" });
    }
}

pub(in crate::responses) fn push_number(out: &mut BytesMut, number: u64) {
    out.put_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// `name` needs no escape.
pub(in crate::responses) fn push_field(out: &mut BytesMut, name: &str, value: &impl Serialize) {
    out.put_slice(b",\"");
    out.put_slice(name.as_bytes());
    out.put_slice(b"\":");
    push_json(out, value);
}

/// `name` needs no escape.
pub(in crate::responses) fn push_string(out: &mut BytesMut, name: &str, text: &str) {
    out.put_slice(b",\"");
    out.put_slice(name.as_bytes());
    out.put_slice(b"\":\"");
    push_text(out, text);
    out.put_u8(b'"');
}

/// Clients with generated types want the list, though nobody fills it here.
fn push_logprobs(out: &mut BytesMut, kind: EventType) {
    if matches!(kind, EventType::TextDelta | EventType::TextDone) {
        out.put_slice(br#","logprobs":[]"#);
    }
}
