//! The response object: what a client gets instead of a stream, and inside of several events.
//!
//! Every key that the API knows is there, so that clients with strict types can read it.

use backend::Usage;
use bytes::{BufMut, Bytes, BytesMut};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::{Value, json};

use super::error::ApiError;
use super::event::{push_field, push_json};
use super::output::SentItem;
use super::request::{Format, Request};
use super::wire_item::WireItems;

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
        let mut written = BytesMut::with_capacity(ROOM);
        push_json(&mut written, &Head { id, object: "response", created_at });
        // The rest of the object goes on where the braces were.
        written.truncate(written.len() - 1);
        let split = written.len();
        push_json(&mut written, &Lasting(request));
        written[split] = b',';
        Shell { written: Bytes::from(written.to_vec()), split }
    }

    /// Appends the object as JSON on one line.
    pub fn write(&self, out: &mut BytesMut, state: &State<'_>) {
        let (head, tail) = self.written.split_at(self.split);
        out.put_slice(head);
        let (status, error, incomplete) = match state.outcome {
            Outcome::InProgress => ("in_progress", Value::Null, Value::Null),
            Outcome::Completed => ("completed", Value::Null, Value::Null),
            Outcome::Incomplete(reason) => ("incomplete", Value::Null, json!({ "reason": reason.as_str() })),
            Outcome::Failed(error) => ("failed", error.in_response(), Value::Null),
        };
        push_field(out, "status", &status);
        push_field(out, "completed_at", &state.completed_at);
        push_field(out, "error", &error);
        push_field(out, "incomplete_details", &incomplete);
        push_field(out, "output", &WireItems(state.output));
        push_field(out, "usage", &state.usage.map(WireUsage::from));
        out.put_slice(tail);
    }
}

/// More than most requests repeat.
const ROOM: usize = 2 * 1024;

#[derive(Serialize)]
struct Head<'a> {
    id: &'a str,
    object: &'static str,
    created_at: u64,
}

/// What the answer repeats of the request, with the defaults that clients expect to find filled in.
struct Lasting<'a>(&'a Request);

impl Serialize for Lasting<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let request = self.0;
        let (no_penalty, none, disabled) = (json!(0.0), json!(0), json!("disabled"));
        let repeated = |key: &str, default| request.repeated.get(key).unwrap_or(default);
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("model", &request.model)?;
        map.serialize_entry("previous_response_id", &request.previous_response_id)?;
        map.serialize_entry("instructions", &request.instructions)?;
        map.serialize_entry("tools", &request.echoed_tools)?;
        map.serialize_entry("tool_choice", &request.echoed_choice)?;
        map.serialize_entry("parallel_tool_calls", &request.parallel_tool_calls)?;
        map.serialize_entry("max_tool_calls", &request.max_tool_calls)?;
        map.serialize_entry(
            "text",
            &Text { format: &request.format, verbosity: request.verbosity.as_deref() },
        )?;
        let (effort, summary) = (request.reasoning_effort.as_deref(), request.reasoning_summary.as_deref());
        map.serialize_entry("reasoning", &Reasoning { effort, summary })?;
        map.serialize_entry("temperature", &request.temperature.unwrap_or(1.0))?;
        map.serialize_entry("top_p", &request.top_p.unwrap_or(1.0))?;
        map.serialize_entry("presence_penalty", repeated("presence_penalty", &no_penalty))?;
        map.serialize_entry("frequency_penalty", repeated("frequency_penalty", &no_penalty))?;
        map.serialize_entry("top_logprobs", repeated("top_logprobs", &none))?;
        map.serialize_entry("max_output_tokens", &request.max_output_tokens)?;
        map.serialize_entry("truncation", repeated("truncation", &disabled))?;
        map.serialize_entry("store", &request.store)?;
        map.serialize_entry("background", &false)?;
        map.serialize_entry("service_tier", "default")?;
        map.serialize_entry("metadata", &request.metadata)?;
        map.serialize_entry("safety_identifier", repeated("safety_identifier", &Value::Null))?;
        map.serialize_entry("prompt_cache_key", repeated("prompt_cache_key", &Value::Null))?;
        for key in ["prompt_cache_retention", "user"] {
            if let Some(value) = request.repeated.get(key) {
                map.serialize_entry(key, value)?;
            }
        }
        map.end()
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

#[derive(Serialize)]
struct WireUsage {
    input_tokens: u64,
    input_tokens_details: CachedTokens,
    output_tokens: u64,
    output_tokens_details: ReasoningTokens,
    total_tokens: u64,
}

#[derive(Serialize)]
struct CachedTokens {
    cached_tokens: u64,
}

#[derive(Serialize)]
struct ReasoningTokens {
    reasoning_tokens: u64,
}

impl From<Usage> for WireUsage {
    fn from(usage: Usage) -> WireUsage {
        WireUsage {
            input_tokens: usage.input_tokens,
            input_tokens_details: CachedTokens { cached_tokens: usage.cached_input_tokens },
            output_tokens: usage.output_tokens,
            output_tokens_details: ReasoningTokens { reasoning_tokens: usage.reasoning_tokens },
            total_tokens: usage.input_tokens.saturating_add(usage.output_tokens),
        }
    }
}
