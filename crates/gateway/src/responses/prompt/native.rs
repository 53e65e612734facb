//! A conversation for a backend that has tools of its own: calls and outputs pass as what they are.
//!
//! Nothing is escaped, since nothing is found in text there.

use backend::{Entry, NativeCall, NativeTool, Part};

use super::calls::Calls;
use super::flat::{Names, custom_arguments, role};
use super::manifest::allowed;
use super::{schema, unresolved};
use crate::responses::error::ApiError;
use crate::responses::item::{Content, Item};
use crate::responses::request::Request;

/// What a backend is told of a call that nobody answered. Some refuse a call without an output, some make one up.
const NO_OUTPUT: &str = "The call was not answered.";

pub(super) fn tools(request: &Request) -> Vec<NativeTool> {
    allowed(request)
        .map(|tool| NativeTool {
            name: tool.name.clone(),
            description: tool.description.clone(),
            parameters: schema::compact(&tool.parameters),
        })
        .collect()
}

pub(super) fn history(
    request: &Request,
    conversation: &[Item],
    calls: &Calls<'_>,
) -> Result<Vec<Entry>, ApiError> {
    let names = Names::of(request);
    let mut entries = Vec::new();
    for (index, item) in conversation.iter().enumerate() {
        match item {
            Item::Message { role: said_by, content, .. } => {
                if !content.is_empty() {
                    entries.push(Entry::Message { role: role(*said_by), parts: parts(content) });
                }
            }
            Item::FunctionCall { call_id, name, namespace, arguments, .. } => {
                let name = names.of_call(namespace.as_deref(), name);
                call(
                    &mut entries,
                    calls,
                    index,
                    NativeCall {
                        call_id: call_id.clone(),
                        name: name.into_owned(),
                        arguments: arguments.clone(),
                    },
                );
            }
            Item::CustomToolCall { call_id, name, namespace, input, .. } => {
                let name = names.of_call(namespace.as_deref(), name);
                call(
                    &mut entries,
                    calls,
                    index,
                    NativeCall {
                        call_id: call_id.clone(),
                        name: name.into_owned(),
                        arguments: custom_arguments(input),
                    },
                );
            }
            Item::FunctionCallOutput { call_id, output, .. }
            | Item::CustomToolCallOutput { call_id, output, .. } => {
                entries.push(Entry::CallOutput { call_id: call_id.clone(), parts: parts(output) });
            }
            Item::Reasoning { summary, encrypted, .. } => {
                entries.push(Entry::Reasoning { summary: summary.clone(), encrypted: encrypted.clone() });
            }
            Item::Compaction { .. } | Item::Reference { .. } => return Err(unresolved(item)),
        }
    }
    Ok(entries)
}

fn call(entries: &mut Vec<Entry>, calls: &Calls<'_>, index: usize, call: NativeCall) {
    if !calls.is_first(&call.call_id, index) {
        return;
    }
    let missing = (!calls.is_answered(&call.call_id)).then(|| Entry::CallOutput {
        call_id: call.call_id.clone(),
        parts: vec![Part::Text(NO_OUTPUT.to_owned())],
    });
    entries.push(Entry::Call(call));
    entries.extend(missing);
}

fn parts(content: &[Content]) -> Vec<Part> {
    content
        .iter()
        .map(|part| match part {
            Content::Text(text) | Content::Refusal(text) => Part::Text(text.clone()),
            Content::Image { url, detail } => Part::Image { url: url.clone(), detail: detail.clone() },
        })
        .collect()
}
