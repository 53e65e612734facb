//! A simulated driver: it ends calls, fires timers, answers, cancels and crashes, in any order, and checks
//! the invariants of the machine.

use std::collections::{BTreeMap, BTreeSet};

use envelope::{
    CallId, Confirmation, EventType, Hash, OnError, Status, StepId, Timestamp, ToolCall, ToolResult,
};
use plan::{MachineInput, MachineOutput, RunMachine, RunOutcome, RunSpec, RunStatus, StepStatus, TimerId};

use super::script::{Ended, ended, yes};

pub(crate) struct Simulation {
    spec: RunSpec,
    machine: RunMachine,
    /// The inputs that a journal would contain, in order.
    recorded: Vec<MachineInput>,
    pub(crate) open: BTreeMap<CallId, ToolCall>,
    pub(crate) timers: BTreeSet<TimerId>,
    pub(crate) asked: bool,
    pub(crate) started: BTreeMap<CallId, Hash>,
    settled: BTreeMap<CallId, ToolResult>,
    /// The final results of calls by step.
    results: BTreeMap<StepId, Vec<Status>>,
    /// True once nothing may start any more: after a cancel or a declined question.
    closed: bool,
    /// Steps that failed finally under `stop`: no step that comes after them may start.
    ended_by: BTreeSet<StepId>,
    pub(crate) outcome: Option<RunOutcome>,
    answers: u32,
}

impl Simulation {
    pub(crate) fn begin(spec: RunSpec) -> Simulation {
        let mut simulation = Simulation {
            machine: RunMachine::new(spec.clone()),
            spec,
            recorded: Vec::new(),
            open: BTreeMap::new(),
            timers: BTreeSet::new(),
            asked: false,
            started: BTreeMap::new(),
            settled: BTreeMap::new(),
            results: BTreeMap::new(),
            closed: false,
            ended_by: BTreeSet::new(),
            outcome: None,
            answers: 0,
        };
        let outputs = simulation.machine.begin(Timestamp::UNIX_EPOCH);
        simulation.observe(outputs);
        simulation
    }

    /// Ends an open call as a verb of the scripts says.
    pub(crate) fn end_call(&mut self, id: &CallId, verb: &str, data: &str) {
        let call = self.open.remove(id).unwrap();
        let ending = Ended {
            call_id: call.call_id.clone(),
            run_id: call.run_id.clone(),
            step_id: call.step_id.clone(),
            attempt: call.attempt,
        };
        let result = ended(&ending, verb, data);
        let step = self.spec.plan.steps.iter().find(|step| step.id == call.step_id).unwrap();
        let may_retry = step.on_error == OnError::Retry
            && result.error.as_ref().is_some_and(|error| error.retryable == Some(true))
            && call.attempt < step.retry.max_attempts.min(self.spec.limits.max_attempts);
        if !result.ok && step.on_error != OnError::Skip && !may_retry {
            self.ended_by.insert(step.id.clone());
        }
        self.results.entry(call.step_id.clone()).or_default().push(result.status);
        self.feed(MachineInput::Done(result));
    }

    pub(crate) fn fire(&mut self, id: &TimerId) {
        self.timers.remove(id);
        self.feed(MachineInput::TimerFired(id.clone()));
    }

    pub(crate) fn answer(&mut self, agree: bool) {
        self.asked = false;
        self.answers += 1;
        let yes: Confirmation = yes(&format!("yes-{}", self.answers));
        if agree {
            self.feed(MachineInput::Confirmed(yes));
        } else {
            self.closed = true;
            self.feed(MachineInput::Declined { reason: "no".to_owned() });
        }
    }

    pub(crate) fn cancel(&mut self) {
        self.closed = true;
        self.feed(MachineInput::CancelRequested { reason: "cancel".to_owned() });
    }

    /// Sends inputs that nothing waits for; they must never change anything.
    pub(crate) fn stray(&mut self) {
        let last = self.recorded.iter().rev().find(|input| matches!(input, MachineInput::Done(_))).cloned();
        let unknown = CallId::parse("unknown").unwrap();
        let mut strays = vec![MachineInput::TimerFired(TimerId(unknown))];
        strays.extend(last);
        if !self.asked {
            strays.push(MachineInput::Confirmed(yes("stray")));
            strays.push(MachineInput::Declined { reason: "stray".to_owned() });
        }
        for input in strays {
            assert_eq!(self.machine.handle(Timestamp::UNIX_EPOCH, input), []);
        }
    }

