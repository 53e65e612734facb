//! Phase 5: lets hooks add context, change the input, tighten the permission or stop the call.

use envelope::{Actor, Failure, Fault, Mutation, Phase};
use serde_json::Value;
use toolkit::Entry;

use crate::Engine;
use crate::call::Flight;
use crate::hooks::{BeforeCall, BeforeReply, CallNames, Hook, HookDecision, ask_before, hook_fault};
use crate::inputs::{Described, Inputs, changed_fields, observable, unescaped, visible_text};
use crate::trace::Trace;

use super::{parse_schema, validate_values};

/// The input after the hooks, and what they want decided.
pub(crate) struct Hooked {
    pub(crate) inputs: Inputs,
    /// Each hook that wants a person asked, and why. None of them speaks for another.
    pub(crate) asks: Vec<String>,
    /// The first hook that wants the call denied, and why.
    pub(crate) denies: Option<String>,
}

/// Ends in `hook_blocked`, or in `hook_failed` for a hook that crashed, was late or answered nonsense.
pub(crate) async fn pre_hooks(
    engine: &Engine,
    entry: &Entry,
    flight: &Flight,
    inputs: Inputs,
    trace: &mut Trace<'_>,
) -> Result<Hooked, Fault> {
    let mut hooked = Hooked { inputs, asks: Vec::new(), denies: None };
    for hook in engine.parts.hooks.before(&entry.decl.name) {
        let mut reply = {
            let raw = hooked.inputs.current(&flight.model);
            let shown = observable(raw);
            let call = BeforeCall {
                call: CallNames::of(&flight.call),
                preview: &hooked.inputs.preview,
                input: &shown,
            };
            let mut reply = ask_before(&**hook, &flight.cancel, &call).await?;
            // What the hook only repeats is not its change, so the original of it stays.
            reply.updated_input = reply.updated_input.map(|updated| unescaped(raw, &shown, updated));
            reply
        };
        let updated = reply.updated_input.take();
        heed(flight, &mut hooked, &**hook, &reply, trace)?;
        if let Some(updated) = updated {
            change_input(entry, flight, &mut hooked, &**hook, updated, &reason(&reply), trace).await?;
        }
    }
    Ok(hooked)
}

fn heed(
    flight: &Flight,
    hooked: &mut Hooked,
    hook: &dyn Hook,
    reply: &BeforeReply,
    trace: &mut Trace<'_>,
) -> Result<(), Fault> {
    if let Some(message) = &reply.progress {
        flight.cx.progress(0, None, format!("hook `{}`: {message}", hook.name()));
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

/// A changed input is as untrusted as the first one: it passes the same checks.
async fn change_input(
    entry: &Entry,
    flight: &Flight,
    hooked: &mut Hooked,
    hook: &dyn Hook,
    updated: Value,
    why: &str,
    trace: &mut Trace<'_>,
) -> Result<(), Fault> {
    if !updated.is_object() {
        return Err(hook_fault(hook, Failure::HookFailed, "its updated input is not an object"));
    }
    let fields = changed_fields(hooked.inputs.current(&flight.model), &updated);
    if fields.is_empty() {
        return Ok(());
    }
    let blame = |fault: Fault| Fault {
        message: format!("hook `{}` changed the input, and {}", hook.name(), fault.message),
        ..fault
    };
    let decoded = parse_schema(entry, &updated).map_err(blame)?;
    validate_values(entry, flight, &decoded).await.map_err(blame)?;
    let Described { paths, command, preview, dry_run } = Described::of(entry, &decoded).map_err(blame)?;
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
