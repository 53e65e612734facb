//! A turn as the body of a request, written straight from the turn: a conversation is long, and is not copied for it.

use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;

use super::json::Json;
use super::last_text::LastText;
use crate::{BackendError, Entry, ErrorKind, OutputSchema, Part, Role, Turn};

pub(super) fn responses(turn: &Turn, instructions: &LastText) -> Result<Bytes, BackendError> {
    let mut body = begin(turn);
    body.raw(r#","stream":true,"store":false,"input":"#);
    body.list(turn.history.iter().filter(|entry| means_something(entry)), |body, entry| match entry {
        Entry::Message { role, parts } => {
            body.raw(r#"{"type":"message","role":"#).text(role.as_str()).raw(r#","content":"#);
            body.list(parts, |body, part| {
                responses_part(body, part, *role);
                Ok(())
            })?;
            body.raw("}");
            Ok(())
        }
        Entry::Reasoning { summary, encrypted } => {
            body.raw(r#"{"type":"reasoning","summary":"#);
            body.list(summary, |body, text| {
                body.raw(r#"{"type":"summary_text","text":"#).text(text).raw("}");
                Ok(())
            })?;
            body.raw(r#","encrypted_content":"#).text(encrypted.as_deref().unwrap_or_default()).raw("}");
            Ok(())
        }
        Entry::Call(_) | Entry::CallOutput { .. } => Err(only_text()),
    })?;
    if !turn.instructions.is_empty() {
        instructions.write(&turn.instructions, body.raw(r#","instructions":"#));
    }
    let reasoning = &turn.reasoning;
    let asks = reasoning.effort.is_some() || reasoning.summary.is_some();
    let format = turn.output_schema.as_ref().map(ResponsesFormat::of);
    let verbosity = turn.verbosity.as_deref();
    let has_text = format.is_some() || verbosity.is_some();
    body.end_with(&ResponsesOptions {
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

pub(super) fn chat(turn: &Turn, instructions: &LastText) -> Result<Bytes, BackendError> {
    let mut body = begin(turn);
    body.raw(r#","stream":true,"stream_options":{"include_usage":true},"messages":"#);
    let first = (!turn.instructions.is_empty()).then_some(Said::Instructions(&turn.instructions));
    let history = turn.history.iter().filter(|entry| !matches!(entry, Entry::Reasoning { .. }));
    body.list(first.into_iter().chain(history.map(Said::Entry)), |body, said| match said {
        Said::Instructions(text) => {
            instructions.write(text, body.raw(r#"{"role":"system","content":"#));
            body.raw("}");
            Ok(())
        }
        Said::Entry(Entry::Message { role, parts }) => {
            // The name that every server knows.
            let role = if *role == Role::Developer { "system" } else { role.as_str() };
            body.raw(r#"{"role":"#).text(role).raw(r#","content":"#);
            match parts.as_slice() {
                // A text alone is a string: not every server reads a list.
                [Part::Text(text)] => _ = body.text(text),
                parts => {
                    body.list(parts, |body, part| {
                        chat_part(body, part);
                        Ok(())
                    })?;
                }
            }
            body.raw("}");
            Ok(())
        }
        Said::Entry(Entry::Reasoning { .. } | Entry::Call(_) | Entry::CallOutput { .. }) => Err(only_text()),
    })?;
    body.end_with(&ChatOptions {
        reasoning_effort: turn.reasoning.effort.as_deref(),
        verbosity: turn.verbosity.as_deref(),
        temperature: turn.sampling.temperature,
        top_p: turn.sampling.top_p,
        max_tokens: turn.sampling.max_output_tokens,
        response_format: turn.output_schema.as_ref().map(ChatFormat::of),
    })
}

/// What a message of the older wire is made of.
enum Said<'a> {
    Instructions(&'a str),
    Entry(&'a Entry),
}

/// More than a short request needs around its instructions.
const ROOM: usize = 1024;

fn begin(turn: &Turn) -> Json {
    let mut body = Json::with_room(ROOM + turn.instructions.len() + turn.instructions.len() / 8);
    body.raw(r#"{"model":"#).text(&turn.model);
    body
}

/// Reasoning that was not sealed means nothing to the service.
fn means_something(entry: &Entry) -> bool {
    !matches!(entry, Entry::Reasoning { encrypted: None, .. })
}

fn responses_part(body: &mut Json, part: &Part, role: Role) {
    match part {
        Part::Text(text) => {
            let kind = if role == Role::Assistant { "output_text" } else { "input_text" };
            body.raw(r#"{"type":""#).raw(kind).raw(r#"","text":"#).text(text).raw("}");
        }
        Part::Image { url, detail } => {
            let detail = detail.as_deref().unwrap_or(AUTO);
            body.raw(r#"{"type":"input_image","image_url":"#).text(url);
            body.raw(r#","detail":"#).text(detail).raw("}");
        }
    }
}

fn chat_part(body: &mut Json, part: &Part) {
    match part {
        Part::Text(text) => _ = body.raw(r#"{"type":"text","text":"#).text(text).raw("}"),
        Part::Image { url, detail } => {
            let detail = detail.as_deref().unwrap_or(AUTO);
            body.raw(r#"{"type":"image_url","image_url":{"url":"#).text(url);
            body.raw(r#","detail":"#).text(detail).raw("}}");
        }
    }
}

#[derive(Serialize)]
struct ResponsesOptions<'a> {
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
struct ChatOptions<'a> {
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

/// A text model is given calls as text; this is a fault of whoever asks.
fn only_text() -> BackendError {
    BackendError::new(ErrorKind::BadRequest, "this backend takes text; calls must be given as text")
}
