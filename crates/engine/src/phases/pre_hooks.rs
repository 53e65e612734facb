//! Phase 5: lets hooks add context, change the input, tighten the permission or stop the call.

use envelope::{Actor, Failure, Fault, Mutation, Phase};
use serde_json::Value;
use toolkit::Entry;

use crate::Engine;
use crate::call::Flight;
use crate::hooks::{BeforeCall, BeforeReply, CallNames, Hook, HookDecision, ask_hook};
use crate::inputs::{Inputs, changed_fields, observable};
use crate::trace::Trace;

use super::{parse_schema, validate_values};

/// The input after the hooks, and what they want decided.
pub(crate) struct Hooked {
    pub(crate) inputs: Inputs,
    /// Set when a hook wants a person asked, or the call denied: by whom and why.
    pub(crate) asks: Option<String>,
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
    let mut hooked = Hooked { inputs, asks: None, denies: None };
    for hook in engine.parts.hooks.before(&entry.decl.name) {
        let reply = {
            let input = observable(hooked.inputs.current(&flight.model));
            let call = BeforeCall {
                call: CallNames::of(&flight.call),
                preview: &hooked.inputs.preview,
                input: &input,
            };
            ask_hook(&**hook, &flight.cancel, Failure::HookFailed, hook.before(&call)).await?
        };
        heed(entry, flight, &mut hooked, &**hook, reply, trace).await?;
    }
    Ok(hooked)
}

async fn heed(
    entry: &Entry,
    flight: &Flight,
    hooked: &mut Hooked,
    hook: &dyn Hook,
    reply: BeforeReply,
    trace: &mut Trace<'_>,
) -> Result<(), Fault> {
    let reason = reply.reason.unwrap_or_else(|| "no reason given".to_owned());
    if let Some(context) = reply.context {
        trace.note(format!("hook `{}`: {context}", hook.name()));
    }
    match reply.decision {
        HookDecision::Pass => {}
        HookDecision::Ask => hooked.asks = Some(format!("hook `{}` ({reason})", hook.name())),
        HookDecision::Deny => hooked.denies = Some(format!("hook `{}` ({reason})", hook.name())),
        HookDecision::Stop => {
            return Err(Fault::new(
                Failure::HookBlocked,
                format!("hook `{}` stopped the call: {reason}", hook.name()),
            )
            .detail("hook", hook.name()));
        }
    }
    match reply.updated_input {
        Some(updated) => change_input(entry, flight, hooked, hook, updated, reason, trace).await,
        None => Ok(()),
    }
}

/// A changed input is as untrusted as the first one: it passes the same checks.
async fn change_input(
    entry: &Entry,
    flight: &Flight,
    hooked: &mut Hooked,
    hook: &dyn Hook,
    updated: Value,
    why: String,
    trace: &mut Trace<'_>,
) -> Result<(), Fault> {
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
    hooked.inputs.paths = entry.tool.paths(&decoded);
    hooked.inputs.preview = crate::inputs::visible_text(&entry.tool.preview(&decoded));
    hooked.inputs.decoded = decoded;
    hooked.inputs.changed = Some(updated);
    trace.mutations.push(Mutation {
        phase: Phase::PreHooks,
        by: Actor::Hook(hook.name().to_owned()),
        fields,
        why,
    });
    Ok(())
}
