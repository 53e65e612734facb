//! Settles calls that were recorded and interrupted before their result.
//!
//! Such a call is *uncertain*: its tool compares the state that was recorded before the call with the state now. If
//! the tool cannot determine the outcome either, the user decides. A call with effects is never made twice blindly.

use std::sync::Arc;

use envelope::{Failure, Fault, Idempotency, ToolCall, ToolResult};
use serde_json::Value;
use toolkit::{CallReport, CancelToken, RawOutput, ReconcileOutcome, RegisteredTool};

use crate::Engine;
use crate::approval::{UncertainCall, UncertainDecision};
use crate::call::{CallControl, CallState};
use crate::call_inputs::observable;
use crate::panic_guard::catch_panic;
use crate::phases;
use crate::run_scope::RunScope;

const TOOL_GONE: &str = "the tool is not there to be asked any more";
const ARGS_NOT_UNDERSTOOD: &str = "the tool no longer understands what it was called with";

/// Answer of a tool about a call that was interrupted.
enum ReconcileAnswer<'a> {
    Happened(&'a RegisteredTool, RawOutput, Box<CallState>),
    /// It did not happen; the report has what it had done on the way, such as folders. So many of its changes were there
    /// and were taken back.
    DidNot(CallReport, usize),
    /// Why the tool cannot determine the outcome, and its report nevertheless.
    Unknown(String, CallReport),
    /// No tool understands the call any more, which says nothing about what the call did.
    CannotAsk(&'static str),
}

/// How an interrupted call is settled.
enum UncertainAction<'a> {
    /// Make the call, on top of what it had done already.
    Run(CallReport),
    Finish(&'a RegisteredTool, RawOutput, Box<CallState>),
    /// Record it as failed with an unknown outcome: why, and what is known of it.
    MarkUnknown(String, CallReport),
}

impl Engine {
    /// Settles a recorded call of a resumed run, or of a runtime that was shut down: finishes it, makes it again, or records that its outcome is unknown.
    pub(crate) async fn settle_uncertain(
        &self,
        scope: &Arc<RunScope>,
        recorded: ToolCall,
        control: CallControl,
    ) -> ToolResult {
        let action = match self.inner.surface.resolve(recorded.tool.as_str()) {
            // A call that cannot have changed anything is simply made again.
            Ok(entry) if may_have_changed(entry, &recorded) => {
                self.choose_action(scope, entry, &recorded, &control).await
            }
            Err(_) if recorded.risk_level.has_effects() => {
                UncertainAction::MarkUnknown(TOOL_GONE.to_owned(), CallReport::default())
            }
            Ok(_) | Err(_) => UncertainAction::Run(CallReport::default()),
        };
        let call = ToolCall { called_with: None, intent: Vec::new(), ..recorded.clone() };
        match action {
            UncertainAction::Run(done) => self.run_call_resumed(scope, call, control, &done).await,
            UncertainAction::Finish(entry, raw, state) => {
                self.finish_reconciled(scope, entry, *state, raw).await
            }
            UncertainAction::MarkUnknown(why, done) => {
                let state = self.begin(scope, call, control, None);
                self.finish_failed(scope, state, &done, unknown_outcome(&recorded, &why)).await
            }
        }
    }

    /// Settles a call of a session that has ended. Its client is gone, so it is never made again.
    pub(crate) async fn settle_abandoned(
        &self,
        scope: &Arc<RunScope>,
        recorded: ToolCall,
        cancel: CancelToken,
    ) -> ToolResult {
        let control = CallControl::from(cancel);
        let answer = match self.inner.surface.resolve(recorded.tool.as_str()) {
            Ok(entry) if may_have_changed(entry, &recorded) => {
                self.reconcile(scope, entry, &recorded, &control).await
            }
            Err(_) if recorded.risk_level.has_effects() => ReconcileAnswer::CannotAsk(TOOL_GONE),
            Ok(_) | Err(_) => ReconcileAnswer::DidNot(CallReport::default(), 0),
        };
        let (done, fault) = match answer {
            ReconcileAnswer::Happened(entry, raw, state) => {
                return self.finish_reconciled(scope, entry, *state, raw).await;
            }
            ReconcileAnswer::DidNot(done, taken_back) => (done, not_made(&recorded, taken_back)),
            ReconcileAnswer::Unknown(why, done) => (done, unknown_outcome(&recorded, &why)),
            ReconcileAnswer::CannotAsk(why) => (CallReport::default(), unknown_outcome(&recorded, why)),
        };
        let state = self.begin(scope, recorded, control, None);
        self.finish_failed(scope, state, &done, fault).await
    }

    /// Asks the tool what became of the call.
    async fn reconcile<'a>(
        &self,
        scope: &Arc<RunScope>,
        entry: &'a RegisteredTool,
        recorded: &ToolCall,
        control: &CallControl,
    ) -> ReconcileAnswer<'a> {
        let Ok(decoded) = phases::parse_schema(entry, &called_with(recorded)) else {
            return ReconcileAnswer::CannotAsk(ARGS_NOT_UNDERSTOOD);
        };
        let state = self.begin(scope, recorded.clone(), control.clone(), None);
        match catch_panic(entry.tool.reconcile(&state.cx, &decoded, &recorded.intent)).await {
            Ok(ReconcileOutcome::Happened(raw)) => ReconcileAnswer::Happened(entry, raw, Box::new(state)),
            // Folders that it had made on the way are there, and stay in the record of this call.
            Ok(ReconcileOutcome::DidNot { taken_back }) => {
                ReconcileAnswer::DidNot(state.cx.take_report(), taken_back)
            }
            Ok(ReconcileOutcome::Unknown { why }) => ReconcileAnswer::Unknown(why, state.cx.take_report()),
            Err(panic) => {
                let why = format!("the tool crashed while looking: {panic}");
                ReconcileAnswer::Unknown(why, state.cx.take_report())
            }
        }
    }

    async fn choose_action<'a>(
        &self,
        scope: &Arc<RunScope>,
        entry: &'a RegisteredTool,
        recorded: &ToolCall,
        control: &CallControl,
    ) -> UncertainAction<'a> {
        let (why, done) = match self.reconcile(scope, entry, recorded, control).await {
            ReconcileAnswer::Happened(entry, raw, state) => {
                return UncertainAction::Finish(entry, raw, state);
            }
            ReconcileAnswer::DidNot(done, _) => return UncertainAction::Run(done),
            // The call could not be made again either, so the user is not asked.
            ReconcileAnswer::CannotAsk(why) => {
                return UncertainAction::MarkUnknown(why.to_owned(), CallReport::default());
            }
            ReconcileAnswer::Unknown(_, done) if entry.decl.idempotency == Idempotency::Idempotent => {
                return UncertainAction::Run(done);
            }
            ReconcileAnswer::Unknown(why, done) => (why, done),
        };
        let uncertain = UncertainCall {
            call_id: recorded.call_id.clone(),
            step_id: recorded.step_id.clone(),
            tool: recorded.tool.clone(),
            input: observable(&called_with(recorded)).into_owned(),
            why: why.clone(),
        };
        let decision = tokio::select! {
            biased;
            decision = catch_panic(self.inner.approver.settle(&uncertain)) => decision,
            _cause = control.cancel.cancelled() => return UncertainAction::MarkUnknown(why, done),
        };
        match decision {
            Ok(UncertainDecision::Run) => UncertainAction::Run(done),
            Ok(UncertainDecision::Leave) | Err(_) => UncertainAction::MarkUnknown(why, done),
        }
    }
}

