//! The one form in which items of an answer are shown.
//!
//! Events, the response object and whoever keeps answers all go through [`WireItem`], so that a client never sees
//! two spellings of the same item.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::Value;

use super::output::{ItemStatus, OutputItem, SentItem};

/// An item as clients see it.
pub struct WireItem<'a> {
    pub item: &'a OutputItem,
    pub status: ItemStatus,
}

/// The same, as a value of its own.
pub fn item_json(item: &OutputItem, status: ItemStatus) -> Value {
    serde_json::to_value(WireItem { item, status }).unwrap_or_default()
}

impl Serialize for WireItem<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let kind = match self.item {
            OutputItem::Message { .. } => "message",
            OutputItem::FunctionCall { .. } => "function_call",
            OutputItem::CustomToolCall { .. } => "custom_tool_call",
            OutputItem::Reasoning { .. } => "reasoning",
        };
        map.serialize_entry("type", kind)?;
        map.serialize_entry("id", self.item.id())?;
        map.serialize_entry("status", self.status.as_str())?;
        match self.item {
            OutputItem::Message { text, refusal, .. } => {
                let text = (!text.is_empty()).then_some(WirePart::Text(text));
                let refusal = refusal.as_deref().map(WirePart::Refusal);
                let parts: Vec<WirePart<'_>> = text.into_iter().chain(refusal).collect();
                map.serialize_entry("role", "assistant")?;
                map.serialize_entry("content", &parts)?;
            }
            OutputItem::FunctionCall { id, name, namespace, arguments } => {
                call_fields(&mut map, id, name, namespace.as_deref())?;
                map.serialize_entry("arguments", arguments)?;
            }
            OutputItem::CustomToolCall { id, name, namespace, input } => {
                call_fields(&mut map, id, name, namespace.as_deref())?;
                map.serialize_entry("input", input)?;
            }
            OutputItem::Reasoning { summary, encrypted, .. } => {
                let parts: Vec<WirePart<'_>> = summary.iter().map(|text| WirePart::Summary(text)).collect();
                map.serialize_entry("summary", &parts)?;
                if let Some(sealed) = encrypted.as_ref().filter(|sealed| sealed.shown) {
                    map.serialize_entry("encrypted_content", &sealed.text)?;
                }
            }
        }
        map.end()
    }
}

/// `call_id` is the id: one name less that could be mixed up, and clients look at both.
fn call_fields<M: SerializeMap>(
    map: &mut M,
    id: &str,
    name: &str,
    namespace: Option<&str>,
) -> Result<(), M::Error> {
    map.serialize_entry("call_id", id)?;
    map.serialize_entry("name", name)?;
    match namespace {
        Some(namespace) => map.serialize_entry("namespace", namespace),
        None => Ok(()),
    }
}

/// A part of an item as clients see it.
pub(super) enum WirePart<'a> {
    Text(&'a str),
    Refusal(&'a str),
    Summary(&'a str),
}

impl Serialize for WirePart<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self {
            WirePart::Text(text) => {
                map.serialize_entry("type", "output_text")?;
                map.serialize_entry("text", text)?;
                map.serialize_entry("annotations", &[(); 0])?;
                map.serialize_entry("logprobs", &[(); 0])?;
            }
            WirePart::Refusal(text) => {
                map.serialize_entry("type", "refusal")?;
                map.serialize_entry("refusal", text)?;
            }
            WirePart::Summary(text) => {
                map.serialize_entry("type", "summary_text")?;
                map.serialize_entry("text", text)?;
            }
        }
        map.end()
    }
}

/// The `output` of a response.
pub(super) struct WireItems<'a>(pub(super) &'a [SentItem]);

impl Serialize for WireItems<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        for sent in self.0 {
            list.serialize_element(&WireItem { item: &sent.item, status: sent.status })?;
        }
        list.end()
    }
}
