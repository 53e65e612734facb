//! Parses requests of `/v1/responses`.
//!
//! Parsing is strict about every field that matters to the answer: an error names the field, the expected and the
//! given value. It is lenient about the rest: an unknown field is ignored and named in [`Request::ignored`], because
//! clients send fields of other services.

mod choice;
mod content;
mod fields;
mod input;
mod json;
mod schema_cache;
mod tool_names;
mod options;
mod field_path;
mod tool_definition;
mod tools;

use std::sync::Arc;

use envelope::ClientId;
use http_edge::RequestId;
use serde_json::{Map, Value};
use toolkit::CompiledSchema;

use self::field_path::FieldPath;
use self::fields::UnreadFields;
pub use self::json::read_json;
pub(crate) use self::options::ENCRYPTED_REASONING;
pub use self::schema_cache::SchemaCache;
use super::error::ApiError;
use super::item::ConversationItem;
use super::tools::{OfferedTool, ToolChoice};

/// A request to answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The client as the HTTP edge identified it; never read from the request.
    pub client: Option<ClientId>,
    /// The id that the HTTP edge gave the request, for the log.
    pub request_id: Option<RequestId>,
    pub model: String,
    pub instructions: Option<String>,
    pub input: Vec<ConversationItem>,
    pub previous_response_id: Option<String>,
    /// The tools that a model can call, in the order of the request.
    pub tools: Vec<Arc<OfferedTool>>,
    /// The tools as they were sent, completed, for the answer to repeat.
    pub echoed_tools: Vec<Value>,
    /// The choice, with the names for the model.
    pub choice: ToolChoice,
    /// `tool_choice` as it was sent, repeated in the answer.
    pub echoed_choice: Value,
    pub parallel_tool_calls: bool,
    pub max_tool_calls: Option<u64>,
    /// Whether Tollgate's own tools are offered to the model and run on the server.
    pub server_tools: ServerTools,
    pub stream: bool,
    pub store: bool,
    pub purpose: RequestPurpose,
    pub format: TextFormat,
    pub verbosity: Option<String>,
    pub reasoning_effort: Option<String>,
    pub reasoning_summary: Option<String>,
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
    pub max_output_tokens: Option<u64>,
    pub include: Vec<String>,
    /// An object of short texts.
    pub metadata: Value,
    /// Fields that the answer repeats and that have no effect here: `safety_identifier`, `prompt_cache_key`,
    /// `truncation`, `user`, penalties.
    pub repeated: Map<String, Value>,
    /// Options that cannot be honoured, for a header of the answer and the log. Printable ASCII.
    pub ignored: Vec<String>,
}

/// Which of Tollgate's own tools the client requests.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ServerTools {
    /// None, unless the server's settings offer them.
    #[default]
    NotAsked,
    All {
        events: bool,
    },
    Named {
        names: Vec<String>,
        events: bool,
    },
}

impl ServerTools {
    /// Whether the client wants events about the tools, which plain clients do not know.
    pub fn wants_events(&self) -> bool {
        match self {
            ServerTools::NotAsked => false,
            ServerTools::All { events } | ServerTools::Named { events, .. } => *events,
        }
    }
}

/// The purpose of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RequestPurpose {
    #[default]
    Answer,
    /// Sent over a WebSocket before the first question: nothing is generated.
    WarmUp,
}

/// The requested format of the text, `text.format`.
#[derive(Debug, Clone, Default)]
pub enum TextFormat {
    #[default]
    Text,
    JsonObject,
    JsonSchema {
        name: String,
        description: Option<String>,
        schema: Value,
        /// The compiled `schema`.
        compiled: Arc<CompiledSchema>,
        strict: bool,
    },
}

impl PartialEq for TextFormat {
    /// The compiled schema depends on the schema only.
    fn eq(&self, other: &TextFormat) -> bool {
        match (self, other) {
            (TextFormat::Text, TextFormat::Text) | (TextFormat::JsonObject, TextFormat::JsonObject) => true,
            (
                TextFormat::JsonSchema { name, description, schema, strict, .. },
                TextFormat::JsonSchema {
                    name: other_name,
                    description: other_description,
                    schema: other_schema,
                    strict: other_strict,
                    ..
                },
            ) => {
                (name, description, schema, strict)
                    == (other_name, other_description, other_schema, other_strict)
            }
            (TextFormat::Text | TextFormat::JsonObject | TextFormat::JsonSchema { .. }, _) => false,
        }
    }
}

/// Parses the body of `POST /v1/responses`. A request is large and passes through many functions, so it is boxed.
pub fn parse(body: &[u8], schemas: &SchemaCache) -> Result<Box<Request>, ApiError> {
    parse_value(read_json(body)?, schemas)
}