/// Whether the call may have had effects, by the tool's declaration at that time or now.
fn may_have_changed(entry: &RegisteredTool, recorded: &ToolCall) -> bool {
    recorded.risk_level.has_effects() || entry.decl.risk_level.has_effects()
}

/// The arguments that the tool was to be called with.
fn called_with(recorded: &ToolCall) -> Value {
    Value::Object(recorded.called_with.clone().unwrap_or_else(|| recorded.args.clone()))
}

fn unknown_outcome(recorded: &ToolCall, why: &str) -> Fault {
    Fault::new(
        Failure::ExecutionFailed,
        format!(
            "{} was under way when the run was interrupted, and it is unknown whether it happened: {why}",
            recorded.tool
        ),
    )
    .hint("look at what it would have changed, then decide")
    .retryable(false)
    .detail("outcome", "unknown")
}

/// Fault of a call of an interrupted session that was certainly not made, or of which the part that was made was taken
/// back.
fn not_made(call: &ToolCall, taken_back: usize) -> Fault {
    let tool = &call.tool;
    let message = match taken_back {
        0 => format!("{tool} was about to be called when the session was interrupted; it did not happen"),
        1 => {
            format!("{tool} was interrupted with the session; the one change that it had made was taken back")
        }
        many => {
            format!(
                "{tool} was interrupted with the session; the {many} changes that it had made were taken back"
            )
        }
    };
    Fault::new(Failure::Canceled, message).retryable(false)
}
