//! Phase 8: calls the tool. The only place where work, time limit and cancellation meet.

use std::time::Duration;

use envelope::{Cancellation, Failure, Family, Fault, Idempotency, Requirement, Risk};
use toolkit::{BoxFuture, CancelCause, Entry, RawOutput};

use crate::call::Flight;
use crate::catch::{CatchPanic, catch_panic};
use crate::inputs::PermittedArgs;
use crate::limit::call_limit;
use crate::{Engine, Purpose};

type Work = CatchPanic<BoxFuture<'static, Result<RawOutput, Fault>>>;

/// Ends in `execution_failed`, `timeout`, `canceled`, `sibling_canceled`, `dependency_unavailable`, or
/// in the tool's own cause.
pub(crate) async fn execute(
    engine: &Engine,
    entry: &Entry,
    flight: &mut Flight,
    permitted: PermittedArgs,
) -> Result<RawOutput, Fault> {
    if engine.parts.purpose == Purpose::Forecast && (is_elsewhere(entry) || runs_commands(entry)) {
        return Err(unforeseen(entry));
    }
    flight.budget = flight.budget.or(entry.tool.budget(&permitted.decoded));
    let limit = call_limit(entry, flight);
    let began = engine.parts.clock.now();
    flight.dispatched = Some(began);
    let (tool, cx) = (entry.tool.clone(), flight.cx.clone());
    // Owns all it needs: if it cannot be stopped, it outlives this call.
    let mut work: Work = catch_panic(Box::pin(async move { tool.run(&cx, permitted.decoded).await }));
    let cause = tokio::select! {
        biased;
        // Finished work is the truth, even if the time ran out in the same moment.
        settled = &mut work => return end_by_itself(engine, entry, flight, limit, settled),
        cause = flight.cancel.cancelled() => cause,
        () = tokio::time::sleep(Duration::from_millis(limit)) => CancelCause::Deadline,
    };
    let requested_at = engine.parts.clock.now();
    flight.cancel.cancel(cause);
    // Once told to stop, a tool may still need a moment to leave things in order; one that cannot be stopped
    // is given its whole time again, since leaving it running behind our back would be a lie.
    let grace = match entry.decl.cancellable {
        true => engine.policy().limits.cancel_grace_ms.max(entry.tool.stop_ms()),
        false => limit,
    };
    let stopped = tokio::time::timeout(Duration::from_millis(grace), &mut work).await.ok();
    if stopped.is_none() {
        abandon(flight, work);
    }
    let acknowledged_at = stopped.as_ref().map(|_| engine.parts.clock.now());
    flight.cancellation = Some(Cancellation { requested_at, acknowledged_at, done: stopped.is_some() });
    match stopped {
        // It was done before it heard of the request. What happened, happened.
        Some(Ok(Ok(output))) => Ok(output),
        Some(Ok(Err(own))) => Err(knowing(ended_early(entry, cause, limit, true), own)),
        Some(Err(_)) => Err(ended_early(entry, cause, limit, true)),
        None => Err(ended_early(entry, cause, limit, false)),
    }
}

/// Whether a call runs a command, or is about one that runs.
fn runs_commands(entry: &Entry) -> bool {
    entry.decl.risk_level == Risk::Commands || entry.decl.family == Family::Task
}

/// Whether a call goes to a server, which would not know that it is only foreseen, however harmless it says it is.
fn is_elsewhere(entry: &Entry) -> bool {
    entry.decl.availability.contains(&Requirement::Server)
}

/// What a command would do is known only to the command, and what a server would answer only to the server.
pub(crate) fn unforeseen(entry: &Entry) -> Fault {
    let why = if is_elsewhere(entry) { "a server answers it" } else { "it runs a command" };
    Fault::new(Failure::PreconditionFailed, format!("{} cannot be foreseen: {why}", entry.decl.name))
        .detail("unforeseen", true)
        .retryable(false)
}

/// Lets work go on that does not heed the signal, and keeps its paths closed to others until it ends: a late
/// write must not land on top of a newer one.
fn abandon(flight: &mut Flight, work: Work) {
    if let Some(slot) = flight.slot.take() {
        slot.failed();
        tokio::spawn(async move {
            let _late = work.await;
            drop(slot);
        });
    }
}

/// A tool that listens may come to its end in the very moment it is told to stop.
fn end_by_itself(
    engine: &Engine,
    entry: &Entry,
    flight: &mut Flight,
    limit: u64,
    settled: Result<Result<RawOutput, Fault>, String>,
) -> Result<RawOutput, Fault> {
    let cause = flight.cancel.cause();
    if cause.is_some() && !matches!(settled, Ok(Ok(_))) {
        let now = engine.parts.clock.now();
        flight.cancellation =
            Some(Cancellation { requested_at: now, acknowledged_at: Some(now), done: true });
    }
    match (cause, settled) {
        (Some(cause), Ok(Err(own))) => Err(knowing(ended_early(entry, cause, limit, true), own)),
        (Some(cause), Err(_)) => Err(ended_early(entry, cause, limit, true)),
        (Some(_) | None, settled) => settle(entry, flight, settled),
    }
}

fn settle(
    entry: &Entry,
    flight: &Flight,
    settled: Result<Result<RawOutput, Fault>, String>,
) -> Result<RawOutput, Fault> {
    match settled {
        Ok(Ok(output)) => Ok(output),
        Ok(Err(fault)) => Err(partly_done(entry, flight, fault)),
        Err(panic) => Err(unknown_outcome(
            entry,
            Fault::new(Failure::ExecutionFailed, format!("{} crashed: {panic}", entry.decl.name)),
        )),
    }
}

/// A tool that failed after it had an effect is not tried again, whatever the cause, unless it says that
/// twice is as good as once.
fn partly_done(entry: &Entry, flight: &Flight, fault: Fault) -> Fault {
    let did_something = flight.cx.with_seen(|seen| !seen.effects.is_empty());
    let says_itself = fault.details.as_ref().is_some_and(|details| details.contains_key("outcome"));
    match entry.decl.idempotency {
        Idempotency::NotIdempotent if did_something && says_itself => fault.retryable(false),
        Idempotency::NotIdempotent if did_something => {
            fault.retryable(false).detail("outcome", "partly done")
        }
        Idempotency::NotIdempotent | Idempotency::Idempotent => fault,
    }
}

/// What the tool itself had to say when it was stopped, such as what a command had printed by then, and what to do next.
fn knowing(mut fault: Fault, own: Fault) -> Fault {
    fault.hint = fault.hint.or(own.hint);
    for (name, value) in own.details.map(|details| *details).unwrap_or_default() {
        fault.details.get_or_insert_default().entry(name).or_insert(value);
    }
    fault
}

fn ended_early(entry: &Entry, cause: CancelCause, limit: u64, stopped: bool) -> Fault {
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
    unknown_outcome(entry, fault)
}

/// A call with effects that did not end by itself may or may not have had them, and the record says so. Trying
/// it again could do the same thing twice, unless the tool says that twice is as good as once.
fn unknown_outcome(entry: &Entry, fault: Fault) -> Fault {
    if !entry.decl.risk_level.has_effects() {
        return fault;
    }
    let fault = fault.detail("outcome", "unknown");
    match entry.decl.idempotency {
        Idempotency::NotIdempotent => fault.retryable(false),
        Idempotency::Idempotent => fault,
    }
}
