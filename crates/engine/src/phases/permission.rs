//! Phase 6: decides whether the call may run, and asks the person where that is not settled.
//!
//! The order: protected places (before this phase), deny rules on what the model sent and on what the
//! tool would be called with, hooks, ask, allow, the mode's default. Nothing later loosens anything earlier:
//! every reason to ask needs its own yes, given with the plan, remembered, or asked for now. The person is
//! asked once, about all that is open.
//!
//! A yes to a command is a yes to what was read: the whole line is shown, the yes to a plan covers only what
//! stood in the plan, and a remembered yes answers exactly the same call.

use std::sync::Arc;

use envelope::{Channel, Failure, Fault, Risk, canonical_hash};
use serde_json::Value;
use toolkit::command_line::CommandLine;
use toolkit::{CancelCause, Entry, PermittedBy};

use crate::approval::{ApprovalRequest, Remembering, Verdict};
use crate::call::Flight;
use crate::catch::{catch_call, catch_panic};
use crate::forecast::{ApprovedCalls, Forecast, ForecastCall};
use crate::inputs::{Inputs, PermittedArgs, observable, visible_text};
use crate::policy::{AskReason, Mode, Opinion};
use crate::question::{CallQuestion, call_question};
use crate::rules::Subject;
use crate::trace::Trace;
use crate::{Engine, Purpose};

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
    let dry_run = inputs.dry_run;
    let subject = |paths, command| Subject { tool: decl, paths, command, dry_run };
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
    let approved = match open.whys.is_empty() {
        true => None,
        false => ask_person(engine, entry, flight, &inputs, &open, trace).await?,
    };
    flight.cx.permit(if is_approved { PermittedBy::User } else { PermittedBy::Rule });
    Ok(PermittedArgs {
        called_with: inputs.changed.and_then(|value| value.as_object().cloned()),
        decoded: inputs.decoded,
        paths: inputs.paths,
        preview: inputs.preview,
        dry_run: inputs.dry_run,
        approved,
    })
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
) -> OpenReasons {
    let mut open = OpenReasons { whys: Vec::new(), covered_by_plan: true };
    if reasons.is_empty() {
        return open;
    }
    // A forecast makes its calls without a yes to the plan, and finds out which of them that yes would answer.
    let by_forecast = engine.parts.purpose == Purpose::Forecast;
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
            None if by_plan && by_forecast && is_unread => {
                format!("{why}, for a command that the plan does not show")
            }
            Some(_) | None => why,
        };
        if engine.is_remembered(entry.decl.name.as_str(), &why, remembering) {
            trace.note(format!("{why}: a remembered yes"));
        } else {
            open.whys.push(why);
            open.covered_by_plan &= by_plan && !is_unread;
        }
    }
    open
}

/// Why a call still needs a yes.
struct OpenReasons {
    whys: Vec<String>,
    /// Whether a yes to the plan would answer all of them.
    covered_by_plan: bool,
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

/// Asks about a call. Returns what a yes covers, where that could be forecast.
async fn ask_person(
    engine: &Engine,
    entry: &Entry,
    flight: &Flight,
    inputs: &Inputs,
    open: &OpenReasons,
    trace: &mut Trace<'_>,
) -> Result<Option<Arc<ApprovedCalls>>, Fault> {
    let asked = Asked {
        args: inputs.current(&flight.model),
        preview: &inputs.preview,
        own_preview: both_previews(entry, flight, inputs),
        why: open.whys.join("; "),
        remembering: remembering(entry, flight, inputs),
        differences: &[],
        covered_by_plan: open.covered_by_plan,
        dry_run: inputs.dry_run,
    };
    let (verdict, approved) = put_question(engine, entry, flight, &asked).await?;
    match accepted(&asked, verdict)? {
        (channel, true) => {
            for reason in &open.whys {
                engine.remember(entry.decl.name.as_str(), reason, asked.remembering);
            }
            trace.note(format!("{}: approved and remembered ({})", asked.why, channel_name(channel)));
        }
        (channel, false) => trace.note(format!("{}: approved ({})", asked.why, channel_name(channel))),
    }
    Ok(approved)
}

/// Asks about a call that would not do what was approved. Returns what the new yes covers: the forecast in the question,
/// or the changes that were found, where nothing can be forecast.
///
/// Ends in `conflict`, with the states on both sides, when nobody can be asked.
pub(super) async fn ask_again(
    engine: &Engine,
    entry: &Entry,
    flight: &Flight,
    permitted: &PermittedArgs,
    (differences, found): (&[String], ForecastCall),
) -> Result<Arc<ApprovedCalls>, Fault> {
    let changed = permitted.called_with.clone().map(Value::Object);
    let asked = Asked {
        args: changed.as_ref().unwrap_or(&flight.model),
        preview: &permitted.preview,
        own_preview: permitted.preview.clone(),
        why: "it is not what you approved".to_owned(),
        // A yes to one difference is no yes to the next.
        remembering: Remembering::Nothing,
        differences,
        covered_by_plan: false,
        dry_run: false,
    };
    let (verdict, approved) = put_question(engine, entry, flight, &asked).await?;
    if let Verdict::Nobody { why, .. } = &verdict {
        return Err(Fault::new(
            Failure::Conflict,
            format!(
                "{}: this is not what was approved, and nobody can be asked: {why}",
                differences.join("; ")
            ),
        )
        .hint("nothing was changed; look at the note, then make the call again")
        .detail("differences", differences.to_vec())
        .retryable(false));
    }
    accepted(&asked, verdict)?;
    Ok(approved.unwrap_or_else(|| Arc::new(ApprovedCalls::new(vec![found]))))
}

/// One question about one call.
struct Asked<'a> {
    /// Exactly what the tool will be called with.
    args: &'a Value,
    /// One line about the call, as the record has it.
    preview: &'a str,
    /// The same in the tool's own words, with the whole command line.
    own_preview: String,
    why: String,
    remembering: Remembering,
    /// In what the call differs from what was approved before.
    differences: &'a [String],
    covered_by_plan: bool,
    dry_run: bool,
}

