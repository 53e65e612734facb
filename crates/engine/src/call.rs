//! One call, from the request to its one recorded result.

use std::pin::pin;
use std::sync::{Arc, Mutex};

use envelope::{
    Artifact, Cancellation, EventLevel, EventType, ExecutionEvent, Failure, Fault, Phase, ReceiptFamily,
    Risk, SideEffect, Timestamp, ToolCall, ToolName, ToolResult,
};
use serde_json::{Map, Value, json};
use toolkit::{
    ArtifactSink, CallProgress, CallReport, CancelToken, ObjectStore, ProgressSink, RawOutput,
    RegisteredTool, ToolCx,
};

use crate::artifacts::JournalArtifacts;
use crate::calls_under_way::CallMark;
use crate::driver::DispatchState;
use crate::object_store::JournalStore;
use crate::panic_guard::{catch_call, catch_panic};
use crate::phase_trace::PhaseTrace;
use crate::phases::{self, PersistedResult};
use crate::run_scope::RunScope;
use crate::scheduler::{CallTicket, SchedulerSlot};
use crate::{Approver, Engine, Purpose};

/// A single call as a client asks for it.
pub struct CallRequest {
    pub tool: ToolName,
    pub args: Map<String, Value>,
    pub cancel: CancelToken,
    /// Tokens that the receipt may have. Default: the budget of its family.
    pub budget: Option<u32>,
    /// Approver for this call; overrides the engine's.
    pub approver: Option<Arc<dyn Approver>>,
    /// Receives the progress of the call in addition to the record.
    pub progress: Option<ProgressSink>,
}

impl CallRequest {
    pub fn new(tool: ToolName, args: Map<String, Value>, cancel: CancelToken) -> CallRequest {
        CallRequest { tool, args, cancel, budget: None, approver: None, progress: None }
    }
}

/// Control over a call from outside.
#[derive(Clone)]
pub(crate) struct CallControl {
    pub(crate) cancel: CancelToken,
    /// Takes over what is known of the call if its task is dropped. Absent for a call that no driver dispatches.
    pub(crate) dispatch: Option<Arc<DispatchState>>,
}

impl From<CancelToken> for CallControl {
    fn from(cancel: CancelToken) -> CallControl {
        CallControl { cancel, dispatch: None }
    }
}

/// A call that is under way: what the engine tracks of it, filled in by the phases.
pub(crate) struct CallState {
    pub(crate) call: ToolCall,
    /// Arguments as the model sent them. Moved back into `call.args` when the call is recorded.
    pub(crate) model_args: Value,
    pub(crate) cancel: CancelToken,
    /// Takes over what is known of the call if its task is dropped, until the result is recorded.
    pub(crate) dispatch: Option<Arc<DispatchState>>,
    pub(crate) cx: ToolCx,
    /// Artifacts that mapping the result has stored so far.
    pub(crate) projected_artifacts: Mutex<Vec<Artifact>>,
    /// Tokens that the client wants for the receipt.
    pub(crate) budget: Option<u32>,
    /// Approver for this call; overrides the engine's.
    pub(crate) approver: Option<Arc<dyn Approver>>,
    pub(crate) created_at: Timestamp,
    /// The longest timeout that the policy allows.
    pub(crate) max_timeout_ms: u64,
    /// When the tool itself was called.
    pub(crate) dispatched_at: Option<Timestamp>,
    /// Place in the order of the run, until the call has declared its paths.
    pub(crate) ticket: Option<CallTicket>,
    pub(crate) slot: Option<SchedulerSlot>,
    /// Whether the journal has the call as it is about to be made.
    pub(crate) is_recorded: bool,
    /// Set when the outcome was found by reconciliation after an interruption.
    pub(crate) is_reconciled: bool,
    pub(crate) cancellation: Option<Cancellation>,
    /// Counts the call among those that are under way.
    pub(crate) _mark: CallMark,
}

impl CallState {
    /// Moves the model's arguments back into the call, to be recorded.
    pub(crate) fn restore_args(&mut self) {
        if let Value::Object(args) = std::mem::take(&mut self.model_args) {
            self.call.args = args;
        }
    }
}

impl Drop for CallState {
    /// A call that is dropped after it was recorded leaves its record, with the intent, to the next dispatch.
    fn drop(&mut self) {
        if let Some(dispatch) = self.dispatch.take().filter(|_| self.is_recorded) {
            dispatch.keep_call(self.call.clone());
        }
    }
}

