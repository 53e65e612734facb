//! A long conversation in a small item, which the client keeps and sends back instead of it.
//!
//! What stays, from the newest on for as long as there is room: what the developer said, whole and always; what the user
//! said, whole while there is room; calls and their outputs, cut; answers, cut but for the last. A call that is still open stays as it is,
//! since its output comes next. Reasoning and images go. The same conversation always gives the same item; no model is
//! asked. The item is opaque to clients, not secret: it holds nothing but what they sent or were sent, and one that a
//! client writes itself can say no more than its own items could.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use serde::{Deserialize, Serialize};
use toolkit::preview::tokens::{estimate, prefix_within};

use super::flat::custom_arguments;
use super::unresolved;
use crate::responses::error::ApiError;
use crate::responses::item::{Content, Item, Role};

/// What the item begins with, and the version of what follows.
const MARK: &str = "tollgate-compaction-1:";

/// All in tokens, as a model counts them.
const USER_ROOM: usize = 12_000;
const OTHER_ROOM: usize = 12_000;
const LAST_ANSWER: usize = 2_000;
const ANSWER: usize = 200;
const USER_WHEN_FULL: usize = 60;
const ARGUMENTS: usize = 120;
const OUTPUT: usize = 240;
/// What the words behind a cut cost at most.
const MARK_TOKENS: usize = 14;

const IMAGE: &str = "(an image)";

/// What is kept of an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Kept {
    User(String),
    Assistant(String),
    Developer(String),
    Call {
        call_id: String,
        name: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        namespace: Option<String>,
        arguments: String,
        /// None while the call is open.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<String>,
    },
    /// So many that would follow were left out. Stands first.
    LeftOut(usize),
}

/// The text of a compaction item that stands for these items.
pub fn compact(conversation: &[Item]) -> Result<String, ApiError> {
    let conversation = expand(conversation)?;
    let kept = fit(shortened(&conversation));
    // Strings and numbers only, which never fail.
    Ok(format!("{MARK}{}", serde_json::to_string(&kept).unwrap_or_default()))
}

/// The conversation with every compaction item replaced by what it stands for.
pub(super) fn expand(conversation: &[Item]) -> Result<Cow<'_, [Item]>, ApiError> {
    if !conversation.iter().any(|item| matches!(item, Item::Compaction { .. })) {
        return Ok(Cow::Borrowed(conversation));
    }
    let mut items = Vec::new();
    for item in conversation {
        match item {
            Item::Compaction { encrypted, .. } => {
                let kept = encrypted
                    .strip_prefix(MARK)
                    .and_then(|json| serde_json::from_str::<Vec<Kept>>(json).ok());
                items.extend(kept.ok_or_else(|| unresolved(item))?.into_iter().flat_map(restored));
            }
            Item::Message { .. }
            | Item::FunctionCall { .. }
            | Item::FunctionCallOutput { .. }
            | Item::CustomToolCall { .. }
            | Item::CustomToolCallOutput { .. }
            | Item::Reasoning { .. }
            | Item::Reference { .. } => items.push(item.clone()),
        }
    }
    Ok(Cow::Owned(items))
}

fn restored(kept: Kept) -> Vec<Item> {
    let message =
        |role, text| Item::Message { id: None, role, content: vec![Content::Text(text)], phase: None };
    match kept {
        Kept::User(text) => vec![message(Role::User, text)],
        Kept::Assistant(text) => vec![message(Role::Assistant, text)],
        Kept::Developer(text) => vec![message(Role::Developer, text)],
        Kept::LeftOut(count) => {
            let text = format!("{count} older items of this conversation were left out.");
            vec![message(Role::Developer, text)]
        }
        Kept::Call { call_id, name, namespace, arguments, output } => {
            let output = output.map(|text| Item::FunctionCallOutput {
                id: None,
                call_id: call_id.clone(),
                output: vec![Content::Text(text)],
            });
            let call = Item::FunctionCall { id: None, call_id, name, namespace, arguments };
            std::iter::once(call).chain(output).collect()
        }
    }
}

