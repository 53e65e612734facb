//! Phase 7: waits for a slot, then writes down what is about to happen.
//!
//! The call is logged before the tool runs. After a crash, a call without a result is "unknown", which is
//! the truth; the other order would lose the call.

use envelope::{EventType, ExecutionEvent, Fault, Level};
use toolkit::Entry;

use crate::Engine;
use crate::call::{Flight, RunScope, journal_fault};
use crate::catch::catch_panic;
use crate::inputs::PermittedArgs;
use crate::schedule::Claim;
use crate::trace::Trace;

/// Ends in `canceled` or `sibling_canceled`.
pub(crate) async fn schedule(
    engine: &Engine,
    scope: &RunScope,
    entry: &Entry,
    flight: &mut Flight,
    permitted: PermittedArgs,
    trace: &mut Trace<'_>,
) -> Result<PermittedArgs, Fault> {
    let claim = Claim::new(&flight.call.run_id, entry.decl.concurrency, &permitted.paths);
    flight.slot = Some(engine.parts.scheduler.acquire(claim, &flight.cancel).await?);
    let effects = entry.decl.risk_level.has_effects();
    if effects {
        // Now that nobody else may touch these paths, what is there is what the effect will meet.
        // A tool that crashes over it leaves nothing to compare with, which makes a crash later uncertain.
        flight.call.before =
            catch_panic(entry.tool.observe(&flight.cx, &permitted.decoded)).await.unwrap_or_default();
    }
    flight.restore_args();
    flight.call.called_with.clone_from(&permitted.called_with);
    flight.call.preview = Some(permitted.preview.clone());
    let started = ExecutionEvent {
        event_type: EventType::StepStarted,
        run_id: flight.call.run_id.clone(),
        timestamp: engine.parts.clock.now(),
        level: Level::Info,
        message: permitted.preview.clone(),
        call_id: Some(flight.call.call_id.clone()),
        step_id: Some(flight.call.step_id.clone()),
        tool: Some(flight.call.tool.clone()),
        payload: None,
    };
    let mut seq = engine.record_event(scope, &started)?;
    if !flight.logged {
        seq = scope.journal.call(&flight.call).map_err(|error| journal_fault(&error))?;
        flight.logged = true;
    }
    flight.intended = true;
    if effects {
        scope.journal.durable(seq).await.map_err(|error| journal_fault(&error))?;
        trace.note("intent is durable");
    }
    Ok(permitted)
}