    /// Drops the machine and derives it again from the recorded inputs, as a resume does.
    pub(crate) fn crash(&mut self) {
        let mut machine = RunMachine::new(self.spec.clone());
        let mut outputs = machine.begin(Timestamp::UNIX_EPOCH);
        for input in &self.recorded {
            outputs.extend(machine.handle(Timestamp::UNIX_EPOCH, input.clone()));
        }
        let mut started = BTreeMap::new();
        for output in outputs {
            if let MachineOutput::Start(call) = output {
                assert_eq!(started.insert(call.call_id.clone(), call.args_hash.unwrap()), None);
            }
        }
        assert_eq!(started, self.started, "other calls after a crash");
        let open: Vec<&CallId> = machine.open_calls().collect();
        assert_eq!(open, self.open.keys().collect::<Vec<_>>(), "other open calls after a crash");
        self.machine = machine;
    }

    /// Completes everything that is under way successfully.
    pub(crate) fn run_out(&mut self) {
        for _ in 0..10_000 {
            if let Some(id) = self.open.keys().next().cloned() {
                self.end_call(&id, "ok", "{}");
            } else if let Some(id) = self.timers.first().cloned() {
                self.fire(&id);
            } else if self.asked {
                self.answer(true);
            } else {
                break;
            }
        }
        assert!(self.outcome.is_some(), "the run stays unfinished");
    }

    fn feed(&mut self, input: MachineInput) {
        self.recorded.push(input.clone());
        let outputs = self.machine.handle(Timestamp::UNIX_EPOCH, input);
        self.observe(outputs);
    }

    fn observe(&mut self, outputs: Vec<MachineOutput>) {
        for output in outputs {
            assert_eq!(self.outcome, None, "something came after the end: {output:?}");
            match output {
                MachineOutput::AskConfirm(_) => {
                    assert!(!self.asked && !self.closed);
                    self.asked = true;
                }
                MachineOutput::Start(call) => self.observe_start(*call),
                MachineOutput::Settled(result) => self.observe_settled(*result),
                MachineOutput::SetTimer { id, .. } => {
                    assert!(!self.closed, "a retry after the end was decided");
                    assert!(self.timers.insert(id));
                }
                MachineOutput::CancelOpenCalls => assert!(self.closed),
                MachineOutput::Event(event) => {
                    if event.event_type == EventType::RunFinished {
                        assert!(self.open.is_empty());
                    }
                }
                MachineOutput::Finish(outcome) => self.observe_finish(outcome),
            }
        }
        assert_eq!(self.machine.is_finished(), self.outcome.is_some());
        // Once the end is decided, the machine waits only for open calls: for no timer and no question.
        assert!(!self.closed || !self.open.is_empty() || self.outcome.is_some(), "the end is late");
        assert_eq!(
            self.machine.open_calls().collect::<Vec<_>>(),
            self.open.keys().collect::<Vec<_>>(),
            "the machine and the world disagree about what is open"
        );
    }

    fn observe_start(&mut self, call: ToolCall) {
        assert!(!self.closed, "{} starts after the end was decided", call.step_id);
        let step = self.spec.plan.steps.iter().find(|step| step.id == call.step_id).unwrap();
        for before in &step.after {
            self.assert_over(&self.spec.plan.steps[*before].id);
        }
        for before in step.after.iter().chain(&step.follows) {
            let id = &self.spec.plan.steps[*before].id;
            assert!(!self.ended_by.contains(id), "{} starts after {id} ended the run", step.id);
            assert!(self.open.values().all(|call| call.step_id != *id), "{id} is still open");
        }
        assert_eq!(self.spec.confirm, call.confirmation_id.is_some() && self.spec.confirm);
        let hash = call.args_hash.unwrap();
        assert_eq!(self.started.insert(call.call_id.clone(), hash), None, "started twice");
        assert!(!self.settled.contains_key(&call.call_id));
        let concurrency = match &step.foreach {
            Some(foreach) => foreach.concurrency.unwrap_or(u32::MAX),
            None => 1,
        };
        self.open.insert(call.call_id.clone(), call.clone());
        let of_step = self.open.values().filter(|open| open.step_id == call.step_id).count();
        assert!(of_step <= concurrency as usize, "{} has {of_step} open calls", call.step_id);
        assert!(self.open.len() <= self.spec.limits.max_parallel as usize);
    }

