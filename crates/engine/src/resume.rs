//! Continues an interrupted run without repeating a finished call.
//!
//! The machine is pure, so resuming is rehearsing: a fresh machine is fed what was recorded, in the order
//! in which it was recorded, until it stands where the crash left it. What it has started by then and the
//! journal has no result for is what remains to be done or found out.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use envelope::{
    CallId, Confirmation, Effects, EventType, ExecutionEvent, Failure, Fault, Idempotency, Level, ToolCall,
    ToolResult,
};
use journal::{Journal, JournalError, Record, Recovery, RunFolder, RunHeader};
use plan::{Finding, Input, Machine, Output, Question, RunSpec, TimerId};
use serde_json::Value;
use toolkit::{CancelToken, Reconciled, ToolCx};

use crate::Engine;
use crate::approval::{UncertainCall, UncertainVerdict};
use crate::call::{CallRequest, RunScope};
use crate::inputs::observable;
use crate::phases::{self, ReconciledCall};
use crate::report::RunReport;
use crate::run::{Driver, RunCancel};

/// A run that was interrupted and should go on.
pub struct ResumeRequest {
    pub run_dir: PathBuf,
    pub cancel: RunCancel,
}

/// Why a run cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("the run has already finished; there is nothing to resume")]
    Finished,
    #[error("{what} changed since the yes was given; run the plan again to be asked anew")]
    Changed { what: &'static str },
    #[error("the plan of this run no longer passes its check")]
    PlanRejected(Vec<Finding>),
    #[error("the record does not fit the plan: {why}")]
    Diverged { why: String },
}

impl Engine {
    /// Picks up a run where its journal ends.
    pub async fn resume(&self, request: ResumeRequest) -> Result<RunReport, ResumeError> {
        // The lock comes first: from here on nobody else writes to this run.
        let (journal, recovery) = Journal::reopen(&request.run_dir)?;
        let folder = RunFolder::open(&request.run_dir)?;
        let past = Past::read(&folder)?;
        if past.finished {
            return Err(ResumeError::Finished);
        }
        let spec = self.respec(folder.header(), folder.confirmation())?;
        let mut driver = Driver::new(self.clone(), RunScope::new(journal), &spec);
        let mut machine = Machine::new(spec);
        let rehearsal = self.rehearse(&mut machine, &past, folder.confirmation())?;
        driver.already(&past.effects, folder.confirmation().map(|given| given.confirmation_id.clone()));
        driver.absorb(vec![Output::Event(self.resumed_event(folder.header(), &rehearsal, &recovery))]);
        driver.absorb(rehearsal.live);
        for call in rehearsal.open {
            let recorded = past.unanswered.get(&call.call_id).cloned();
            driver.carry_on(call, recorded);
        }
        Ok(driver.drive(machine, request.cancel).await)
    }

    /// The same run as before, if nothing it rests on has changed.
    fn respec(&self, header: &RunHeader, given: Option<&Confirmation>) -> Result<RunSpec, ResumeError> {
        if header.policy_hash != self.policy().hash() {
            return Err(ResumeError::Changed { what: "the policy" });
        }
        let same_tool = |old: &envelope::ToolDecl| {
            self.parts.surface.resolve(old.name.as_str()).is_ok_and(|entry| *entry.decl == *old)
        };
        if !header.tools.iter().all(same_tool) {
            return Err(ResumeError::Changed { what: "a tool of the plan" });
        }
        let report =
            plan::check(&header.plan.to_string(), &*self.parts.surface, &self.policy().check_limits());
        let Some(plan) = report.plan else {
            return Err(ResumeError::PlanRejected(report.findings));
        };
        if given.is_some_and(|given| given.binding != self.binding(&plan)) {
            return Err(ResumeError::Changed { what: "the set of tools" });
        }
        Ok(RunSpec {
            run_id: header.run_id.clone(),
            plan: Arc::new(plan),
            policy: self.policy().snapshot(),
            limits: header.limits,
            executor_version: self.parts.executor_version.clone(),
            registry_version: self.parts.surface.version().into(),
            planner_version: header.planner_version.clone(),
            confirm: header.confirm,
            sibling: header.sibling,
        })
    }

