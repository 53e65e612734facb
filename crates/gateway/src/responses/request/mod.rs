//! What a client asks for, once it is known to make sense.
//!
//! Reading is strict about what matters to the answer, and says which field is wrong, what was expected and what was
//! given. It is lenient about the rest: a field that this server does not know is left out and named in
//! [`Request::ignored`], because clients send fields of other services without being asked.

mod choice;
mod content;
mod draft;
mod fields;
mod input;
mod json;
mod last_list;
mod memory;
mod names;
mod options;
mod path;
mod schemas;
mod tool_lists;
mod tools;

use std::sync::Arc;

use envelope::ClientId;
use serde_json::{Map, Value, json};

use self::fields::Fields;
use self::json::Outline;
pub use self::json::read_json;
use self::memory::Key;
pub(in crate::responses) use self::options::SEALED_REASONING;
use self::path::Path;
use self::tool_lists::Seen;
use self::tools::Tools;
use super::error::ApiError;
use super::item::Item;
use super::known_schema::KnownSchema;
use super::tools::{Choice, OfferedTool};

/// A request to answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Who sent it, as the edge knows; never read from the request itself.
    pub client: Option<ClientId>,
    pub model: String,
    pub instructions: Option<String>,
    pub input: Vec<Item>,
    pub previous_response_id: Option<String>,
    /// In the order of the request, one entry for each tool that a model can call.
    pub tools: Vec<Arc<OfferedTool>>,
    /// The tools as they were sent, completed, for the answer to repeat: a JSON list on one line.
    pub echoed_tools: Arc<str>,
    /// Holds the names that the model sees.
    pub choice: Choice,
    /// `tool_choice` as it was sent, for the answer to repeat.
    pub echoed_choice: Value,
    pub parallel_tool_calls: bool,
    pub max_tool_calls: Option<u64>,
    /// Whether Tollgate's own tools are offered to the model and run here.
    pub server_tools: ServerTools,
    pub stream: bool,
    pub store: bool,
    pub purpose: Purpose,
    pub format: Format,
    pub verbosity: Option<String>,
    pub reasoning_effort: Option<String>,
    pub reasoning_summary: Option<String>,
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
    pub max_output_tokens: Option<u64>,
    pub include: Vec<String>,
    /// An object of short texts.
    pub metadata: Value,
    /// What the answer repeats and nothing here depends on, by name: `safety_identifier`, `prompt_cache_key`,
    /// `truncation`, `user`, penalties.
    pub repeated: Map<String, Value>,
    /// What was asked for and cannot be honoured, for the answer's header and the log. Printable ASCII.
    pub ignored: Vec<String>,
}

/// Whether, and which of, Tollgate's own tools are offered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ServerTools {
    /// Unless the server's settings say so.
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
    /// Whether the client wants to see what the tools do, in events that plain clients do not know.
    pub fn wants_events(&self) -> bool {
        match self {
            ServerTools::NotAsked => false,
            ServerTools::All { events } | ServerTools::Named { events, .. } => *events,
        }
    }
}

/// What a request is sent for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Purpose {
    #[default]
    Answer,
    /// Clients send this over a WebSocket before they have a question: nothing is generated.
    WarmUp,
}

/// `text.format`.
#[derive(Debug, Clone, Default)]
pub enum Format {
    #[default]
    Text,
    JsonObject,
    JsonSchema {
        name: String,
        description: Option<String>,
        schema: Value,
        /// Screened and compiled once.
        compiled: Arc<KnownSchema>,
        strict: bool,
    },
}

