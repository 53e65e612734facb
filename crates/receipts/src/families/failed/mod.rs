//! Failures, the same for every family: what happened, what was already done, what to do next.
//!
//! Kind, message, hint and the retryable flag are never changed. Only the details are bounded.

mod renderer;

use envelope::{CanonicalResult, CanonicalStatus, Fault};
use serde_json::{Map, Value};

use super::json_bound::{ValueLimits, clip, clip_text};
use crate::preview::{PreviewInput, PreviewStyle, preview};

pub(super) use renderer::render;

/// Largest details, in bytes, that a canonical result contains unchanged.
const MAX_DETAILS: usize = 12 * 1024;
/// Limits for larger details.
const SUMMARY: ValueLimits = ValueLimits { text: 512, items: 10, depth: 3 };
/// Token budget for each output stream of a failed command.
const PREVIEW_TOKENS: usize = 800;

/// Details field that lists the effects a call had before it failed.
pub const ALREADY_DONE: &str = "already_done";
/// Details fields with the output of a failed command, and the names of the streams.
const PREVIEWS: [(&str, &str); 3] =
    [("stdout_preview", "stdout"), ("stderr_preview", "stderr"), ("combined_output_preview", "output")];

/// Returns the canonical result of a failed call. Only large details are shortened.
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

/// Returns the details, with long texts and long lists cut and counted if they are too large.
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
/// Bytes for that field and the braces.
const LEFT_OUT_ROOM: usize = 48;

fn size(details: &Map<String, Value>) -> usize {
    serde_json::to_string(details).map_or(usize::MAX, |text| text.len())
}

fn summarised(name: &str, value: &Value) -> Value {
    let is_preview = PREVIEWS.iter().any(|(preview, _)| *preview == name);
    match value {
        // Keep the beginning and the end: the cause of a failure is rarely in the middle.
        Value::String(printed) if is_preview => {
            let input = PreviewInput { head: printed.as_bytes(), gap: None, tail: &[] };
            preview(&input, PREVIEW_TOKENS, PreviewStyle::Log).text.into()
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
