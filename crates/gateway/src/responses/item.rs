//! The items of a conversation: what came in with a request or was answered earlier.
//!
//! Clients send these in many spellings (no `type` on messages, a string for content, whole output items echoed
//! back with fields of their own). Reading is lenient about what is there besides, strict about what must be.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// One item, whatever its spelling was. Its serde form is the one on our disk, not the one on the wire.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Item {
    Message {
        id: Option<String>,
        role: Role,
        content: Vec<Content>,
        /// `commentary` or `final_answer`, as some clients mark messages of the assistant.
        phase: Option<String>,
    },
    FunctionCall {
        id: Option<String>,
        call_id: String,
        name: String,
        namespace: Option<String>,
        /// JSON text.
        arguments: String,
    },
    FunctionCallOutput {
        id: Option<String>,
        call_id: String,
        output: Vec<Content>,
    },
    CustomToolCall {
        id: Option<String>,
        call_id: String,
        name: String,
        namespace: Option<String>,
        input: String,
    },
    CustomToolCallOutput {
        id: Option<String>,
        call_id: String,
        output: Vec<Content>,
    },
    Reasoning {
        id: Option<String>,
        summary: Vec<String>,
        encrypted: Option<String>,
    },
    /// What `/v1/responses/compact` made of earlier items; opaque to clients.
    Compaction {
        id: Option<String>,
        encrypted: String,
    },
    /// An item of an earlier answer by its id. Gone once the store has looked it up.
    Reference {
        id: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    User,
    Assistant,
    System,
    Developer,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// `input_text` and `output_text` alike.
    Text(String),
    Image {
        url: String,
        detail: Option<String>,
    },
    Refusal(String),
}

impl Item {
    pub fn id(&self) -> Option<&str> {
        match self {
            Item::Message { id, .. }
            | Item::FunctionCall { id, .. }
            | Item::FunctionCallOutput { id, .. }
            | Item::CustomToolCall { id, .. }
            | Item::CustomToolCallOutput { id, .. }
            | Item::Reasoning { id, .. }
            | Item::Compaction { id, .. } => id.as_deref(),
            Item::Reference { id } => Some(id),
        }
    }

    /// Gives it an id unless it has one.
    pub fn identified(mut self, make: impl FnOnce() -> String) -> Item {
        match &mut self {
            Item::Message { id, .. }
            | Item::FunctionCall { id, .. }
            | Item::FunctionCallOutput { id, .. }
            | Item::CustomToolCall { id, .. }
            | Item::CustomToolCallOutput { id, .. }
            | Item::Reasoning { id, .. }
            | Item::Compaction { id, .. } => {
                id.get_or_insert_with(make);
            }
            Item::Reference { .. } => {}
        }
        self
    }

    /// As a client gets it back in a list of input items.
    pub fn to_wire(&self) -> Value {
        match self {
            Item::Message { id, role, content, phase } => {
                let parts: Vec<Value> = content.iter().map(|part| part.to_wire(*role)).collect();
                let mut message = json!({
                    "type": "message", "id": id, "status": "completed", "role": role, "content": parts,
                });
                if let Some(phase) = phase {
                    message["phase"] = json!(phase);
                }
                message
            }
            Item::FunctionCall { id, call_id, name, namespace, arguments } => {
                let mut call = json!({
                    "type": "function_call", "id": id, "call_id": call_id, "name": name, "arguments": arguments,
                    "status": "completed",
                });
                if let Some(namespace) = namespace {
                    call["namespace"] = json!(namespace);
                }
                call
            }
            Item::FunctionCallOutput { id, call_id, output } => json!({
                "type": "function_call_output", "id": id, "call_id": call_id, "output": output_to_wire(output),
                "status": "completed",
            }),
            Item::CustomToolCall { id, call_id, name, namespace, input } => {
                let mut call = json!({
                    "type": "custom_tool_call", "id": id, "call_id": call_id, "name": name, "input": input,
                    "status": "completed",
                });
                if let Some(namespace) = namespace {
                    call["namespace"] = json!(namespace);
                }
                call
            }
            Item::CustomToolCallOutput { id, call_id, output } => json!({
                "type": "custom_tool_call_output", "id": id, "call_id": call_id, "output": output_to_wire(output),
            }),
            Item::Reasoning { id, summary, encrypted } => {
                let parts: Vec<Value> =
                    summary.iter().map(|text| json!({ "type": "summary_text", "text": text })).collect();
                json!({ "type": "reasoning", "id": id, "summary": parts, "encrypted_content": encrypted })
            }
            Item::Compaction { id, encrypted } => {
                json!({ "type": "compaction", "id": id, "encrypted_content": encrypted })
            }
            Item::Reference { id } => json!({ "type": "item_reference", "id": id }),
        }
    }
}

impl Content {
    fn to_wire(&self, role: Role) -> Value {
        match (self, role) {
            (Content::Text(text), Role::Assistant) => {
                json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] })
            }
            (Content::Text(text), Role::User | Role::System | Role::Developer) => {
                json!({ "type": "input_text", "text": text })
            }
            (Content::Image { url, detail }, _) => {
                json!({ "type": "input_image", "image_url": url, "detail": detail.as_deref().unwrap_or("auto") })
            }
            (Content::Refusal(refusal), _) => json!({ "type": "refusal", "refusal": refusal }),
        }
    }
}

/// A text alone is a string, as most clients send it.
fn output_to_wire(output: &[Content]) -> Value {
    match output {
        [Content::Text(text)] => json!(text),
        parts => parts.iter().map(|part| part.to_wire(Role::User)).collect(),
    }
}
