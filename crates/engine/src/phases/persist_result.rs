//! Phase 11: stores the data of the result, in its line or once by its hash.

use envelope::{Artifact, CanonicalResult, DataRef, Failure, Fault};
use serde_json::Value;
use toolkit::{MappedResult, RegisteredTool};

use crate::Engine;
use crate::engine::journal_fault;
use crate::phase_trace::PhaseTrace;
use crate::run_scope::RunScope;

use super::post_hooks::HookedResult;

/// Largest data in a line of the journal, which should stay readable.
const INLINE_BYTES: usize = 64 * 1024;

/// A result in its final form.
pub(crate) struct PersistedResult {
    pub(crate) data: Value,
    pub(crate) data_ref: Option<DataRef>,
    pub(crate) receipt: String,
    pub(crate) canonical: CanonicalResult,
    pub(crate) artifacts: Vec<Artifact>,
    pub(crate) incomplete: Option<String>,
}

/// Fails with `result_too_large`. A result that was redacted says so in this phase's detail.
pub(crate) fn persist_result(
    engine: &Engine,
    scope: &RunScope,
    entry: &RegisteredTool,
    settled: HookedResult,
    trace: &mut PhaseTrace<'_>,
) -> Result<PersistedResult, Fault> {
    let MappedResult { data, canonical, receipt, artifacts, incomplete } = settled.mapped;
    if settled.redacted {
        trace.note("result_redacted");
    }
    let data_ref = keep_by_hash(engine, scope, entry, &data, trace)?;
    Ok(PersistedResult { data, data_ref, receipt, canonical, artifacts, incomplete })
}

fn keep_by_hash(
    engine: &Engine,
    scope: &RunScope,
    entry: &RegisteredTool,
    data: &Value,
    trace: &mut PhaseTrace<'_>,
) -> Result<Option<DataRef>, Fault> {
    let limit = engine.policy().limits.max_result_bytes;
    // An upper bound is enough for nearly every result, and needs no serialization.
    let room = usize::try_from(limit).unwrap_or(usize::MAX).min(INLINE_BYTES);
    if fits(data, room).is_some() {
        return Ok(None);
    }
    let bytes = serde_json::to_vec(data).unwrap_or_default();
    if bytes.len() as u64 > limit {
        return Err(Fault::new(
            Failure::ResultTooLarge,
            format!("the output of {} has {} bytes; the limit is {limit}", entry.decl.name, bytes.len()),
        )
        .detail("bytes", bytes.len())
        .detail("limit", limit));
    }
    if bytes.len() <= INLINE_BYTES {
        return Ok(None);
    }
    let kept = scope.journal.put_object(&bytes).map_err(|error| journal_fault(&error))?;
    trace.note(format!("{} bytes kept as {}", kept.bytes, kept.hash));
    Ok(Some(kept))
}

/// Returns the rest of `room` after the value as JSON text, by an upper bound; `None` if it might not fit. Stops when
/// the room is used up: a large value is not walked twice.
fn fits(value: &Value, room: usize) -> Option<usize> {
    match value {
        Value::Null | Value::Bool(_) => room.checked_sub(5),
        // The longest are floats such as `-2.2250738585072014e-308`.
        Value::Number(_) => room.checked_sub(25),
        Value::String(text) => room.checked_sub(text_bound(text)),
        Value::Array(items) => {
            items.iter().try_fold(room.checked_sub(2)?, |room, item| fits(item, room.checked_sub(1)?))
        }
        Value::Object(map) => map.iter().try_fold(room.checked_sub(2)?, |room, (key, value)| {
            fits(value, room.checked_sub(text_bound(key) + 2)?)
        }),
    }
}

fn text_bound(text: &str) -> usize {
    let escaped = text.bytes().filter(|byte| *byte < 0x20 || matches!(byte, b'"' | b'\\')).count();
    // At worst one byte becomes six: `\u001b`.
    text.len() + escaped * 5 + 2
}

#[cfg(test)]
mod tests {
    use proptest::collection;
    use proptest::prelude::{Just, Strategy, any, prop_assert, prop_oneof, proptest};
    use serde_json::Value;

    use super::fits;

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
            "[\u{0}-\u{1f}\"\\\\]{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 32, 4, |inner| {
            prop_oneof![
                collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                collection::btree_map(any::<String>(), inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn no_value_is_larger_than_its_bound(value in values()) {
            let bound = usize::MAX - fits(&value, usize::MAX).unwrap();
            prop_assert!(value.to_string().len() <= bound, "{value}");
            prop_assert!(fits(&value, bound).is_some() && fits(&value, bound - 1).is_none());
        }
    }
}
