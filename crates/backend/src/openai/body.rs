//! A turn as the body of a request, written straight from the turn: a conversation is long, and is not copied for it.

use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;

use crate::{BackendError, Entry, ErrorKind, OutputSchema, Part, Role, Turn};

pub(super) fn responses(turn: &Turn) -> Result<Bytes, BackendError> {
    let input: Vec<InputItem<'_>> =
        turn.history.iter().filter_map(|entry| InputItem::of(entry).transpose()).collect::<Result<_, _>>()?;
    let reasoning = &turn.reasoning;
    let asks = reasoning.effort.is_some() || reasoning.summary.is_some();
    let format = turn.output_schema.as_ref().map(ResponsesFormat::of);
    let verbosity = turn.verbosity.as_deref();
    let has_text = format.is_some() || verbosity.is_some();
    print(&ResponsesBody {
        model: &turn.model,
        stream: true,
        store: false,
        input,
        instructions: &turn.instructions,
        reasoning: asks.then_some(AskedReasoning {
            effort: reasoning.effort.as_deref(),
            summary: reasoning.summary.as_deref(),
        }),
        // Nothing is stored there, so the next turn can only show what was sealed in this one.
        include: asks.then_some(["reasoning.encrypted_content"]),
        temperature: turn.sampling.temperature,
        top_p: turn.sampling.top_p,
        max_output_tokens: turn.sampling.max_output_tokens,
        text: has_text.then_some(ResponsesText { format, verbosity }),
    })
}

pub(super) fn chat(turn: &Turn) -> Result<Bytes, BackendError> {
    let mut messages = Vec::with_capacity(turn.history.len() + 1);
    if !turn.instructions.is_empty() {
        messages.push(ChatMessage { role: "system", content: ChatContent::Text(&turn.instructions) });
    }
    for entry in &turn.history {
        match entry {
            Entry::Message { role, parts } => {
                // The name that every server knows.
                let role = if *role == Role::Developer { "system" } else { role.as_str() };
                messages.push(ChatMessage { role, content: ChatContent::of(parts) });
            }
            Entry::Reasoning { .. } => {}
            Entry::Call(_) | Entry::CallOutput { .. } => return Err(only_text()),
        }
    }
    print(&ChatBody {
        model: &turn.model,
        stream: true,
        stream_options: StreamOptions { include_usage: true },
        messages,
        reasoning_effort: turn.reasoning.effort.as_deref(),
        verbosity: turn.verbosity.as_deref(),
        temperature: turn.sampling.temperature,
        top_p: turn.sampling.top_p,
        max_tokens: turn.sampling.max_output_tokens,
        response_format: turn.output_schema.as_ref().map(ChatFormat::of),
    })
}

#[derive(Serialize)]
struct ResponsesBody<'a> {
    model: &'a str,
    stream: bool,
    store: bool,
    input: Vec<InputItem<'a>>,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<AskedReasoning<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    include: Option<[&'static str; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<ResponsesText<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum InputItem<'a> {
    Message { role: Role, content: Vec<InputPart<'a>> },
    Reasoning { summary: Vec<SummaryPart<'a>>, encrypted_content: &'a str },
}

impl<'a> InputItem<'a> {
    /// Nothing for what means nothing to the service.
    fn of(entry: &'a Entry) -> Result<Option<InputItem<'a>>, BackendError> {
        match entry {
            Entry::Message { role, parts } => {
                let content = parts.iter().map(|part| InputPart::of(part, *role)).collect();
                Ok(Some(InputItem::Message { role: *role, content }))
            }
            Entry::Reasoning { summary, encrypted: Some(encrypted) } => {
                let summary = summary.iter().map(|text| SummaryPart::SummaryText { text }).collect();
                Ok(Some(InputItem::Reasoning { summary, encrypted_content: encrypted }))
            }
            // What was not sealed.
            Entry::Reasoning { .. } => Ok(None),
            Entry::Call(_) | Entry::CallOutput { .. } => Err(only_text()),
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum SummaryPart<'a> {
    SummaryText { text: &'a str },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum InputPart<'a> {
    InputText { text: &'a str },
    OutputText { text: &'a str },
    InputImage { image_url: &'a str, detail: &'a str },
}

impl<'a> InputPart<'a> {
    fn of(part: &'a Part, role: Role) -> InputPart<'a> {
        match part {
            Part::Text(text) if role == Role::Assistant => InputPart::OutputText { text },
            Part::Text(text) => InputPart::InputText { text },
            Part::Image { url, detail } => {
                InputPart::InputImage { image_url: url, detail: detail.as_deref().unwrap_or(AUTO) }
            }
        }
    }
}

#[derive(Serialize)]
struct AskedReasoning<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'a str>,
}

#[derive(Serialize)]
struct ResponsesText<'a> {
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
    fn of(schema: &'a OutputSchema) -> ResponsesFormat<'a> {
        let OutputSchema { name, schema, strict } = schema;
        ResponsesFormat { r#type: "json_schema", name, schema, strict: *strict }
    }
}

#[derive(Serialize)]
struct ChatBody<'a> {
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

/// A text alone is a string: not every server reads a list.
#[derive(Serialize)]
#[serde(untagged)]
enum ChatContent<'a> {
    Text(&'a str),
    Parts(Vec<ChatPart<'a>>),
}

impl<'a> ChatContent<'a> {
    fn of(parts: &'a [Part]) -> ChatContent<'a> {
        match parts {
            [Part::Text(text)] => ChatContent::Text(text),
            parts => ChatContent::Parts(parts.iter().map(ChatPart::of).collect()),
        }
    }
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

impl<'a> ChatPart<'a> {
    fn of(part: &'a Part) -> ChatPart<'a> {
        match part {
            Part::Text(text) => ChatPart::Text { text },
            Part::Image { url, detail } => {
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
    fn of(schema: &'a OutputSchema) -> ChatFormat<'a> {
        let OutputSchema { name, schema, strict } = schema;
        ChatFormat { r#type: "json_schema", json_schema: ChatSchema { name, schema, strict: *strict } }
    }
}

/// How closely an image is looked at when nobody says.
const AUTO: &str = "auto";

fn print(body: &impl Serialize) -> Result<Bytes, BackendError> {
    serde_json::to_vec(body).map(Bytes::from).map_err(|error| {
        BackendError::new(ErrorKind::BadRequest, format!("the request cannot be written: {error}"))
    })
}

/// A text model is given calls as text; this is a fault of whoever asks.
fn only_text() -> BackendError {
    BackendError::new(ErrorKind::BadRequest, "this backend takes text; calls must be given as text")
}
