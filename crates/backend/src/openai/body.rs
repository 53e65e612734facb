//! A turn as the body of a request.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::{BackendError, Entry, ErrorKind, Part, Role, Turn};

pub(super) fn responses(turn: &Turn) -> Result<Bytes, BackendError> {
    let mut input = Vec::new();
    for entry in &turn.history {
        input.push(match entry {
            Entry::Message { role, parts } => {
                let parts: Vec<Value> = parts.iter().map(|part| responses_part(part, *role)).collect();
                json!({ "type": "message", "role": role, "content": parts })
            }
            Entry::Reasoning { summary, encrypted: Some(encrypted) } => {
                let summary: Vec<Value> =
                    summary.iter().map(|text| json!({ "type": "summary_text", "text": text })).collect();
                json!({ "type": "reasoning", "summary": summary, "encrypted_content": encrypted })
            }
            // What was not sealed means nothing to the service.
            Entry::Reasoning { .. } => continue,
            Entry::Call(_) | Entry::CallOutput { .. } => return Err(only_text()),
        });
    }
    let mut fields = Map::new();
    let body = &mut fields;
    insert(body, "model", Some(&turn.model));
    insert(body, "stream", Some(true));
    insert(body, "store", Some(false));
    insert(body, "input", Some(input));
    if !turn.instructions.is_empty() {
        body.insert("instructions".to_owned(), json!(turn.instructions));
    }
    let reasoning = &turn.reasoning;
    if reasoning.effort.is_some() || reasoning.summary.is_some() {
        let mut asked = Map::new();
        insert(&mut asked, "effort", reasoning.effort.as_ref());
        insert(&mut asked, "summary", reasoning.summary.as_ref());
        body.insert("reasoning".to_owned(), Value::Object(asked));
        // Nothing is stored there, so the next turn can only show what was sealed in this one.
        body.insert("include".to_owned(), json!(["reasoning.encrypted_content"]));
    }
    insert(body, "temperature", turn.sampling.temperature);
    insert(body, "top_p", turn.sampling.top_p);
    insert(body, "max_output_tokens", turn.sampling.max_output_tokens);
    if let Some(schema) = &turn.output_schema {
        let format = json!({
            "type": "json_schema", "name": schema.name, "schema": schema.schema, "strict": schema.strict,
        });
        body.insert("text".to_owned(), json!({ "format": format }));
    }
    print(&fields)
}

pub(super) fn chat(turn: &Turn) -> Result<Bytes, BackendError> {
    let mut messages = Vec::new();
    if !turn.instructions.is_empty() {
        messages.push(json!({ "role": "system", "content": turn.instructions }));
    }
    for entry in &turn.history {
        match entry {
            Entry::Message { role, parts } => {
                // The name that every server knows.
                let role = if *role == Role::Developer { json!("system") } else { json!(role) };
                messages.push(json!({ "role": role, "content": chat_content(parts) }));
            }
            Entry::Reasoning { .. } => {}
            Entry::Call(_) | Entry::CallOutput { .. } => return Err(only_text()),
        }
    }
    let mut fields = Map::new();
    let body = &mut fields;
    insert(body, "model", Some(&turn.model));
    insert(body, "stream", Some(true));
    insert(body, "stream_options", Some(json!({ "include_usage": true })));
    insert(body, "messages", Some(messages));
    insert(body, "reasoning_effort", turn.reasoning.effort.as_ref());
    insert(body, "temperature", turn.sampling.temperature);
    insert(body, "top_p", turn.sampling.top_p);
    insert(body, "max_tokens", turn.sampling.max_output_tokens);
    if let Some(schema) = &turn.output_schema {
        let schema = json!({ "name": schema.name, "schema": schema.schema, "strict": schema.strict });
        body.insert("response_format".to_owned(), json!({ "type": "json_schema", "json_schema": schema }));
    }
    print(&fields)
}

fn responses_part(part: &Part, role: Role) -> Value {
    match part {
        Part::Text(text) => {
            let kind = if role == Role::Assistant { "output_text" } else { "input_text" };
            json!({ "type": kind, "text": text })
        }
        Part::Image { url, detail } => {
            json!({ "type": "input_image", "image_url": url, "detail": detail.as_deref().unwrap_or("auto") })
        }
    }
}

/// A text alone is a string: not every server reads a list.
fn chat_content(parts: &[Part]) -> Value {
    match parts {
        [Part::Text(text)] => json!(text),
        parts => parts
            .iter()
            .map(|part| match part {
                Part::Text(text) => json!({ "type": "text", "text": text }),
                Part::Image { url, detail } => {
                    let detail = detail.as_deref().unwrap_or("auto");
                    json!({ "type": "image_url", "image_url": { "url": url, "detail": detail } })
                }
            })
            .collect(),
    }
}

fn insert(fields: &mut Map<String, Value>, key: &str, value: Option<impl serde::Serialize>) {
    if let Some(value) = value {
        fields.insert(key.to_owned(), json!(value));
    }
}

fn print(body: &Map<String, Value>) -> Result<Bytes, BackendError> {
    serde_json::to_vec(body).map(Bytes::from).map_err(|error| {
        BackendError::new(ErrorKind::BadRequest, format!("the request cannot be written: {error}"))
    })
}

/// A text model is given calls as text; this is a fault of whoever asks.
fn only_text() -> BackendError {
    BackendError::new(ErrorKind::BadRequest, "this backend takes text; calls must be given as text")
}
