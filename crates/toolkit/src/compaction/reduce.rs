//! A canonical result with less in it. What comes out is a canonical result again, and making it smaller once more
//! to the same level changes nothing.

use envelope::{CanonicalError, CanonicalResult, Family};
use serde_json::{Map, Value};

use super::Level;
use super::cut::head_and_tail;
use super::fields::{ANY_TRUNCATED, Kind, LEFT_OUT, PREVIEW, TRUNCATED, is_id, kind};
use crate::preview::tokens::estimate;

/// The least that a trimmed preview may have; less would be all marks.
const LEAST: usize = 60;
/// Entries of a list that are remembered by their ids.
const IDS: usize = 20;

/// What a trimmed preview may have: a tenth of what the family has for a receipt.
pub(super) fn preview_tokens(family: Family) -> usize {
    (family.default_budget() as usize / 10).max(LEAST)
}

/// Whether the renderer of a family cuts what does not fit. It knows best, and says how to get the rest.
/// Where it words all that there is, the previews are cut first.
fn renderer_cuts(family: Family) -> bool {
    match family {
        Family::Command | Family::Task => false,
        Family::Mutation
        | Family::Read
        | Family::Listing
        | Family::Search
        | Family::Links
        | Family::Editor
        | Family::Workspace
        | Family::HostCommand
        | Family::Text
        | Family::Artifact
        | Family::External => true,
    }
}

/// The result at this level.
pub(super) fn reduce(level: Level, family: Family, canonical: &CanonicalResult) -> CanonicalResult {
    let tokens = preview_tokens(family);
    let fields = |fields: &Map<String, Value>| match level {
        Level::Exact => fields.clone(),
        Level::Trimmed => trimmed(fields, tokens),
        Level::Bare | Level::Recap => stripped(fields, level == Level::Bare),
    };
    let result = |result: &Value| match (level, result) {
        (Level::Exact, _) => result.clone(),
        (Level::Trimmed, _) if renderer_cuts(family) => result.clone(),
        (Level::Trimmed | Level::Bare | Level::Recap, Value::Object(known)) => fields(known).into(),
        (Level::Trimmed, _) => result.clone(),
        // Only a tool that was not written here answers with something else, and all of it is a preview.
        (Level::Bare | Level::Recap, _) => Value::Object(Map::new()),
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

/// Previews cut, everything else as it is; what speaks of a preview is put right.
fn trimmed(fields: &Map<String, Value>, tokens: usize) -> Map<String, Value> {
    let mut kept = fields.clone();
    for (name, value) in fields {
        match (kind(name, value), value) {
            (Kind::Preview, Value::String(text)) => {
                let cut = head_and_tail(text, tokens);
                if cut != *text {
                    mark_truncated(&mut kept, name);
                    kept.insert(name.clone(), cut.into());
                }
            }
            (Kind::Preview, Value::Array(items)) => {
                let first = first_items(items, tokens);
                let gone = items.len() - first.len();
                if gone > 0 {
                    let before = kept.get(LEFT_OUT).and_then(Value::as_u64).unwrap_or_default();
                    kept.insert(LEFT_OUT.to_owned(), (before + gone as u64).into());
                }
                kept.insert(name.clone(), first.into());
            }
            (Kind::Preview | Kind::Inner, Value::Object(inner)) => {
                kept.insert(name.clone(), trimmed(inner, tokens).into());
            }
            (Kind::Handle | Kind::Artifact | Kind::Fact | Kind::Remark | Kind::Preview | Kind::Inner, _) => {}
        }
    }
    kept
}

/// Says of a preview that it is not all, where its result has a word for that.
fn mark_truncated(fields: &mut Map<String, Value>, preview: &str) {
    let own = preview.strip_suffix(PREVIEW).map(|role| format!("{role}{TRUNCATED}"));
    for name in own.as_deref().into_iter().chain([ANY_TRUNCATED]) {
        if let Some(flag) = fields.get_mut(name) {
            *flag = true.into();
        }
    }
}

/// The first items that fit, at least one: a list without any would say that nothing was found.
fn first_items(items: &[Value], tokens: usize) -> Vec<Value> {
    let mut room = tokens;
    let mut kept = Vec::new();
    for item in items {
        let item = small(item, tokens);
        match room.checked_sub(estimate(&item.to_string())) {
            Some(left) => room = left,
            None if kept.is_empty() => room = 0,
            None => break,
        }
        kept.push(item);
    }
    kept
}

/// An item of a list with its texts cut.
fn small(item: &Value, tokens: usize) -> Value {
    match item {
        Value::String(text) => head_and_tail(text, tokens).into(),
        Value::Object(fields) => trimmed(fields, tokens).into(),
        Value::Array(items) => first_items(items, tokens).into(),
        Value::Null | Value::Bool(_) | Value::Number(_) => item.clone(),
    }
}

/// Without previews; handles and artifacts stay, facts only if they are wanted.
fn stripped(fields: &Map<String, Value>, facts: bool) -> Map<String, Value> {
    let mut kept = Map::new();
    for (name, value) in fields {
        match (kind(name, value), value) {
            (Kind::Handle, Value::Object(_)) if !facts => {
                kept.insert(name.clone(), ids(value).unwrap_or_else(|| value.clone()));
            }
            (Kind::Handle | Kind::Artifact, _) => {
                kept.insert(name.clone(), value.clone());
            }
            (Kind::Fact, _) if facts => {
                kept.insert(name.clone(), value.clone());
            }
            (Kind::Preview, Value::Array(items)) => {
                let ids: Vec<Value> = items.iter().filter_map(ids).take(IDS).collect();
                if !ids.is_empty() {
                    kept.insert(name.clone(), ids.into());
                }
            }
            (Kind::Preview | Kind::Inner, Value::Object(inner)) => {
                let inner = stripped(inner, facts);
                if !inner.is_empty() {
                    kept.insert(name.clone(), inner.into());
                }
            }
            (Kind::Fact | Kind::Remark | Kind::Preview | Kind::Inner, _) => {}
        }
    }
    kept
}

/// The ids of one entry of a list, if it has any.
fn ids(entry: &Value) -> Option<Value> {
    let fields = entry.as_object()?;
    let named = fields.iter().filter(|(name, value)| is_id(name, value));
    let ids: Map<String, Value> = named.map(|(name, value)| (name.clone(), value.clone())).collect();
    (!ids.is_empty()).then(|| ids.into())
}
