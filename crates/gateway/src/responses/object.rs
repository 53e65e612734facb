//! The response object: what a client gets instead of a stream, and inside of several events.
//!
//! Every key that the API knows is there, so that clients with strict types can read it.

use backend::Usage;
use bytes::{BufMut, Bytes, BytesMut};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::error::ApiError;
use super::event::{push_field, push_number, push_string};
use super::output::SentItem;
use super::request::{Format, Request};
use super::wire_item::push_items;

/// How far an answer is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    InProgress,
    Completed,
    Incomplete(Reason),
    Failed(ApiError),
}

/// Why an answer ended before the model was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    MaxOutputTokens,
    ContentFilter,
    /// Somebody asked for the end.
    Cancelled,
}

impl Reason {
    pub fn as_str(self) -> &'static str {
        match self {
            Reason::MaxOutputTokens => "max_output_tokens",
            Reason::ContentFilter => "content_filter",
            Reason::Cancelled => "cancelled",
        }
    }
}

/// What changes while a response is answered.
pub struct State<'a> {
    pub outcome: &'a Outcome,
    /// Seconds since 1970, once it is complete.
    pub completed_at: Option<u64>,
    pub output: &'a [SentItem],
    pub usage: Option<Usage>,
}

/// What stays the same, written out once: it stands in several events, and a client's tools can be long.
pub struct Shell {
    written: Bytes,
    /// Where the head ends and the tail begins.
    split: usize,
}

