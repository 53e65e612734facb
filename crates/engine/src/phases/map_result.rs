//! Phase 9: maps the tool's output to its complete data, the canonical result and the receipt. Once.

use envelope::{Failure, Fault};
use toolkit::{MappedResult, Projection, RawOutput, RegisteredTool};

use crate::Engine;
use crate::artifacts::RecordingArtifacts;
use crate::call::CallState;
use crate::panic_guard::catch_call;

/// Fails with `result_mapping_failed`. The effects stay in the record.
pub(crate) fn map_result(
    engine: &Engine,
    entry: &RegisteredTool,
    state: &CallState,
    raw: RawOutput,
) -> Result<MappedResult, Fault> {
    let mapped = catch_call(|| with_projection(engine, entry, state, |with| raw.map(with))).unwrap_or_else(
        |panic| {
            Err(Fault::new(
                Failure::ResultMappingFailed,
                format!("{} crashed while describing its result: {panic}", entry.decl.name),
            ))
        },
    )?;
    check_output(entry, &mapped)?;
    Ok(mapped)
}

/// Maps within the budget of the result: its family's, or the client's within the policy.
pub(super) fn with_projection<T>(
    engine: &Engine,
    entry: &RegisteredTool,
    state: &CallState,
    map: impl FnOnce(Projection<'_>) -> T,
) -> T {
    let budget = engine.policy().receipts.budget(entry.decl.family, state.budget);
    match state.cx.artifacts() {
        Some(artifacts) => {
            let noting = RecordingArtifacts { artifacts: &**artifacts, made: &state.projected_artifacts };
            map(Projection::new(budget, Some(&noting)))
        }
        None => map(Projection::new(budget, None)),
    }
}

/// Returns an error if the output does not match its schema. Steps that refer to it were checked against that schema.
pub(super) fn check_output(entry: &RegisteredTool, mapped: &MappedResult) -> Result<(), Fault> {
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
