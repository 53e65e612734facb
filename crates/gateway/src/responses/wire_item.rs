//! The one form in which items of an answer are shown.
//!
//! Events, the response object and whoever keeps answers all go through [`WireItem`], so that a client never sees
//! two spellings of the same item.

use bytes::{BufMut, BytesMut};
use serde_json::Value;

use super::event::push_string;
use super::output::{ItemStatus, OutputItem, SentItem};

/// An item as clients see it.
pub struct WireItem<'a> {
    pub item: &'a OutputItem,
    pub status: ItemStatus,
}

/// The same, as a value of its own.
pub fn item_json(item: &OutputItem, status: ItemStatus) -> Value {
    let mut out = BytesMut::new();
    WireItem { item, status }.write(&mut out);
    serde_json::from_slice(&out).unwrap_or_default()
}

impl WireItem<'_> {
    /// Appends it as JSON on one line. By hand, since its texts are most of what an answer is.
    pub(super) fn write(&self, out: &mut BytesMut) {
        out.put_slice(match self.item {
            OutputItem::Message { .. } => br#"{"type":"message""#,
            OutputItem::FunctionCall { .. } => br#"{"type":"function_call""#,
            OutputItem::CustomToolCall { .. } => br#"{"type":"custom_tool_call""#,
            OutputItem::Reasoning { .. } => br#"{"type":"reasoning""#,
        });
        push_string(out, "id", self.item.id());
        push_string(out, "status", self.status.as_str());
        match self.item {
            OutputItem::Message { text, refusal, .. } => {
                let text = (!text.is_empty()).then_some(WirePart::Text(text));
                let refusal = refusal.as_deref().map(WirePart::Refusal);
                out.put_slice(br#","role":"assistant","content":"#);
                push_list(out, text.into_iter().chain(refusal), |part, out| part.write(out));
            }
            OutputItem::FunctionCall { id, name, namespace, arguments } => {
                push_call(out, id, name, namespace.as_deref());
                push_string(out, "arguments", arguments);
            }
            OutputItem::CustomToolCall { id, name, namespace, input } => {
                push_call(out, id, name, namespace.as_deref());
                push_string(out, "input", input);
            }
            OutputItem::Reasoning { summary, encrypted, .. } => {
                out.put_slice(br#","summary":"#);
                push_list(out, summary, |text, out| WirePart::Summary(text).write(out));
                if let Some(sealed) = encrypted.as_ref().filter(|sealed| sealed.shown) {
                    push_string(out, "encrypted_content", &sealed.text);
                }
            }
        }
        out.put_u8(b'}');
    }
}

/// `call_id` is the id: one name less that could be mixed up, and clients look at both.
fn push_call(out: &mut BytesMut, id: &str, name: &str, namespace: Option<&str>) {
    push_string(out, "call_id", id);
    push_string(out, "name", name);
    if let Some(namespace) = namespace {
        push_string(out, "namespace", namespace);
    }
}

/// A part of an item as clients see it.
pub(super) enum WirePart<'a> {
    Text(&'a str),
    Refusal(&'a str),
    Summary(&'a str),
}

impl WirePart<'_> {
    /// Appends it as JSON on one line.
    pub(super) fn write(&self, out: &mut BytesMut) {
        match self {
            WirePart::Text(text) => {
                out.put_slice(br#"{"type":"output_text""#);
                push_string(out, "text", text);
                out.put_slice(br#","annotations":[],"logprobs":[]"#);
            }
            WirePart::Refusal(text) => {
                out.put_slice(br#"{"type":"refusal""#);
                push_string(out, "refusal", text);
            }
            WirePart::Summary(text) => {
                out.put_slice(br#"{"type":"summary_text""#);
                push_string(out, "text", text);
            }
        }
        out.put_u8(b'}');
    }
}

/// Appends the `output` of a response.
pub(super) fn push_items(out: &mut BytesMut, items: &[SentItem]) {
    push_list(out, items, |sent, out| WireItem { item: &sent.item, status: sent.status }.write(out));
}

fn push_list<T>(
    out: &mut BytesMut,
    list: impl IntoIterator<Item = T>,
    mut write: impl FnMut(T, &mut BytesMut),
) {
    out.put_u8(b'[');
    for (index, one) in list.into_iter().enumerate() {
        if index > 0 {
            out.put_u8(b',');
        }
        write(one, out);
    }
    out.put_u8(b']');
}
