//! Phase 12: records the one result of the call and returns it. Cannot fail.

use std::sync::{Arc, PoisonError};

use envelope::{
    Effects, EventLevel, EventType, ExecutionEvent, Fault, Phase, ReceiptFamily, Status, Timestamp, ToolCall,
    ToolResult,
};
use receipts::families::{self, failed};
use toolkit::CallReport;

use crate::Engine;
use crate::call::CallState;
use crate::driver::RecordedResult;
use crate::engine::journal_fault;
use crate::panic_guard::catch_call;
use crate::phase_trace::PhaseTrace;
use crate::run_scope::RunScope;

use super::PersistedResult;

/// Builds the result of a call, records it, and only then returns it.
pub(crate) async fn emit_terminal(
    engine: &Engine,
    scope: &Arc<RunScope>,
    mut state: CallState,
    mut trace: PhaseTrace<'_>,
    outcome: Result<PersistedResult, Fault>,
) -> ToolResult {
    if let Err(fault) = &outcome {
        trace.failed(fault.failure);
    }
    trace.enter(Phase::EmitTerminal);
    let mut result = build(engine, scope, &mut state, outcome);
    (result.phases, result.mutations) = trace.finish();
    let recorded = record(engine, scope, &mut state, &mut result).await;
    // From here on, this task returns the result.
    drop(state.dispatch.take());
    match recorded {
        Ok(()) if result.ok => {
            let _crashed = catch_call(|| state.cx.run_recorded_actions());
        }
        Ok(()) => {}
        // The effects happened, but they are not on record: the call must not be reported as a success.
        Err(fault) => unrecorded(&mut result, &fault),
    }
    if let Some(slot) = &state.slot
        && result.error.as_ref().is_some_and(|error| error.retryable != Some(true))
    {
        // A failure that another attempt could fix does not affect the calls behind it.
        slot.failed();
    }
    drop(state.slot.take());
    if let Some(observer) = &engine.inner.observer {
        let _crashed = catch_call(|| observer.result(&result));
    }
    result
}

fn build(
    engine: &Engine,
    scope: &RunScope,
    state: &mut CallState,
    outcome: Result<PersistedResult, Fault>,
) -> ToolResult {
    let CallReport { effects, changes, artifacts, context } = state.cx.take_report();
    let ended = engine.inner.clock.now();
    let mut result = blank_result(&state.call, state.dispatched_at.unwrap_or(state.created_at), ended);
    result.effects = (!effects.is_empty()).then_some(effects);
    result.changes = changes;
    result.artifacts = artifacts;
    result.cancellation = state.cancellation.take();
    result.reconciled = state.is_reconciled;
    match outcome {
        Ok(kept) => {
            fill_ok(&mut result, kept);
            let concurrency = engine
                .surface()
                .resolve(state.call.tool.as_str())
                .map_or(envelope::Concurrency::Parallel, |entry| entry.decl.concurrency);
            result.context_modifiers = scope.context.settle(concurrency, context);
        }
        Err(fault) => fill_failed(&mut result, &fault),
    }
    discard_unnamed_artifacts(state, &result);
    result
}

/// Discards artifacts of a mapping whose result has failed or was mapped again.
fn discard_unnamed_artifacts(state: &CallState, result: &ToolResult) {
    let made = std::mem::take(&mut *state.projected_artifacts.lock().unwrap_or_else(PoisonError::into_inner));
    let Some(artifacts) = state.cx.artifacts() else { return };
    made.iter().filter(|made| !result.artifacts.contains(made)).for_each(|made| artifacts.discard(made));
}

fn blank_result(call: &ToolCall, started: Timestamp, ended: Timestamp) -> ToolResult {
    ToolResult {
        call_id: call.call_id.clone(),
        run_id: call.run_id.clone(),
        step_id: call.step_id.clone(),
        tool: call.tool.clone(),
        attempt: call.attempt,
        status: Status::Error,
        ok: false,
        data: None,
        data_hash: None,
        data_ref: None,
        error: None,
        started_at: started,
        ended_at: ended,
        duration_ms: u64::try_from(ended.as_millisecond() - started.as_millisecond()).unwrap_or(0),
        effects: None,
        changes: Vec::new(),
        artifacts: Vec::new(),
        user_message: None,
        debug_message: None,
        canonical: None,
        receipt: None,
        phases: Vec::new(),
        mutations: Vec::new(),
        cancellation: None,
        context_modifiers: Vec::new(),
        reconciled: false,
        incomplete: None,
    }
}

