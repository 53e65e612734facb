//! Phase 3: lets the tool validate its arguments against the current state, before the approver is asked.

use envelope::{Failure, Fault};
use toolkit::{DecodedArgs, RegisteredTool};

use crate::call::CallState;
use crate::panic_guard::{catch_call, catch_panic};
use crate::timeout::with_timeout;

/// Fails with `invalid_arguments`, `setup_required` or `sandbox_violation`, or with the tool's own failure.
pub(crate) async fn validate_values(
    entry: &RegisteredTool,
    state: &CallState,
    args: &mut DecodedArgs,
) -> Result<(), Fault> {
    refuse_protected(entry, args)?;
    match with_timeout(entry, state, catch_panic(entry.tool.validate(&state.cx, args))).await? {
        Ok(verdict) => verdict,
        Err(panic) => Err(Fault::new(
            Failure::ExecutionFailed,
            format!("{} crashed while checking its arguments: {panic}", entry.decl.name),
        )),
    }
}

/// Returns an error if a path is protected. No rule, hook or approval can open a protected folder.
fn refuse_protected(entry: &RegisteredTool, args: &DecodedArgs) -> Result<(), Fault> {
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
