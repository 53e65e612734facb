//! Compacts a long conversation into a small item, which the client stores and sends back instead.
//!
//! Kept, from the newest on while there is room: developer messages, always complete; user messages, complete while
//! there is room; calls and their outputs, cut; answers, cut except the last. An open call is kept unchanged, since
//! its output comes next. Reasoning and images are dropped. The same conversation always gives the same item; no
//! model is involved. The item is opaque to clients, not secret: it contains only what they sent or received, and one
//! that a client makes itself can contain no more than its own items could.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use receipts::preview::tokenizer::{estimate, prefix_within};
use serde::{Deserialize, Serialize};

use super::text_history::custom_arguments;
use super::unresolved_item;
use crate::error::ApiError;
use crate::item::{ConversationItem, ItemContent, ItemRole};

/// The prefix of the item, with the version of the format.
const MARK: &str = "tollgate-compaction-1:";

/// Limits in tokens.
const USER_ROOM: usize = 12_000;
const OTHER_ROOM: usize = 12_000;
const LAST_ANSWER: usize = 2_000;
const ANSWER: usize = 200;
const USER_WHEN_FULL: usize = 60;
const ARGUMENTS: usize = 120;
const OUTPUT: usize = 240;
/// The most tokens of the remark after a cut.
const MARK_TOKENS: usize = 14;

const IMAGE: &str = "(an image)";

/// A compacted item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum CompactedItem {
    User(String),
    Assistant(String),
    Developer(String),
    Call {
        call_id: String,
        name: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        namespace: Option<String>,
        arguments: String,
        /// `None` while the call is open.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<String>,
    },
    /// The number of older items that were dropped. Always first.
    LeftOut(usize),
}

/// Returns the text of the compaction item for these items. Fails if they contain an invalid compaction item.
pub fn compact(conversation: &[ConversationItem]) -> Result<String, ApiError> {
    let conversation = expand(conversation)?;
    let kept = fit_limits(shorten_items(&conversation));
    // Strings and numbers only, which always serialize.
    Ok(format!("{MARK}{}", serde_json::to_string(&kept).unwrap_or_default()))
}

/// Returns the conversation with every compaction item replaced by its content. Fails if one is invalid.
pub(super) fn expand(conversation: &[ConversationItem]) -> Result<Cow<'_, [ConversationItem]>, ApiError> {
    if !conversation.iter().any(|item| matches!(item, ConversationItem::Compaction { .. })) {
        return Ok(Cow::Borrowed(conversation));
    }
    let mut items = Vec::new();
    for item in conversation {
        match item {
            ConversationItem::Compaction { encrypted, .. } => {
                let kept = encrypted
                    .strip_prefix(MARK)
                    .and_then(|json| serde_json::from_str::<Vec<CompactedItem>>(json).ok());
                items.extend(kept.ok_or_else(|| unresolved_item(item))?.into_iter().flat_map(restore_item));
            }
            ConversationItem::Message { .. }
            | ConversationItem::FunctionCall { .. }
            | ConversationItem::FunctionCallOutput { .. }
            | ConversationItem::CustomToolCall { .. }
            | ConversationItem::CustomToolCallOutput { .. }
            | ConversationItem::Reasoning { .. }
            | ConversationItem::Reference { .. } => items.push(item.clone()),
        }
    }
    Ok(Cow::Owned(items))
}

fn restore_item(kept: CompactedItem) -> Vec<ConversationItem> {
    let message = |role, text| ConversationItem::Message {
        id: None,
        role,
        content: vec![ItemContent::Text(text)],
        phase: None,
    };
    match kept {
        CompactedItem::User(text) => vec![message(ItemRole::User, text)],
        CompactedItem::Assistant(text) => vec![message(ItemRole::Assistant, text)],
        CompactedItem::Developer(text) => vec![message(ItemRole::Developer, text)],
        CompactedItem::LeftOut(count) => {
            let text = format!("{count} older items of this conversation were left out.");
            vec![message(ItemRole::Developer, text)]
        }
        CompactedItem::Call { call_id, name, namespace, arguments, output } => {
            let output = output.map(|text| ConversationItem::FunctionCallOutput {
                id: None,
                call_id: call_id.clone(),
                output: vec![ItemContent::Text(text)],
            });
            let call = ConversationItem::FunctionCall { id: None, call_id, name, namespace, arguments };
            std::iter::once(call).chain(output).collect()
        }
    }
}

