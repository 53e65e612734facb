//! Failures, which look the same whatever the family: what happened, what was done already, what to do next.

use std::fmt::Write as _;

use envelope::{CanonicalError, CanonicalResult, CanonicalStatus, Fault};
use serde_json::{Map, Value};

/// Bytes of details that stand in a canonical result as they are.
const MAX_DETAILS: usize = 4 * 1024;
/// What one value among larger details may have.
const MAX_DETAIL: usize = 512;
/// Items of a list among larger details.
const MAX_ITEMS: usize = 10;

/// What a failure had already done, listed in the details under this name.
pub const ALREADY_DONE: &str = "already_done";

/// The canonical result of a failed call. Large details are summarised; nothing else is.
pub fn canonical(tool_name: &str, fault: &Fault, already_done: Vec<String>) -> CanonicalResult {
    let mut error = fault.to_canonical_error();
    if !already_done.is_empty() {
        error.details.get_or_insert_default().insert(ALREADY_DONE.to_owned(), already_done.into());
    }
    error.details = error.details.map(bounded);
    CanonicalResult {
        tool_name: tool_name.to_owned(),
        status: CanonicalStatus::Error,
        summary_text: fault.message.clone(),
        result: None,
        error: Some(error),
    }
}

/// Details that fit: as they are, or with long texts and long lists cut and counted.
fn bounded(details: Map<String, Value>) -> Map<String, Value> {
    if size(&details) <= MAX_DETAILS {
        return details;
    }
    let (mut kept, mut room, mut left_out) = (Map::new(), MAX_DETAILS, 0_u64);
    for (name, value) in details {
        let value = summarised(value);
        // Quotes, a colon and a comma.
        let needed = name.len() + value.to_string().len() + 4;
        if needed > room {
            left_out += 1;
        } else {
            room -= needed;
            kept.insert(name, value);
        }
    }
    if left_out > 0 {
        kept.insert("fields_left_out".to_owned(), left_out.into());
    }
    kept
}

fn size(details: &Map<String, Value>) -> usize {
    serde_json::to_string(details).map_or(usize::MAX, |text| text.len())
}

fn summarised(value: Value) -> Value {
    match value {
        Value::String(text) if text.len() > MAX_DETAIL => {
            let end = text.floor_char_boundary(MAX_DETAIL);
            format!("{}...[{} more bytes]", &text[..end], text.len() - end).into()
        }
        Value::Array(items) => {
            let (all, fits) = (items.len(), MAX_ITEMS.min(items.len()));
            let mut kept: Vec<Value> = items.into_iter().take(fits).map(summarised).collect();
            if all > fits {
                kept.push(format!("...[{} more]", all - fits).into());
            }
            kept.into()
        }
        Value::Object(map) => match serde_json::to_string(&map) {
            Ok(text) if text.len() <= MAX_DETAIL => Value::Object(map),
            Ok(_) | Err(_) => Value::Object(
                map.into_iter().take(MAX_ITEMS).map(|(name, value)| (name, summarised(value))).collect(),
            ),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

/// What the model reads of a failure.
pub(super) fn render(canonical: &CanonicalResult, error: &CanonicalError, _budget: usize) -> String {
    let mut text = format!("{} failed ({}): {}", canonical.tool_name, error.kind, error.message);
    if let Some(details) = &error.details {
        if let Some(Value::Array(done)) = details.get(ALREADY_DONE) {
            let done: Vec<&str> = done.iter().filter_map(Value::as_str).collect();
            let _infallible = write!(text, "\nAlready done and not undone: {}", done.join(", "));
        }
    }
    if let Some(hint) = &error.recovery_hint {
        let _infallible = write!(text, "\nNext: {hint}");
    }
    text
}
