//! Failures, which look the same whatever the family: what happened, what was done already, what to do next.
//!
//! Kind, message, hint and whether a retry can help are never touched. Only the details are bounded.

mod words;

use envelope::{CanonicalResult, CanonicalStatus, Fault};
use serde_json::{Map, Value};

use super::bound::{Limits, clip, clip_text};
use crate::preview::{Input, Style, preview};

pub(super) use words::render;

/// Bytes of details that stand in a canonical result as they are.
const MAX_DETAILS: usize = 12 * 1024;
/// What is left of larger ones: enough of each to recognise it.
const SUMMARY: Limits = Limits { text: 512, items: 10, depth: 3 };
/// Tokens of what a command printed before it failed, for each stream.
const PREVIEW_TOKENS: usize = 800;

/// What a failure had already done, listed in the details under this name.
pub const ALREADY_DONE: &str = "already_done";
/// What a command printed before it failed, and what each stream is called.
const PREVIEWS: [(&str, &str); 3] =
    [("stdout_preview", "stdout"), ("stderr_preview", "stderr"), ("combined_output_preview", "output")];

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
    let (mut kept, mut room, mut left_out) = (Map::new(), MAX_DETAILS - LEFT_OUT_ROOM, 0_u64);
    for (name, value) in details {
        let (name, value) = (clip_text(&name, SUMMARY.text), summarised(&name, &value));
        // Quotes, a colon and a comma.
        let needed = Value::from(name.as_str()).to_string().len() + value.to_string().len() + 2;
        if needed > room {
            left_out += 1;
        } else {
            room -= needed;
            kept.insert(name, value);
        }
    }
    if left_out > 0 {
        kept.insert(LEFT_OUT.to_owned(), left_out.into());
    }
    kept
}

const LEFT_OUT: &str = "fields_left_out";
/// What that takes, and the braces.
const LEFT_OUT_ROOM: usize = 48;

fn size(details: &Map<String, Value>) -> usize {
    serde_json::to_string(details).map_or(usize::MAX, |text| text.len())
}

fn summarised(name: &str, value: &Value) -> Value {
    let is_preview = PREVIEWS.iter().any(|(preview, _)| *preview == name);
    match value {
        // How it began and how it ended: the cause of a failure is rarely in the middle.
        Value::String(printed) if is_preview => {
            let input = Input { head: printed.as_bytes(), gap: None, tail: &[] };
            preview(&input, PREVIEW_TOKENS, Style::Log).text.into()
        }
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => clip(value, SUMMARY),
    }
}

#[cfg(test)]
mod tests;
