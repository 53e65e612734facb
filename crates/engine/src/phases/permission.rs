//! Phase 6: decides whether the call may run, and asks the person where that is not settled.
//!
//! The order: protected places (before this phase), deny rules on what the model sent and on what the
//! tool would be called with, hooks, ask, allow, the mode's default. Nothing later loosens anything earlier:
//! every reason to ask needs its own yes, given with the plan, remembered, or asked for now. The person is
//! asked once, about all that is open.
//!
//! A yes to a command is a yes to what was read: the whole line is shown, the yes to a plan covers only what
//! stood in the plan, and a remembered yes answers exactly the same call.

use envelope::{Channel, Failure, Fault, Risk, canonical_hash};
use toolkit::command_line::CommandLine;
use toolkit::{CancelCause, Entry, PermittedBy};

use crate::Engine;
use crate::approval::{ApprovalRequest, Remembering, Verdict};
use crate::call::Flight;
use crate::catch::catch_call;
use crate::inputs::{Inputs, PermittedArgs, observable, visible_text};
use crate::policy::{AskReason, Mode, Opinion};
use crate::rules::Subject;
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
    let subject = |paths, command| Subject { tool: decl, paths, command };
    let first = subject(&inputs.first_paths, inputs.first_command.as_ref());
    if let Some(why) = engine.parts.policy.denied(first) {
        return Err(denied(entry, &inputs, &why));
    }
    let opinion = engine.parts.policy.opinion(subject(&inputs.paths, inputs.command.as_ref()));
    // A rule has its say before a hook: the rule is what the person can look up and change.
    let mut reasons = match (opinion, denies) {
        (Opinion::Deny { why }, _) => return Err(denied(entry, &inputs, &why)),
        (Opinion::Blocked { .. } | Opinion::Ask { .. } | Opinion::Allow { .. }, Some(why)) => {
            return Err(denied(entry, &inputs, &why));
        }
        (Opinion::Blocked { why }, None) => {
            return Err(Fault::new(
                Failure::PolicyBlocked,
                format!("{why} lets no {} tool run: {}", decl.risk_level, inputs.preview),
            )
            .hint("set another `mode` in .tollgate/config.toml; no yes and no rule loosens read-only"));
        }
        (Opinion::Ask { reasons }, None) => reasons,
        (Opinion::Allow { why }, None) => {
            trace.note(format!("allowed: {why}"));
            Vec::new()
        }
    };
    reasons.extend(asks.into_iter().map(|why| AskReason { why, by_plan: false }));
    // Every reason to ask ends in a yes of the user's, given before or now.
    let is_approved = !reasons.is_empty() || engine.policy().mode == Mode::Trusted;
    let open = unanswered(engine, entry, flight, &inputs, reasons, trace);
    if !open.is_empty() {
        ask_person(engine, entry, flight, &inputs, &open, trace).await?;
    }
    flight.cx.permit(if is_approved { PermittedBy::User } else { PermittedBy::Rule });
    let called_with = inputs.changed.and_then(|value| value.as_object().cloned());
    Ok(PermittedArgs { decoded: inputs.decoded, paths: inputs.paths, called_with, preview: inputs.preview })
}

fn denied(entry: &Entry, inputs: &Inputs, why: &str) -> Fault {
    let what = format!("{why} denies {}: {}", entry.decl.name, inputs.preview);
    let fault = Fault::new(Failure::PermissionDenied, what);
    match &inputs.command {
        Some(CommandLine { over_limit: true, .. }) => {
            fault.hint("run it in several calls, each of which a person can read")
        }
        Some(_) | None => fault,
    }
}

/// The reasons that neither the yes to the plan nor a remembered one answers.
fn unanswered(
    engine: &Engine,
    entry: &Entry,
    flight: &Flight,
    inputs: &Inputs,
    reasons: Vec<AskReason>,
    trace: &mut Trace<'_>,
) -> Vec<String> {
    let mut open = Vec::new();
    if reasons.is_empty() {
        return open;
    }
    let is_unread = entry.decl.risk_level == Risk::Commands
        && (!flight.call.filled_in.is_empty() || inputs.changed.is_some());
    let remembering = remembering(entry, flight, inputs);
    for AskReason { why, by_plan } in reasons {
        let why = match &flight.call.confirmation_id {
            Some(id) if by_plan && !is_unread => {
                trace.note(format!("{why}: confirmed ({id})"));
                continue;
            }
            Some(_) if by_plan => format!("{why}, for a command that the plan does not show"),
            Some(_) | None => why,
        };
        if engine.is_remembered(entry.decl.name.as_str(), &why, remembering) {
            trace.note(format!("{why}: a remembered yes"));
        } else {
            open.push(why);
        }
    }
    open
}

