//! Serializer of a turn into the body of a request. Texts are borrowed from the turn: a conversation is long.

use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;

use crate::{
    BackendError, BackendErrorKind, HistoryEntry, MessagePart, MessageRole, ModelTurn, OutputSchema,
};

/// Detail of an image if the turn names none.
const AUTO: &str = "auto";

/// Returns the body of a request to `/v1/responses`. Fails if the history has native calls.
pub(super) fn responses(turn: &ModelTurn) -> Result<Bytes, BackendError> {
    // A service takes reasoning back only in its encrypted form.
    let history =
        turn.history.iter().filter(|entry| !matches!(entry, HistoryEntry::Reasoning { encrypted: None, .. }));
    let reasoning = &turn.reasoning;
    let wants_reasoning = reasoning.effort.is_some() || reasoning.summary.is_some();
    let format = turn.output_schema.as_ref().map(ResponsesFormat::new);
    let verbosity = turn.verbosity.as_deref();
    let has_text_options = format.is_some() || verbosity.is_some();
    serialize(&ResponsesRequest {
        model: &turn.model,
        stream: true,
        store: false,
        input: history.map(ResponsesItem::new).collect::<Result<_, _>>()?,
        instructions: &turn.instructions,
        reasoning: wants_reasoning.then_some(ReasoningBody {
            effort: reasoning.effort.as_deref(),
            summary: reasoning.summary.as_deref(),
        }),
        // The service stores nothing, so the next turn can only send back what this one returned encrypted.
        include: wants_reasoning.then_some(["reasoning.encrypted_content"]),
        temperature: turn.sampling.temperature,
        top_p: turn.sampling.top_p,
        max_output_tokens: turn.sampling.max_output_tokens,
        text: has_text_options.then_some(ResponsesTextOptions { format, verbosity }),
    })
}

/// Returns the body of a request to `/v1/chat/completions`. Fails if the history has native calls.
pub(super) fn chat(turn: &ModelTurn) -> Result<Bytes, BackendError> {
    let instructions = (!turn.instructions.is_empty())
        .then_some(ChatMessage { role: "system", content: ChatContent::Text(&turn.instructions) });
    let history = turn.history.iter().filter(|entry| !matches!(entry, HistoryEntry::Reasoning { .. }));
    serialize(&ChatRequest {
        model: &turn.model,
        stream: true,
        stream_options: StreamOptions { include_usage: true },
        messages: instructions
            .into_iter()
            .map(Ok)
            .chain(history.map(ChatMessage::new))
            .collect::<Result<_, BackendError>>()?,
        reasoning_effort: turn.reasoning.effort.as_deref(),
        verbosity: turn.verbosity.as_deref(),
        temperature: turn.sampling.temperature,
        top_p: turn.sampling.top_p,
        max_tokens: turn.sampling.max_output_tokens,
        response_format: turn.output_schema.as_ref().map(ChatFormat::new),
    })
}

fn serialize(request: &impl Serialize) -> Result<Bytes, BackendError> {
    let written = serde_json::to_vec(request).map_err(|error| {
        BackendError::new(BackendErrorKind::BadRequest, format!("the request cannot be written: {error}"))
    })?;
    Ok(written.into())
}

/// The caller must describe calls as text before they come here.
fn only_text() -> BackendError {
    BackendError::new(BackendErrorKind::BadRequest, "this backend takes text; calls must be given as text")
}