async fn put_question(
    engine: &Engine,
    entry: &Entry,
    flight: &Flight,
    asked: &Asked<'_>,
) -> Result<(Verdict, Option<Arc<ApprovedCalls>>), Fault> {
    let forecast = forecast_call(engine, entry, asked).await;
    let input = observable(asked.args).into_owned();
    let text = call_question(&CallQuestion {
        tool: entry.decl.name.as_str(),
        preview: &asked.own_preview,
        why: &asked.why,
        input: &input,
        forecast: forecast.as_ref(),
        differences: asked.differences,
    });
    let request = ApprovalRequest {
        run_id: flight.call.run_id.clone(),
        step_id: flight.call.step_id.clone(),
        call_id: flight.call.call_id.clone(),
        tool: entry.decl.name.clone(),
        risk: entry.decl.risk_level,
        text,
        preview: asked.own_preview.clone(),
        input,
        exact: canonical_hash(asked.args),
        why: asked.why.clone(),
        remembering: asked.remembering,
        differs: !asked.differences.is_empty(),
        covered_by_plan: asked.covered_by_plan,
        client: flight.call.planner_version.clone(),
        policy: engine.parts.policy_hash,
    };
    let verdict = tokio::select! {
        biased;
        verdict = flight.approver.as_ref().unwrap_or(&engine.parts.approver).approve(&request) => verdict,
        cause = flight.cancel.cancelled() => return Err(cancelled_while_asking(cause)),
    };
    Ok((verdict, forecast.and_then(|forecast| approved_call(forecast, flight))))
}

/// What would become of the files. A command cannot be forecast, and a read changes nothing.
async fn forecast_call(engine: &Engine, entry: &Entry, asked: &Asked<'_>) -> Option<Forecast> {
    let forecaster = engine.parts.forecaster.as_ref()?;
    match entry.decl.risk_level {
        Risk::Writes if !asked.dry_run => {
            catch_panic(forecaster.forecast_call(&entry.decl, asked.args)).await.ok().flatten()
        }
        Risk::Writes | Risk::Commands | Risk::ReadOnly => None,
    }
}

/// The forecast of a single call under the names that the call has in its run.
fn approved_call(forecast: Forecast, flight: &Flight) -> Option<Arc<ApprovedCalls>> {
    let calls = forecast.calls?.into_iter().map(|call| ForecastCall {
        step: flight.call.step_id.clone(),
        index: flight.call.iteration.as_ref().map(|iteration| iteration.index),
        args_hash: flight.call.args_hash,
        ..call
    });
    Some(Arc::new(ApprovedCalls::new(calls.collect())))
}

/// How a yes came and whether it is to be kept, or why there is none.
fn accepted(asked: &Asked<'_>, verdict: Verdict) -> Result<(Channel, bool), Fault> {
    match verdict {
        // There is nothing to keep a yes to a wrapper by.
        Verdict::Remember { channel } => Ok((channel, asked.remembering != Remembering::Nothing)),
        Verdict::Once { channel } => Ok((channel, false)),
        Verdict::Reject { reason } => Err(Fault::new(
            Failure::ApprovalRejected,
            format!("the user said no to {}: {reason}", asked.preview),
        )),
        Verdict::Nobody { why: nobody, way_out } => {
            let fault = Fault::new(
                Failure::PolicyBlocked,
                format!("{} needs a yes to {}, and nobody can be asked: {nobody}", asked.why, asked.preview),
            );
            Err(match way_out {
                Some(way_out) => fault.hint(way_out),
                None => fault,
            })
        }
    }
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