    /// Asserts that a step that others depend on has nothing under way and has an output.
    fn assert_over(&self, id: &StepId) {
        assert!(self.open.values().all(|call| call.step_id != *id), "{id} is still open");
        let step = self.spec.plan.steps.iter().find(|step| step.id == *id).unwrap();
        let results = self.results.get(id).map_or(&[][..], Vec::as_slice);
        match &step.foreach {
            None => assert_eq!(results.last(), Some(&Status::Ok), "{id} has no output"),
            Some(_) => assert!(results.is_empty() || results.contains(&Status::Ok), "{id} has no output"),
        }
        let was_attempted = |result: &ToolResult| match &step.foreach {
            None => result.status == Status::Error,
            // An item that stands for a failed item of an earlier step is skipped by itself.
            Some(_) => matches!(result.status, Status::Error | Status::Skipped),
        };
        assert!(self.settled.values().all(|result| result.step_id != *id || was_attempted(result)));
    }

    fn observe_settled(&mut self, result: ToolResult) {
        assert_eq!(result.broken_invariant(), None);
        assert!(!self.started.contains_key(&result.call_id), "settled although it was started");
        let step = self.spec.plan.steps.iter().find(|step| step.id == result.step_id).unwrap();
        if result.status == Status::Error && step.on_error != OnError::Skip {
            self.ended_by.insert(step.id.clone());
        }
        assert_eq!(self.settled.insert(result.call_id.clone(), result), None, "settled twice");
    }

    fn observe_finish(&mut self, outcome: RunOutcome) {
        assert!(self.open.is_empty(), "finished while calls are open");
        // All remaining waits were made void by the end of the run.
        assert!(self.closed || (self.timers.is_empty() && !self.asked), "finished while something waits");
        self.timers.clear();
        self.asked = false;
        let ids: Vec<&StepId> = outcome.steps.iter().map(|step| &step.id).collect();
        assert_eq!(ids, self.spec.plan.steps.iter().map(|step| &step.id).collect::<Vec<_>>());
        for step in &outcome.steps {
            let results = self.results.get(&step.id).map_or(&[][..], Vec::as_slice);
            let settled = self.settled.values().filter(|result| result.step_id == step.id);
            let skipped = settled.clone().filter(|result| result.status == Status::Skipped).count();
            let refused = settled.filter(|result| result.status == Status::Error).count();
            assert_eq!(step.calls, results.len() as u64, "{} counts its calls wrong", step.id);
            let is_loop = self.spec.plan.steps.iter().any(|one| one.id == step.id && one.foreach.is_some());
            // An item that stands for a failed item of an earlier step is skipped by itself.
            assert!(if is_loop {
                step.status != StepStatus::Skipped || skipped > 0
            } else {
                skipped == usize::from(step.status == StepStatus::Skipped)
            });
            match step.status {
                StepStatus::Ok => assert!(step.failed == 0 && refused == 0 && step.error.is_none()),
                StepStatus::Partial => assert!(step.failed > 0 && results.contains(&Status::Ok)),
                StepStatus::Failed => assert!(step.failed > 0 && step.error.is_some()),
                StepStatus::Skipped => assert!(results.is_empty() && refused == 0),
                StepStatus::Cancelled => assert!(!results.is_empty() || refused > 0),
            }
        }
        if !self.closed {
            self.assert_nothing_was_dropped(&outcome);
        }
        let all_ok = outcome.steps.iter().all(|step| step.status == StepStatus::Ok);
        if outcome.status == RunStatus::Ok {
            assert!(all_ok && !self.closed);
        } else {
            assert!(self.closed || !all_ok);
        }
        self.outcome = Some(outcome);
    }

    /// Asserts that a run without an early end has done everything possible.
    fn assert_nothing_was_dropped(&self, outcome: &RunOutcome) {
        let steps = &self.spec.plan.steps;
        let mut ends: BTreeSet<usize> =
            (0..steps.len()).filter(|at| self.ended_by.contains(&steps[*at].id)).collect();
        let ends_before = |ends: &BTreeSet<usize>, at: usize| {
            steps[at].after.iter().chain(&steps[at].follows).any(|before| ends.contains(before))
        };
        // As often as a chain of steps can be long.
        for _ in steps {
            ends.extend((0..steps.len()).filter(|at| ends_before(&ends, *at)).collect::<Vec<_>>());
        }
        for (at, (step, summary)) in steps.iter().zip(&outcome.steps).enumerate() {
            let has_output = |at: &usize| outcome.steps[*at].status.has_output();
            let could_run = step.after.iter().all(has_output) && !ends_before(&ends, at);
            assert_eq!(summary.status != StepStatus::Skipped, could_run, "{} was dropped", step.id);
            // A call can end as cancelled by itself; the run was not cancelled here.
            let cancelled = self.results.get(&step.id).is_some_and(|all| all.contains(&Status::Cancelled));
            assert!(summary.status != StepStatus::Cancelled || cancelled, "{} was cut short", step.id);
        }
    }
}
