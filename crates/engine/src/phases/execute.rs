//! Phase 8: executes the tool. Enforces the timeout and the cancellation of the tool's work; `timeout.rs` does so for the checks before it.

use std::time::Duration;

use envelope::{Cancellation, Failure, Fault, Idempotency, ReceiptFamily, Requirement, Risk};
use toolkit::{BoxFuture, CancelCause, RawOutput, RegisteredTool};

use crate::call::CallState;
use crate::call_inputs::PermittedArgs;
use crate::panic_guard::{CatchPanic, catch_panic};
use crate::timeout::call_limit;
use crate::{Engine, Purpose};

type ToolFuture = CatchPanic<BoxFuture<'static, Result<RawOutput, Fault>>>;

/// Fails with `execution_failed`, `timeout`, `canceled`, `sibling_canceled`, `dependency_unavailable`, or with the
/// tool's own failure.
pub(crate) async fn execute(
    engine: &Engine,
    entry: &RegisteredTool,
    state: &mut CallState,
    permitted: PermittedArgs,
) -> Result<RawOutput, Fault> {
    if engine.inner.purpose == Purpose::Forecast && (is_remote_tool(entry) || runs_commands(entry)) {
        return Err(not_forecastable(entry));
    }
    state.budget = state.budget.or(entry.tool.budget(&permitted.decoded));
    let limit = call_limit(entry, state);
    let began = engine.inner.clock.now();
    state.dispatched_at = Some(began);
    let (tool, cx) = (entry.tool.clone(), state.cx.clone());
    // The future owns its data, because work that cannot be stopped outlives this call.
    let mut work: ToolFuture = catch_panic(Box::pin(async move { tool.run(&cx, permitted.decoded).await }));
    let cause = tokio::select! {
        biased;
        // Finished work counts, even if the timeout is reached in the same moment.
        settled = &mut work => return finish_work(engine, entry, state, limit, settled),
        cause = state.cancel.cancelled() => cause,
        () = tokio::time::sleep(Duration::from_millis(limit)) => CancelCause::Deadline,
    };
    let requested_at = engine.inner.clock.now();
    state.cancel.cancel(cause);
    // After a cancel, a tool needs a moment to clean up. One that cannot be cancelled gets its whole time again, since
    // the record would be wrong if the tool continued after its result.
    let grace = match entry.decl.cancellable {
        true => engine.policy().limits.cancel_grace_ms.max(entry.tool.stop_ms()),
        false => limit,
    };
    let stopped = tokio::time::timeout(Duration::from_millis(grace), &mut work).await.ok();
    if stopped.is_none() {
        detach_work(state, work);
    }
    let acknowledged_at = stopped.as_ref().map(|_| engine.inner.clock.now());
    state.cancellation = Some(Cancellation { requested_at, acknowledged_at, done: stopped.is_some() });
    match stopped {
        // The tool finished before it noticed the cancel request. The effects happened, so they count.
        Some(Ok(Ok(output))) => Ok(output),
        Some(Ok(Err(own))) => Err(with_tool_details(cancellation_fault(entry, cause, limit, true), own)),
        Some(Err(_)) => Err(cancellation_fault(entry, cause, limit, true)),
        None => Err(cancellation_fault(entry, cause, limit, false)),
    }
}

/// Returns true if a call starts a command or concerns a running one.
fn runs_commands(entry: &RegisteredTool) -> bool {
    entry.decl.risk_level == Risk::Commands || entry.decl.family == ReceiptFamily::Task
}

/// Whether a call goes to an external server, which would not know that this is only a forecast, however harmless it
/// declares itself.
fn is_remote_tool(entry: &RegisteredTool) -> bool {
    entry.decl.availability.contains(&Requirement::Server)
}

/// Returns the fault of a call in a forecast whose outcome only the command or the server can know.
pub(crate) fn not_forecastable(entry: &RegisteredTool) -> Fault {
    let why = if is_remote_tool(entry) { "a server answers it" } else { "it runs a command" };
    Fault::new(Failure::PreconditionFailed, format!("{} cannot be forecast: {why}", entry.decl.name))
        .detail("unforeseen", true)
        .retryable(false)
}

