//! One plan run for a driver: it returns actions, accepts inputs and records both.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;

use envelope::{CallId, ConfirmationId, Effects, ExecutionEvent, RunId, ToolCall, ToolResult};
use journal::{Continuation, Journal, OpenCall, RunSummary};
use plan::{
    CarriedCalls, CheckedPlan, MachineInput, MachineOutput, RunMachine, RunOutcome, RunQuestion, RunSpec,
    TimerId,
};
use toolkit::{CancelCause, CancelToken};

use super::call_dispatch::CallDispatch;
use super::confirmation::{ForecastPlan, PlanQuestion};
use super::record_order::RecordOrder;
use super::run_header::RunLinks;
use super::run_request::{RunCancel, RunError, RunPlace, RunRequest};
use crate::approval::ConfirmRequest;
use crate::forecast::{Forecast, Forecaster, forecast_plan};
use crate::panic_guard::catch_call;
use crate::question::question_text;
use crate::run_report::{RunReport, unfinished};
use crate::run_scope::RunScope;
use crate::undo::UndoHistory;
use crate::{Engine, Purpose};

/// Something that a driver carries out. Each ends in one input for [`PlanExecution::accept`].
pub enum DriverAction {
    /// Make this call. Ends in [`MachineInput::Done`].
    Dispatch(Box<CallDispatch>),
    /// Ask for a confirmation. Ends in [`MachineInput::Confirmed`] or [`MachineInput::Declined`].
    Confirm(Box<PlanQuestion>),
    /// Wait. Ends in [`MachineInput::TimerFired`], unless the run finishes before.
    StartTimer { id: TimerId, after_ms: u64 },
}

/// A plan run: its state machine, journal, confirmation, calls and order of results.
///
/// See the [module](crate::driver) for the loop that drives it.
pub struct PlanExecution {
    engine: Engine,
    scope: Arc<RunScope>,
    order: Arc<RecordOrder>,
    machine: RunMachine,
    plan: Arc<CheckedPlan>,
    run_id: RunId,
    /// Author of the plan.
    planner_version: Option<String>,
    cancel: RunCancel,
    /// Set once the machine was asked to cancel; later requests are ignored.
    cancel_requested: bool,
    /// Actions that the driver has not taken yet.
    actions: Vec<DriverAction>,
    /// Calls that were handed out and whose result the machine has not seen.
    open: BTreeMap<CallId, CancelToken>,
    /// Results that were accepted and wait for their turn in the order of the record.
    accepted_results: BTreeMap<CallId, ToolResult>,
    /// Every other accepted input that waits for its turn.
    accepted_inputs: VecDeque<MachineInput>,
    effects: Effects,
    confirmation: Option<ConfirmationId>,
    forecaster: Option<Arc<dyn Forecaster>>,
    /// Forecast that was made before the question, shown in it.
    forecast: Option<Forecast>,
    budget: Option<u32>,
    /// The run that this one continues, for the question.
    continues: Option<Continuation>,
    outcome: Option<RunOutcome>,
    journal_error: Option<String>,
}

/// State of a run that was interrupted, as far as a driver has to know it.
pub(super) struct ResumedState {
    pub(super) scope: Arc<RunScope>,
    pub(super) order: Arc<RecordOrder>,
    pub(super) machine: RunMachine,
    pub(super) effects: Effects,
    pub(super) confirmation: Option<ConfirmationId>,
    /// In the order in which they were started.
    pub(super) open: Vec<OpenCall>,
    /// Outputs of the machine that were not recorded, timers and questions.
    pub(super) outputs: Vec<MachineOutput>,
    pub(super) continues: Option<Continuation>,
}

