//! Phase 11: decides where the bytes of the result live: in the line, or once by their hash.

use envelope::{CanonicalResult, CanonicalStatus, DataRef, Failure, Fault};
use serde_json::Value;
use toolkit::{Entry, Mapped};

use crate::Engine;
use crate::call::{RunScope, journal_fault};
use crate::trace::Trace;

use super::post_hooks::Settled;

/// A line of the journal should stay something a person can read.
const INLINE_BYTES: usize = 64 * 1024;

/// A result that will be kept as it stands.
pub(crate) struct Kept {
    pub(crate) data: Value,
    pub(crate) data_ref: Option<DataRef>,
    pub(crate) summary: String,
    pub(crate) receipt: String,
    pub(crate) canonical: CanonicalResult,
}

/// Ends in `result_too_large`. A result that was blanked out says so in this phase's detail.
pub(crate) fn persist_result(
    engine: &Engine,
    scope: &RunScope,
    entry: &Entry,
    settled: Settled,
    trace: &mut Trace<'_>,
) -> Result<Kept, Fault> {
    let Mapped { data, summary, receipt } = settled.mapped;
    if settled.redacted {
        trace.note("result_redacted");
    }
    let data_ref = keep_by_hash(engine, scope, entry, &data, trace)?;
    let canonical = CanonicalResult {
        tool_name: entry.decl.name.to_string(),
        status: CanonicalStatus::Success,
        summary_text: summary.clone(),
        result: Some(match &data_ref {
            // Bounded: the whole is one look at the object store away.
            Some(kept) => serde_json::json!({ "dataRef": kept, "preview": head(&receipt) }),
            None => data.clone(),
        }),
        error: None,
    };
    Ok(Kept { data, data_ref, summary, receipt, canonical })
}

fn keep_by_hash(
    engine: &Engine,
    scope: &RunScope,
    entry: &Entry,
    data: &Value,
    trace: &mut Trace<'_>,
) -> Result<Option<DataRef>, Fault> {
    // A rough size is enough for nearly every result, and costs no serialisation.
    if rough_size(data) <= INLINE_BYTES {
        return Ok(None);
    }
    let bytes = serde_json::to_vec(data).unwrap_or_default();
    let limit = engine.policy().limits.max_result_bytes;
    if bytes.len() as u64 > limit {
        return Err(Fault::new(
            Failure::ResultTooLarge,
            format!("the output of {} has {} bytes; the limit is {limit}", entry.decl.name, bytes.len()),
        )
        .detail("bytes", bytes.len())
        .detail("limit", limit));
    }
    let kept = scope.journal.put_object(&bytes).map_err(|error| journal_fault(&error))?;
    trace.note(format!("{} bytes kept as {}", kept.bytes, kept.hash));
    Ok(Some(kept))
}

/// At most what the value takes as JSON text.
fn rough_size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 4,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| rough_size(item) + 1).sum::<usize>() + 2,
        Value::Object(map) => {
            map.iter().map(|(key, value)| key.len() + rough_size(value) + 4).sum::<usize>() + 2
        }
    }
}

fn head(text: &str) -> &str {
    match text.char_indices().nth(500) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}