impl PartialEq for Format {
    /// The compiled schema follows from the schema.
    fn eq(&self, other: &Format) -> bool {
        match (self, other) {
            (Format::Text, Format::Text) | (Format::JsonObject, Format::JsonObject) => true,
            (
                Format::JsonSchema { name, description, schema, strict, .. },
                Format::JsonSchema {
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
            (Format::Text | Format::JsonObject | Format::JsonSchema { .. }, _) => false,
        }
    }
}

/// Reads the body of `POST /v1/responses`. A request is large and goes through many hands, so it stays where it is.
pub fn parse(body: &[u8]) -> Result<Box<Request>, ApiError> {
    if let Some((rest, last)) = last_list::found_in(body) {
        let listed = Listed::Known(last.tools.clone(), &last.text);
        return assemble(Fields::of(Value::Object(rest), Path::Root)?, listed);
    }
    let outline = json::outline(body).filter(|outline| outline.tools.starts_with('['));
    let Some(Outline { rest, tools }) = outline else { return parse_value(read_json(body)?) };
    match tool_lists::look_up(tools) {
        Seen::Before(known) => {
            last_list::remember(tools, &known);
            assemble(Fields::of(Value::Object(rest), Path::Root)?, Listed::Known(known, tools))
        }
        Seen::Never(key) => assemble(Fields::of(read_json(body)?, Path::Root)?, Listed::New(key)),
        Seen::TooLong => parse_value(read_json(body)?),
    }
}

/// Reads a request that is JSON already, such as the payload of a WebSocket's `response.create`.
pub fn parse_value(value: Value) -> Result<Box<Request>, ApiError> {
    assemble(Fields::of(value, Path::Root)?, Listed::Value)
}

/// Where the list of tools is.
enum Listed<'b> {
    /// In the body, and not remembered.
    Value,
    /// In the body; once it is read it may be remembered.
    New(Key),
    /// It was read before, and is not in the body.
    Known(Arc<Tools>, &'b str),
}

impl Listed<'_> {
    fn read(self, body: &mut Fields<'_>, additional: Vec<(usize, Vec<Value>)>) -> Result<Tools, ApiError> {
        let alone = additional.is_empty();
        let list = match self {
            Listed::Known(known, _) if alone => return Ok(Arc::unwrap_or_clone(known)),
            Listed::Known(_, text) => {
                let mut again = Fields::of(json!({ "tools": read_json(text.as_bytes())? }), Path::Root)?;
                again.array("tools", MAX_TOOL_ENTRIES)?
            }
            Listed::New(_) | Listed::Value => body.array("tools", MAX_TOOL_ENTRIES)?,
        };
        let tools = tools::read(list.unwrap_or_default(), additional)?;
        if let Listed::New(key) = self
            && alone
        {
            tool_lists::remember(key, &tools);
        }
        Ok(tools)
    }
}

fn assemble(mut body: Fields<'_>, listed: Listed<'_>) -> Result<Box<Request>, ApiError> {
    refuse_what_cannot_be_done(&mut body)?;

    let input = body.value("input");
    let input = input::read(input, &Path::Root.key("input"))?;
    let mut tools = listed.read(&mut body, input.additional_tools)?;
    let (choice, echoed_choice) = choice::read(body.value("tool_choice"), &mut tools)?;
    let mut ignored = tools.ignored;
    ignored.extend(input.left_out.into_iter().map(|kind| format!("input.{kind}")));
    let text = options::read_text(body.value("text"), Path::Root.key("text"))?;
    let reasoning = options::read_reasoning(body.value("reasoning"), Path::Root.key("reasoning"))?;
    let repeated = options::read_repeated(&mut body, &mut ignored)?;
    let include = body.array("include", usize::MAX)?;
    let include = options::read_include(include, Path::Root.key("include"), &mut ignored)?;

    let request = Box::new(Request {
        client: None,
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
        purpose: if body.boolean("generate")?.unwrap_or(true) { Purpose::Answer } else { Purpose::WarmUp },
        format: text.format,
        verbosity: text.verbosity,
        reasoning_effort: reasoning.effort,
        reasoning_summary: reasoning.summary,
        temperature: body.number("temperature", 0.0..=2.0)?,
        top_p: body.number("top_p", 0.0..=1.0)?,
        max_output_tokens: body.count("max_output_tokens", 1)?,
        include,
        metadata: options::read_metadata(body.object("metadata")?, Path::Root.key("metadata"))?,
        repeated,
        ignored: noted(ignored, body),
    });
    if request.input.is_empty()
        && request.previous_response_id.is_none()
        && request.purpose == Purpose::Answer
    {
        let message = "`input` is missing or empty; it must be a text or a list of items, unless there is a \
                       `previous_response_id` to go on from";
        return Err(ApiError::invalid("input", "missing_required_parameter", message));
    }
    Ok(request)
}

/// Entries of `tools`; those inside namespaces are counted with them where they are read.
const MAX_TOOL_ENTRIES: usize = 512;

/// More than this is not worth naming.
const MAX_IGNORED: usize = 32;
const MAX_IGNORED_CHARS: usize = 96;

/// What clients send along and no answer depends on.
const HARMLESS: [&str; 3] = ["client_metadata", "stream_options", "type"];

fn refuse_what_cannot_be_done(body: &mut Fields<'_>) -> Result<(), ApiError> {
    if body.boolean("background")? == Some(true) {
        let way_out = "answers are made while the client waits: leave it out, and use `stream` for long ones";
        return Err(fields::unsupported(&Path::Root.key("background"), way_out));
    }
    for (key, way_out) in [
        ("conversation", "continue with `previous_response_id`, or send the items in `input`"),
        ("prompt", "this server keeps no prompts: send the text in `instructions` and `input`"),
    ] {
        if body.has(key) {
            return Err(fields::unsupported(&Path::Root.key(key), way_out));
        }
    }
    Ok(())
}

/// The list of what is not honoured, with the fields that nobody read. A client chooses those names, so they are
/// made safe for a header and a log.
fn noted(mut ignored: Vec<String>, body: Fields<'_>) -> Vec<String> {
    ignored.extend(body.left().into_iter().filter(|key| !HARMLESS.contains(&key.as_str())));
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
