//! Phase 10: runs hooks after the call, which can add to the record, change the result or withhold it.

use std::borrow::Cow;

use std::time::Duration;

use envelope::{Actor, Failure, Fault, Mutation, Phase};
use serde_json::Value;
use toolkit::{CallReport, MappedResult, RegisteredTool};

use crate::Engine;
use crate::call::CallState;
use crate::call_inputs::{changed_fields, observable};
use crate::hooks::{AfterCall, AfterReply, CallIdentity, Hook, run_after_hook};
use crate::phase_trace::PhaseTrace;

use super::map_result::{check_output, with_projection};

/// A mapped result after the hooks, and whether a hook has redacted something.
pub(crate) struct HookedResult {
    pub(crate) mapped: MappedResult,
    pub(crate) redacted: bool,
}

/// Fails with `post_hook_failed` or `hook_blocked`; the effects of the call stay, and stay in the record.
pub(crate) async fn post_hooks(
    engine: &Engine,
    entry: &RegisteredTool,
    state: &CallState,
    mapped: MappedResult,
    trace: &mut PhaseTrace<'_>,
) -> Result<HookedResult, Fault> {
    let mut settled = HookedResult { mapped, redacted: false };
    let mut hooks = engine.inner.hooks.after(&entry.decl.name).peekable();
    if hooks.peek().is_none() {
        return Ok(settled);
    }
    let input = called_with(state);
    for hook in hooks {
        let reply = {
            let effects = state.cx.with_report(|seen: &CallReport| seen.effects.clone());
            let call = AfterCall {
                call: CallIdentity::of(&state.call),
                input: &input,
                output: &settled.mapped.data,
                effects: &effects,
            };
            let grace = Duration::from_millis(engine.policy().limits.cancel_grace_ms);
            run_after_hook(&**hook, &state.cancel, grace, &call).await?
        };
        apply_reply(engine, (entry, state), &mut settled, &**hook, reply, trace)?;
    }
    Ok(settled)
}

/// Returns the observable copy of the tool's arguments.
fn called_with(state: &CallState) -> Value {
    let raw = Value::Object(state.call.called_with.as_ref().unwrap_or(&state.call.args).clone());
    match observable(&raw) {
        Cow::Owned(shown) => shown,
        Cow::Borrowed(_) => raw,
    }
}

fn apply_reply(
    engine: &Engine,
    (entry, state): (&RegisteredTool, &CallState),
    settled: &mut HookedResult,
    hook: &dyn Hook,
    reply: AfterReply,
    trace: &mut PhaseTrace<'_>,
) -> Result<(), Fault> {
    let reason = reply.reason.unwrap_or_else(|| "no reason given".to_owned());
    if let Some(context) = reply.context {
        trace.note(format!("hook `{}`: {context}", hook.name()));
    }
    if reply.stop {
        discard_artifacts(state, trace);
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
    // The result is mapped again, so that data and receipt agree.
    discard_artifacts(state, trace);
    let remapped =
        with_projection(engine, entry, state, |with| entry.tool.remap(&data, with.for_changed_output()));
    let remapped = remapped.and_then(|mapped| check_output(entry, &mapped).map(|()| mapped));
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

/// Discards the artifacts of the call: they contain output that a hook has rejected.
fn discard_artifacts(state: &CallState, trace: &mut PhaseTrace<'_>) {
    let Some(artifacts) = state.cx.artifacts() else { return };
    for artifact in state.cx.withdraw_artifacts() {
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
