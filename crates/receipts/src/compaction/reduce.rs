//! Reduces a canonical result to a level of detail. The result is again canonical, and reducing it again to the
//! same level changes nothing.

use envelope::{CanonicalError, CanonicalResult, ReceiptFamily};
use serde_json::{Map, Value};

use super::DetailLevel;
use super::cut::head_and_tail;
use super::fields::{ANY_TRUNCATED, FieldKind, LEFT_OUT, PREVIEW, TRUNCATED, field_kind, is_id};
use crate::preview::tokenizer::estimate;

/// Smallest budget of a trimmed preview; with less it would consist of markers.
const LEAST: usize = 60;
/// Number of list entries whose ids are kept.
const IDS: usize = 20;

/// Returns the budget of a trimmed preview.
pub(super) fn preview_tokens(family: ReceiptFamily) -> usize {
    match family {
        ReceiptFamily::Command | ReceiptFamily::Task | ReceiptFamily::Artifact | ReceiptFamily::Read => 200,
        ReceiptFamily::Search | ReceiptFamily::External | ReceiptFamily::Text => 150,
        ReceiptFamily::Listing | ReceiptFamily::Links | ReceiptFamily::Editor => 100,
        ReceiptFamily::Mutation | ReceiptFamily::Workspace | ReceiptFamily::HostCommand => LEAST,
    }
}

/// Returns true if the family's renderer cuts oversized results itself and says how to get the rest. For the other
/// families the previews are cut first.
fn renderer_cuts(family: ReceiptFamily) -> bool {
    match family {
        ReceiptFamily::Command | ReceiptFamily::Task => false,
        ReceiptFamily::Mutation
        | ReceiptFamily::Read
        | ReceiptFamily::Listing
        | ReceiptFamily::Search
        | ReceiptFamily::Links
        | ReceiptFamily::Editor
        | ReceiptFamily::Workspace
        | ReceiptFamily::HostCommand
        | ReceiptFamily::Text
        | ReceiptFamily::Artifact
        | ReceiptFamily::External => true,
    }
}

/// Returns the result at this level.
pub(super) fn reduce(
    level: DetailLevel,
    family: ReceiptFamily,
    canonical: &CanonicalResult,
) -> CanonicalResult {
    let tokens = preview_tokens(family);
    let fields = |fields: &Map<String, Value>| match level {
        DetailLevel::Exact => fields.clone(),
        DetailLevel::Trimmed => trim_fields(fields, tokens),
        DetailLevel::Bare | DetailLevel::Recap => strip_fields(fields, level == DetailLevel::Bare),
    };
    let result = |result: &Value| match (level, result) {
        (DetailLevel::Exact, _) => result.clone(),
        (DetailLevel::Trimmed, _) if renderer_cuts(family) => result.clone(),
        (DetailLevel::Trimmed | DetailLevel::Bare | DetailLevel::Recap, Value::Object(known)) => {
            fields(known).into()
        }
        (DetailLevel::Trimmed, _) => result.clone(),
        // Only an external tool returns something other than an object, and all of it is a preview.
        (DetailLevel::Bare | DetailLevel::Recap, _) => Value::Object(Map::new()),
    };
    CanonicalResult {
        tool_name: canonical.tool_name.clone(),
        status: canonical.status,
        summary_text: canonical.summary_text.clone(),
        result: canonical.result.as_ref().map(result),
        error: canonical
            .error
            .as_ref()
            .map(|error| CanonicalError { details: error.details.as_ref().map(fields), ..error.clone() }),
    }
}