/// Returns every item shortened, with outputs beside their calls.
fn shorten_items(conversation: &[ConversationItem]) -> Vec<CompactedItem> {
    let last_answer = conversation
        .iter()
        .rposition(|item| matches!(item, ConversationItem::Message { role: ItemRole::Assistant, .. }));
    let mut all = ConversationShortener::default();
    for (index, item) in conversation.iter().enumerate() {
        match item {
            ConversationItem::Message { role: ItemRole::User, content, .. } => {
                all.kept.push(CompactedItem::User(joined_text(content)));
            }
            ConversationItem::Message { role: ItemRole::System | ItemRole::Developer, content, .. } => {
                all.kept.push(CompactedItem::Developer(joined_text(content)));
            }
            ConversationItem::Message { role: ItemRole::Assistant, content, .. } => {
                let most = if Some(index) == last_answer { LAST_ANSWER } else { ANSWER };
                all.kept.push(CompactedItem::Assistant(cut_text(&joined_text(content), most)));
            }
            ConversationItem::FunctionCall { call_id, name, namespace, arguments, .. } => {
                all.call(call_id, name, namespace.as_ref(), arguments.clone());
            }
            ConversationItem::CustomToolCall { call_id, name, namespace, input, .. } => {
                all.call(call_id, name, namespace.as_ref(), custom_arguments(input));
            }
            ConversationItem::FunctionCallOutput { call_id, output, .. }
            | ConversationItem::CustomToolCallOutput { call_id, output, .. } => {
                all.output(call_id, &joined_text(output));
            }
            ConversationItem::Reasoning { .. }
            | ConversationItem::Compaction { .. }
            | ConversationItem::Reference { .. } => {}
        }
    }
    all.kept
}

#[derive(Default)]
struct ConversationShortener<'a> {
    kept: Vec<CompactedItem>,
    /// Indexes of calls in `kept`.
    calls: HashMap<&'a str, usize>,
}

impl<'a> ConversationShortener<'a> {
    fn call(&mut self, call_id: &'a str, name: &str, namespace: Option<&String>, arguments: String) {
        // A client that echoes a compacted call sends it twice.
        if let Entry::Vacant(free) = self.calls.entry(call_id) {
            free.insert(self.kept.len());
            let (call_id, name, namespace) = (call_id.to_owned(), name.to_owned(), namespace.cloned());
            self.kept.push(CompactedItem::Call { call_id, name, namespace, arguments, output: None });
        }
    }

    fn output(&mut self, call_id: &str, text: &str) {
        let call = self.calls.get(call_id).and_then(|&index| self.kept.get_mut(index));
        if let Some(CompactedItem::Call { arguments, output, .. }) = call {
            if estimate(arguments) > ARGUMENTS {
                // Still JSON, like the arguments of every call.
                *arguments = serde_json::json!({ "cut": cut_text(arguments, ARGUMENTS) }).to_string();
            }
            *output = Some(cut_text(text, OUTPUT));
        }
    }
}

/// Drops the oldest items over the limits. Calls and answers have a limit of their own, so that they do not displace
/// user messages.
fn fit_limits(all: Vec<CompactedItem>) -> Vec<CompactedItem> {
    let (mut user_room, mut other_room, mut left_out) = (USER_ROOM, OTHER_ROOM, 0);
    let mut newest_first: Vec<CompactedItem> = Vec::new();
    for item in all.into_iter().rev() {
        let cost = cost(&item);
        let (item, cost, room) = match item {
            CompactedItem::Developer(_) | CompactedItem::Call { output: None, .. } => {
                (item, 0, &mut other_room)
            }
            CompactedItem::User(text) if cost > user_room => {
                let text = cut_text(&text, USER_WHEN_FULL);
                let cost = estimate(&text);
                (CompactedItem::User(text), cost, &mut user_room)
            }
            CompactedItem::User(_) => (item, cost, &mut user_room),
            CompactedItem::Assistant(_) | CompactedItem::Call { .. } | CompactedItem::LeftOut(_) => {
                (item, cost, &mut other_room)
            }
        };
        match room.checked_sub(cost) {
            Some(left) => {
                *room = left;
                newest_first.push(item);
            }
            None => left_out += 1,
        }
    }
    newest_first.extend((left_out > 0).then_some(CompactedItem::LeftOut(left_out)));
    newest_first.reverse();
    newest_first
}

fn cost(item: &CompactedItem) -> usize {
    match item {
        CompactedItem::User(text) | CompactedItem::Assistant(text) | CompactedItem::Developer(text) => {
            estimate(text)
        }
        CompactedItem::Call { name, arguments, output, .. } => {
            estimate(name) + estimate(arguments) + output.as_deref().map_or(0, estimate)
        }
        CompactedItem::LeftOut(_) => 0,
    }
}

fn joined_text(content: &[ItemContent]) -> String {
    let parts: Vec<&str> = content
        .iter()
        .map(|part| match part {
            ItemContent::Text(text) | ItemContent::Refusal(text) => text.as_str(),
            ItemContent::Image { .. } => IMAGE,
        })
        .collect();
    parts.join("\n")
}

/// Cuts a text that is too long and notes how much is missing. The result fits, so that it is not cut again.
fn cut_text(text: &str, tokens: usize) -> String {
    if estimate(text) <= tokens {
        return text.to_owned();
    }
    let end = prefix_within(text, tokens.saturating_sub(MARK_TOKENS));
    format!("{} (cut: {} more characters)", &text[..end], text[end..].chars().count())
}
