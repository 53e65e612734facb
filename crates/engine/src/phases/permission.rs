//! Phase 6: decides whether the call is permitted, and asks the approver if that is open.
//!
//! The precedence: protected paths (before this phase), deny rules on the model's arguments and on the tool's, hooks, the
//! mode `read-only`, ask, allow, the mode's default. Nothing later loosens anything earlier: every reason to ask needs its own approval, given
//! with the plan, remembered, or asked for now. The user is asked once, about all open reasons.
//!
//! An approval of a command covers only text that was shown: the whole line is shown, the approval of a plan covers
//! only commands that the plan contains, and a remembered approval answers exactly the same call.

use std::sync::Arc;

use command_line::CommandLine;
use envelope::{ApprovalChannel, Failure, Fault, Risk, canonical_hash};
use serde_json::Value;
use toolkit::{CancelCause, PermittedBy, RegisteredTool};

use crate::approval::{ApprovalDecision, ApprovalRequest, RememberScope};
use crate::call::CallState;
use crate::call_inputs::{CallInputs, PermittedArgs, observable, visible_text};
use crate::forecast::{ApprovedCalls, Forecast, ForecastCall};
use crate::panic_guard::{catch_call, catch_panic};
use crate::phase_trace::PhaseTrace;
use crate::policy::{AskReason, Mode, RuleDecision};
use crate::question::{CallQuestion, call_question};
use crate::rules::RuleSubject;
use crate::{Engine, Purpose};

use super::pre_hooks::HookedInputs;

/// Fails with `permission_denied`, `approval_rejected` or `policy_blocked`.
pub(crate) async fn permission(
    engine: &Engine,
    entry: &RegisteredTool,
    state: &CallState,
    hooked: HookedInputs,
    trace: &mut PhaseTrace<'_>,
) -> Result<PermittedArgs, Fault> {
    let HookedInputs { inputs, asks, denies } = hooked;
    let decl = &*entry.decl;
    let dry_run = inputs.dry_run;
    let subject = |paths, command| RuleSubject { tool: decl, paths, command, dry_run };
    let first = subject(&inputs.first_paths, inputs.first_command.as_ref());
    if let Some(why) = engine.inner.policy.denied(first) {
        return Err(denied(entry, &inputs, &why));
    }
    let opinion = engine.inner.policy.opinion(subject(&inputs.paths, inputs.command.as_ref()));
    // A rule is reported before a hook: the user can look it up and change it.
    let mut reasons = match (opinion, denies) {
        (RuleDecision::Deny { why }, _) => return Err(denied(entry, &inputs, &why)),
        (RuleDecision::Blocked { .. } | RuleDecision::Ask { .. } | RuleDecision::Allow { .. }, Some(why)) => {
            return Err(denied(entry, &inputs, &why));
        }
        (RuleDecision::Blocked { why }, None) => {
            return Err(Fault::new(
                Failure::PolicyBlocked,
                format!("{why} lets no {} tool run: {}", decl.risk_level, inputs.preview),
            )
            .hint(
                "set another `mode` in .tollgate/config.toml; no approval and no rule overrides read-only",
            ));
        }
        (RuleDecision::Ask { reasons }, None) => reasons,
        (RuleDecision::Allow { why }, None) => {
            trace.note(format!("allowed: {why}"));
            Vec::new()
        }
    };
    reasons.extend(asks.into_iter().map(|why| AskReason { why, by_plan: false }));
    // Every reason to ask is answered by an approval of the user, given before or now.
    let is_approved = !reasons.is_empty() || engine.policy().mode == Mode::Trusted;
    let open = open_reasons(engine, entry, state, &inputs, reasons, trace);
    let approved = match open.whys.is_empty() {
        true => None,
        false => ask_for_approval(engine, entry, state, &inputs, &open, trace).await?,
    };
    state.cx.permit(if is_approved { PermittedBy::User } else { PermittedBy::Rule });
    Ok(PermittedArgs {
        called_with: inputs.changed.and_then(|value| value.as_object().cloned()),
        decoded: inputs.decoded,
        paths: inputs.paths,
        preview: inputs.preview,
        dry_run: inputs.dry_run,
        approved,
    })
}

fn denied(entry: &RegisteredTool, inputs: &CallInputs, why: &str) -> Fault {
    let what = format!("{why} denies {}: {}", entry.decl.name, inputs.preview);
    let fault = Fault::new(Failure::PermissionDenied, what);
    match &inputs.command {
        Some(CommandLine { over_limit: true, .. }) => {
            fault.hint("run it in several calls, each of which a person can read")
        }
        Some(_) | None => fault,
    }
}