/// Detaches work that ignores the cancel signal, and keeps its paths locked until it ends: a late write must not
/// overwrite a newer one.
fn detach_work(state: &mut CallState, work: ToolFuture) {
    if let Some(slot) = state.slot.take() {
        slot.failed();
        tokio::spawn(async move {
            let _late = work.await;
            drop(slot);
        });
    }
}

/// Finishes work that ended by itself, possibly at the moment of a cancel.
fn finish_work(
    engine: &Engine,
    entry: &RegisteredTool,
    state: &mut CallState,
    limit: u64,
    settled: Result<Result<RawOutput, Fault>, String>,
) -> Result<RawOutput, Fault> {
    let cause = state.cancel.cause();
    if cause.is_some() && !matches!(settled, Ok(Ok(_))) {
        let now = engine.inner.clock.now();
        state.cancellation = Some(Cancellation { requested_at: now, acknowledged_at: Some(now), done: true });
    }
    match (cause, settled) {
        (Some(cause), Ok(Err(own))) => {
            Err(with_tool_details(cancellation_fault(entry, cause, limit, true), own))
        }
        (Some(cause), Err(_)) => Err(cancellation_fault(entry, cause, limit, true)),
        (Some(_) | None, settled) => tool_outcome(entry, state, settled),
    }
}

fn tool_outcome(
    entry: &RegisteredTool,
    state: &CallState,
    settled: Result<Result<RawOutput, Fault>, String>,
) -> Result<RawOutput, Fault> {
    match settled {
        Ok(Ok(output)) => Ok(output),
        Ok(Err(fault)) => Err(mark_partial_effects(entry, state, fault)),
        Err(panic) => Err(mark_outcome_unknown(
            entry,
            Fault::new(Failure::ExecutionFailed, format!("{} crashed: {panic}", entry.decl.name)),
        )),
    }
}

/// Marks a failure after an effect as not retryable, whatever the cause, unless the tool is idempotent.
fn mark_partial_effects(entry: &RegisteredTool, state: &CallState, fault: Fault) -> Fault {
    let did_something = state.cx.with_report(|seen| !seen.effects.is_empty());
    let says_itself = fault.details.as_ref().is_some_and(|details| details.contains_key("outcome"));
    match entry.decl.idempotency {
        Idempotency::NotIdempotent if did_something && says_itself => fault.retryable(false),
        Idempotency::NotIdempotent if did_something => {
            fault.retryable(false).detail("outcome", "partly done")
        }
        Idempotency::NotIdempotent | Idempotency::Idempotent => fault,
    }
}

/// Adds the hint and the details of the tool itself, such as the output of a command so far, to the fault of a call
/// that was stopped.
fn with_tool_details(mut fault: Fault, own: Fault) -> Fault {
    fault.hint = fault.hint.or(own.hint);
    for (name, value) in own.details.map(|details| *details).unwrap_or_default() {
        fault.details.get_or_insert_default().entry(name).or_insert(value);
    }
    fault
}

fn cancellation_fault(entry: &RegisteredTool, cause: CancelCause, limit: u64, stopped: bool) -> Fault {
    let name = &entry.decl.name;
    let fault = match cause {
        CancelCause::Deadline => {
            Fault::new(Failure::Timeout, format!("{name} did not end within {limit} ms"))
                .detail("timeoutMs", limit)
        }
        CancelCause::Run => Fault::new(Failure::Canceled, format!("{name} was cancelled with its run")),
        CancelCause::Sibling => {
            Fault::new(Failure::SiblingCanceled, format!("{name} was cancelled because a sibling failed"))
        }
    };
    let fault = if stopped { fault } else { fault.retryable(false).detail("stillRunning", true) };
    mark_outcome_unknown(entry, fault)
}

/// Marks the outcome of a call with effects that did not end by itself as unknown. Another attempt could have the
/// effects twice, unless the tool is idempotent.
fn mark_outcome_unknown(entry: &RegisteredTool, fault: Fault) -> Fault {
    if !entry.decl.risk_level.has_effects() {
        return fault;
    }
    let fault = fault.detail("outcome", "unknown");
    match entry.decl.idempotency {
        Idempotency::NotIdempotent => fault.retryable(false),
        Idempotency::Idempotent => fault,
    }
}
