//! Phase 10: lets hooks see the result, add to the record, change or withhold it.

use std::borrow::Cow;

use std::time::Duration;

use envelope::{Actor, Failure, Fault, Mutation, Phase};
use serde_json::Value;
use toolkit::{Entry, Mapped, Seen};

use crate::Engine;
use crate::call::Flight;
use crate::hooks::{AfterCall, AfterReply, CallNames, Hook, ask_after};
use crate::inputs::{changed_fields, observable};
use crate::trace::Trace;

use super::map_result::{keeps_its_word, within};

/// A mapped result with what the call was seen to do, and whether a hook blanked something out.
pub(crate) struct Settled {
    pub(crate) mapped: Mapped,
    pub(crate) redacted: bool,
}

/// Ends in `post_hook_failed` or `hook_blocked`; what the call did stays done and stays listed.
pub(crate) async fn post_hooks(
    engine: &Engine,
    entry: &Entry,
    flight: &Flight,
    mapped: Mapped,
    trace: &mut Trace<'_>,
) -> Result<Settled, Fault> {
    let mut settled = Settled { mapped, redacted: false };
    let mut hooks = engine.parts.hooks.after(&entry.decl.name).peekable();
    if hooks.peek().is_none() {
        return Ok(settled);
    }
    let input = called_with(flight);
    for hook in hooks {
        let reply = {
            let effects = flight.cx.with_seen(|seen: &Seen| seen.effects.clone());
            let call = AfterCall {
                call: CallNames::of(&flight.call),
                input: &input,
                output: &settled.mapped.data,
                effects: &effects,
            };
            let grace = Duration::from_millis(engine.policy().limits.cancel_grace_ms);
            ask_after(&**hook, &flight.cancel, grace, &call).await?
        };
        heed(engine, (entry, flight), &mut settled, &**hook, reply, trace)?;
    }
    Ok(settled)
}

/// What the tool was called with, as hooks see it.
fn called_with(flight: &Flight) -> Value {
    let raw = Value::Object(flight.call.called_with.as_ref().unwrap_or(&flight.call.args).clone());
    match observable(&raw) {
        Cow::Owned(shown) => shown,
        Cow::Borrowed(_) => raw,
    }
}

fn heed(
    engine: &Engine,
    (entry, flight): (&Entry, &Flight),
    settled: &mut Settled,
    hook: &dyn Hook,
    reply: AfterReply,
    trace: &mut Trace<'_>,
) -> Result<(), Fault> {
    let reason = reply.reason.unwrap_or_else(|| "no reason given".to_owned());
    if let Some(context) = reply.context {
        trace.note(format!("hook `{}`: {context}", hook.name()));
    }
    if reply.stop {
        withdraw(flight, trace);
        return Err(Fault::new(
            Failure::HookBlocked,
            format!("hook `{}` withheld the result: {reason}", hook.name()),
        )
        .detail("hook", hook.name()));
    }
    let mut data = reply.updated_output;
    if !reply.redact.is_empty() {
        let mut blanked = data.unwrap_or_else(|| settled.mapped.data.clone());
        for pointer in &reply.redact {
            blank(&mut blanked, pointer, hook)?;
        }
        settled.redacted = true;
        data = Some(blanked);
    }
    let Some(data) = data else {
        return Ok(());
    };
    let fields = changed_fields(&settled.mapped.data, &data);
    if fields.is_empty() {
        return Ok(());
    }
    // The hook owns this change, so the result is mapped again: data and receipt must tell the same story.
    withdraw(flight, trace);
    let remapped = within(engine, entry, flight, |with| entry.tool.remap(&data, with.of_changed()));
    let remapped = remapped.and_then(|mapped| keeps_its_word(entry, &mapped).map(|()| mapped));
    settled.mapped = remapped.map_err(|fault| {
        Fault::new(
            Failure::PostHookFailed,
            format!("hook `{}` changed the output, and {}", hook.name(), fault.message),
        )
        .detail("hook", hook.name())
    })?;
    trace.mutations.push(Mutation {
        phase: Phase::PostHooks,
        by: Actor::Hook(hook.name().to_owned()),
        fields,
        why: reason,
    });
    Ok(())
}

/// What the call left beside its record holds what a hook did not let through.
fn withdraw(flight: &Flight, trace: &mut Trace<'_>) {
    let Some(artifacts) = flight.cx.artifacts() else { return };
    for artifact in flight.cx.withdraw() {
        artifacts.discard(&artifact);
        trace.note(format!("`{}` was taken back", artifact.path));
    }
}

fn blank(data: &mut Value, pointer: &str, hook: &dyn Hook) -> Result<(), Fault> {
    match data.pointer_mut(pointer) {
        Some(Value::String(text)) => {
            "[redacted]".clone_into(text);
            Ok(())
        }
        Some(_) | None => Err(Fault::new(
            Failure::PostHookFailed,
            format!("hook `{}` wants `{pointer}` blanked out, but there is no text there", hook.name()),
        )
        .detail("hook", hook.name())),
    }
}
