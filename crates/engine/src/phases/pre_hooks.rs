//! Phase 5: runs hooks before the call, which can add context, change the input, tighten the permission or stop the
//! call.

use envelope::{Actor, Failure, Fault, Mutation, Phase};
use serde_json::Value;
use toolkit::RegisteredTool;

use crate::Engine;
use crate::call::CallState;
use crate::call_inputs::{ArgsDescription, CallInputs, changed_fields, observable, unescaped, visible_text};
use crate::hooks::{BeforeCall, BeforeReply, CallIdentity, Hook, HookDecision, hook_fault, run_before_hook};
use crate::phase_trace::PhaseTrace;

use super::{parse_schema, validate_values};

/// The input after the hooks, and their decisions.
pub(crate) struct HookedInputs {
    pub(crate) inputs: CallInputs,
    /// Each hook that asks for an approval, and why. An approval of one does not answer another.
    pub(crate) asks: Vec<String>,
    /// The first hook that denies the call, and why.
    pub(crate) denies: Option<String>,
}

/// Fails with `hook_blocked`, or with `hook_failed` if a hook crashed, was late or gave an invalid answer.
pub(crate) async fn pre_hooks(
    engine: &Engine,
    entry: &RegisteredTool,
    state: &CallState,
    inputs: CallInputs,
    trace: &mut PhaseTrace<'_>,
) -> Result<HookedInputs, Fault> {
    let mut hooked = HookedInputs { inputs, asks: Vec::new(), denies: None };
    for hook in engine.inner.hooks.before(&entry.decl.name) {
        let mut reply = {
            let raw = hooked.inputs.current(&state.model_args);
            let shown = observable(raw);
            let call = BeforeCall {
                call: CallIdentity::of(&state.call),
                preview: &hooked.inputs.preview,
                input: &shown,
            };
            let mut reply = run_before_hook(&**hook, &state.cancel, &call).await?;
            // Parts that the hook only repeats are not changes, so their original stays.
            reply.updated_input = reply.updated_input.map(|updated| unescaped(raw, &shown, updated));
            reply
        };
        let updated = reply.updated_input.take();
        apply_reply(state, &mut hooked, &**hook, &reply, trace)?;
        if let Some(updated) = updated {
            change_input(entry, state, &mut hooked, &**hook, updated, &reason(&reply), trace).await?;
        }
    }
    Ok(hooked)
}

fn apply_reply(
    state: &CallState,
    hooked: &mut HookedInputs,
    hook: &dyn Hook,
    reply: &BeforeReply,
    trace: &mut PhaseTrace<'_>,
) -> Result<(), Fault> {
    if let Some(message) = &reply.progress {
        state.cx.progress(0, None, format!("hook `{}`: {message}", hook.name()));
    }
    if let Some(context) = &reply.context {
        trace.note(format!("hook `{}`: {context}", hook.name()));
    }
    let who = || format!("hook `{}` ({})", hook.name(), reason(reply));
    match reply.decision {
        HookDecision::Pass => {}
        HookDecision::Ask => hooked.asks.push(who()),
        HookDecision::Deny => {
            hooked.denies.get_or_insert_with(who);
        }
        HookDecision::Stop => {
            return Err(Fault::new(
                Failure::HookBlocked,
                format!("hook `{}` stopped the call: {}", hook.name(), reason(reply)),
            )
            .detail("hook", hook.name()));
        }
    }
    Ok(())
}

fn reason(reply: &BeforeReply) -> String {
    reply.reason.clone().unwrap_or_else(|| "no reason given".to_owned())
}

/// Replaces the input. A changed input is as untrusted as the first one, so it passes the same checks.
async fn change_input(
    entry: &RegisteredTool,
    state: &CallState,
    hooked: &mut HookedInputs,
    hook: &dyn Hook,
    updated: Value,
    why: &str,
    trace: &mut PhaseTrace<'_>,
) -> Result<(), Fault> {
    if !updated.is_object() {
        return Err(hook_fault(hook, Failure::HookFailed, "its updated input is not an object"));
    }
    let fields = changed_fields(hooked.inputs.current(&state.model_args), &updated);
    if fields.is_empty() {
        return Ok(());
    }
    let blame = |fault: Fault| Fault {
        message: format!("hook `{}` changed the input, and {}", hook.name(), fault.message),
        ..fault
    };
    let mut decoded = parse_schema(entry, &updated).map_err(blame)?;
    validate_values(entry, state, &mut decoded).await.map_err(blame)?;
    let ArgsDescription { paths, command, preview, dry_run } =
        ArgsDescription::of(entry, &decoded).map_err(blame)?;
    hooked.inputs.command = command;
    hooked.inputs.paths = paths;
    hooked.inputs.dry_run = dry_run;
    hooked.inputs.preview = visible_text(&preview);
    hooked.inputs.decoded = decoded;
    hooked.inputs.changed = Some(updated);
    trace.mutations.push(Mutation {
        phase: Phase::PreHooks,
        by: Actor::Hook(hook.name().to_owned()),
        fields,
        why: why.to_owned(),
    });
    Ok(())
}
