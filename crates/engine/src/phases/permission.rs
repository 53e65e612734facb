//! Phase 6: decides whether the call may run, and asks the person where that is not settled.
//!
//! The order: protected places (before this phase), deny rules on what the model sent and on what the
//! tool would be called with, hooks, ask, allow, the mode's default. Nothing later loosens anything earlier.

use envelope::{Channel, Failure, Fault};
use toolkit::Entry;

use crate::Engine;
use crate::approval::{ApprovalRequest, Verdict};
use crate::call::Flight;
use crate::inputs::{Inputs, PermittedArgs, observable};
use crate::policy::Opinion;
use crate::trace::Trace;

use super::pre_hooks::Hooked;

/// Ends in `permission_denied`, `approval_rejected` or `policy_blocked`.
pub(crate) async fn permission(
    engine: &Engine,
    entry: &Entry,
    flight: &Flight,
    hooked: Hooked,
    trace: &mut Trace<'_>,
) -> Result<PermittedArgs, Fault> {
    let Hooked { inputs, asks, denies } = hooked;
    let decl = &*entry.decl;
    if let Some(why) = engine.parts.policy.denied(decl, &inputs.first_paths) {
        return Err(denied(entry, &inputs, &why));
    }
    let opinion = engine.parts.policy.opinion(decl, &inputs.paths);
    if let Opinion::Deny { why } = &opinion {
        return Err(denied(entry, &inputs, why));
    }
    if let Some(why) = denies {
        return Err(denied(entry, &inputs, &why));
    }
    match (opinion, asks) {
        (Opinion::Deny { why }, _) => return Err(denied(entry, &inputs, &why)),
        (Opinion::Blocked { why }, _) => {
            return Err(Fault::new(
                Failure::PolicyBlocked,
                format!("{why} lets no {} tool run: {}", decl.risk_level, inputs.preview),
            ));
        }
        // A hook speaks about this very call, so the yes to the plan does not answer it.
        (Opinion::Ask { .. } | Opinion::Allow { .. }, Some(why)) => {
            ask_person(engine, entry, flight, &inputs, &why, trace).await?;
        }
        (Opinion::Ask { why, by_path }, None) => match &flight.call.confirmation_id {
            // The person said yes to a plan that shows this step. A rule about paths is another matter:
            // the path may only have come to light while the plan ran.
            Some(id) if !by_path => trace.note(format!("{why}: confirmed ({id})")),
            Some(_) | None => ask_person(engine, entry, flight, &inputs, &why, trace).await?,
        },
        (Opinion::Allow { why }, None) => trace.note(format!("allowed: {why}")),
    }
    let called_with = inputs.changed.and_then(|value| value.as_object().cloned());
    Ok(PermittedArgs { decoded: inputs.decoded, paths: inputs.paths, called_with, preview: inputs.preview })
}

fn denied(entry: &Entry, inputs: &Inputs, why: &str) -> Fault {
    Fault::new(Failure::PermissionDenied, format!("{why} denies {}: {}", entry.decl.name, inputs.preview))
}

async fn ask_person(
    engine: &Engine,
    entry: &Entry,
    flight: &Flight,
    inputs: &Inputs,
    why: &str,
    trace: &mut Trace<'_>,
) -> Result<(), Fault> {
    if engine.is_remembered(entry.decl.name.as_str(), why) {
        trace.note(format!("{why}: a remembered yes"));
        return Ok(());
    }
    let request = ApprovalRequest {
        run_id: flight.call.run_id.clone(),
        step_id: flight.call.step_id.clone(),
        call_id: flight.call.call_id.clone(),
        tool: entry.decl.name.clone(),
        preview: inputs.preview.clone(),
        input: observable(inputs.current(&flight.model)).into_owned(),
        why: why.to_owned(),
    };
    let verdict = tokio::select! {
        biased;
        verdict = engine.parts.approver.approve(&request) => verdict,
        _cause = flight.cancel.cancelled() => {
            return Err(Fault::new(Failure::Canceled, "the run was cancelled while the person was asked"));
        }
    };
    match verdict {
        Verdict::Once { channel } => trace.note(format!("{why}: approved ({})", channel_name(channel))),
        Verdict::Remember { channel } => {
            engine.remember(entry.decl.name.as_str(), why);
            trace.note(format!("{why}: approved and remembered ({})", channel_name(channel)));
        }
        Verdict::Reject { reason } => {
            return Err(Fault::new(
                Failure::ApprovalRejected,
                format!("the person said no to {}: {reason}", inputs.preview),
            ));
        }
        Verdict::Nobody { why: nobody } => {
            return Err(Fault::new(
                Failure::PolicyBlocked,
                format!("{why} needs a yes to {}, and nobody can be asked: {nobody}", inputs.preview),
            ));
        }
    }
    Ok(())
}

fn channel_name(channel: Channel) -> &'static str {
    match channel {
        Channel::Terminal => "terminal",
        Channel::YesFlag => "--yes",
        Channel::Mode => "mode",
        Channel::Embedder => "embedder",
    }
}