#[derive(Serialize)]
struct ResponsesRequest<'a> {
    model: &'a str,
    stream: bool,
    store: bool,
    input: Vec<ResponsesItem<'a>>,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<ReasoningBody<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    include: Option<[&'static str; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<ResponsesTextOptions<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ResponsesItem<'a> {
    Message { role: &'static str, content: Vec<ResponsesPart<'a>> },
    Reasoning { summary: Vec<ResponsesPart<'a>>, encrypted_content: &'a str },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ResponsesPart<'a> {
    InputText { text: &'a str },
    OutputText { text: &'a str },
    SummaryText { text: &'a str },
    InputImage { image_url: &'a str, detail: &'a str },
}

impl<'a> ResponsesItem<'a> {
    fn new(entry: &'a HistoryEntry) -> Result<ResponsesItem<'a>, BackendError> {
        match entry {
            HistoryEntry::Message { role, parts } => {
                let content = parts.iter().map(|part| ResponsesPart::new(part, *role)).collect();
                Ok(ResponsesItem::Message { role: role.as_str(), content })
            }
            HistoryEntry::Reasoning { summary, encrypted } => Ok(ResponsesItem::Reasoning {
                summary: summary.iter().map(|text| ResponsesPart::SummaryText { text }).collect(),
                encrypted_content: encrypted.as_deref().unwrap_or_default(),
            }),
            HistoryEntry::Call(_) | HistoryEntry::CallOutput { .. } => Err(only_text()),
        }
    }
}

impl<'a> ResponsesPart<'a> {
    fn new(part: &'a MessagePart, role: MessageRole) -> ResponsesPart<'a> {
        match part {
            MessagePart::Text(text) if role == MessageRole::Assistant => ResponsesPart::OutputText { text },
            MessagePart::Text(text) => ResponsesPart::InputText { text },
            MessagePart::Image { url, detail } => {
                ResponsesPart::InputImage { image_url: url, detail: detail.as_deref().unwrap_or(AUTO) }
            }
        }
    }
}

#[derive(Serialize)]
struct ReasoningBody<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'a str>,
}

#[derive(Serialize)]
struct ResponsesTextOptions<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<ResponsesFormat<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verbosity: Option<&'a str>,
}

#[derive(Serialize)]
struct ResponsesFormat<'a> {
    r#type: &'static str,
    name: &'a str,
    schema: &'a Value,
    strict: bool,
}

impl<'a> ResponsesFormat<'a> {
    fn new(schema: &'a OutputSchema) -> ResponsesFormat<'a> {
        let OutputSchema { name, schema, strict } = schema;
        ResponsesFormat { r#type: "json_schema", name, schema, strict: *strict }
    }
}

#[derive(Serialize)]
struct ChatRequest<'a> {
    model: &'a str,
    stream: bool,
    stream_options: StreamOptions,
    messages: Vec<ChatMessage<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verbosity: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ChatFormat<'a>>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct ChatMessage<'a> {
    role: &'static str,
    content: ChatContent<'a>,
}

/// A single text is a string: not every server reads a list.
#[derive(Serialize)]
#[serde(untagged)]
enum ChatContent<'a> {
    Text(&'a str),
    Parts(Vec<ChatPart<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ChatPart<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: ImageUrl<'a> },
}

#[derive(Serialize)]
struct ImageUrl<'a> {
    url: &'a str,
    detail: &'a str,
}

impl<'a> ChatMessage<'a> {
    fn new(entry: &'a HistoryEntry) -> Result<ChatMessage<'a>, BackendError> {
        let HistoryEntry::Message { role, parts } = entry else { return Err(only_text()) };
        let content = match parts.as_slice() {
            [MessagePart::Text(text)] => ChatContent::Text(text),
            parts => ChatContent::Parts(parts.iter().map(ChatPart::new).collect()),
        };
        // Every server knows `system`; not every server knows `developer`.
        let role = if *role == MessageRole::Developer { "system" } else { role.as_str() };
        Ok(ChatMessage { role, content })
    }
}

impl<'a> ChatPart<'a> {
    fn new(part: &'a MessagePart) -> ChatPart<'a> {
        match part {
            MessagePart::Text(text) => ChatPart::Text { text },
            MessagePart::Image { url, detail } => {
                ChatPart::ImageUrl { image_url: ImageUrl { url, detail: detail.as_deref().unwrap_or(AUTO) } }
            }
        }
    }
}

#[derive(Serialize)]
struct ChatFormat<'a> {
    r#type: &'static str,
    json_schema: ChatSchema<'a>,
}

#[derive(Serialize)]
struct ChatSchema<'a> {
    name: &'a str,
    schema: &'a Value,
    strict: bool,
}

impl<'a> ChatFormat<'a> {
    fn new(schema: &'a OutputSchema) -> ChatFormat<'a> {
        let OutputSchema { name, schema, strict } = schema;
        ChatFormat { r#type: "json_schema", json_schema: ChatSchema { name, schema, strict: *strict } }
    }
}
