//! The local driver: feeds the run's state machine from tokio and writes what it says into the journal.
//!
//! The machine decides; the driver does. Everything that happens outside (a call ended, a timer fired, a
//! person answered, someone cancelled) becomes one input, and inputs are handled one at a time.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use envelope::{
    CallId, Confirmation, ConfirmationId, Effects, ExecutionEvent, Hash, ToolCall, ToolDecl, ToolResult,
};
use journal::{Journal, JournalError, OpenCall, RunHeader, RunKind, RunsFolder};
use plan::{CheckedPlan, CheckedStep, Input, Machine, Output, Question, RunOutcome, RunSpec, Template};
use tokio::task::JoinSet;
use toolkit::command_line::CommandLine;
use toolkit::{CancelCause, CancelToken};

use crate::approval::ConfirmRequest;
use crate::call::{CallRequest, RunScope};
use crate::catch::catch_call;
use crate::confirm::{ForecastPlan, confirm, confirm_forecast};
use crate::forecast::{Forecast, ForecastCall, Forecaster, forecast_plan};
use crate::question::question_text;
use crate::report::{RunReport, unfinished};
use crate::resume::token_of;
use crate::{Engine, Purpose};

/// Where the record of a run is kept.
pub enum RunPlace {
    /// A folder that holds one folder a run, and the vault that the run is for.
    Disk(RunsFolder),
    /// Gone with the process; for embedding and measuring.
    Memory,
}

/// A plan that wants to run.
pub struct RunRequest {
    pub plan: CheckedPlan,
    pub place: RunPlace,
    pub kind: RunKind,
    pub planner_version: Option<String>,
    pub cancel: RunCancel,
    /// Tells what the plan would do. Asked only if there is a question; a yes then covers exactly that.
    pub forecaster: Option<Arc<dyn Forecaster>>,
    /// A forecast that was approved before, such as a saved preview: every call is held to it.
    pub approved: Option<Vec<ForecastCall>>,
    /// Tokens that each receipt may have, within the policy; each family's own budget unless set.
    pub budget: Option<u32>,
}

/// Cancels a run from outside.
#[derive(Clone, Default)]
pub struct RunCancel(CancelToken);

impl RunCancel {
    pub fn new() -> RunCancel {
        RunCancel::default()
    }

    /// A run that ends with the call that started it.
    pub fn of(token: CancelToken) -> RunCancel {
        RunCancel(token)
    }

    pub fn cancel(&self) {
        self.0.cancel(CancelCause::Run);
    }

    /// Comes back once somebody has cancelled.
    pub async fn cancelled(&self) {
        self.0.cancelled().await;
    }

    pub(crate) fn token(&self) -> &CancelToken {
        &self.0
    }
}

/// A run that never began.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("the record of the run cannot be started: {0}")]
    Journal(#[from] JournalError),
}

impl Engine {
    /// Runs a checked plan to its end: one confirmation, every call through the gate, everything recorded.
    pub async fn run_plan(&self, request: RunRequest) -> Result<RunReport, RunError> {
        self.run_undoing(request, Vec::new()).await
    }

    /// [`Engine::run_plan`] for a plan that takes back what other runs changed.
    pub async fn run_undoing(
        &self,
        request: RunRequest,
        undoes: Vec<envelope::RunId>,
    ) -> Result<RunReport, RunError> {
        let run_id = self.parts.ids.run_id(self.parts.clock.now());
        let plan = Arc::new(request.plan);
        let mut spec = self.spec(run_id, plan, request.planner_version);
        let mut first = None;
        if let Some(forecaster) = request.forecaster.as_ref().filter(|_| spec.confirm) {
            let forecast = forecast_plan(&**forecaster, &spec.plan).await;
            // The rules may name paths, which are known only now. Each call is still judged when it comes.
            spec.confirm = !forecast.runs_unasked;
            first = Some(forecast);
        }
        let header = self.header(&spec, request.kind, undoes);
        let journal = match request.place {
            RunPlace::Disk(runs) => runs.create(&header)?,
            RunPlace::Memory => Journal::in_memory(&header),
        };
        let scope = RunScope::ordered(journal);
        if let Some(approved) = request.approved {
            scope.approve(approved);
        }
        let mut driver = Driver::new(self.clone(), scope, &spec);
        driver.forecaster = request.forecaster;
        driver.forecast = first;
        driver.budget = request.budget;
        let mut machine = Machine::new(spec);
        let first = machine.begin(self.parts.clock.now());
        driver.absorb(first);
        Ok(driver.drive(machine, request.cancel).await)
    }

