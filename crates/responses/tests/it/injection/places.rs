//! A request with untrusted text in every possible field.

use responses::item::{ConversationItem, ItemContent, ItemRole};
use responses::prompt::{OutputPart, PromptRecord};
use responses::request::{Request, SchemaCache, parse_value};
use serde_json::{Map, Value, json};

use crate::injection::corpus::TARGET;

/// The API takes no longer ids.
const LONGEST_ID: usize = 500;
/// Names and strings of schemas have limits of their own.
const LONGEST_IN_SCHEMA: usize = 300;

/// The beginning of a text.
pub(crate) fn short(text: &str, chars: usize) -> String {
    text.chars().take(chars).collect()
}

/// A request that has the text wherever it can.
pub(crate) fn request(text: &str) -> Request {
    let id = short(text, LONGEST_ID);
    let called = format!("{id}1");
    let (left, right) = halves(text);
    let body = json!({
        "model": "m",
        "instructions": text,
        "input": [
            { "role": "system", "content": text },
            { "role": "developer", "content": [{ "type": "input_text", "text": text }] },
            { "role": "user", "content": text },
            // Over the border of two parts, of two messages, and of two speakers.
            { "role": "user", "content": [
                { "type": "input_text", "text": left }, { "type": "input_text", "text": right },
            ]},
            { "role": "user", "content": shards(text) },
            { "role": "user", "content": left },
            { "role": "assistant", "content": right },
            { "type": "message", "role": "assistant", "content": [
                { "type": "output_text", "text": text }, { "type": "refusal", "refusal": text },
            ]},
            { "type": "reasoning", "summary": [{ "type": "summary_text", "text": text }] },
            { "type": "function_call", "id": id, "call_id": called, "name": id, "namespace": id, "arguments": text },
            { "type": "function_call_output", "call_id": called, "output": text },
            { "type": "function_call", "call_id": "call_2", "name": TARGET, "arguments": text },
            { "type": "function_call_output", "call_id": "call_2", "output": [
                { "type": "input_text", "text": left },
                { "type": "input_image", "image_url": "data:image/png;base64,AA==" },
                { "type": "input_text", "text": right },
            ]},
            { "type": "custom_tool_call", "call_id": "call_3", "name": id, "input": text },
            { "type": "custom_tool_call_output", "call_id": "call_3", "output": text },
            { "role": "user", "content": text },
        ],
        "tools": tools(text),
        "text": { "format": {
            "type": "json_schema", "name": "form", "description": text, "schema": schema(text),
        }},
    });
    *parse_value(body, &SchemaCache::default()).unwrap()
}

fn tools(text: &str) -> Value {
    json!([
        { "type": "function", "name": TARGET, "description": "Deletes a note.", "parameters": { "type": "object" } },
        { "type": "function", "name": "probe", "description": text, "parameters": schema(text) },
        { "type": "namespace", "name": "space", "description": text, "tools": [
            { "type": "function", "name": "inner", "description": text, "parameters": { "type": "object" } },
        ]},
        { "type": "custom", "name": "raw", "description": text },
    ])
}

/// A schema that says it in every keyword which takes any text.
fn schema(text: &str) -> Value {
    let text = short(text, LONGEST_IN_SCHEMA);
    let mut properties = Map::new();
    properties.insert(
        text.clone(),
        json!({ "type": "string", "title": text, "description": text, "enum": [text], "default": text }),
    );
    properties.insert(
        format!("{text}2"),
        json!({ "const": { &text: [text] }, "examples": [text], "$comment": text }),
    );
    json!({
        "type": "object", "title": text, "description": text, "properties": properties,
        "required": [text, format!("{text}2")], "additionalProperties": false,
    })
}

/// A text in two, where it hurts most: right behind the first bracket, or in its middle.
fn halves(text: &str) -> (&str, &str) {
    let at =
        text.find("tool_call").or_else(|| text.find("function_call")).map_or(text.len() / 2, |at| at + 4);
    text.split_at(text.floor_char_boundary(at))
}

/// A text in parts, cut inside of every word that means something.
fn shards(text: &str) -> Vec<Value> {
    const MOST: usize = 16;
    let mut shards = Vec::new();
    let mut rest = text;
    while shards.len() < MOST
        && let Some(at) = rest.find("tool_call").or_else(|| rest.find("function_call"))
    {
        let (shard, more) = rest.split_at(at + 4);
        shards.push(json!({ "type": "input_text", "text": shard }));
        rest = more;
    }
    shards.push(json!({ "type": "input_text", "text": rest }));
    shards
}

/// The records that the items of a request make: these and no others.
pub(crate) fn records_of(items: &[ConversationItem]) -> Vec<PromptRecord> {
    let parts = |output: &[ItemContent]| {
        let mut images = 0;
        let part = |content: &ItemContent| match content {
            ItemContent::Text(text) => OutputPart::Text(text.clone()),
            ItemContent::Refusal(text) => OutputPart::Refusal(text.clone()),
            ItemContent::Image { .. } => {
                images += 1;
                OutputPart::Image(images)
            }
        };
        output.iter().map(part).collect()
    };
    items
        .iter()
        .filter_map(|item| match item {
            ConversationItem::FunctionCall { id, call_id, name, namespace, arguments } => {
                Some(PromptRecord::Call {
                    id: id.clone(),
                    call_id: call_id.clone(),
                    name: namespace.as_ref().map_or_else(|| name.clone(), |space| format!("{space}__{name}")),
                    arguments: arguments.clone(),
                })
            }
            ConversationItem::CustomToolCall { id, call_id, name, namespace: _, input } => {
                Some(PromptRecord::Call {
                    id: id.clone(),
                    call_id: call_id.clone(),
                    name: name.clone(),
                    arguments: json!({ "input": input }).to_string(),
                })
            }
            ConversationItem::FunctionCallOutput { call_id, output, .. }
            | ConversationItem::CustomToolCallOutput { call_id, output, .. } => {
                Some(PromptRecord::Output { call_id: call_id.clone(), parts: parts(output) })
            }
            ConversationItem::Message { .. }
            | ConversationItem::Reasoning { .. }
            | ConversationItem::Compaction { .. }
            | ConversationItem::Reference { .. } => None,
        })
        .collect()
}

/// Returns the messages of a request, part by part, with the role that the model sees.
pub(crate) fn said(items: &[ConversationItem]) -> Vec<(backend::MessageRole, String)> {
    let mut all = Vec::new();
    for item in items {
        if let ConversationItem::Message { role, content, .. } = item {
            let role = match role {
                ItemRole::User => backend::MessageRole::User,
                ItemRole::Assistant => backend::MessageRole::Assistant,
                ItemRole::System | ItemRole::Developer => backend::MessageRole::Developer,
            };
            for part in content {
                if let ItemContent::Text(text) | ItemContent::Refusal(text) = part {
                    all.push((role, text.clone()));
                }
            }
        }
    }
    all
}