/// Cuts previews, updates the fields that describe them, and keeps everything else.
fn trim_fields(fields: &Map<String, Value>, tokens: usize) -> Map<String, Value> {
    let mut kept = fields.clone();
    for (name, value) in fields {
        match (field_kind(name, value), value) {
            (FieldKind::Preview, Value::String(text)) => {
                let cut = head_and_tail(text, tokens);
                if cut != *text {
                    mark_truncated(&mut kept, name);
                    kept.insert(name.clone(), cut.into());
                }
            }
            (FieldKind::Preview, Value::Array(items)) => {
                let first = first_items(items, tokens);
                let gone = items.len() - first.len();
                if gone > 0 {
                    let before = kept.get(LEFT_OUT).and_then(Value::as_u64).unwrap_or_default();
                    kept.insert(LEFT_OUT.to_owned(), (before + gone as u64).into());
                }
                kept.insert(name.clone(), first.into());
            }
            (FieldKind::Preview | FieldKind::Inner, Value::Object(inner)) => {
                kept.insert(name.clone(), trim_fields(inner, tokens).into());
            }
            (
                FieldKind::Handle
                | FieldKind::Artifact
                | FieldKind::Fact
                | FieldKind::Remark
                | FieldKind::Preview
                | FieldKind::Inner,
                _,
            ) => {}
        }
    }
    kept
}

/// Sets the flags that say that a preview is incomplete, if the result has them.
fn mark_truncated(fields: &mut Map<String, Value>, preview: &str) {
    let own = preview.strip_suffix(PREVIEW).map(|role| format!("{role}{TRUNCATED}"));
    for name in own.as_deref().into_iter().chain([ANY_TRUNCATED]) {
        if let Some(flag) = fields.get_mut(name) {
            *flag = true.into();
        }
    }
}

/// Returns the first items that fit, at least one: an empty list would mean that nothing was found.
fn first_items(items: &[Value], tokens: usize) -> Vec<Value> {
    let mut room = tokens;
    let mut kept = Vec::new();
    for item in items {
        let item = trim_item(item, tokens);
        match room.checked_sub(estimate(&item.to_string())) {
            Some(left) => room = left,
            None if kept.is_empty() => room = 0,
            None => break,
        }
        kept.push(item);
    }
    kept
}

/// Returns an item of a list with its texts cut.
fn trim_item(item: &Value, tokens: usize) -> Value {
    match item {
        Value::String(text) => head_and_tail(text, tokens).into(),
        Value::Object(fields) => trim_fields(fields, tokens).into(),
        Value::Array(items) => first_items(items, tokens).into(),
        Value::Null | Value::Bool(_) | Value::Number(_) => item.clone(),
    }
}

/// Drops previews; keeps handles and artifacts, and facts if `facts` is true.
fn strip_fields(fields: &Map<String, Value>, facts: bool) -> Map<String, Value> {
    let mut kept = Map::new();
    for (name, value) in fields {
        match (field_kind(name, value), value) {
            (FieldKind::Handle, Value::Object(_)) if !facts => {
                kept.insert(name.clone(), entry_ids(value).unwrap_or_else(|| value.clone()));
            }
            (FieldKind::Handle | FieldKind::Artifact, _) => {
                kept.insert(name.clone(), value.clone());
            }
            (FieldKind::Fact, _) if facts => {
                kept.insert(name.clone(), value.clone());
            }
            (FieldKind::Preview, Value::Array(items)) => {
                let ids: Vec<Value> = items.iter().filter_map(entry_ids).take(IDS).collect();
                if !ids.is_empty() {
                    kept.insert(name.clone(), ids.into());
                }
            }
            (FieldKind::Preview | FieldKind::Inner, Value::Object(inner)) => {
                let inner = strip_fields(inner, facts);
                if !inner.is_empty() {
                    kept.insert(name.clone(), inner.into());
                }
            }
            (FieldKind::Fact | FieldKind::Remark | FieldKind::Preview | FieldKind::Inner, _) => {}
        }
    }
    kept
}

/// Returns the ids of one entry of a list, if it has any.
fn entry_ids(entry: &Value) -> Option<Value> {
    let fields = entry.as_object()?;
    let named = fields.iter().filter(|(name, value)| is_id(name, value));
    let ids: Map<String, Value> = named.map(|(name, value)| (name.clone(), value.clone())).collect();
    (!ids.is_empty()).then(|| ids.into())
}