    /// Whether a person has to say yes to this plan before it runs.
    pub fn asks_about(&self, plan: &CheckedPlan) -> bool {
        let steps = plan.steps.iter().map(|step| (&*step.decl, self.written_command(step)));
        self.parts.policy.needs_confirmation(steps)
    }

    /// What a step would run, where all of it stands in the plan.
    fn written_command(&self, step: &CheckedStep) -> Option<CommandLine> {
        let Template::Literal(args) = &step.args else {
            return None;
        };
        let entry = self.parts.surface.resolve(step.decl.name.as_str()).ok()?;
        catch_call(|| entry.tool.decode(args).ok().and_then(|args| entry.tool.command(&args))).ok().flatten()
    }

    pub(crate) fn spec(
        &self,
        run_id: envelope::RunId,
        plan: Arc<CheckedPlan>,
        planner_version: Option<String>,
    ) -> RunSpec {
        // A forecast finds out which calls would be asked about, so it is not asked about as a whole.
        let confirm = self.parts.purpose == Purpose::Act && self.asks_about(&plan);
        RunSpec {
            run_id,
            plan,
            policy: self.policy().snapshot(),
            limits: self.policy().run_limits(),
            executor_version: self.parts.executor_version.clone(),
            registry_version: self.parts.surface.version().into(),
            planner_version,
            confirm,
            sibling: self.policy().sibling_failure,
        }
    }

    fn header(&self, spec: &RunSpec, kind: RunKind, undoes: Vec<envelope::RunId>) -> RunHeader {
        let policy = serde_json::to_value(self.policy()).unwrap_or_default();
        RunHeader {
            format: RunHeader::FORMAT,
            run_id: spec.run_id.clone(),
            created_at: self.parts.clock.now(),
            kind,
            undoes,
            // Filled in by the folder that keeps the run.
            vault: None,
            plan: serde_json::to_value(&*spec.plan.plan).unwrap_or_default(),
            plan_hash: spec.plan.hash,
            policy_hash: envelope::canonical_hash(&policy),
            policy,
            tools: declarations(&spec.plan),
            registry_version: spec.registry_version.to_string(),
            executor_version: self.parts.executor_version.to_string(),
            planner_version: spec.planner_version.clone(),
            limits: spec.limits,
            sibling: spec.sibling,
            confirm: spec.confirm,
        }
    }

    /// What a yes to this run is bound to.
    pub(crate) fn binding(&self, plan: &CheckedPlan, forecast: Option<&Hash>) -> Hash {
        Confirmation::binding(&plan.hash, &self.policy().hash(), self.parts.surface.version(), forecast)
    }
}

/// The tools that a plan uses, each once.
fn declarations(plan: &CheckedPlan) -> Vec<ToolDecl> {
    let mut tools: Vec<ToolDecl> = Vec::new();
    for step in &plan.steps {
        if !tools.iter().any(|known| known.name == step.decl.name) {
            tools.push((*step.decl).clone());
        }
    }
    tools
}

/// Carries one run: what is open, what was seen, where it is written.
pub(crate) struct Driver {
    engine: Engine,
    scope: Arc<RunScope>,
    plan: Arc<CheckedPlan>,
    run_id: envelope::RunId,
    /// Who wrote the plan.
    planner_version: Option<String>,
    todo: VecDeque<Output>,
    tasks: JoinSet<Input>,
    open: BTreeMap<CallId, CancelToken>,
    /// Results that have arrived and wait for their turn.
    ended: BTreeMap<CallId, ToolResult>,
    /// Everything else that has arrived.
    others: VecDeque<Input>,
    effects: Effects,
    confirmation: Option<ConfirmationId>,
    forecaster: Option<Arc<dyn Forecaster>>,
    /// The forecast that was made before the question, to be shown in it.
    forecast: Option<Forecast>,
    budget: Option<u32>,
    outcome: Option<RunOutcome>,
    journal_error: Option<String>,
}

