//! Phase 9: turns what the tool returned into data, summary and receipt. Once.

use envelope::{Failure, Fault};
use toolkit::{Entry, Mapped, RawOutput};

use crate::catch::catch_call;

/// Ends in `result_mapping_failed`. The effects stay in the record.
pub(crate) fn map_result(entry: &Entry, raw: RawOutput) -> Result<Mapped, Fault> {
    let mapped = catch_call(|| raw.map()).unwrap_or_else(|panic| {
        Err(Fault::new(
            Failure::ResultMappingFailed,
            format!("{} crashed while describing its result: {panic}", entry.decl.name),
        ))
    })?;
    keeps_its_word(entry, &mapped)?;
    Ok(mapped)
}

/// Steps that refer to this output were checked against its schema, so it has to hold.
pub(super) fn keeps_its_word(entry: &Entry, mapped: &Mapped) -> Result<(), Fault> {
    let problems = entry.output.validate(&mapped.data);
    let Some(first) = problems.first() else {
        return Ok(());
    };
    Err(Fault::new(
        Failure::ResultMappingFailed,
        format!(
            "the output of {} is not what it declares: {} {}",
            entry.decl.name, first.pointer, first.message
        ),
    )
    .detail("problems", serde_json::to_value(&problems).unwrap_or_default()))
}
