//! Phase 1: finds the tool's declaration by name or alias among what this run may see.

use envelope::{Fault, canonical_hash};
use toolkit::Entry;

use crate::Engine;
use crate::call::Flight;

/// Ends in `unknown_tool`, `blocked_tool` or `schema_not_loaded`.
pub(crate) fn resolve_tool<'a>(engine: &'a Engine, flight: &mut Flight) -> Result<&'a Entry, Fault> {
    let entry = engine.parts.surface.resolve(flight.call.tool.as_str())?;
    let (call, decl) = (&mut flight.call, &*entry.decl);
    // Whatever the caller says about these, the declaration decides.
    call.risk_level = decl.risk_level;
    call.cancellable = decl.cancellable;
    if call.category.as_deref() != Some(decl.category.as_str()) {
        call.category = Some(decl.category.as_str().into());
    }
    call.tool.clone_from(&decl.name);
    // A driver has hashed the arguments already; a call that comes alone may not have been.
    if call.args_hash.is_none() {
        call.args_hash = Some(canonical_hash(&flight.model));
    }
    Ok(entry)
}
