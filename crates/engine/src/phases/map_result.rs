//! Phase 9: turns what the tool returned into its complete data, the canonical result and the receipt. Once.

use envelope::{Failure, Fault};
use toolkit::families::Projection;
use toolkit::{Entry, Mapped, RawOutput};

use crate::Engine;
use crate::artifacts::Noting;
use crate::call::Flight;
use crate::catch::catch_call;

/// Ends in `result_mapping_failed`. The effects stay in the record.
pub(crate) fn map_result(
    engine: &Engine,
    entry: &Entry,
    flight: &Flight,
    raw: RawOutput,
) -> Result<Mapped, Fault> {
    let mapped =
        catch_call(|| within(engine, entry, flight, |with| raw.map(with))).unwrap_or_else(|panic| {
            Err(Fault::new(
                Failure::ResultMappingFailed,
                format!("{} crashed while describing its result: {panic}", entry.decl.name),
            ))
        })?;
    keeps_its_word(entry, &mapped)?;
    Ok(mapped)
}

/// Maps within what the result may take: the budget of its family, or what the caller wants within the policy.
pub(super) fn within<T>(
    engine: &Engine,
    entry: &Entry,
    flight: &Flight,
    map: impl FnOnce(Projection<'_>) -> T,
) -> T {
    let budget = engine.policy().receipts.budget(entry.decl.family, flight.budget);
    match flight.cx.artifacts() {
        Some(artifacts) => {
            let noting = Noting { artifacts: &**artifacts, made: &flight.made };
            map(Projection::new(budget, Some(&noting)))
        }
        None => map(Projection::new(budget, None)),
    }
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
