//! A conversation for a model that knows only text.
//!
//! Messages keep their role and their text, escaped. Calls and outputs become records, and those are said by the user.
//! Not by the developer: an output is the word of a stranger. Not by the assistant: it would learn to write records
//! where it should write calls, would take an output for its own finding, and on most services cannot hold an image.

use std::borrow::Cow;
use std::collections::HashMap;

use backend::{Entry, Part};

use super::calls::Calls;
use super::manifest::Needs;
use super::record::{OutputPart, Record};
use super::{escape, unresolved};
use crate::responses::error::ApiError;
use crate::responses::item::{Content, Item, Role};
use crate::responses::request::Request;

/// The names by which the model knows the tools of the client.
pub(super) struct Names<'a>(HashMap<(Option<&'a str>, &'a str), &'a str>);

impl<'a> Names<'a> {
    pub(super) fn of(request: &'a Request) -> Names<'a> {
        let name = |tool: &'a crate::responses::tools::OfferedTool| {
            ((tool.namespace.as_deref(), tool.own_name.as_str()), tool.name.as_str())
        };
        Names(request.tools.iter().map(|tool| name(tool)).collect())
    }

    /// Of a tool that is not offered any more, the client's name.
    pub(super) fn of_call<'n>(&self, namespace: Option<&'n str>, name: &'n str) -> Cow<'n, str>
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

pub(super) fn role(role: Role) -> backend::Role {
    match role {
        Role::User => backend::Role::User,
        Role::Assistant => backend::Role::Assistant,
        Role::System | Role::Developer => backend::Role::Developer,
    }
}

/// The history, and what has to be explained of it.
pub(super) fn history(
    request: &Request,
    conversation: &[Item],
    calls: &Calls<'_>,
) -> Result<(Vec<Entry>, Needs), ApiError> {
    let names = Names::of(request);
    let mut flat = Flat::default();
    for (index, item) in conversation.iter().enumerate() {
        match item {
            Item::Message { role: said_by, content, .. } => flat.message(role(*said_by), content),
            Item::FunctionCall { id, call_id, name, namespace, arguments } => {
                if calls.is_first(call_id, index) {
                    let name = names.of_call(namespace.as_deref(), name).into_owned();
                    flat.record(&Record::Call {
                        id: id.clone(),
                        call_id: call_id.clone(),
                        name,
                        arguments: arguments.clone(),
                    });
                }
            }
            Item::CustomToolCall { id, call_id, name, namespace, input } => {
                if calls.is_first(call_id, index) {
                    let name = names.of_call(namespace.as_deref(), name).into_owned();
                    let arguments = custom_arguments(input);
                    flat.record(&Record::Call { id: id.clone(), call_id: call_id.clone(), name, arguments });
                }
            }
            Item::FunctionCallOutput { call_id, output, .. }
            | Item::CustomToolCallOutput { call_id, output, .. } => {
                flat.output(call_id, output);
            }
            Item::Reasoning { summary, encrypted, .. } => {
                let summary = summary.iter().map(|text| flat.escaped(text)).collect();
                flat.push(Entry::Reasoning { summary, encrypted: encrypted.clone() });
            }
            Item::Compaction { .. } | Item::Reference { .. } => return Err(unresolved(item)),
        }
    }
    Ok(flat.finish())
}

/// A custom tool is shown as a function of one text.
pub(super) fn custom_arguments(input: &str) -> String {
    serde_json::json!({ "input": input }).to_string()
}

#[derive(Default)]
struct Flat {
    entries: Vec<Entry>,
    /// The records since the last other item. They are one message, since some models want the speakers to alternate.
    records: Vec<Part>,
    needs: Needs,
}

impl Flat {
    fn message(&mut self, role: backend::Role, content: &[Content]) {
        let parts: Vec<Part> = content.iter().map(|part| self.part(part)).collect();
        if !parts.is_empty() {
            self.push(Entry::Message { role, parts });
        }
    }

    fn part(&mut self, content: &Content) -> Part {
        match content {
            Content::Text(text) | Content::Refusal(text) => Part::Text(self.escaped(text)),
            Content::Image { url, detail } => Part::Image { url: url.clone(), detail: detail.clone() },
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

    fn output(&mut self, call_id: &str, output: &[Content]) {
        let mut images = Vec::new();
        let mut parts = Vec::new();
        for content in output {
            parts.push(match content {
                Content::Text(text) => OutputPart::Text(text.clone()),
                Content::Refusal(text) => OutputPart::Refusal(text.clone()),
                Content::Image { url, detail } => {
                    images.push(Part::Image { url: url.clone(), detail: detail.clone() });
                    OutputPart::Image(images.len())
                }
            });
        }
        self.record(&Record::Output { call_id: call_id.to_owned(), parts });
        self.records.append(&mut images);
    }

    fn record(&mut self, record: &Record) {
        self.needs.records = true;
        match self.records.last_mut() {
            Some(Part::Text(lines)) => {
                lines.push('\n');
                lines.push_str(&record.line());
            }
            Some(Part::Image { .. }) | None => self.records.push(Part::Text(record.line())),
        }
    }

    fn push(&mut self, entry: Entry) {
        self.end_records();
        self.entries.push(entry);
    }

    fn end_records(&mut self) {
        if !self.records.is_empty() {
            let parts = std::mem::take(&mut self.records);
            self.entries.push(Entry::Message { role: backend::Role::User, parts });
        }
    }

    fn finish(mut self) -> (Vec<Entry>, Needs) {
        self.end_records();
        (self.entries, self.needs)
    }
}