impl Shell {
    /// `id` is the whole id; `created_at` is in seconds since 1970.
    pub fn new(request: &Request, id: &str, created_at: u64) -> Shell {
        let mut out = BytesMut::with_capacity(ROOM + request.echoed_tools.len());
        push_string(&mut out, "id", id);
        // What came before a field would stand here.
        out[0] = b'{';
        out.put_slice(br#","object":"response""#);
        push_field(&mut out, "created_at", &created_at);
        let split = out.len();
        push_lasting(&mut out, request);
        out.put_u8(b'}');
        Shell { written: Bytes::from(out.to_vec()), split }
    }

    /// More than the object needs around its items.
    pub fn room(&self) -> usize {
        self.written.len() + ROOM
    }

    /// Appends the object as JSON on one line.
    pub fn write(&self, out: &mut BytesMut, state: &State<'_>) {
        let (head, tail) = self.written.split_at(self.split);
        out.put_slice(head);
        match state.outcome {
            Outcome::InProgress => out.put_slice(br#","status":"in_progress""#),
            Outcome::Completed => out.put_slice(br#","status":"completed""#),
            Outcome::Incomplete(_) => out.put_slice(br#","status":"incomplete""#),
            Outcome::Failed(_) => out.put_slice(br#","status":"failed""#),
        }
        push_field(out, "completed_at", &state.completed_at);
        match state.outcome {
            Outcome::Failed(error) => push_field(out, "error", &error.in_response()),
            Outcome::InProgress | Outcome::Completed | Outcome::Incomplete(_) => {
                out.put_slice(br#","error":null"#);
            }
        }
        match state.outcome {
            Outcome::Incomplete(reason) => {
                out.put_slice(br#","incomplete_details":{"reason":""#);
                out.put_slice(reason.as_str().as_bytes());
                out.put_slice(br#""}"#);
            }
            Outcome::InProgress | Outcome::Completed | Outcome::Failed(_) => {
                out.put_slice(br#","incomplete_details":null"#);
            }
        }
        out.put_slice(br#","output":"#);
        push_items(out, state.output);
        match state.usage {
            Some(usage) => push_usage(out, usage),
            None => out.put_slice(br#","usage":null"#),
        }
        out.put_slice(tail);
    }
}

/// More than most requests repeat.
const ROOM: usize = 2 * 1024;

/// Appends what the answer repeats of the request, with the defaults that clients expect to find filled in.
fn push_lasting(out: &mut BytesMut, request: &Request) {
    push_string(out, "model", &request.model);
    push_optional(out, "previous_response_id", request.previous_response_id.as_deref());
    push_optional(out, "instructions", request.instructions.as_deref());
    out.put_slice(br#","tools":"#);
    out.put_slice(request.echoed_tools.as_bytes());
    push_field(out, "tool_choice", &request.echoed_choice);
    push_field(out, "parallel_tool_calls", &request.parallel_tool_calls);
    push_field(out, "max_tool_calls", &request.max_tool_calls);
    push_field(out, "text", &Text { format: &request.format, verbosity: request.verbosity.as_deref() });
    let (effort, summary) = (request.reasoning_effort.as_deref(), request.reasoning_summary.as_deref());
    push_field(out, "reasoning", &Reasoning { effort, summary });
    push_field(out, "temperature", &request.temperature.unwrap_or(1.0));
    push_field(out, "top_p", &request.top_p.unwrap_or(1.0));
    push_repeated(out, request, "presence_penalty", b"0.0");
    push_repeated(out, request, "frequency_penalty", b"0.0");
    push_repeated(out, request, "top_logprobs", b"0");
    push_field(out, "max_output_tokens", &request.max_output_tokens);
    push_repeated(out, request, "truncation", br#""disabled""#);
    push_field(out, "store", &request.store);
    out.put_slice(br#","background":false,"service_tier":"default""#);
    push_field(out, "metadata", &request.metadata);
    push_repeated(out, request, "safety_identifier", b"null");
    push_repeated(out, request, "prompt_cache_key", b"null");
    for key in ["prompt_cache_retention", "user"] {
        if let Some(value) = request.repeated.get(key) {
            push_field(out, key, value);
        }
    }
}

/// A field as it was sent, or else as clients expect to find it.
fn push_repeated(out: &mut BytesMut, request: &Request, name: &str, default: &[u8]) {
    match request.repeated.get(name) {
        Some(value) => push_field(out, name, value),
        None => {
            out.put_slice(b",\"");
            out.put_slice(name.as_bytes());
            out.put_slice(b"\":");
            out.put_slice(default);
        }
    }
}

fn push_optional(out: &mut BytesMut, name: &str, text: Option<&str>) {
    match text {
        Some(text) => push_string(out, name, text),
        None => push_field(out, name, &()),
    }
}

#[derive(Serialize)]
struct Reasoning<'a> {
    effort: Option<&'a str>,
    summary: Option<&'a str>,
}

#[derive(Serialize)]
struct Text<'a> {
    #[serde(serialize_with = "write_format")]
    format: &'a Format,
    #[serde(skip_serializing_if = "Option::is_none")]
    verbosity: Option<&'a str>,
}

fn write_format<S: Serializer>(format: &&Format, serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    match format {
        Format::Text => map.serialize_entry("type", "text")?,
        Format::JsonObject => map.serialize_entry("type", "json_object")?,
        Format::JsonSchema { name, description, schema, strict, .. } => {
            map.serialize_entry("type", "json_schema")?;
            map.serialize_entry("name", name)?;
            map.serialize_entry("description", description)?;
            map.serialize_entry("schema", schema)?;
            map.serialize_entry("strict", strict)?;
        }
    }
    map.end()
}

/// Appends what was used, with the sum that clients do not make themselves.
fn push_usage(out: &mut BytesMut, usage: Usage) {
    let Usage { input_tokens, cached_input_tokens, output_tokens, reasoning_tokens } = usage;
    for (before, count) in [
        (&br#","usage":{"input_tokens":"#[..], input_tokens),
        (br#","input_tokens_details":{"cached_tokens":"#, cached_input_tokens),
        (br#"},"output_tokens":"#, output_tokens),
        (br#","output_tokens_details":{"reasoning_tokens":"#, reasoning_tokens),
        (br#"},"total_tokens":"#, input_tokens.saturating_add(output_tokens)),
    ] {
        out.put_slice(before);
        push_number(out, count);
    }
    out.put_u8(b'}');
}
