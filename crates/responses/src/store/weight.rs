//! Estimated sizes in memory, never less than the text.

use super::StoredResponse;
use crate::item::{ConversationItem, ItemContent};

/// The size of an item besides its text.
const AN_ITEM: usize = 256;

pub(super) fn response_weight(stored: &StoredResponse) -> usize {
    // The object repeats the output and the tools.
    let items: usize = stored.items().map(item_weight).sum();
    stored.object.len() + items
}

pub(crate) fn item_weight(item: &ConversationItem) -> usize {
    // The id is in the index, too.
    AN_ITEM + 2 * item.id().map_or(0, str::len) + text_bytes(item)
}

fn text_bytes(item: &ConversationItem) -> usize {
    match item {
        ConversationItem::Message { content, phase, .. } => {
            content_bytes(content) + option_bytes(phase.as_ref())
        }
        ConversationItem::FunctionCall { call_id, name, namespace, arguments: given, .. }
        | ConversationItem::CustomToolCall { call_id, name, namespace, input: given, .. } => {
            call_id.len() + name.len() + option_bytes(namespace.as_ref()) + given.len()
        }
        ConversationItem::FunctionCallOutput { call_id, output, .. }
        | ConversationItem::CustomToolCallOutput { call_id, output, .. } => {
            call_id.len() + content_bytes(output)
        }
        ConversationItem::Reasoning { summary, encrypted, .. } => {
            let parts: usize = summary.iter().map(|part| size_of::<String>() + part.len()).sum();
            parts + option_bytes(encrypted.as_ref())
        }
        ConversationItem::Compaction { encrypted, .. } => encrypted.len(),
        ConversationItem::Reference { .. } => 0,
    }
}

fn content_bytes(content: &[ItemContent]) -> usize {
    content
        .iter()
        .map(|part| match part {
            ItemContent::Text(text) | ItemContent::Refusal(text) => text.len(),
            ItemContent::Image { url, detail } => url.len() + option_bytes(detail.as_ref()),
        })
        .map(|text| size_of::<ItemContent>() + text)
        .sum()
}

fn option_bytes(text: Option<&String>) -> usize {
    text.map_or(0, String::len)
}
