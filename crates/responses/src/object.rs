//! The response object: the answer to a request that is not streamed, and a part of several events.
//!
//! Every key of the API is present, so that clients with strict types can read it.

use backend::TokenUsage;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::error::ApiError;
use super::output::SentItem;
use super::request::{Request, TextFormat};
use super::wire_item::WireItem;

/// The state of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResponseOutcome {
    InProgress,
    Completed,
    Incomplete(IncompleteReason),
    Failed(ApiError),
}

/// Why an answer ended before the model was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IncompleteReason {
    MaxOutputTokens,
    ContentFilter,
    /// Cancelled by a client.
    Cancelled,
    /// The server was stopped.
    ServerStopping,
    /// The model used tools in every turn that it may have.
    MaxTurns,
}

impl IncompleteReason {
    pub fn as_str(self) -> &'static str {
        match self {
            IncompleteReason::MaxOutputTokens => "max_output_tokens",
            IncompleteReason::ContentFilter => "content_filter",
            IncompleteReason::Cancelled => "cancelled",
            IncompleteReason::ServerStopping => "server_stopping",
            IncompleteReason::MaxTurns => "max_turns",
        }
    }
}

/// The fields that change while a request is answered.
pub struct ResponseState<'a> {
    pub outcome: &'a ResponseOutcome,
    /// Seconds since 1970, once it is complete.
    pub completed_at: Option<u64>,
    pub output: &'a [SentItem],
    pub usage: Option<TokenUsage>,
}

/// The fields that stay the same: the identity of the response, and the fields that repeat its request.
pub struct ResponseBase {
    id: String,
    created_at: u64,
    repeated: Map<String, Value>,
}

/// A response object.
#[derive(Serialize)]
pub struct ResponseObject<'a> {
    id: &'a str,
    object: &'static str,
    created_at: u64,
    status: &'static str,
    completed_at: Option<u64>,
    error: Option<Value>,
    incomplete_details: Option<Value>,
    output: Vec<WireItem<'a>>,
    usage: Option<Value>,
    #[serde(flatten)]
    repeated: &'a Map<String, Value>,
}

impl ResponseBase {
    /// `id` is the whole id; `created_at` is in seconds since 1970.
    pub fn new(request: &Request, id: &str, created_at: u64) -> ResponseBase {
        ResponseBase { id: id.to_owned(), created_at, repeated: repeated_fields(request) }
    }

    /// Lets the object say that the response cannot be continued or retrieved.
    pub fn set_not_stored(&mut self) {
        self.repeated.insert("store".to_owned(), Value::Bool(false));
    }

    pub fn object<'a>(&'a self, state: &ResponseState<'a>) -> ResponseObject<'a> {
        let (status, error, incomplete_details) = match state.outcome {
            ResponseOutcome::InProgress => ("in_progress", None, None),
            ResponseOutcome::Completed => ("completed", None, None),
            ResponseOutcome::Incomplete(reason) => {
                ("incomplete", None, Some(json!({ "reason": reason.as_str() })))
            }
            ResponseOutcome::Failed(error) => ("failed", Some(error.in_response()), None),
        };
        ResponseObject {
            id: &self.id,
            object: "response",
            created_at: self.created_at,
            status,
            completed_at: state.completed_at,
            error,
            incomplete_details,
            output: state.output.iter().map(|sent| WireItem::new(&sent.item, sent.status)).collect(),
            usage: state.usage.map(usage_json),
            repeated: &self.repeated,
        }
    }
}

/// Returns the fields that the answer repeats of the request, with the defaults that clients expect.
fn repeated_fields(request: &Request) -> Map<String, Value> {
    let field = |name: &str, default: Value| request.repeated.get(name).cloned().unwrap_or(default);
    let fields = json!({
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
        "presence_penalty": field("presence_penalty", json!(0.0)),
        "frequency_penalty": field("frequency_penalty", json!(0.0)),
        "top_logprobs": field("top_logprobs", json!(0)),
        "max_output_tokens": request.max_output_tokens,
        "truncation": field("truncation", json!("disabled")),
        "store": request.store,
        "background": false,
        "service_tier": "default",
        "metadata": request.metadata,
        "safety_identifier": field("safety_identifier", Value::Null),
        "prompt_cache_key": field("prompt_cache_key", Value::Null),
    });
    let optional = ["prompt_cache_retention", "user"]
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), request.repeated.get(name)?.clone())));
    match fields {
        Value::Object(fields) => fields.into_iter().chain(optional).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}

fn text_json(request: &Request) -> Value {
    let format = match &request.format {
        TextFormat::Text => json!({ "type": "text" }),
        TextFormat::JsonObject => json!({ "type": "json_object" }),
        TextFormat::JsonSchema { name, description, schema, strict, .. } => json!({
            "type": "json_schema", "name": name, "description": description, "schema": schema, "strict": strict,
        }),
    };
    match &request.verbosity {
        Some(verbosity) => json!({ "format": format, "verbosity": verbosity }),
        None => json!({ "format": format }),
    }
}

/// Returns the usage with the sum that clients expect.
fn usage_json(usage: TokenUsage) -> Value {
    let TokenUsage { input_tokens, cached_input_tokens, output_tokens, reasoning_tokens } = usage;
    json!({
        "input_tokens": input_tokens,
        "input_tokens_details": { "cached_tokens": cached_input_tokens },
        "output_tokens": output_tokens,
        "output_tokens_details": { "reasoning_tokens": reasoning_tokens },
        "total_tokens": input_tokens.saturating_add(output_tokens),
    })
}