/// Parses a request that is JSON already, such as the payload of a WebSocket's `response.create`.
pub fn parse_value(value: Value, schemas: &SchemaCache) -> Result<Box<Request>, ApiError> {
    let mut body = UnreadFields::new(value, FieldPath::Root)?;
    refuse_unsupported(&mut body)?;

    let input = body.value("input");
    let input = input::read(input, &FieldPath::Root.key("input"))?;
    let listed = body.array("tools", MAX_TOOL_ENTRIES)?.unwrap_or_default();
    let mut tools = tools::read(listed, input.additional_tools, schemas)?;
    let (choice, echoed_choice) = choice::read(body.value("tool_choice"), &mut tools)?;
    let mut ignored = tools.ignored;
    ignored.extend(input.left_out.into_iter().map(|kind| format!("input.{kind}")));
    let text = options::read_text(body.value("text"), FieldPath::Root.key("text"), schemas)?;
    let reasoning = options::read_reasoning(body.value("reasoning"), FieldPath::Root.key("reasoning"))?;
    let repeated = options::read_repeated(&mut body, &mut ignored)?;
    let include = body.array("include", usize::MAX)?;
    let include = options::read_include(include, FieldPath::Root.key("include"), &mut ignored)?;

    let request = Box::new(Request {
        client: None,
        request_id: None,
        model: body.required_text("model")?,
        instructions: body.string("instructions")?,
        input: input.items,
        previous_response_id: body.string("previous_response_id")?,
        tools: tools.offered,
        echoed_tools: tools.echoed,
        choice,
        echoed_choice,
        parallel_tool_calls: body.boolean("parallel_tool_calls")?.unwrap_or(true),
        max_tool_calls: body.count("max_tool_calls", 1)?,
        server_tools: tools.server,
        stream: body.boolean("stream")?.unwrap_or(false),
        store: body.boolean("store")?.unwrap_or(true),
        purpose: if body.boolean("generate")?.unwrap_or(true) {
            RequestPurpose::Answer
        } else {
            RequestPurpose::WarmUp
        },
        format: text.format,
        verbosity: text.verbosity,
        reasoning_effort: reasoning.effort,
        reasoning_summary: reasoning.summary,
        temperature: body.number("temperature", 0.0..=2.0)?,
        top_p: body.number("top_p", 0.0..=1.0)?,
        max_output_tokens: body.count("max_output_tokens", 1)?,
        include,
        metadata: options::read_metadata(body.object("metadata")?, FieldPath::Root.key("metadata"))?,
        repeated,
        ignored: ignored_names(ignored, body),
    });
    if request.input.is_empty()
        && request.previous_response_id.is_none()
        && request.purpose == RequestPurpose::Answer
    {
        let message = "`input` is missing or empty; it must be a text or a list of items, unless there is a \
                       `previous_response_id` to go on from";
        return Err(ApiError::invalid("input", "missing_required_parameter", message));
    }
    Ok(request)
}

/// The most entries of `tools`; those in namespaces are counted where they are parsed.
const MAX_TOOL_ENTRIES: usize = 512;

/// The most ignored options that are named.
const MAX_IGNORED: usize = 32;
const MAX_IGNORED_CHARS: usize = 96;

/// Fields that clients send and that affect no answer.
const HARMLESS: [&str; 3] = ["client_metadata", "stream_options", "type"];

/// Fails if the request needs a feature that this server does not have.
fn refuse_unsupported(body: &mut UnreadFields<'_>) -> Result<(), ApiError> {
    if body.boolean("background")? == Some(true) {
        let hint = "answers are made while the client waits: leave it out, and use `stream` for long ones";
        return Err(fields::unsupported(&FieldPath::Root.key("background"), hint));
    }
    for (key, hint) in [
        ("conversation", "continue with `previous_response_id`, or send the items in `input`"),
        ("prompt", "this server keeps no prompts: send the text in `instructions` and `input`"),
    ] {
        if body.has(key) {
            return Err(fields::unsupported(&FieldPath::Root.key(key), hint));
        }
    }
    Ok(())
}

/// Returns the ignored options and unread fields. Clients choose those names, so they are made safe for a header and
/// a log.
fn ignored_names(mut ignored: Vec<String>, body: UnreadFields<'_>) -> Vec<String> {
    ignored.extend(body.unread().into_iter().filter(|key| !HARMLESS.contains(&key.as_str())));
    let mut seen = std::collections::HashSet::new();
    ignored.retain(|entry| seen.insert(entry.clone()));
    ignored.truncate(MAX_IGNORED);
    for entry in &mut ignored {
        *entry = entry
            .chars()
            .take(MAX_IGNORED_CHARS)
            .map(|c| if c.is_ascii_graphic() && c != ',' { c } else { '_' })
            .collect();
    }
    ignored
}
