//! Phase 7: waits for a slot, then records the intent of the call.
//!
//! The call is recorded before the tool runs. After a crash, a call without a result is uncertain, which is true; the
//! other order would lose the call.

use envelope::{EventLevel, EventType, ExecutionEvent, Failure, Fault, Risk, Timestamp, VaultChange};
use jiff::SignedDuration;
use journal::JournalError;
use toolkit::RegisteredTool;

use crate::Engine;
use crate::call::CallState;
use crate::call_inputs::PermittedArgs;
use crate::engine::journal_fault;
use crate::forecast::{ForecastCall, ForecastOutcome};
use crate::panic_guard::catch_panic;
use crate::phase_trace::PhaseTrace;
use crate::run_scope::RunScope;
use crate::scheduler::ResourceClaim;
use crate::timeout::{call_limit, with_timeout};

use super::permission::ask_again;

/// How often a call is asked about again because its changes have changed meanwhile.
const MAX_ASKED: u32 = 3;

/// Fails with `canceled`, `sibling_canceled` or `conflict`, or with `execution_failed` if the journal cannot be
/// written.
pub(crate) async fn schedule(
    engine: &Engine,
    scope: &RunScope,
    entry: &RegisteredTool,
    state: &mut CallState,
    mut permitted: PermittedArgs,
    trace: &mut PhaseTrace<'_>,
) -> Result<PermittedArgs, Fault> {
    let claim =
        ResourceClaim::new(&state.call.run_id, &state.call.step_id, entry.decl.concurrency, &permitted.paths);
    state.slot = Some(engine.inner.scheduler.acquire(claim, state.ticket.take(), &state.cancel).await?);
    // The call has its slot, so it sees the context of every call before it.
    state.cx.set_context(scope.context.current());
    let effects = entry.decl.risk_level.has_effects();
    if effects {
        check_journal(scope)?;
        // Changes of an interrupted dispatch of this call come first: the newest line of a call has all of them.
        let mut intent = state.cx.with_report(|seen| seen.changes.clone());
        intent.extend(approved_intent(engine, scope, entry, state, &mut permitted, trace).await?);
        state.call.intent = intent;
    }
    state.restore_args();
    state.call.called_with.clone_from(&permitted.called_with);
    state.call.preview = Some(permitted.preview.clone());
    state.call.deadline_at = deadline(engine, call_limit(entry, state));
    let started = ExecutionEvent {
        event_type: EventType::StepStarted,
        run_id: state.call.run_id.clone(),
        timestamp: engine.inner.clock.now(),
        level: EventLevel::Info,
        message: permitted.preview.clone(),
        call_id: Some(state.call.call_id.clone()),
        step_id: Some(state.call.step_id.clone()),
        tool: Some(state.call.tool.clone()),
        payload: None,
    };
    engine.record_event(scope, &started)?;
    let seq = scope.journal.call(&state.call).map_err(|error| journal_fault(&error))?;
    engine.notify_call(&state.call);
    state.is_recorded = true;
    if effects {
        scope.journal.durable(seq).await.map_err(|error| journal_fault(&error))?;
        trace.note("intent is durable");
    }
    Ok(permitted)
}

/// Returns an error if the journal has failed: the run must have no further effects, since its record would be
/// incomplete.
fn check_journal(scope: &RunScope) -> Result<(), Fault> {
    match scope.journal.failure() {
        Some(why) => Err(journal_fault(&JournalError::Stopped { why: why.into() })),
        None => Ok(()),
    }
}

/// Returns the changes that are about to be made, all of which are approved. If some are not, the user is asked about
/// the difference; meanwhile the call keeps its slot, so that no call behind it overtakes it.
///
/// Fails with `conflict` if no approver is available, or if the vault changes again and again.
async fn approved_intent(
    engine: &Engine,
    scope: &RunScope,
    entry: &RegisteredTool,
    state: &CallState,
    permitted: &mut PermittedArgs,
    trace: &mut PhaseTrace<'_>,
) -> Result<Vec<VaultChange>, Fault> {
    let mut approved = permitted.approved.clone().or_else(|| scope.approved());
    for _ in 0..MAX_ASKED {
        let intent = prepare_intent(entry, state, permitted).await?;
        let differences = match &approved {
            // The effects of a command are not changes of files that could be compared; its line was approved.
            Some(approved) if !permitted.dry_run && entry.decl.risk_level != Risk::Commands => {
                approved.differences(&state.call, &entry.decl, &intent)
            }
            Some(_) | None => Vec::new(),
        };
        if differences.is_empty() {
            if approved.is_some() {
                state.cx.hold_to_intent();
            }
            return Ok(intent);
        }
        trace.note(format!("not what was approved: {}", differences.join("; ")));
        let shown = ForecastCall { changes: intent, ..ForecastCall::of(&state.call, ForecastOutcome::Works) };
        approved = Some(ask_again(engine, entry, state, permitted, (&differences, shown)).await?);
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

/// Returns the changes that are about to be made, now that the paths are locked.
async fn prepare_intent(
    entry: &RegisteredTool,
    state: &CallState,
    permitted: &mut PermittedArgs,
) -> Result<Vec<VaultChange>, Fault> {
    let look = catch_panic(entry.tool.intend(&state.cx, &mut permitted.decoded));
    // A tool that cannot declare its changes is not called.
    with_timeout(entry, state, look).await?.map_err(|panic| {
        Fault::new(
            Failure::ExecutionFailed,
            format!("{} crashed while saying what it would change: {panic}", entry.decl.name),
        )
    })
}

fn deadline(engine: &Engine, limit: u64) -> Option<Timestamp> {
    engine.inner.clock.now().checked_add(SignedDuration::from_millis(i64::try_from(limit).ok()?)).ok()
}