/// Returns the reasons that neither the approval of the plan nor a remembered one answers.
fn open_reasons(
    engine: &Engine,
    entry: &RegisteredTool,
    state: &CallState,
    inputs: &CallInputs,
    reasons: Vec<AskReason>,
    trace: &mut PhaseTrace<'_>,
) -> OpenReasons {
    let mut open = OpenReasons { whys: Vec::new(), covered_by_plan: true };
    if reasons.is_empty() {
        return open;
    }
    // A forecast makes its calls without an approval of the plan, and finds out which reasons that would answer.
    let by_forecast = engine.inner.purpose == Purpose::Forecast;
    let is_unread = entry.decl.risk_level == Risk::Commands
        && (!state.call.filled_in.is_empty() || inputs.changed.is_some());
    let remembering = remembering(entry, state, inputs);
    for AskReason { why, by_plan } in reasons {
        let why = match &state.call.confirmation_id {
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
            trace.note(format!("{why}: a remembered approval"));
        } else {
            open.whys.push(why);
            open.covered_by_plan &= by_plan && !is_unread;
        }
    }
    open
}

/// Why a call still needs an approval.
struct OpenReasons {
    whys: Vec<String>,
    /// Whether an approval of the plan would answer all of them.
    covered_by_plan: bool,
}

/// Returns the later calls that a remembered approval of this call would answer.
fn remembering(entry: &RegisteredTool, state: &CallState, inputs: &CallInputs) -> RememberScope {
    let exactly = || RememberScope::Exactly(canonical_hash(inputs.current(&state.model_args)));
    match &inputs.command {
        // The effects of a tool outside the vault depend on its input, as with a command line.
        None if entry.decl.risk_level == Risk::Commands => exactly(),
        None => RememberScope::Reasons,
        Some(line) if line.can_be_remembered() => exactly(),
        Some(_) => RememberScope::Nothing,
    }
}

