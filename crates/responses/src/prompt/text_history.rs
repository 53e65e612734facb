//! The history for a model that only speaks text.
//!
//! Messages keep their role and their text, escaped. Calls and outputs become records in user messages. Not in
//! developer messages: an output is untrusted. Not in assistant messages: the model would learn to write records
//! instead of calls, would take an output for its own finding, and on most services cannot get an image.

use std::borrow::Cow;
use std::collections::HashMap;

use backend::{HistoryEntry, MessagePart};

use super::call_index::CallIndex;
use super::instructions::PromptNeeds;
use super::record::{OutputPart, PromptRecord};
use super::{escape, unresolved_item};
use crate::error::ApiError;
use crate::item::{ConversationItem, ItemContent, ItemRole};
use crate::request::Request;

/// The names of the client's tools for the model.
pub(super) struct ModelNames<'a>(HashMap<(Option<&'a str>, &'a str), &'a str>);

impl<'a> ModelNames<'a> {
    pub(super) fn new(request: &'a Request) -> ModelNames<'a> {
        let name = |tool: &'a crate::tools::OfferedTool| {
            ((tool.namespace.as_deref(), tool.own_name.as_str()), tool.name.as_str())
        };
        ModelNames(request.tools.iter().map(|tool| name(tool)).collect())
    }

    /// Returns the name for the model. A tool that is not offered any more keeps the client's name.
    pub(super) fn model_name<'n>(&self, namespace: Option<&'n str>, name: &'n str) -> Cow<'n, str>
    where
        'a: 'n,
    {
        match (self.0.get(&(namespace, name)), namespace) {
            (Some(known), _) => Cow::Borrowed(*known),
            (None, Some(namespace)) => Cow::Owned(format!("{namespace}__{name}")),
            (None, None) => Cow::Borrowed(name),
        }
    }
}

pub(super) fn backend_role(role: ItemRole) -> backend::MessageRole {
    match role {
        ItemRole::User => backend::MessageRole::User,
        ItemRole::Assistant => backend::MessageRole::Assistant,
        ItemRole::System | ItemRole::Developer => backend::MessageRole::Developer,
    }
}

/// Returns the history, and the explanations that it needs.
pub(super) fn history(
    request: &Request,
    conversation: &[ConversationItem],
    calls: &CallIndex<'_>,
) -> Result<(Vec<HistoryEntry>, PromptNeeds), ApiError> {
    let names = ModelNames::new(request);
    let mut flat = HistoryBuilder::default();
    for (index, item) in conversation.iter().enumerate() {
        match item {
            ConversationItem::Message { role: said_by, content, .. } => {
                flat.message(backend_role(*said_by), content);
            }
            ConversationItem::FunctionCall { id, call_id, name, namespace, arguments } => {
                if calls.is_first(call_id, index) {
                    let name = names.model_name(namespace.as_deref(), name).into_owned();
                    flat.record(&PromptRecord::Call {
                        id: id.clone(),
                        call_id: call_id.clone(),
                        name,
                        arguments: arguments.clone(),
                    });
                }
            }
            ConversationItem::CustomToolCall { id, call_id, name, namespace, input } => {
                if calls.is_first(call_id, index) {
                    let name = names.model_name(namespace.as_deref(), name).into_owned();
                    let arguments = custom_arguments(input);
                    flat.record(&PromptRecord::Call {
                        id: id.clone(),
                        call_id: call_id.clone(),
                        name,
                        arguments,
                    });
                }
            }
            ConversationItem::FunctionCallOutput { call_id, output, .. }
            | ConversationItem::CustomToolCallOutput { call_id, output, .. } => {
                flat.output(call_id, output);
            }
            ConversationItem::Reasoning { summary, encrypted, .. } => {
                let summary = summary.iter().map(|text| flat.escaped(text)).collect();
                flat.push(HistoryEntry::Reasoning { summary, encrypted: encrypted.clone() });
            }
            ConversationItem::Compaction { .. } | ConversationItem::Reference { .. } => {
                return Err(unresolved_item(item));
            }
        }
    }
    Ok(flat.finish())
}

/// Returns the arguments of a custom tool, which is a function of one text for the model.
pub(super) fn custom_arguments(input: &str) -> String {
    serde_json::json!({ "input": input }).to_string()
}

#[derive(Default)]
struct HistoryBuilder {
    entries: Vec<HistoryEntry>,
    /// The records since the last other item. They are one message, since some models need alternating roles.
    records: Vec<MessagePart>,
    needs: PromptNeeds,
}

impl HistoryBuilder {
    fn message(&mut self, role: backend::MessageRole, content: &[ItemContent]) {
        let parts: Vec<MessagePart> = content.iter().map(|part| self.part(part)).collect();
        if !parts.is_empty() {
            self.push(HistoryEntry::Message { role, parts });
        }
    }

    fn part(&mut self, content: &ItemContent) -> MessagePart {
        match content {
            ItemContent::Text(text) | ItemContent::Refusal(text) => MessagePart::Text(self.escaped(text)),
            ItemContent::Image { url, detail } => {
                MessagePart::Image { url: url.clone(), detail: detail.clone() }
            }
        }
    }

    fn escaped(&mut self, text: &str) -> String {
        match escape(text) {
            Cow::Borrowed(same) => same.to_owned(),
            Cow::Owned(escaped) => {
                self.needs.escapes = true;
                escaped
            }
        }
    }

    fn output(&mut self, call_id: &str, output: &[ItemContent]) {
        let mut images = Vec::new();
        let mut parts = Vec::new();
        for content in output {
            parts.push(match content {
                ItemContent::Text(text) => OutputPart::Text(text.clone()),
                ItemContent::Refusal(text) => OutputPart::Refusal(text.clone()),
                ItemContent::Image { url, detail } => {
                    images.push(MessagePart::Image { url: url.clone(), detail: detail.clone() });
                    OutputPart::Image(images.len())
                }
            });
        }
        self.record(&PromptRecord::Output { call_id: call_id.to_owned(), parts });
        self.records.append(&mut images);
    }

    fn record(&mut self, record: &PromptRecord) {
        self.needs.records = true;
        match self.records.last_mut() {
            Some(MessagePart::Text(lines)) => {
                lines.push('\n');
                lines.push_str(&record.line());
            }
            Some(MessagePart::Image { .. }) | None => self.records.push(MessagePart::Text(record.line())),
        }
    }

    fn push(&mut self, entry: HistoryEntry) {
        self.end_records();
        self.entries.push(entry);
    }

    fn end_records(&mut self) {
        if !self.records.is_empty() {
            let parts = std::mem::take(&mut self.records);
            self.entries.push(HistoryEntry::Message { role: backend::MessageRole::User, parts });
        }
    }

    fn finish(mut self) -> (Vec<HistoryEntry>, PromptNeeds) {
        self.end_records();
        (self.entries, self.needs)
    }
}