impl PlanExecution {
    /// Starts a run: creates its journal and records that it has started.
    ///
    /// Returns an error if the journal cannot be created; nothing has happened then.
    pub async fn start(engine: &Engine, request: RunRequest) -> Result<PlanExecution, RunError> {
        let run_id = engine.inner.ids.run_id(engine.inner.clock.now(), request.place.newest_run_millis());
        let mut spec = engine.run_spec(run_id, Arc::new(request.plan), request.planner_version);
        spec.confirm |= request.asks_always && engine.inner.purpose == Purpose::Act;
        let mut forecast = None;
        if let Some(forecaster) = request.forecaster.as_ref().filter(|_| spec.confirm) {
            let first = forecast_plan(&**forecaster, &spec.plan).await;
            // Rules may name paths, which are known only now. Each call is still judged when it comes.
            // What differs from a preview that was seen is asked about.
            spec.confirm = !first.runs_unasked || !first.differs.is_empty() || request.asks_always;
            forecast = Some(first);
        }
        if let Some(continues) = &request.continues {
            spec.carried = Arc::new(CarriedCalls::new(continues.carried.iter().cloned()));
            // A call whose outcome is unknown is never made again without a question, whatever the rules allow.
            spec.confirm |= !continues.uncertain.is_empty() && engine.inner.purpose == Purpose::Act;
        }
        let continues = request.continues.clone();
        let links =
            RunLinks { undoes: request.undoes, session: request.session, continues: request.continues };
        let header = engine.run_header(&spec, request.kind, links);
        let journal = match request.place {
            RunPlace::Disk(runs) => {
                runs.create_unless(&header, &|runs| newer_link(runs, continues.as_ref()))?
            }
            RunPlace::Memory => Journal::in_memory(&header),
        };
        let (scope, order) = RunScope::ordered(journal);
        if let Some(approved) = request.approved {
            scope.approve(approved);
        }
        let machine = RunMachine::new(spec.clone());
        let mut run = PlanExecution::new(engine, (scope, order), &spec, machine);
        run.cancel = request.cancel;
        run.forecaster = request.forecaster;
        run.forecast = forecast;
        run.budget = request.budget;
        run.continues = continues;
        if let Some(continues) = &run.continues {
            run.scope.context.restore(continues.context.clone());
        }
        let outputs = run.machine.begin(engine.inner.clock.now());
        run.carry_out(outputs);
        Ok(run)
    }

    /// Continues a run from the state that its record led to.
    pub(super) fn from_state(
        engine: &Engine,
        spec: &RunSpec,
        state: ResumedState,
        cancel: RunCancel,
        forecaster: Option<Arc<dyn Forecaster>>,
    ) -> PlanExecution {
        let ResumedState { scope, order, machine, effects, confirmation, open, outputs, continues } = state;
        let mut run = PlanExecution::new(engine, (scope, order), spec, machine);
        run.continues = continues;
        (run.cancel, run.forecaster, run.confirmation) = (cancel, forecaster, confirmation);
        run.effects.merge(&effects);
        for call in open {
            run.reopen_call(call);
        }
        run.carry_out(outputs);
        run
    }

    fn new(
        engine: &Engine,
        (scope, order): (Arc<RunScope>, Arc<RecordOrder>),
        spec: &RunSpec,
        machine: RunMachine,
    ) -> PlanExecution {
        PlanExecution {
            engine: engine.clone(),
            scope,
            order,
            machine,
            plan: spec.plan.clone(),
            run_id: spec.run_id.clone(),
            planner_version: spec.planner_version.clone(),
            cancel: RunCancel::new(),
            cancel_requested: false,
            actions: Vec::new(),
            open: BTreeMap::new(),
            accepted_results: BTreeMap::new(),
            accepted_inputs: VecDeque::new(),
            effects: Effects::default(),
            confirmation: None,
            forecaster: None,
            forecast: None,
            budget: None,
            continues: None,
            outcome: None,
            journal_error: None,
        }
    }

    pub fn run_id(&self) -> &RunId {
        &self.run_id
    }

    /// The journal of the run, for a driver that copies the record elsewhere.
    pub fn journal(&self) -> &Journal {
        self.scope.journal()
    }

    /// Signal that cancels the run from outside. The driver waits for it and then accepts
    /// [`MachineInput::CancelRequested`].
    pub fn cancel_signal(&self) -> &RunCancel {
        &self.cancel
    }

    /// Returns the actions that have become due since the last call, in the order in which the machine decided them.
    #[must_use = "an action that is not carried out leaves the run without its input"]
    pub fn take_actions(&mut self) -> Vec<DriverAction> {
        std::mem::take(&mut self.actions)
    }

