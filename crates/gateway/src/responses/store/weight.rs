//! About how many bytes things take in memory. Estimates, never less than the text in them.

use super::Stored;
use crate::responses::item::{Content, Item};

/// What an item takes besides its text.
const AN_ITEM: usize = 256;

pub(super) fn of_answer(stored: &Stored) -> usize {
    // The object repeats the output and the tools.
    let items: usize = stored.items().map(of_item).sum();
    stored.object.len() + items
}

pub(crate) fn of_item(item: &Item) -> usize {
    // The id stands in the index too.
    AN_ITEM + 2 * item.id().map_or(0, str::len) + text_of(item)
}

fn text_of(item: &Item) -> usize {
    match item {
        Item::Message { content, phase, .. } => in_content(content) + in_option(phase.as_ref()),
        Item::FunctionCall { call_id, name, namespace, arguments: given, .. }
        | Item::CustomToolCall { call_id, name, namespace, input: given, .. } => {
            call_id.len() + name.len() + in_option(namespace.as_ref()) + given.len()
        }
        Item::FunctionCallOutput { call_id, output, .. }
        | Item::CustomToolCallOutput { call_id, output, .. } => call_id.len() + in_content(output),
        Item::Reasoning { summary, encrypted, .. } => {
            let parts: usize = summary.iter().map(|part| size_of::<String>() + part.len()).sum();
            parts + in_option(encrypted.as_ref())
        }
        Item::Compaction { encrypted, .. } => encrypted.len(),
        Item::Reference { .. } => 0,
    }
}

fn in_content(content: &[Content]) -> usize {
    content
        .iter()
        .map(|part| match part {
            Content::Text(text) | Content::Refusal(text) => text.len(),
            Content::Image { url, detail } => url.len() + in_option(detail.as_ref()),
        })
        .map(|text| size_of::<Content>() + text)
        .sum()
}

fn in_option(text: Option<&String>) -> usize {
    text.map_or(0, String::len)
}
