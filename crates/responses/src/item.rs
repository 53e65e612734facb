//! The items of a conversation: the input of requests and the output of earlier answers.
//!
//! Clients send these in many spellings (no `type` on messages, a string for content, whole output items echoed back
//! with extra fields). Parsing is lenient about extra fields and strict about required ones.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// One item, independent of its spelling. The serde form is the one on disk, not the one on the wire.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ConversationItem {
    Message {
        id: Option<String>,
        role: ItemRole,
        content: Vec<ItemContent>,
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
        output: Vec<ItemContent>,
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
        output: Vec<ItemContent>,
    },
    Reasoning {
        id: Option<String>,
        summary: Vec<String>,
        encrypted: Option<String>,
    },
    /// The result of `/v1/responses/compact`; opaque to clients.
    Compaction {
        id: Option<String>,
        encrypted: String,
    },
    /// An item of an earlier answer, by its id. Resolved by the store.
    Reference {
        id: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemRole {
    User,
    Assistant,
    System,
    Developer,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemContent {
    /// `input_text` and `output_text` alike.
    Text(String),
    Image {
        url: String,
        detail: Option<String>,
    },
    Refusal(String),
}

impl ConversationItem {
    pub fn id(&self) -> Option<&str> {
        match self {
            ConversationItem::Message { id, .. }
            | ConversationItem::FunctionCall { id, .. }
            | ConversationItem::FunctionCallOutput { id, .. }
            | ConversationItem::CustomToolCall { id, .. }
            | ConversationItem::CustomToolCallOutput { id, .. }
            | ConversationItem::Reasoning { id, .. }
            | ConversationItem::Compaction { id, .. } => id.as_deref(),
            ConversationItem::Reference { id } => Some(id),
        }
    }

    /// Sets the id unless there is one.
    pub fn with_id(mut self, make: impl FnOnce() -> String) -> ConversationItem {
        match &mut self {
            ConversationItem::Message { id, .. }
            | ConversationItem::FunctionCall { id, .. }
            | ConversationItem::FunctionCallOutput { id, .. }
            | ConversationItem::CustomToolCall { id, .. }
            | ConversationItem::CustomToolCallOutput { id, .. }
            | ConversationItem::Reasoning { id, .. }
            | ConversationItem::Compaction { id, .. } => {
                id.get_or_insert_with(make);
            }
            ConversationItem::Reference { .. } => {}
        }
        self
    }

    /// Returns the item as it appears in a list of input items.
    pub fn to_wire(&self) -> Value {
        match self {
            ConversationItem::Message { id, role, content, phase } => {
                let parts: Vec<Value> = content.iter().map(|part| part.to_wire(*role)).collect();
                let mut message = json!({
                    "type": "message", "id": id, "status": "completed", "role": role, "content": parts,
                });
                if let Some(phase) = phase {
                    message["phase"] = json!(phase);
                }
                message
            }
            ConversationItem::FunctionCall { id, call_id, name, namespace, arguments } => {
                let mut call = json!({
                    "type": "function_call", "id": id, "call_id": call_id, "name": name, "arguments": arguments,
                    "status": "completed",
                });
                if let Some(namespace) = namespace {
                    call["namespace"] = json!(namespace);
                }
                call
            }
            ConversationItem::FunctionCallOutput { id, call_id, output } => json!({
                "type": "function_call_output", "id": id, "call_id": call_id, "output": output_to_wire(output),
                "status": "completed",
            }),
            ConversationItem::CustomToolCall { id, call_id, name, namespace, input } => {
                let mut call = json!({
                    "type": "custom_tool_call", "id": id, "call_id": call_id, "name": name, "input": input,
                    "status": "completed",
                });
                if let Some(namespace) = namespace {
                    call["namespace"] = json!(namespace);
                }
                call
            }
            ConversationItem::CustomToolCallOutput { id, call_id, output } => json!({
                "type": "custom_tool_call_output", "id": id, "call_id": call_id, "output": output_to_wire(output),
            }),
            ConversationItem::Reasoning { id, summary, encrypted } => {
                let parts: Vec<Value> =
                    summary.iter().map(|text| json!({ "type": "summary_text", "text": text })).collect();
                json!({ "type": "reasoning", "id": id, "summary": parts, "encrypted_content": encrypted })
            }
            ConversationItem::Compaction { id, encrypted } => {
                json!({ "type": "compaction", "id": id, "encrypted_content": encrypted })
            }
            ConversationItem::Reference { id } => json!({ "type": "item_reference", "id": id }),
        }
    }
}

impl ItemContent {
    fn to_wire(&self, role: ItemRole) -> Value {
        match (self, role) {
            (ItemContent::Text(text), ItemRole::Assistant) => {
                json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] })
            }
            (ItemContent::Text(text), ItemRole::User | ItemRole::System | ItemRole::Developer) => {
                json!({ "type": "input_text", "text": text })
            }
            (ItemContent::Image { url, detail }, _) => {
                json!({ "type": "input_image", "image_url": url, "detail": detail.as_deref().unwrap_or("auto") })
            }
            (ItemContent::Refusal(refusal), _) => json!({ "type": "refusal", "refusal": refusal }),
        }
    }
}

/// Returns a single text as a string, as most clients send it.
fn output_to_wire(output: &[ItemContent]) -> Value {
    match output {
        [ItemContent::Text(text)] => json!(text),
        parts => parts.iter().map(|part| part.to_wire(ItemRole::User)).collect(),
    }
}