/// What a yes to this call may answer later.
fn remembering(entry: &Entry, flight: &Flight, inputs: &Inputs) -> Remembering {
    let exactly = || Remembering::Exactly(canonical_hash(inputs.current(&flight.model)));
    match &inputs.command {
        // What a tool does that reaches out of the vault depends on its input, as with a command line.
        None if entry.decl.risk_level == Risk::Commands => exactly(),
        None => Remembering::Reasons,
        Some(line) if line.can_be_remembered() => exactly(),
        Some(_) => Remembering::Nothing,
    }
}

async fn ask_person(
    engine: &Engine,
    entry: &Entry,
    flight: &Flight,
    inputs: &Inputs,
    open: &[String],
    trace: &mut Trace<'_>,
) -> Result<(), Fault> {
    let why = open.join("; ");
    let request = ApprovalRequest {
        run_id: flight.call.run_id.clone(),
        step_id: flight.call.step_id.clone(),
        call_id: flight.call.call_id.clone(),
        tool: entry.decl.name.clone(),
        risk: entry.decl.risk_level,
        preview: both_previews(entry, flight, inputs),
        input: observable(inputs.current(&flight.model)).into_owned(),
        exact: canonical_hash(inputs.current(&flight.model)),
        why: why.clone(),
        remembering: remembering(entry, flight, inputs),
        client: flight.call.planner_version.clone(),
        policy: engine.parts.policy_hash,
    };
    let verdict = tokio::select! {
        biased;
        verdict = flight.approver.as_ref().unwrap_or(&engine.parts.approver).approve(&request) => verdict,
        cause = flight.cancel.cancelled() => return Err(cancelled_while_asking(cause)),
    };
    match verdict {
        Verdict::Remember { channel } if request.remembering != Remembering::Nothing => {
            for reason in open {
                engine.remember(entry.decl.name.as_str(), reason, request.remembering);
            }
            trace.note(format!("{why}: approved and remembered ({})", channel_name(channel)));
        }
        // There is nothing to keep a yes to a wrapper by.
        Verdict::Once { channel } | Verdict::Remember { channel } => {
            trace.note(format!("{why}: approved ({})", channel_name(channel)));
        }
        Verdict::Reject { reason } => {
            return Err(Fault::new(
                Failure::ApprovalRejected,
                format!("the person said no to {}: {reason}", inputs.preview),
            ));
        }
        Verdict::Nobody { why: nobody, way_out } => {
            let fault = Fault::new(
                Failure::PolicyBlocked,
                format!("{why} needs a yes to {}, and nobody can be asked: {nobody}", inputs.preview),
            );
            return Err(match way_out {
                Some(way_out) => fault.hint(way_out),
                None => fault,
            });
        }
    }
    Ok(())
}

/// What the tool says it will do, then what the plan says about it: only the first is bound to the input.
fn both_previews(entry: &Entry, flight: &Flight, inputs: &Inputs) -> String {
    let said = catch_call(|| visible_text(&entry.tool.preview(&inputs.decoded)));
    let said = said.unwrap_or_else(|_panic| inputs.preview.clone());
    let own = match &inputs.command {
        Some(line) => with_command(said, line),
        None => said,
    };
    match flight.call.preview.as_deref().map(visible_text) {
        Some(said) if said != own => format!("{own} (the plan says: {said})"),
        Some(_) | None => own,
    }
}

/// What the tool says, if the whole line is in it. Else the line, and which variables are set for it.
fn with_command(said: String, line: &CommandLine) -> String {
    let shown = visible_text(&line.shown);
    if said.contains(&shown) {
        return said;
    }
    if line.env.is_empty() {
        return shown;
    }
    format!("{shown} (with {} set)", visible_text(&line.env.join(", ")))
}

fn cancelled_while_asking(cause: CancelCause) -> Fault {
    match cause {
        CancelCause::Run | CancelCause::Deadline => {
            Fault::new(Failure::Canceled, "the run was cancelled while the person was asked")
        }
        CancelCause::Sibling => {
            Fault::new(Failure::SiblingCanceled, "a sibling failed while the person was asked")
        }
    }
}

fn channel_name(channel: Channel) -> &'static str {
    match channel {
        Channel::Terminal => "terminal",
        Channel::YesFlag => "--yes",
        Channel::Embedder => "embedder",
        Channel::Client => "client",
        Channel::Approve => "approve",
    }
}