    /// Whether the machine has finished the run. Timers that are still running need not be waited for.
    pub fn is_finished(&self) -> bool {
        self.outcome.is_some()
    }

    /// Accepts an input and records what follows from it.
    ///
    /// The machine sees results in the order of the record, and any other input after every result that is recorded
    /// before it. The result of a call that is not open is ignored, as is a second request to cancel.
    pub fn accept(&mut self, input: MachineInput) {
        if !self.queue_input(input) {
            return;
        }
        self.feed_machine();
        if let Some(why) = self.journal_error.clone().filter(|_| !self.cancel_requested) {
            self.queue_input(MachineInput::CancelRequested {
                reason: format!("the record cannot be written: {why}"),
            });
            self.feed_machine();
        }
    }

    /// Ends the processes that calls left running, closes the journal and returns the report.
    ///
    /// A run that is not finished is reported as failed; its calls are lost.
    pub async fn finish(mut self) -> RunReport {
        // This comes after the last event of the run, because the outcome does not depend on it.
        if let Err(fault) = self.engine.close_leftovers(&self.scope, &self.run_id).await {
            self.journal_error.get_or_insert(fault.message);
        }
        self.report()
    }

    /// Returns whether the input is new.
    fn queue_input(&mut self, input: MachineInput) -> bool {
        match input {
            MachineInput::Done(result) => {
                if !self.open.contains_key(&result.call_id) {
                    return false;
                }
                self.accepted_results.insert(result.call_id.clone(), result);
            }
            MachineInput::CancelRequested { .. } if std::mem::replace(&mut self.cancel_requested, true) => {
                return false;
            }
            MachineInput::Confirmed(_)
            | MachineInput::Declined { .. }
            | MachineInput::TimerFired(_)
            | MachineInput::CancelRequested { .. } => self.accepted_inputs.push_back(input),
        }
        true
    }

    /// Feeds the machine every accepted input whose turn has come.
    fn feed_machine(&mut self) {
        while let Some(result) = self.next_result() {
            self.handle(MachineInput::Done(result));
        }
        let order = self.order.clone();
        while let Some(input) = self.accepted_inputs.pop_front() {
            let mut waiting = Some(input);
            // The outputs of this input are recorded before the next result is.
            order.when_idle(|| {
                if let Some(input) = waiting.take() {
                    self.handle(input);
                }
            });
            if let Some(input) = waiting {
                // A result that was recorded before it has not been accepted yet.
                return self.accepted_inputs.push_front(input);
            }
        }
    }

    fn handle(&mut self, input: MachineInput) {
        self.track(&input);
        let outputs = self.machine.handle(self.engine.inner.clock.now(), input);
        self.carry_out(outputs);
    }

    /// Returns the next result in the order of the record, or one that could not be recorded at all.
    fn next_result(&mut self) -> Option<ToolResult> {
        if let Some(result) = self.order.take_next(|call| self.accepted_results.remove(call)) {
            return Some(result);
        }
        let unrecorded = self.accepted_results.keys().find(|call| !self.order.contains(call)).cloned()?;
        self.accepted_results.remove(&unrecorded)
    }

    /// Updates what the report needs.
    fn track(&mut self, input: &MachineInput) {
        match input {
            MachineInput::Done(result) => {
                self.open.remove(&result.call_id);
                if let Some(effects) = &result.effects {
                    self.effects.merge(effects);
                }
                if self.journal_error.is_none() {
                    self.journal_error = self.scope.journal().failure();
                }
            }
            MachineInput::Confirmed(confirmation) => {
                self.confirmation.get_or_insert_with(|| confirmation.confirmation_id.clone());
            }
            MachineInput::Declined { .. }
            | MachineInput::TimerFired(_)
            | MachineInput::CancelRequested { .. } => {}
        }
    }