impl Driver {
    pub(crate) fn new(engine: Engine, scope: Arc<RunScope>, spec: &RunSpec) -> Driver {
        Driver {
            engine,
            scope,
            plan: spec.plan.clone(),
            run_id: spec.run_id.clone(),
            planner_version: spec.planner_version.clone(),
            todo: VecDeque::new(),
            tasks: JoinSet::new(),
            open: BTreeMap::new(),
            ended: BTreeMap::new(),
            others: VecDeque::new(),
            effects: Effects::default(),
            confirmation: None,
            forecaster: None,
            forecast: None,
            budget: None,
            outcome: None,
            journal_error: None,
        }
    }

    /// Takes what the machine wants done.
    pub(crate) fn absorb(&mut self, outputs: Vec<Output>) {
        self.todo.extend(outputs);
    }

    /// Brings whoever forecasts the plan, should it still have to be asked about.
    pub(crate) fn forecasting(&mut self, forecaster: Option<Arc<dyn Forecaster>>) {
        self.forecaster = forecaster;
    }

    /// Counts what was done before this process began, when a run is resumed.
    pub(crate) fn already(&mut self, effects: &Effects, confirmation: Option<ConfirmationId>) {
        self.effects.absorb(effects);
        self.confirmation = confirmation;
    }

    /// A call that was open when the run was interrupted: made, or found out about if it was written down.
    pub(crate) fn carry_on(&mut self, open: OpenCall) {
        let cancel = token_of(&open);
        self.open.insert(open.derived.call_id.clone(), cancel.clone());
        let (engine, scope) = (self.engine.clone(), self.scope.clone());
        let Some(recorded) = open.recorded else {
            return self.make(CallRequest::new(open.derived, cancel));
        };
        self.tasks.spawn(async move { Input::Done(engine.settle_uncertain(&scope, recorded, cancel).await) });
    }

    /// Goes on until the machine says that the run has finished.
    pub(crate) async fn drive(mut self, mut machine: Machine, cancel: RunCancel) -> RunReport {
        let mut cancelled = false;
        loop {
            self.carry_out();
            if self.outcome.is_some() {
                break;
            }
            let input = tokio::select! {
                biased;
                _cause = cancel.0.cancelled(), if !cancelled => {
                    cancelled = true;
                    Input::CancelRequested { reason: "cancelled by the person".to_owned() }
                }
                joined = self.tasks.join_next() => match joined {
                    Some(Ok(input)) => input,
                    // A task of ours never panics on its own account; if one does, the run must still end.
                    Some(Err(_)) | None => break,
                },
            };
            self.arrive(input);
            self.take_turns(&mut machine);
            if let Some(why) = self.journal_error.as_ref().filter(|_| !cancelled) {
                cancelled = true;
                let reason = format!("the record cannot be kept: {why}");
                self.arrive(Input::CancelRequested { reason });
                self.take_turns(&mut machine);
            }
        }
        self.close_what_is_left().await;
        self.report()
    }

    /// Ends what calls left running, and writes down what became of it. After the run's own last event: the
    /// outcome of the run does not depend on it.
    async fn close_what_is_left(&mut self) {
        let Some(closing) = self.engine.parts.closing.clone() else { return };
        for closed in closing.close(&self.run_id).await {
            self.record_event(&ExecutionEvent {
                event_type: envelope::EventType::StepProgress,
                run_id: self.run_id.clone(),
                timestamp: self.engine.parts.clock.now(),
                level: envelope::Level::Warn,
                message: closed.message,
                call_id: None,
                step_id: None,
                tool: None,
                payload: Some(serde_json::json!({ "artifacts": closed.artifacts, "unread": closed.unread })),
            });
        }
    }

    fn arrive(&mut self, input: Input) {
        match input {
            Input::Done(result) => {
                self.ended.insert(result.call_id.clone(), result);
            }
            Input::Confirmed(_)
            | Input::Declined { .. }
            | Input::TimerFired(_)
            | Input::CancelRequested { .. } => {
                self.others.push_back(input);
            }
        }
    }

    /// Hands the machine what has arrived, in the order of the record.
    fn take_turns(&mut self, machine: &mut Machine) {
        while let Some(result) = self.next_result() {
            self.hand_over(machine, Input::Done(result));
        }
        let scope = self.scope.clone();
        let Some(order) = &scope.order else { return };
        while let Some(input) = self.others.pop_front() {
            let mut waiting = Some(input);
            // What comes of it is recorded before the next result can be.
            order.when_idle(|| {
                if let Some(input) = waiting.take() {
                    self.hand_over(machine, input);
                }
            });
            if let Some(input) = waiting {
                // A result stands before it that has yet to arrive.
                return self.others.push_front(input);
            }
        }
    }