    /// Feeds the machine what was recorded, in order.
    fn rehearse(
        &self,
        machine: &mut Machine,
        past: &Past,
        given: Option<&Confirmation>,
    ) -> Result<Rehearsed, ResumeError> {
        let now = self.parts.clock.now();
        let mut stage = Stage {
            known: &past.known,
            started: HashMap::new(),
            timers: Vec::new(),
            question: None,
            live: Vec::new(),
        };
        stage.take(machine.begin(now));
        for moment in &past.moments {
            let input = match moment {
                Moment::Confirmed(confirmation) => Input::Confirmed((**confirmation).clone()),
                Moment::Cancelled { reason } => Input::CancelRequested { reason: reason.clone() },
                Moment::Declined { reason } => Input::Declined { reason: reason.clone() },
                Moment::Ended(result) => {
                    stage.fire_timer_for(machine, now, &result.call_id);
                    if !stage.started.contains_key(&result.call_id) {
                        // Settled without ever being started: the machine says so again by itself.
                        continue;
                    }
                    stage.started.remove(&result.call_id);
                    Input::Done((**result).clone())
                }
            };
            stage.take(machine.handle(now, input));
        }
        // The yes was on disk before the event that tells of it; the event is still owed.
        if let (Some(Question::Plan), Some(given)) = (&stage.question, given) {
            let outputs = machine.handle(now, Input::Confirmed(given.clone()));
            let told = outputs.iter().filter(|output| matches!(output, Output::Event(_))).cloned();
            stage.live.extend(told);
            stage.take(outputs);
        }
        for id in past.unanswered.keys() {
            stage.fire_timer_for(machine, now, id);
            if !stage.started.contains_key(id) {
                return Err(ResumeError::Diverged {
                    why: format!("the plan does not lead to the recorded call {id}"),
                });
            }
        }
        Ok(stage.end())
    }

    fn resumed_event(
        &self,
        header: &RunHeader,
        rehearsal: &Rehearsed,
        recovery: &Recovery,
    ) -> ExecutionEvent {
        ExecutionEvent {
            event_type: EventType::RunStarted,
            run_id: header.run_id.clone(),
            timestamp: self.parts.clock.now(),
            level: Level::Warn,
            message: format!("resumed with {} open calls", rehearsal.open.len()),
            call_id: None,
            step_id: None,
            tool: None,
            payload: Some(serde_json::json!({ "resumed": true, "recoveredTo": recovery.head })),
        }
    }
}

/// What the journal says about a run, in order.
struct Past {
    moments: Vec<Moment>,
    /// Calls that were written down and have no result.
    unanswered: HashMap<CallId, ToolCall>,
    /// Calls that have a result.
    known: HashSet<CallId>,
    effects: Effects,
    finished: bool,
}

enum Moment {
    Confirmed(Box<Confirmation>),
    Cancelled { reason: String },
    Declined { reason: String },
    Ended(Box<ToolResult>),
}

/// A no to a question is recorded as the end that it brought about.
fn ended_early(payload: Option<&Value>) -> Moment {
    let field = |name: &str| payload.and_then(|payload| payload.get(name));
    let reason = field("reason").and_then(Value::as_str).unwrap_or("no reason recorded").to_owned();
    match field("declined").and_then(Value::as_bool) {
        Some(true) => Moment::Declined { reason },
        Some(false) | None => Moment::Cancelled { reason },
    }
}

impl Past {
    fn read(folder: &RunFolder) -> Result<Past, ResumeError> {
        let mut past = Past {
            moments: Vec::new(),
            unanswered: HashMap::new(),
            known: HashSet::new(),
            effects: Effects::default(),
            finished: false,
        };
        for entry in folder.records()? {
            past.take(folder, entry?.record)?;
        }
        Ok(past)
    }

    fn take(&mut self, folder: &RunFolder, record: Record) -> Result<(), ResumeError> {
        match record {
            Record::Call(call) => {
                self.unanswered.insert(call.call_id.clone(), *call);
            }
            Record::Result(mut result) => {
                self.unanswered.remove(&result.call_id);
                self.known.insert(result.call_id.clone());
                if let Some(effects) = &result.effects {
                    self.effects.absorb(effects);
                }
                if result.data_ref.is_some() {
                    result.data = folder.data(&result)?;
                }
                self.moments.push(Moment::Ended(result));
            }
            Record::Event(event) => match event.event_type {
                EventType::RunConfirmed => {
                    if let Some(given) =
                        event.payload.and_then(|payload| serde_json::from_value(payload).ok())
                    {
                        self.moments.push(Moment::Confirmed(Box::new(given)));
                    }
                }
                EventType::RunCancelled => self.moments.push(ended_early(event.payload.as_ref())),
                EventType::RunFinished => self.finished = true,
                EventType::RunStarted
                | EventType::RunConfirmationRequested
                | EventType::StepScheduled
                | EventType::StepStarted
                | EventType::StepProgress
                | EventType::StepFinished
                | EventType::StepFailed => {}
            },
        }
        Ok(())
    }
}

/// Where the machine stands during the rehearsal.
struct Stage<'a> {
    known: &'a HashSet<CallId>,
    started: HashMap<CallId, ToolCall>,
    timers: Vec<(TimerId, u64)>,
    question: Option<Question>,
    live: Vec<Output>,
}

