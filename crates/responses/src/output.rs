//! The items of an answer.

use super::item::{ConversationItem, ItemContent, ItemRole};

/// An item of the model's answer.
#[derive(Debug, Clone, PartialEq)]
pub enum OutputItem {
    Message {
        id: String,
        /// The text of the first part; a refusal is a second part.
        text: String,
        refusal: Option<String>,
    },
    FunctionCall {
        /// Also the `call_id`.
        id: String,
        name: String,
        namespace: Option<String>,
        arguments: String,
    },
    CustomToolCall {
        /// Also the `call_id`.
        id: String,
        name: String,
        namespace: Option<String>,
        input: String,
    },
    Reasoning {
        id: String,
        summary: Vec<String>,
        encrypted: Option<EncryptedReasoning>,
    },
}

/// Reasoning in the encrypted form that the service wants back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncryptedReasoning {
    pub text: String,
    /// Whether the client asked for it. It is kept for the next turn in any case.
    pub shown: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemStatus {
    InProgress,
    Completed,
    /// The answer ended before the item was complete.
    Incomplete,
}

impl ItemStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            ItemStatus::InProgress => "in_progress",
            ItemStatus::Completed => "completed",
            ItemStatus::Incomplete => "incomplete",
        }
    }
}

/// An item that was sent, with its status.
#[derive(Debug, Clone, PartialEq)]
pub struct SentItem {
    pub item: OutputItem,
    pub status: ItemStatus,
}

impl OutputItem {
    pub fn id(&self) -> &str {
        match self {
            OutputItem::Message { id, .. }
            | OutputItem::FunctionCall { id, .. }
            | OutputItem::CustomToolCall { id, .. }
            | OutputItem::Reasoning { id, .. } => id,
        }
    }
}

/// Converts an output item into an item of the continued conversation.
impl From<OutputItem> for ConversationItem {
    fn from(item: OutputItem) -> ConversationItem {
        match item {
            OutputItem::Message { id, text, refusal } => {
                let text = (!text.is_empty()).then_some(ItemContent::Text(text));
                let content = text.into_iter().chain(refusal.map(ItemContent::Refusal)).collect();
                ConversationItem::Message { id: Some(id), role: ItemRole::Assistant, content, phase: None }
            }
            OutputItem::FunctionCall { id, name, namespace, arguments } => ConversationItem::FunctionCall {
                call_id: id.clone(),
                id: Some(id),
                name,
                namespace,
                arguments,
            },
            OutputItem::CustomToolCall { id, name, namespace, input } => {
                ConversationItem::CustomToolCall { call_id: id.clone(), id: Some(id), name, namespace, input }
            }
            OutputItem::Reasoning { id, summary, encrypted } => ConversationItem::Reasoning {
                id: Some(id),
                summary,
                encrypted: encrypted.map(|sealed| sealed.text),
            },
        }
    }
}