    fn hand_over(&mut self, machine: &mut Machine, input: Input) {
        self.note(&input);
        let outputs = machine.handle(self.engine.parts.clock.now(), input);
        self.absorb(outputs);
        self.carry_out();
    }

    /// The next result in the order of the record, or one that could not be recorded at all.
    fn next_result(&mut self) -> Option<ToolResult> {
        let order = self.scope.order.as_ref()?;
        if let Some(result) = order.take_next(|call| self.ended.remove(call)) {
            return Some(result);
        }
        let lost = self.ended.keys().find(|call| !order.holds(call)).cloned()?;
        self.ended.remove(&lost)
    }

    /// What the driver itself has to remember of an input.
    fn note(&mut self, input: &Input) {
        match input {
            Input::Done(result) => {
                self.open.remove(&result.call_id);
                if let Some(effects) = &result.effects {
                    self.effects.absorb(effects);
                }
                if self.journal_error.is_none() {
                    self.journal_error = self.scope.journal().failure();
                }
            }
            Input::Confirmed(confirmation) => {
                self.confirmation.get_or_insert_with(|| confirmation.confirmation_id.clone());
            }
            Input::Declined { .. } | Input::TimerFired(_) | Input::CancelRequested { .. } => {}
        }
    }

    fn carry_out(&mut self) {
        while let Some(output) = self.todo.pop_front() {
            match output {
                Output::Event(event) => self.record_event(&event),
                Output::Settled(result) => self.record_settled(&result),
                Output::Start(call) => self.start(*call),
                Output::AskConfirm(question) => self.ask(&question),
                Output::SetTimer { id, after_ms } => {
                    self.tasks.spawn(async move {
                        tokio::time::sleep(Duration::from_millis(after_ms)).await;
                        Input::TimerFired(id)
                    });
                }
                Output::CancelOpenCalls => self.cancel_open(),
                Output::Finish(outcome) => self.outcome = Some(outcome),
            }
        }
    }

    fn record_event(&mut self, event: &ExecutionEvent) {
        if let Err(fault) = self.engine.record_event(&self.scope, event) {
            self.journal_error.get_or_insert(fault.message);
        }
    }

    fn record_settled(&mut self, result: &ToolResult) {
        if let Err(error) = self.scope.journal().result(result) {
            self.journal_error.get_or_insert(error.to_string());
        }
        if let Some(observer) = &self.engine.parts.observer {
            observer.result(result);
        }
    }

    fn start(&mut self, call: ToolCall) {
        let cancel = CancelToken::new();
        self.open.insert(call.call_id.clone(), cancel.clone());
        self.make(CallRequest { budget: self.budget, ..CallRequest::new(call, cancel) });
    }

    fn make(&mut self, request: CallRequest) {
        let (engine, scope) = (self.engine.clone(), self.scope.clone());
        // Taken here, in the order of the machine: tasks may begin in any order.
        let ticket = engine.parts.scheduler.ticket(&request.call.run_id);
        self.tasks.spawn(async move { Input::Done(engine.run_in_turn(&scope, request, ticket).await) });
    }

    fn cancel_open(&self) {
        for token in self.open.values() {
            token.cancel(CancelCause::Run);
        }
    }

    fn ask(&mut self, question: &Question) {
        let text = question_text(&self.plan, question);
        let whole_plan = *question == Question::Plan;
        let request = ConfirmRequest {
            run_id: self.run_id.clone(),
            text,
            binding: self.engine.binding(&self.plan, None),
            whole_plan,
            risk: self.plan.plan.risk_level,
            client: self.planner_version.clone(),
        };
        let (engine, scope) = (self.engine.clone(), self.scope.clone());
        let about = self.forecaster.clone().filter(|_| whole_plan).map(|forecaster| ForecastPlan {
            plan: self.plan.clone(),
            forecaster,
            first: self.forecast.take(),
        });
        self.tasks.spawn(async move {
            match about {
                Some(about) => confirm_forecast(&engine, &scope, request, about).await,
                None => confirm(&engine, &scope, &request).await,
            }
        });
    }

    fn report(mut self) -> RunReport {
        let outcome = self.outcome.take().unwrap_or_else(|| unfinished(&self.plan, "the run was cut short"));
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
            run_dir: journal.run_dir().map(std::path::Path::to_path_buf),
            reason: outcome.reason,
            journal_error: self.journal_error.or(lost),
        }
    }
}