/// What is left to do once the machine has caught up.
struct Rehearsed {
    /// Outputs that were never carried out.
    live: Vec<Output>,
    /// Calls that are started and have no result, in the order of their ids.
    open: Vec<ToolCall>,
}

impl Stage<'_> {
    fn take(&mut self, outputs: Vec<Output>) {
        self.question = None;
        for output in outputs {
            match output {
                Output::Start(call) => {
                    self.started.insert(call.call_id.clone(), *call);
                }
                Output::SetTimer { id, after_ms } => self.timers.push((id, after_ms)),
                Output::AskConfirm(question) => self.question = Some(question),
                Output::Settled(result) => {
                    if !self.known.contains(&result.call_id) {
                        self.live.push(Output::Settled(result));
                    }
                }
                // The run had not finished, so its end was not recorded yet; every other event was.
                Output::Event(event) if event.event_type == EventType::RunFinished => {
                    self.live.push(Output::Event(event));
                }
                Output::Finish(outcome) => self.live.push(Output::Finish(outcome)),
                // Calls that were cancelled and did not report back are asked about below.
                Output::Event(_) | Output::CancelOpenCalls { .. } => {}
            }
        }
    }

    /// A recorded call shows that the wait before it was over.
    fn fire_timer_for(&mut self, machine: &mut Machine, now: envelope::Timestamp, call: &CallId) {
        if let Some(index) = self.timers.iter().position(|(timer, _)| timer.0 == *call) {
            let (timer, _) = self.timers.remove(index);
            let outputs = machine.handle(now, Input::TimerFired(timer));
            self.take(outputs);
        }
    }

    fn end(self) -> Rehearsed {
        let mut live = self.live;
        live.extend(self.timers.into_iter().map(|(id, after_ms)| Output::SetTimer { id, after_ms }));
        live.extend(self.question.map(Output::AskConfirm));
        let mut open: Vec<ToolCall> = self.started.into_values().collect();
        open.sort_by(|a, b| {
            let place = |call: &ToolCall| (call.step_id.clone(), call.iteration.as_ref().map(|i| i.index));
            place(a).cmp(&place(b))
        });
        Rehearsed { live, open }
    }
}

/// Finds out what became of a call that was written down before the crash, and settles it.
pub(crate) async fn settle_uncertain(
    engine: &Engine,
    scope: &Arc<RunScope>,
    recorded: ToolCall,
    cancel: CancelToken,
) -> ToolResult {
    let run = |call: ToolCall, cancel: CancelToken| {
        let request = CallRequest { call, cancel, logged: true };
        async move { engine.run_call(scope, request).await }
    };
    let Ok(entry) = engine.parts.surface.resolve(recorded.tool.as_str()) else {
        return run(recorded, cancel).await;
    };
    // A call that cannot have changed anything is simply made again.
    if !entry.decl.risk_level.has_effects() {
        return run(recorded, cancel).await;
    }
    let args = Value::Object(recorded.called_with.clone().unwrap_or_else(|| recorded.args.clone()));
    let Ok(decoded) = phases::parse_schema(entry, &args) else {
        return run(recorded, cancel).await;
    };
    let cx = ToolCx::new(recorded.call_id.clone(), cancel.clone(), None, scope.context.current());
    let why = match entry.tool.reconcile(&cx, &decoded, &recorded.before).await {
        Reconciled::Happened(raw) => {
            let effects = cx.take_seen().effects;
            let found =
                ReconciledCall { call: recorded, why: "it happened before the interruption".to_owned() };
            return phases::emit_reconciled(engine, scope, entry, found, Ok((raw, effects))).await;
        }
        Reconciled::DidNot => return run(recorded, cancel).await,
        Reconciled::Unknown { .. } if entry.decl.idempotency == Idempotency::Idempotent => {
            return run(recorded, cancel).await;
        }
        Reconciled::Unknown { why } => why,
    };
    let uncertain = UncertainCall {
        call_id: recorded.call_id.clone(),
        step_id: recorded.step_id.clone(),
        tool: recorded.tool.clone(),
        input: observable(&args).into_owned(),
        why: why.clone(),
    };
    match engine.parts.approver.settle(&uncertain).await {
        UncertainVerdict::Run => run(recorded, cancel).await,
        UncertainVerdict::Leave => {
            let fault = Fault::new(
                Failure::ExecutionFailed,
                format!("{} was under way when the run was interrupted, and nobody can tell whether it happened: {why}", recorded.tool),
            )
            .hint("look at what it would have changed, then decide")
            .retryable(false)
            .detail("outcome", "unknown");
            let found = ReconciledCall { call: recorded, why };
            phases::emit_reconciled(engine, scope, entry, found, Err(fault)).await
        }
    }
}