/// Every item by itself, with outputs beside their calls.
fn shortened(conversation: &[Item]) -> Vec<Kept> {
    let last_answer =
        conversation.iter().rposition(|item| matches!(item, Item::Message { role: Role::Assistant, .. }));
    let mut all = Shortened::default();
    for (index, item) in conversation.iter().enumerate() {
        match item {
            Item::Message { role: Role::User, content, .. } => all.kept.push(Kept::User(text(content))),
            Item::Message { role: Role::System | Role::Developer, content, .. } => {
                all.kept.push(Kept::Developer(text(content)));
            }
            Item::Message { role: Role::Assistant, content, .. } => {
                let most = if Some(index) == last_answer { LAST_ANSWER } else { ANSWER };
                all.kept.push(Kept::Assistant(cut(&text(content), most)));
            }
            Item::FunctionCall { call_id, name, namespace, arguments, .. } => {
                all.call(call_id, name, namespace.as_ref(), arguments.clone());
            }
            Item::CustomToolCall { call_id, name, namespace, input, .. } => {
                all.call(call_id, name, namespace.as_ref(), custom_arguments(input));
            }
            Item::FunctionCallOutput { call_id, output, .. }
            | Item::CustomToolCallOutput { call_id, output, .. } => {
                all.output(call_id, &text(output));
            }
            Item::Reasoning { .. } | Item::Compaction { .. } | Item::Reference { .. } => {}
        }
    }
    all.kept
}

#[derive(Default)]
struct Shortened<'a> {
    kept: Vec<Kept>,
    /// Where in `kept` a call is.
    calls: HashMap<&'a str, usize>,
}

impl<'a> Shortened<'a> {
    fn call(&mut self, call_id: &'a str, name: &str, namespace: Option<&String>, arguments: String) {
        // A client that echoes what is kept here already sends a call twice.
        if let Entry::Vacant(free) = self.calls.entry(call_id) {
            free.insert(self.kept.len());
            let (call_id, name, namespace) = (call_id.to_owned(), name.to_owned(), namespace.cloned());
            self.kept.push(Kept::Call { call_id, name, namespace, arguments, output: None });
        }
    }

    fn output(&mut self, call_id: &str, text: &str) {
        let call = self.calls.get(call_id).and_then(|&index| self.kept.get_mut(index));
        if let Some(Kept::Call { arguments, output, .. }) = call {
            if estimate(arguments) > ARGUMENTS {
                // Still JSON, as every call's.
                *arguments = serde_json::json!({ "cut": cut(arguments, ARGUMENTS) }).to_string();
            }
            *output = Some(cut(text, OUTPUT));
        }
    }
}

/// As much as there is room for, from the newest on. Calls and answers cannot crowd out what the user said.
fn fit(all: Vec<Kept>) -> Vec<Kept> {
    let (mut user_room, mut other_room, mut left_out) = (USER_ROOM, OTHER_ROOM, 0);
    let mut newest_first: Vec<Kept> = Vec::new();
    for item in all.into_iter().rev() {
        let cost = cost(&item);
        let (item, cost, room) = match item {
            Kept::Developer(_) | Kept::Call { output: None, .. } => (item, 0, &mut other_room),
            Kept::User(text) if cost > user_room => {
                let text = cut(&text, USER_WHEN_FULL);
                let cost = estimate(&text);
                (Kept::User(text), cost, &mut user_room)
            }
            Kept::User(_) => (item, cost, &mut user_room),
            Kept::Assistant(_) | Kept::Call { .. } | Kept::LeftOut(_) => (item, cost, &mut other_room),
        };
        match room.checked_sub(cost) {
            Some(left) => {
                *room = left;
                newest_first.push(item);
            }
            None => left_out += 1,
        }
    }
    newest_first.extend((left_out > 0).then_some(Kept::LeftOut(left_out)));
    newest_first.reverse();
    newest_first
}

fn cost(item: &Kept) -> usize {
    match item {
        Kept::User(text) | Kept::Assistant(text) | Kept::Developer(text) => estimate(text),
        Kept::Call { name, arguments, output, .. } => {
            estimate(name) + estimate(arguments) + output.as_deref().map_or(0, estimate)
        }
        Kept::LeftOut(_) => 0,
    }
}

fn text(content: &[Content]) -> String {
    let parts: Vec<&str> = content
        .iter()
        .map(|part| match part {
            Content::Text(text) | Content::Refusal(text) => text.as_str(),
            Content::Image { .. } => IMAGE,
        })
        .collect();
    parts.join("\n")
}

/// The beginning of a text that is too long, and how much of it is missing. Fits, so that it is not cut again.
fn cut(text: &str, tokens: usize) -> String {
    if estimate(text) <= tokens {
        return text.to_owned();
    }
    let end = prefix_within(text, tokens.saturating_sub(MARK_TOKENS));
    format!("{} (cut: {} more characters)", &text[..end], text[end..].chars().count())
}