fn fill_ok(result: &mut ToolResult, kept: PersistedResult) {
    result.status = Status::Ok;
    result.ok = true;
    result.data_hash = kept.data_ref.as_ref().map(|kept| kept.hash);
    result.data_ref = kept.data_ref;
    result.data = Some(kept.data);
    result.user_message = Some(kept.canonical.summary_text.clone());
    result.receipt = Some(kept.receipt);
    result.incomplete = kept.incomplete;
    result.canonical = Some(kept.canonical);
    result.artifacts.extend(kept.artifacts);
}

fn fill_failed(result: &mut ToolResult, fault: &Fault) {
    result.status = fault.failure.status();
    result.ok = false;
    result.data = None;
    result.data_hash = None;
    result.data_ref = None;
    result.error = Some(fault.to_tool_error());
    result.user_message = Some(fault.message.clone());
    let done = result.effects.as_ref().map(done_already).unwrap_or_default();
    let canonical = failed::canonical(result.tool.as_str(), fault, done);
    // The text of a failure does not depend on the family, and is never cut.
    result.receipt = Some(families::render(ReceiptFamily::External, &canonical, usize::MAX));
    result.canonical = Some(canonical);
}

/// Lists the effects of a call that failed later, in a few words each.
fn done_already(effects: &Effects) -> Vec<String> {
    let created = effects.created.iter().map(|entry| format!("created {}", entry.path));
    let modified = effects.modified.iter().map(|entry| format!("changed {}", entry.path));
    let deleted = effects.deleted.iter().map(|entry| format!("deleted {}", entry.path));
    let renamed = effects.renamed.iter().map(|entry| format!("renamed {} to {}", entry.from, entry.to));
    let effects_text: Vec<String> = created.chain(modified).chain(deleted).chain(renamed).collect();
    if effects_text.is_empty() { vec!["effects without a path".to_owned()] } else { effects_text }
}

/// Records the result, and the call before it if the call did not reach `schedule`.
async fn record(
    engine: &Engine,
    scope: &RunScope,
    state: &mut CallState,
    result: &mut ToolResult,
) -> Result<(), Fault> {
    let journal = &scope.journal;
    let intended = state.is_recorded;
    if !intended {
        state.restore_args();
        journal.call(&state.call).map_err(|error| journal_fault(&error))?;
        engine.notify_call(&state.call);
    }
    // A large `data` is only in the object store; the line has the reference. It is moved out and back, not copied: it
    // can be megabytes.
    let kept_elsewhere = result.data_ref.is_some().then(|| result.data.take()).flatten();
    let recorded = scope.record_result(result);
    if kept_elsewhere.is_some() {
        result.data = kept_elsewhere;
    }
    let seq = recorded?;
    let guard = RecordedResult { dispatch: state.dispatch.as_deref(), result };
    let mut ended = engine.record_event(scope, &ended_event(result)).map(drop);
    if ended.is_ok() && intended && state.call.risk_level.has_effects() {
        ended = journal.durable(seq).await.map_err(|error| journal_fault(&error));
    }
    guard.disarm();
    ended
}

pub(crate) fn ended_event(result: &ToolResult) -> ExecutionEvent {
    let (event_type, level) = match result.status {
        Status::Ok | Status::Skipped => (EventType::StepFinished, EventLevel::Info),
        Status::Cancelled => (EventType::StepFailed, EventLevel::Warn),
        Status::Error | Status::Timeout => (EventType::StepFailed, EventLevel::Error),
    };
    ExecutionEvent {
        event_type,
        run_id: result.run_id.clone(),
        timestamp: result.ended_at,
        level,
        message: result.user_message.clone().unwrap_or_default(),
        call_id: Some(result.call_id.clone()),
        step_id: Some(result.step_id.clone()),
        tool: Some(result.tool.clone()),
        payload: result
            .error
            .as_ref()
            .map(|error| serde_json::json!({ "code": error.code, "kind": error.kind })),
    }
}

/// Turns a result into a failure, because its record cannot be written.
pub(crate) fn unrecorded(result: &mut ToolResult, fault: &Fault) {
    let fault = fault
        .clone()
        .detail("outcome", if result.ok { "done but not recorded" } else { "failed and not recorded" });
    let before = result.user_message.take();
    fill_failed(result, &fault);
    result.debug_message = before;
}

/// Returns a failed result that is not recorded, for a call that cannot be followed any further.
pub(crate) fn unrecorded_failure(call: &ToolCall, fault: &Fault) -> ToolResult {
    let mut result = blank_result(call, call.created_at, call.created_at);
    fill_failed(&mut result, fault);
    result
}
