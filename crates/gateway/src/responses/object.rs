//! The response object: what a client gets instead of a stream, and inside of several events.
//!
//! Every key that the API knows is there, so that clients with strict types can read it.

use backend::Usage;
use bytes::{BufMut, BytesMut};
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
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl Shell {
    /// `id` is the whole id; `created_at` is in seconds since 1970.
    pub fn new(request: &Request, id: &str, created_at: u64) -> Shell {
        let mut head = object_bytes(&json!({ "id": id, "object": "response", "created_at": created_at }));
        // The rest of the object goes on where the braces were.
        head.pop();
        let mut tail = object_bytes(&lasting(request));
        tail[0] = b',';
        Shell { head, tail }
    }

    /// Appends the object as JSON on one line.
    pub fn write(&self, out: &mut BytesMut, state: &State<'_>) {
        out.put_slice(&self.head);
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
        push_field(out, "usage", &state.usage.as_ref().map(usage_json));
        out.put_slice(&self.tail);
    }
}

fn object_bytes(value: &Value) -> Vec<u8> {
    let mut out = BytesMut::new();
    push_json(&mut out, value);
    out.to_vec()
}

/// What the answer repeats of the request, with the defaults that clients expect to find filled in.
fn lasting(request: &Request) -> Value {
    let repeated = |key: &str, default: Value| request.repeated.get(key).cloned().unwrap_or(default);
    let mut object = json!({
        "model": request.model,
        "previous_response_id": request.previous_response_id,
        "instructions": request.instructions,
        "tools": request.echoed_tools,
        "tool_choice": request.echoed_choice,
        "parallel_tool_calls": request.parallel_tool_calls,
        "max_tool_calls": request.max_tool_calls,
        "text": text_json(request),
        "reasoning": { "effort": request.reasoning_effort, "summary": request.reasoning_summary },
        "temperature": request.temperature.unwrap_or(1.0),
        "top_p": request.top_p.unwrap_or(1.0),
        "presence_penalty": repeated("presence_penalty", json!(0.0)),
        "frequency_penalty": repeated("frequency_penalty", json!(0.0)),
        "top_logprobs": repeated("top_logprobs", json!(0)),
        "max_output_tokens": request.max_output_tokens,
        "truncation": repeated("truncation", json!("disabled")),
        "store": request.store,
        "background": false,
        "service_tier": "default",
        "metadata": request.metadata,
        "safety_identifier": repeated("safety_identifier", Value::Null),
        "prompt_cache_key": repeated("prompt_cache_key", Value::Null),
    });
    for key in ["prompt_cache_retention", "user"] {
        if let Some(value) = request.repeated.get(key) {
            object[key] = value.clone();
        }
    }
    object
}

fn text_json(request: &Request) -> Value {
    let format = match &request.format {
        Format::Text => json!({ "type": "text" }),
        Format::JsonObject => json!({ "type": "json_object" }),
        Format::JsonSchema { name, description, schema, strict, .. } => json!({
            "type": "json_schema", "name": name, "description": description, "schema": schema, "strict": strict,
        }),
    };
    match &request.verbosity {
        Some(verbosity) => json!({ "format": format, "verbosity": verbosity }),
        None => json!({ "format": format }),
    }
}

fn usage_json(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.input_tokens,
        "input_tokens_details": { "cached_tokens": usage.cached_input_tokens },
        "output_tokens": usage.output_tokens,
        "output_tokens_details": { "reasoning_tokens": usage.reasoning_tokens },
        "total_tokens": usage.input_tokens.saturating_add(usage.output_tokens),
    })
}
