//! Phase 12: writes the one result of the call and tells whoever waits for it. Cannot fail.

use std::sync::{Arc, PoisonError};

use envelope::{
    Effects, EventType, ExecutionEvent, Family, Fault, Level, Phase, Status, Timestamp, ToolCall, ToolResult,
};
use toolkit::Seen;
use toolkit::families::{self, failed};

use crate::Engine;
use crate::call::{Flight, RunScope, journal_fault};
use crate::catch::catch_call;
use crate::trace::Trace;

use super::Kept;

/// Turns whatever happened into a result, records it, and only then hands it on.
pub(crate) async fn emit_terminal(
    engine: &Engine,
    scope: &Arc<RunScope>,
    mut flight: Flight,
    mut trace: Trace<'_>,
    outcome: Result<Kept, Fault>,
) -> ToolResult {
    if let Err(fault) = &outcome {
        trace.failed(fault.failure);
    }
    trace.enter(Phase::EmitTerminal);
    let mut result = build(engine, scope, &mut flight, outcome);
    (result.phases, result.mutations) = trace.finish();
    match record(engine, scope, &mut flight, &mut result).await {
        Ok(()) if result.ok => flight.cx.recorded(),
        Ok(()) => {}
        // The effects happened, but they are not on record: nobody may be told that all is well.
        Err(fault) => unrecorded(&mut result, &fault),
    }
    if let Some(slot) = &flight.slot
        && result.error.as_ref().is_some_and(|error| error.retryable != Some(true))
    {
        // A failure that may yet be mended by another attempt says nothing about what waits behind it.
        slot.failed();
    }
    drop(flight.slot.take());
    if let Some(observer) = &engine.parts.observer {
        let _crashed = catch_call(|| observer.result(&result));
    }
    result
}

fn build(engine: &Engine, scope: &RunScope, flight: &mut Flight, outcome: Result<Kept, Fault>) -> ToolResult {
    let Seen { effects, changes, artifacts, context } = flight.cx.take_seen();
    let ended = engine.parts.clock.now();
    let mut result = blank_result(&flight.call, flight.dispatched.unwrap_or(flight.created), ended);
    result.effects = (!effects.is_empty()).then_some(effects);
    result.changes = changes;
    result.artifacts = artifacts;
    result.cancellation = flight.cancellation.take();
    result.reconciled = flight.found;
    match outcome {
        Ok(kept) => {
            fill_ok(&mut result, kept);
            let concurrency = engine
                .surface()
                .resolve(flight.call.tool.as_str())
                .map_or(envelope::Concurrency::Parallel, |entry| entry.decl.concurrency);
            result.context_modifiers = scope.context.settle(concurrency, context);
        }
        Err(fault) => fill_failed(&mut result, &fault),
    }
    take_back_unnamed(flight, &result);
    result
}

/// What mapping kept for a result that came to nothing, or was mapped again, belongs to nobody.
fn take_back_unnamed(flight: &Flight, result: &ToolResult) {
    let made = std::mem::take(&mut *flight.made.lock().unwrap_or_else(PoisonError::into_inner));
    let Some(artifacts) = flight.cx.artifacts() else { return };
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
    }
}

fn fill_ok(result: &mut ToolResult, kept: Kept) {
    result.status = Status::Ok;
    result.ok = true;
    result.data_hash = kept.data_ref.as_ref().map(|kept| kept.hash);
    result.data_ref = kept.data_ref;
    result.data = Some(kept.data);
    result.user_message = Some(kept.canonical.summary_text.clone());
    result.receipt = Some(kept.receipt);
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
    // The words of a failure do not depend on the family, and are never cut.
    result.receipt = Some(families::render(Family::External, &canonical, usize::MAX));
    result.canonical = Some(canonical);
}

/// What the call did before it failed, a few words each.
fn done_already(effects: &Effects) -> Vec<String> {
    let created = effects.created.iter().map(|entry| format!("created {}", entry.path));
    let modified = effects.modified.iter().map(|entry| format!("changed {}", entry.path));
    let deleted = effects.deleted.iter().map(|entry| format!("deleted {}", entry.path));
    let renamed = effects.renamed.iter().map(|entry| format!("renamed {} to {}", entry.from, entry.to));
    let said: Vec<String> = created.chain(modified).chain(deleted).chain(renamed).collect();
    if said.is_empty() { vec!["effects without a path".to_owned()] } else { said }
}

/// The result line, and the call line before it if the call never got as far as `schedule`.
async fn record(
    engine: &Engine,
    scope: &RunScope,
    flight: &mut Flight,
    result: &mut ToolResult,
) -> Result<(), Fault> {
    let journal = &scope.journal;
    let intended = flight.logged;
    if !intended {
        flight.restore_args();
        journal.call(&flight.call).map_err(|error| journal_fault(&error))?;
        engine.tell_call(&flight.call);
    }
    // A large `data` stands once in the object store; the line carries the reference.
    // Taken out and put back, not copied: it can be megabytes.
    let kept_elsewhere = result.data_ref.is_some().then(|| result.data.take()).flatten();
    let recorded = scope.record_result(result);
    if kept_elsewhere.is_some() {
        result.data = kept_elsewhere;
    }
    let seq = recorded?;
    engine.record_event(scope, &ended_event(result))?;
    if intended && flight.call.risk_level.has_effects() {
        journal.durable(seq).await.map_err(|error| journal_fault(&error))?;
    }
    Ok(())
}

pub(crate) fn ended_event(result: &ToolResult) -> ExecutionEvent {
    let (event_type, level) = match result.status {
        Status::Ok | Status::Skipped => (EventType::StepFinished, Level::Info),
        Status::Cancelled => (EventType::StepFailed, Level::Warn),
        Status::Error | Status::Timeout => (EventType::StepFailed, Level::Error),
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

fn unrecorded(result: &mut ToolResult, fault: &Fault) {
    let fault = fault
        .clone()
        .detail("outcome", if result.ok { "done but not recorded" } else { "failed and not recorded" });
    let before = result.user_message.take();
    fill_failed(result, &fault);
    result.debug_message = before;
}