/// Asks about a call. Returns the calls that the approval covers, if they could be forecast.
///
/// A call that is certain to fail ends with its failure, and no one is asked: an approval could not change it. Another call
/// that is under way could, so beside one the user is asked.
async fn ask_for_approval(
    engine: &Engine,
    entry: &RegisteredTool,
    state: &CallState,
    inputs: &CallInputs,
    open: &OpenReasons,
    trace: &mut PhaseTrace<'_>,
) -> Result<Option<Arc<ApprovedCalls>>, Fault> {
    let asked = ApprovalPrompt {
        args: inputs.current(&state.model_args),
        preview: &inputs.preview,
        own_preview: combined_preview(entry, state, inputs),
        why: open.whys.join("; "),
        remembering: remembering(entry, state, inputs),
        differences: &[],
        covered_by_plan: open.covered_by_plan,
        dry_run: inputs.dry_run,
    };
    let forecast = forecast_call(engine, entry, &asked).await;
    let refusal = forecast.as_ref().and_then(|forecast| forecast.refusal.as_deref());
    if let Some(refusal) = refusal.filter(|_| engine.inner.calls_under_way.is_alone()) {
        trace.note(format!("{}: certain to fail, so no one was asked", asked.why));
        return Err(refusal.clone());
    }
    let (verdict, approved) = ask_approver(engine, entry, state, &asked, forecast).await?;
    match accept_decision(&asked, verdict)? {
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

/// Asks about a call that differs from what was approved. Returns the calls that the new approval covers: the forecast
/// in the question, or the changes that were found if it cannot be forecast.
///
/// Fails with `conflict`, with the states on both sides, if no approver is available.
pub(super) async fn ask_again(
    engine: &Engine,
    entry: &RegisteredTool,
    state: &CallState,
    permitted: &PermittedArgs,
    (differences, found): (&[String], ForecastCall),
) -> Result<Arc<ApprovedCalls>, Fault> {
    let changed = permitted.called_with.clone().map(Value::Object);
    let asked = ApprovalPrompt {
        args: changed.as_ref().unwrap_or(&state.model_args),
        preview: &permitted.preview,
        own_preview: permitted.preview.clone(),
        why: "it is not what you approved".to_owned(),
        // An approval of one difference does not cover the next.
        remembering: RememberScope::Nothing,
        differences,
        covered_by_plan: false,
        dry_run: false,
    };
    let forecast = forecast_call(engine, entry, &asked).await;
    let (verdict, approved) = ask_approver(engine, entry, state, &asked, forecast).await?;
    if let ApprovalDecision::Unavailable { why, .. } = &verdict {
        return Err(Fault::new(
            Failure::Conflict,
            format!(
                "{}: this is not what was approved, and no one is available to approve it: {why}",
                differences.join("; ")
            ),
        )
        .hint("nothing was changed; look at the note, then make the call again")
        .detail("differences", differences.to_vec())
        .retryable(false));
    }
    accept_decision(&asked, verdict)?;
    Ok(approved.unwrap_or_else(|| Arc::new(ApprovedCalls::new(vec![found]))))
}

/// A question about one call, before it is put into words.
struct ApprovalPrompt<'a> {
    /// The exact arguments of the tool.
    args: &'a Value,
    /// The preview of the call in the record.
    preview: &'a str,
    /// The tool's own preview, with the whole command line.
    own_preview: String,
    why: String,
    remembering: RememberScope,
    /// Differences to the call that was approved before.
    differences: &'a [String],
    covered_by_plan: bool,
    dry_run: bool,
}

async fn ask_approver(
    engine: &Engine,
    entry: &RegisteredTool,
    state: &CallState,
    asked: &ApprovalPrompt<'_>,
    forecast: Option<Forecast>,
) -> Result<(ApprovalDecision, Option<Arc<ApprovedCalls>>), Fault> {
    let input = observable(asked.args).into_owned();
    let text = call_question(&CallQuestion {
        tool: entry.decl.name.as_str(),
        preview: &asked.own_preview,
        note: entry.note(asked.args),
        why: &asked.why,
        input: &input,
        forecast: forecast.as_ref(),
        differences: asked.differences,
    });
    let request = ApprovalRequest {
        run_id: state.call.run_id.clone(),
        step_id: state.call.step_id.clone(),
        call_id: state.call.call_id.clone(),
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
        client: state.call.planner_version.clone(),
        policy: engine.inner.policy_hash,
    };
    let verdict = tokio::select! {
        biased;
        verdict = state.approver.as_ref().unwrap_or(&engine.inner.approver).approve(&request) => verdict,
        cause = state.cancel.cancelled() => return Err(cancelled_while_asking(cause)),
    };
    Ok((verdict, forecast.and_then(|forecast| approved_call(forecast, state))))
}

/// Forecasts the call. A command cannot be forecast, and a read changes nothing.
async fn forecast_call(
    engine: &Engine,
    entry: &RegisteredTool,
    asked: &ApprovalPrompt<'_>,
) -> Option<Forecast> {
    let forecaster = engine.inner.forecaster.as_ref()?;
    match entry.decl.risk_level {
        Risk::Writes if !asked.dry_run => {
            catch_panic(forecaster.forecast_call(&entry.decl, asked.args)).await.ok().flatten()
        }
        Risk::Writes | Risk::Commands | Risk::ReadOnly => None,
    }
}

/// Returns the forecast of a single call with the step and index that the call has in its run.
fn approved_call(forecast: Forecast, state: &CallState) -> Option<Arc<ApprovedCalls>> {
    let calls = forecast.calls?.into_iter().map(|call| ForecastCall {
        step: state.call.step_id.clone(),
        index: state.call.iteration.as_ref().map(|iteration| iteration.index),
        args_hash: state.call.args_hash,
        ..call
    });
    Some(Arc::new(ApprovedCalls::new(calls.collect())))
}

/// Returns the channel of an approval and whether to remember it. Fails if the call was not approved.
fn accept_decision(
    asked: &ApprovalPrompt<'_>,
    verdict: ApprovalDecision,
) -> Result<(ApprovalChannel, bool), Fault> {
    match verdict {
        // An approval of a wrapper is never remembered.
        ApprovalDecision::ApproveAndRemember { channel } => {
            Ok((channel, asked.remembering != RememberScope::Nothing))
        }
        ApprovalDecision::ApproveOnce { channel } => Ok((channel, false)),
        ApprovalDecision::Reject { reason } => Err(Fault::new(
            Failure::ApprovalRejected,
            format!("the user declined {}: {reason}", asked.preview),
        )),
        ApprovalDecision::Unavailable { why, hint } => {
            let fault = Fault::new(
                Failure::PolicyBlocked,
                format!(
                    "{} needs an approval of {}, and no one is available to approve it: {why}",
                    asked.why, asked.preview
                ),
            );
            Err(match hint {
                Some(hint) => fault.hint(hint),
                None => fault,
            })
        }
    }
}

/// Returns the tool's preview, then the plan's: only the first is bound to the input.
fn combined_preview(entry: &RegisteredTool, state: &CallState, inputs: &CallInputs) -> String {
    let preview = catch_call(|| visible_text(&entry.tool.preview(&inputs.decoded)));
    let preview = preview.unwrap_or_else(|_panic| inputs.preview.clone());
    let own = match &inputs.command {
        Some(line) => with_command(preview, line),
        None => preview,
    };
    match state.call.preview.as_deref().map(visible_text) {
        Some(planned) if planned != own => format!("{own} (the plan says: {planned})"),
        Some(_) | None => own,
    }
}

/// Returns the tool's preview if it contains the whole line, else the line with the names of its variables.
fn with_command(preview: String, line: &CommandLine) -> String {
    let shown = visible_text(&line.shown);
    if preview.contains(&shown) {
        return preview;
    }
    if line.env.is_empty() {
        return shown;
    }
    format!("{shown} (with {} set)", visible_text(&line.env.join(", ")))
}

fn cancelled_while_asking(cause: CancelCause) -> Fault {
    match cause {
        CancelCause::Run | CancelCause::Deadline => {
            Fault::new(Failure::Canceled, "the run was cancelled while the user was asked")
        }
        CancelCause::Sibling => {
            Fault::new(Failure::SiblingCanceled, "a sibling failed while the user was asked")
        }
    }
}

fn channel_name(channel: ApprovalChannel) -> &'static str {
    match channel {
        ApprovalChannel::Terminal => "terminal",
        ApprovalChannel::YesFlag => "--yes",
        ApprovalChannel::Embedder => "embedder",
        ApprovalChannel::Client => "client",
        ApprovalChannel::Approve => "approve",
    }
}
