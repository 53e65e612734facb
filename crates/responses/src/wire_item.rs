//! The items of an answer as clients see them.
//!
//! Events, the response object and stored answers all use [`WireItem`], so that an item has one spelling.

use serde::Serialize;
use serde_json::Value;

use super::event::json_line;
use super::output::{ItemStatus, OutputItem};

/// An item as clients see it. The `call_id` of a call is its id: clients look at both.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum WireItem<'a> {
    Message {
        id: &'a str,
        status: &'a str,
        role: &'a str,
        content: Vec<WirePart<'a>>,
    },
    FunctionCall {
        id: &'a str,
        status: &'a str,
        call_id: &'a str,
        name: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        namespace: Option<&'a str>,
        arguments: &'a str,
    },
    CustomToolCall {
        id: &'a str,
        status: &'a str,
        call_id: &'a str,
        name: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        namespace: Option<&'a str>,
        input: &'a str,
    },
    Reasoning {
        id: &'a str,
        status: &'a str,
        summary: Vec<WirePart<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        encrypted_content: Option<&'a str>,
    },
}

impl<'a> WireItem<'a> {
    pub fn new(item: &'a OutputItem, status: ItemStatus) -> WireItem<'a> {
        let (id, status) = (item.id(), status.as_str());
        match item {
            OutputItem::Message { text, refusal, .. } => {
                let text = (!text.is_empty()).then(|| WirePart::text(text));
                let refusal = refusal.as_deref().map(|refusal| WirePart::Refusal { refusal });
                WireItem::Message {
                    id,
                    status,
                    role: "assistant",
                    content: text.into_iter().chain(refusal).collect(),
                }
            }
            OutputItem::FunctionCall { name, namespace, arguments, .. } => WireItem::FunctionCall {
                id,
                status,
                call_id: id,
                name,
                namespace: namespace.as_deref(),
                arguments,
            },
            OutputItem::CustomToolCall { name, namespace, input, .. } => WireItem::CustomToolCall {
                id,
                status,
                call_id: id,
                name,
                namespace: namespace.as_deref(),
                input,
            },
            OutputItem::Reasoning { summary, encrypted, .. } => {
                let shown = encrypted.as_ref().filter(|encrypted| encrypted.shown);
                WireItem::Reasoning {
                    id,
                    status,
                    summary: summary.iter().map(|text| WirePart::Summary { text }).collect(),
                    encrypted_content: shown.map(|encrypted| encrypted.text.as_str()),
                }
            }
        }
    }
}

/// Returns an item as clients see it.
pub fn item_json(item: &OutputItem, status: ItemStatus) -> Value {
    serde_json::from_str(&json_line(&WireItem::new(item, status))).unwrap_or_default()
}

/// A part of an item as clients see it.
#[derive(Serialize)]
#[serde(tag = "type")]
pub enum WirePart<'a> {
    #[serde(rename = "output_text")]
    Text { text: &'a str, annotations: [(); 0], logprobs: [(); 0] },
    #[serde(rename = "refusal")]
    Refusal { refusal: &'a str },
    #[serde(rename = "summary_text")]
    Summary { text: &'a str },
}

impl<'a> WirePart<'a> {
    pub fn text(text: &'a str) -> WirePart<'a> {
        WirePart::Text { text, annotations: [], logprobs: [] }
    }
}
