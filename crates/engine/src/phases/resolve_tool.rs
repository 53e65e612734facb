//! Phase 1: finds the tool's declaration by name or alias among what this run may see.

use envelope::Fault;
use toolkit::Entry;

use crate::Engine;
use crate::call::Flight;

/// Ends in `unknown_tool`, `blocked_tool` or `schema_not_loaded`.
pub(crate) fn resolve_tool<'a>(engine: &'a Engine, flight: &mut Flight) -> Result<&'a Entry, Fault> {
    let entry = engine.parts.surface.resolve(flight.call.tool.as_str())?;
    // What the caller says about risk and category is never taken over; the declaration decides.
    flight.call.risk_level = entry.decl.risk_level;
    flight.call.cancellable = entry.decl.cancellable;
    flight.call.tool.clone_from(&entry.decl.name);
    Ok(entry)
}