impl Engine {
    /// Takes one call through the twelve phases and records it in the journal of `scope`. Never fails: a failure is a
    /// result.
    ///
    /// For tests and benchmarks. The scope has no approvals of a plan, so a call that needs one is asked about. A driver
    /// dispatches the calls of its [`PlanExecution`](crate::driver::PlanExecution), and a front end opens a session
    /// ([`Engine::open_session`]), which makes the call from a [`CallRequest`].
    ///
    /// Does not protect against a second dispatch: calling this twice with the same call makes and records it
    /// twice, which a replay reports as a divergence. Dropping the future interrupts the call as a crash does, except
    /// that a thread which the tool has started runs on without a place among the calls of the engine. A driver that may
    /// lose an answer uses [`CallDispatch`](crate::driver::CallDispatch).
    pub async fn run_call(&self, scope: &Arc<RunScope>, call: ToolCall, cancel: CancelToken) -> ToolResult {
        let state = self.begin(scope, call, cancel.into(), None);
        self.run_phases(scope, state).await
    }

    /// Runs a call of a plan, in its place in the order of the run.
    pub(crate) async fn run_in_order(
        &self,
        scope: &Arc<RunScope>,
        call: ToolCall,
        control: CallControl,
        budget: Option<u32>,
        ticket: Option<CallTicket>,
    ) -> ToolResult {
        let mut state = self.begin(scope, call, control, None);
        (state.budget, state.ticket) = (budget, ticket);
        self.run_phases(scope, state).await
    }

    /// Runs a call that had done a part of its work, `done`, before an interruption.
    pub(crate) async fn run_call_resumed(
        &self,
        scope: &Arc<RunScope>,
        call: ToolCall,
        control: CallControl,
        done: &CallReport,
    ) -> ToolResult {
        let state = self.begin(scope, call, control, None);
        state.cx.merge_report(done);
        self.run_phases(scope, state).await
    }

    pub(crate) async fn run_phases(&self, scope: &Arc<RunScope>, mut state: CallState) -> ToolResult {
        let mut trace = PhaseTrace::new(&*self.inner.clock);
        // Phases catch the panics of the code that they call; any other panic still ends as a result of this call.
        let outcome = {
            let phases = pin!(self.eleven_phases(scope, &mut state, &mut trace));
            catch_panic(phases).await
        };
        let outcome = outcome.unwrap_or_else(|panic| {
            Err(Fault::new(Failure::ExecutionFailed, format!("the call crashed: {panic}")).retryable(false))
        });
        phases::emit_terminal(self, scope, state, trace, outcome).await
    }

    /// Ends a call that had its effect before an interruption, with the output that the tool found.
    pub(crate) async fn finish_reconciled(
        &self,
        scope: &Arc<RunScope>,
        entry: &RegisteredTool,
        mut state: CallState,
        raw: RawOutput,
    ) -> ToolResult {
        let mut trace = PhaseTrace::new(&*self.inner.clock);
        state.restore_args();
        (state.is_recorded, state.is_reconciled) = (true, true);
        trace.enter(Phase::Execute);
        trace.note("it happened before the interruption");
        let outcome = self.last_phases(scope, entry, &state, raw, &mut trace).await;
        phases::emit_terminal(self, scope, state, trace, outcome).await
    }

    /// Ends a call that was interrupted and is not made again. Its known facts, `done`, stay in its record so
    /// that it can be undone.
    pub(crate) async fn finish_failed(
        &self,
        scope: &Arc<RunScope>,
        mut state: CallState,
        done: &CallReport,
        fault: Fault,
    ) -> ToolResult {
        let mut trace = PhaseTrace::new(&*self.inner.clock);
        state.cx.merge_report(done);
        if state.call.risk_level == Risk::Commands {
            // It was started, and how far it came is unknown.
            state.cx.observed(SideEffect::RunCommand);
        }
        state.restore_args();
        (state.is_recorded, state.is_reconciled) = (true, true);
        trace.enter(Phase::Execute);
        phases::emit_terminal(self, scope, state, trace, Err(fault)).await
    }

