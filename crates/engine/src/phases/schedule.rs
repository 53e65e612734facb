//! Phase 7: waits for a slot, then writes down what is about to happen.
//!
//! The call is logged before the tool runs. After a crash, a call without a result is "unknown", which is
//! the truth; the other order would lose the call.

use envelope::{Change, EventType, ExecutionEvent, Failure, Fault, Level, Risk, Timestamp};
use jiff::SignedDuration;
use journal::JournalError;
use toolkit::Entry;

use crate::Engine;
use crate::call::{Flight, RunScope, journal_fault};
use crate::catch::catch_panic;
use crate::forecast::{ForecastCall, ForecastOutcome};
use crate::inputs::PermittedArgs;
use crate::limit::{bounded, call_limit};
use crate::schedule::Claim;
use crate::trace::Trace;

use super::permission::ask_again;

/// How often a call is asked about because what it would do has changed meanwhile.
const MAX_ASKED: u32 = 3;

/// Ends in `canceled`, `sibling_canceled` or `conflict`, or in `execution_failed` when the record cannot be kept.
pub(crate) async fn schedule(
    engine: &Engine,
    scope: &RunScope,
    entry: &Entry,
    flight: &mut Flight,
    permitted: PermittedArgs,
    trace: &mut Trace<'_>,
) -> Result<PermittedArgs, Fault> {
    let claim =
        Claim::new(&flight.call.run_id, &flight.call.step_id, entry.decl.concurrency, &permitted.paths);
    flight.slot = Some(engine.parts.scheduler.acquire(claim, flight.ticket.take(), &flight.cancel).await?);
    // Now that it is this call's turn, it sees what every call before it left.
    flight.cx.enter(scope.context.current());
    let effects = entry.decl.risk_level.has_effects();
    if effects {
        refuse_unkept(scope)?;
        // What an interrupted dispatch of this call has done comes first: the newest line of a call tells all.
        let mut intent = flight.cx.with_seen(|seen| seen.changes.clone());
        intent.extend(covered_intent(engine, scope, entry, flight, &permitted, trace).await?);
        flight.call.intent = intent;
    }
    flight.restore_args();
    flight.call.called_with.clone_from(&permitted.called_with);
    flight.call.preview = Some(permitted.preview.clone());
    flight.call.deadline_at = deadline(engine, call_limit(entry, flight));
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
    engine.record_event(scope, &started)?;
    let seq = scope.journal.call(&flight.call).map_err(|error| journal_fault(&error))?;
    engine.tell_call(&flight.call);
    flight.logged = true;
    if effects {
        scope.journal.durable(seq).await.map_err(|error| journal_fault(&error))?;
        trace.note("intent is durable");
    }
    Ok(permitted)
}

/// A run that could not keep something does nothing more: its record would not tell all of it.
fn refuse_unkept(scope: &RunScope) -> Result<(), Fault> {
    match scope.journal.failure() {
        Some(why) => Err(journal_fault(&JournalError::Stopped { why: why.into() })),
        None => Ok(()),
    }
}

/// The changes that are about to be made, all of which were approved. Where they are not, the user is asked about the
/// difference; while that lasts the call keeps its turn, so that no call behind it overtakes it.
///
/// Ends in `conflict` when nobody can be asked, or when the vault changes again and again.
async fn covered_intent(
    engine: &Engine,
    scope: &RunScope,
    entry: &Entry,
    flight: &Flight,
    permitted: &PermittedArgs,
    trace: &mut Trace<'_>,
) -> Result<Vec<Change>, Fault> {
    let mut approved = permitted.approved.clone().or_else(|| scope.approved());
    for _ in 0..MAX_ASKED {
        let intent = intend(entry, flight, permitted).await?;
        let differences = match &approved {
            // What a command does is no change of a file that could be compared; its line was approved.
            Some(approved) if !permitted.dry_run && entry.decl.risk_level != Risk::Commands => {
                approved.differences(&flight.call, &entry.decl, &intent)
            }
            Some(_) | None => Vec::new(),
        };
        if differences.is_empty() {
            if approved.is_some() {
                flight.cx.hold_to_intent();
            }
            return Ok(intent);
        }
        trace.note(format!("not what was approved: {}", differences.join("; ")));
        let shown =
            ForecastCall { changes: intent, ..ForecastCall::of(&flight.call, ForecastOutcome::Works) };
        approved = Some(ask_again(engine, entry, flight, permitted, (&differences, shown)).await?);
    }
    Err(Fault::new(
        Failure::Conflict,
        format!(
            "what {} would change changed again and again while it was being asked about",
            entry.decl.name
        ),
    )
    .hint("make the call again when nothing else writes to the vault"))
}

/// The changes that are about to be made, now that nobody else may touch these paths.
async fn intend(entry: &Entry, flight: &Flight, permitted: &PermittedArgs) -> Result<Vec<Change>, Fault> {
    let look = catch_panic(entry.tool.intend(&flight.cx, &permitted.decoded));
    // What cannot say what it is about to do does not get to do it.
    bounded(entry, flight, look).await?.map_err(|panic| {
        Fault::new(
            Failure::ExecutionFailed,
            format!("{} crashed while saying what it would change: {panic}", entry.decl.name),
        )
    })
}

fn deadline(engine: &Engine, limit: u64) -> Option<Timestamp> {
    engine.parts.clock.now().checked_add(SignedDuration::from_millis(i64::try_from(limit).ok()?)).ok()
}
