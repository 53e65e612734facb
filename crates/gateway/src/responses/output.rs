//! The items of an answer.

use super::item::{Content, Item, Role};

/// What the model's answer is made of, in the order of appearance.
#[derive(Debug, Clone, PartialEq)]
pub enum OutputItem {
    Message {
        id: String,
        /// The text of its one part; with a refusal, a second part.
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
        encrypted: Option<Sealed>,
    },
}

/// Reasoning in the form in which the service wants it back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    pub text: String,
    /// Whether the client asked to be shown it. It is kept for the next turn in any case.
    pub shown: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemStatus {
    InProgress,
    Completed,
    /// The answer ended in the middle of it.
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

/// An item that was sent, and how far it got.
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

/// As a part of the conversation that goes on from it.
impl From<OutputItem> for Item {
    fn from(item: OutputItem) -> Item {
        match item {
            OutputItem::Message { id, text, refusal } => {
                let text = (!text.is_empty()).then_some(Content::Text(text));
                let content = text.into_iter().chain(refusal.map(Content::Refusal)).collect();
                Item::Message { id: Some(id), role: Role::Assistant, content, phase: None }
            }
            OutputItem::FunctionCall { id, name, namespace, arguments } => {
                Item::FunctionCall { call_id: id.clone(), id: Some(id), name, namespace, arguments }
            }
            OutputItem::CustomToolCall { id, name, namespace, input } => {
                Item::CustomToolCall { call_id: id.clone(), id: Some(id), name, namespace, input }
            }
            OutputItem::Reasoning { id, summary, encrypted } => {
                Item::Reasoning { id: Some(id), summary, encrypted: encrypted.map(|sealed| sealed.text) }
            }
        }
    }
}