    /// The pipeline, as a table of contents. Each phase takes the result of the one before it.
    async fn eleven_phases(
        &self,
        scope: &RunScope,
        state: &mut CallState,
        trace: &mut PhaseTrace<'_>,
    ) -> Result<PersistedResult, Fault> {
        trace.enter(Phase::ResolveTool);
        let entry = phases::resolve_tool(self, state)?;

        trace.enter(Phase::ParseSchema);
        let mut decoded = phases::parse_schema(entry, &state.model_args)?;
        state.call.note = entry.note(&state.model_args).map(str::to_owned);
        state.call.request_id = entry.request_id(&state.model_args).map(str::to_owned);

        trace.enter(Phase::ValidateValues);
        if self.inner.purpose == Purpose::Forecast && entry.decl.family == ReceiptFamily::Task {
            // It is about a task, and a forecast starts none.
            return Err(phases::not_forecastable(entry));
        }
        if entry.decl.risk_level.has_effects()
            && let Some(ticket) = &state.ticket
        {
            self.inner.scheduler.wait_for_earlier_calls(ticket, &state.cancel).await?;
        }
        phases::validate_values(entry, state, &mut decoded).await?;

        trace.enter(Phase::PrepareObservableInput);
        let inputs = phases::prepare_observable_input(entry, state, decoded)?;

        trace.enter(Phase::PreHooks);
        let hooked = phases::pre_hooks(self, entry, state, inputs, trace).await?;

        trace.enter(Phase::Permission);
        let permitted = phases::permission(self, entry, state, hooked, trace).await?;

        trace.enter(Phase::Schedule);
        let permitted = phases::schedule(self, scope, entry, state, permitted, trace).await?;

        trace.enter(Phase::Execute);
        let raw = phases::execute(self, entry, state, permitted).await?;

        self.last_phases(scope, entry, state, raw, trace).await
    }

    /// The phases after the tool has done its work.
    async fn last_phases(
        &self,
        scope: &RunScope,
        entry: &RegisteredTool,
        state: &CallState,
        raw: RawOutput,
        trace: &mut PhaseTrace<'_>,
    ) -> Result<PersistedResult, Fault> {
        trace.enter(Phase::MapResult);
        let mapped = phases::map_result(self, entry, state, raw)?;

        trace.enter(Phase::PostHooks);
        let hooked = phases::post_hooks(self, entry, state, mapped, trace).await?;

        trace.enter(Phase::PersistResult);
        phases::persist_result(self, scope, entry, hooked, trace)
    }

    /// Starts tracking a call.
    pub(crate) fn begin(
        &self,
        scope: &Arc<RunScope>,
        mut call: ToolCall,
        control: CallControl,
        progress: Option<ProgressSink>,
    ) -> CallState {
        let CallControl { cancel, dispatch } = control;
        let created_at = self.inner.clock.now();
        // Fields that claim authority are set here and never taken from the caller.
        call.confirmation_id = call.confirmation_id.filter(|claimed| scope.has_confirmation(claimed));
        call.policy = self.inner.snapshot.clone();
        call.executor_version = self.inner.executor_version.clone();
        call.tool_registry_version = self.inner.registry_version.clone();
        let model_args = Value::Object(std::mem::take(&mut call.args));
        let progress = self.progress_sink(scope, &call, progress);
        let store: Arc<dyn ObjectStore> = Arc::new(JournalStore(scope.journal.clone()));
        let artifacts: Arc<dyn ArtifactSink> = Arc::new(JournalArtifacts::of(&scope.journal, &call));
        let id = call.call_id.clone();
        let cx = ToolCx::with_storage(id, cancel.clone(), Some(progress), Some(store), Some(artifacts))
            .of_run(call.run_id.clone());
        CallState {
            call,
            model_args,
            cancel,
            dispatch,
            cx,
            projected_artifacts: Mutex::default(),
            budget: None,
            approver: None,
            created_at,
            max_timeout_ms: self.policy().limits.call_timeout_ms.get(),
            dispatched_at: None,
            ticket: None,
            slot: None,
            is_recorded: false,
            is_reconciled: false,
            cancellation: None,
            _mark: self.inner.calls_under_way.begin(),
        }
    }

    /// Returns a sink that records progress as events of the run. A progress event that is lost does not fail the call.
    fn progress_sink(
        &self,
        scope: &Arc<RunScope>,
        call: &ToolCall,
        client: Option<ProgressSink>,
    ) -> ProgressSink {
        let (engine, scope) = (self.clone(), scope.clone());
        let (run, step, id, tool) =
            (call.run_id.clone(), call.step_id.clone(), call.call_id.clone(), call.tool.clone());
        Arc::new(move |progress: CallProgress| {
            if let Some(client) = &client {
                // A client that panics does not end the call.
                let _crashed = catch_call(|| client(progress.clone()));
            }
            let event = ExecutionEvent {
                event_type: EventType::StepProgress,
                run_id: run.clone(),
                timestamp: engine.inner.clock.now(),
                level: EventLevel::Info,
                message: progress.message,
                call_id: Some(id.clone()),
                step_id: Some(step.clone()),
                tool: Some(tool.clone()),
                payload: Some(json!({ "done": progress.done, "total": progress.total })),
            };
            let _lost = engine.record_event(&scope, &event);
        })
    }
}
