//! Phase 1: resolves the tool by name or alias among the tools that this run can see.

use envelope::{Fault, canonical_hash};
use toolkit::RegisteredTool;

use crate::Engine;
use crate::call::CallState;

/// Fails with `unknown_tool`, `blocked_tool` or `schema_not_loaded`.
pub(crate) fn resolve_tool<'a>(
    engine: &'a Engine,
    state: &mut CallState,
) -> Result<&'a RegisteredTool, Fault> {
    let entry = engine.inner.surface.resolve(state.call.tool.as_str())?;
    let (call, decl) = (&mut state.call, &*entry.decl);
    // The declaration decides about these, not the caller.
    call.risk_level = decl.risk_level;
    call.cancellable = decl.cancellable;
    if call.category.as_deref() != Some(decl.category.as_str()) {
        call.category = Some(decl.category.as_str().into());
    }
    call.tool.clone_from(&decl.name);
    // The machine has hashed the arguments of a plan's call; a single call can come without a hash.
    if call.args_hash.is_none() {
        call.args_hash = Some(canonical_hash(&state.model_args));
    }
    Ok(entry)
}
