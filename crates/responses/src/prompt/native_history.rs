//! The history for a backend with native tools: calls and outputs keep their types.
//!
//! Nothing is escaped, since calls are not found in text there.

use backend::{HistoryEntry, MessagePart, NativeCall, NativeTool};

use super::call_index::CallIndex;
use super::instructions::allowed;
use super::text_history::{ModelNames, backend_role, custom_arguments};
use super::{compact_schema, unresolved_item};
use crate::error::ApiError;
use crate::item::{ConversationItem, ItemContent};
use crate::request::Request;

/// The output of a call without one. Some backends refuse a call without an output, some invent one.
const NO_OUTPUT: &str = "The call was not answered.";

pub(super) fn tools(request: &Request) -> Vec<NativeTool> {
    allowed(request)
        .map(|tool| NativeTool {
            name: tool.name.clone(),
            description: tool.description.clone(),
            parameters: compact_schema::compact(&tool.parameters),
        })
        .collect()
}

pub(super) fn history(
    request: &Request,
    conversation: &[ConversationItem],
    calls: &CallIndex<'_>,
) -> Result<Vec<HistoryEntry>, ApiError> {
    let names = ModelNames::new(request);
    let mut entries = Vec::new();
    for (index, item) in conversation.iter().enumerate() {
        match item {
            ConversationItem::Message { role: said_by, content, .. } => {
                if !content.is_empty() {
                    entries
                        .push(HistoryEntry::Message { role: backend_role(*said_by), parts: parts(content) });
                }
            }
            ConversationItem::FunctionCall { call_id, name, namespace, arguments, .. } => {
                let name = names.model_name(namespace.as_deref(), name);
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
            ConversationItem::CustomToolCall { call_id, name, namespace, input, .. } => {
                let name = names.model_name(namespace.as_deref(), name);
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
            ConversationItem::FunctionCallOutput { call_id, output, .. }
            | ConversationItem::CustomToolCallOutput { call_id, output, .. } => {
                entries.push(HistoryEntry::CallOutput { call_id: call_id.clone(), parts: parts(output) });
            }
            ConversationItem::Reasoning { summary, encrypted, .. } => {
                entries
                    .push(HistoryEntry::Reasoning { summary: summary.clone(), encrypted: encrypted.clone() });
            }
            ConversationItem::Compaction { .. } | ConversationItem::Reference { .. } => {
                return Err(unresolved_item(item));
            }
        }
    }
    Ok(entries)
}

fn call(entries: &mut Vec<HistoryEntry>, calls: &CallIndex<'_>, index: usize, call: NativeCall) {
    if !calls.is_first(&call.call_id, index) {
        return;
    }
    let missing = (!calls.is_answered(&call.call_id)).then(|| HistoryEntry::CallOutput {
        call_id: call.call_id.clone(),
        parts: vec![MessagePart::Text(NO_OUTPUT.to_owned())],
    });
    entries.push(HistoryEntry::Call(call));
    entries.extend(missing);
}

fn parts(content: &[ItemContent]) -> Vec<MessagePart> {
    content
        .iter()
        .map(|part| match part {
            ItemContent::Text(text) | ItemContent::Refusal(text) => MessagePart::Text(text.clone()),
            ItemContent::Image { url, detail } => {
                MessagePart::Image { url: url.clone(), detail: detail.clone() }
            }
        })
        .collect()
}
