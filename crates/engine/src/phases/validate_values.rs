//! Phase 3: lets the tool check values and look at the world before anyone is asked.

use envelope::{Failure, Fault};
use toolkit::{DecodedArgs, Entry};

use crate::call::Flight;
use crate::catch::{catch_call, catch_panic};
use crate::limit::bounded;

/// Ends in `invalid_arguments`, `setup_required` or `sandbox_violation`, or in the tool's own cause.
pub(crate) async fn validate_values(entry: &Entry, flight: &Flight, args: &DecodedArgs) -> Result<(), Fault> {
    refuse_protected(entry, args)?;
    match bounded(entry, flight, catch_panic(entry.tool.validate(&flight.cx, args))).await? {
        Ok(verdict) => verdict,
        Err(panic) => Err(Fault::new(
            Failure::ExecutionFailed,
            format!("{} crashed while checking its arguments: {panic}", entry.decl.name),
        )),
    }
}

/// No rule, hook or yes can open a protected folder, so nobody is asked about one.
fn refuse_protected(entry: &Entry, args: &DecodedArgs) -> Result<(), Fault> {
    let paths = catch_call(|| entry.tool.paths(args)).map_err(|panic| {
        Fault::new(
            Failure::ExecutionFailed,
            format!("{} crashed while naming its paths: {panic}", entry.decl.name),
        )
    })?;
    for reach in paths.all() {
        if let Some(path) = reach.path()
            && let Some(by) = path.protected_by()
        {
            return Err(Fault::new(
                Failure::SandboxViolation,
                format!("`{path}` lies in `{by}`, which no tool may touch"),
            )
            .detail("path", path.as_str()));
        }
    }
    Ok(())
}