    /// Records events and results, and turns everything else into an action.
    fn carry_out(&mut self, outputs: Vec<MachineOutput>) {
        for output in outputs {
            match output {
                MachineOutput::Event(event) => self.record_event(&event),
                MachineOutput::Settled(result) => self.record_settled(&result),
                MachineOutput::Start(call) => self.open_call(*call),
                MachineOutput::AskConfirm(question) => self.open_question(&question),
                MachineOutput::SetTimer { id, after_ms } => {
                    self.actions.push(DriverAction::StartTimer { id, after_ms });
                }
                MachineOutput::CancelOpenCalls => self.cancel_open_calls(),
                MachineOutput::Finish(outcome) => self.outcome = Some(outcome),
            }
        }
    }

    fn record_event(&mut self, event: &ExecutionEvent) {
        if let Err(fault) = self.engine.record_event(&self.scope, event) {
            self.journal_error.get_or_insert(fault.message);
        }
    }

    /// Records the result of a call that never starts.
    fn record_settled(&mut self, result: &ToolResult) {
        if let Err(error) = self.scope.journal().result(result) {
            self.journal_error.get_or_insert(error.to_string());
        }
        if let Some(observer) = &self.engine.inner.observer {
            let _crashed = catch_call(|| observer.result(result));
        }
    }

    fn open_call(&mut self, call: ToolCall) {
        let cancel = CancelToken::new();
        self.open.insert(call.call_id.clone(), cancel.clone());
        let dispatch = CallDispatch::new(&self.engine, &self.scope, call, cancel, self.budget);
        self.actions.push(DriverAction::Dispatch(Box::new(dispatch)));
    }

    /// Opens a call that was open when the run was interrupted.
    fn reopen_call(&mut self, open: OpenCall) {
        let cancel = CancelToken::new();
        if open.cancelled {
            cancel.cancel(CancelCause::Run);
        }
        self.open.insert(open.derived.call_id.clone(), cancel.clone());
        let dispatch = match open.recorded {
            Some(recorded) => CallDispatch::recorded(&self.engine, &self.scope, recorded, cancel),
            None => CallDispatch::new(&self.engine, &self.scope, open.derived, cancel, self.budget),
        };
        self.actions.push(DriverAction::Dispatch(Box::new(dispatch)));
    }

    fn cancel_open_calls(&self) {
        for token in self.open.values() {
            token.cancel(CancelCause::Run);
        }
    }

    fn open_question(&mut self, question: &RunQuestion) {
        let whole_plan = *question == RunQuestion::Plan;
        let request = ConfirmRequest {
            run_id: self.run_id.clone(),
            text: question_text(&self.plan, question, self.continues.as_ref()),
            binding: self.engine.binding(&self.plan, None),
            whole_plan,
            risk: self.plan.plan.risk_level,
            client: self.planner_version.clone(),
        };
        let forecast = self.forecaster.clone().filter(|_| whole_plan).map(|forecaster| ForecastPlan {
            plan: self.plan.clone(),
            forecaster,
            first: self.forecast.take(),
        });
        let question = PlanQuestion::new(&self.engine, &self.scope, request, forecast);
        self.actions.push(DriverAction::Confirm(Box::new(question)));
    }

    fn report(mut self) -> RunReport {
        let outcome = self.outcome.take().unwrap_or_else(|| unfinished(&self.plan, "the run ended early"));
        let journal = self.scope.journal();
        let lost = journal.failure();
        let chain_head = match journal.close() {
            Ok(head) => Some(head),
            Err(error) => {
                self.journal_error.get_or_insert(error.to_string());
                None
            }
        };
        RunReport {
            run_id: self.run_id,
            status: outcome.status,
            plan_hash: self.plan.hash,
            confirmation_id: self.confirmation,
            steps: outcome.steps,
            effects: self.effects,
            outputs: outcome.outputs,
            chain_head,
            run_dir: journal.run_dir().map(Path::to_path_buf),
            reason: outcome.reason,
            journal_error: self.journal_error.or(lost),
        }
    }
}

/// Returns the run that continues or undoes the continued run already, if one does.
fn newer_link(runs: &[RunSummary], continues: Option<&Continuation>) -> Option<RunId> {
    let run = &continues?.run_id;
    let history = UndoHistory::of(runs);
    let undone = history.active_undos(run).first().copied();
    history.continued_by(run).or(undone).map(|newer| newer.run_id.clone())
}
