//! A run as a pure state machine: inputs in, outputs out, no I/O and no clock.
//!
//! It decides order, expansion, retries and skips. A driver feeds it and executes its outputs. Any driver
//! that feeds the same inputs gets the same outputs, which is why a recorded run can be derived again.
//!
//! Invariants for every input in every order; `tests/it/machine` tries to break each of them:
//!
//! 1. Every step is settled exactly once, and is in the outcome exactly once.
//! 2. A call id is started at most once. A started call is open until its first `Done`; later ones are
//!    ignored.
//! 3. There are never more open calls than `max_parallel`, nor more than the foreach's `concurrency` for one
//!    step.
//! 4. A step starts only after every step in its `after` has settled with an output.
//! 5. `Finish` is emitted once, as the last output, when nothing is open. If every started call is eventually
//!    done, every timer fires and every question is answered, it is emitted.
//! 6. After a cancel or a declined question nothing new starts. After a final failure under `stop`, no step
//!    starts that comes after the failed one or follows one that was skipped for it.
//! 7. The set of started calls depends on the plan and the results, never on parallelism or timing.
//! 8. A carried call of [`RunSpec::carried`] is never started, and its item counts as done with its output.
//! 9. The cost of an input does not depend on the number of items of a foreach: counters and sets of steps
//!    are touched, never a list of items.

mod backoff;
mod call_draft;
mod carried_calls;
mod run_end;
mod events;
mod expand;
mod run_outcome;
mod question;
mod retry;
mod settle;
mod machine_io;
mod run_spec;
mod step_state;
mod output_store;
mod step_work;

#[cfg(test)]
mod scale_tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use envelope::{CallId, ConfirmationId, Status, Timestamp, ToolResult};

pub use carried_calls::{CarriedCall, CarriedCalls};
pub use machine_io::{MachineInput, MachineOutput, RunQuestion, TimerId};
pub use run_outcome::{RunOutcome, RunStatus, StepStatus, StepSummary};
pub use run_spec::{RunLimits, RunSpec, SiblingPolicy};

use call_draft::{CallDraft, NotStartedReason};
use carried_calls::CallOutput;
use events::EventBuilder;
use output_store::OutputStore;
use question::PendingQuestion;
use run_end::MachineState;
use step_state::{StepStage, StepState};
use step_work::ItemAttempt;

/// The state machine of one run.
pub struct RunMachine {
    spec: RunSpec,
    steps: Vec<StepState>,
    store: OutputStore,
    open: BTreeMap<CallId, CallSlot>,
    timers: BTreeMap<TimerId, CallSlot>,
    /// The first one has been asked. Questions are asked one at a time, so that an answer is unambiguous.
    questions: VecDeque<PendingQuestion>,
    /// Steps whose predecessors are all settled and that were not scheduled yet.
    ready: BTreeSet<usize>,
    /// Steps that could start a call if a slot is free.
    startable: BTreeSet<usize>,
    state: MachineState,
    confirmation: Option<ConfirmationId>,
    now: Timestamp,
    out: Vec<MachineOutput>,
}

/// The step, item and attempt of a call.
#[derive(Debug, Clone, Copy)]
struct CallSlot {
    step: usize,
    attempt: ItemAttempt,
}

impl RunMachine {
    pub fn new(spec: RunSpec) -> RunMachine {
        let steps = StepState::all(&spec.plan);
        let store = OutputStore::new(spec.plan.clone());
        RunMachine {
            spec,
            steps,
            store,
            open: BTreeMap::new(),
            timers: BTreeMap::new(),
            questions: VecDeque::new(),
            ready: BTreeSet::new(),
            startable: BTreeSet::new(),
            state: MachineState::NotBegun { cancelled: None },
            confirmation: None,
            now: Timestamp::UNIX_EPOCH,
            out: Vec::new(),
        }
    }

    /// Begins the run. Must come first; later calls do nothing.
    pub fn begin(&mut self, now: Timestamp) -> Vec<MachineOutput> {
        let MachineState::NotBegun { cancelled } = &mut self.state else {
            return Vec::new();
        };
        let cancelled = cancelled.take();
        self.now = now;
        self.state = MachineState::Running;
        self.emit_event(events::started(&self.spec.plan));
        if let Some(reason) = cancelled {
            self.cancel(reason);
        } else if self.spec.confirm {
            self.ask(PendingQuestion { question: RunQuestion::Plan, step: None });
        } else {
            self.unblock_roots();
        }
        self.advance()
    }

    /// Handles one input. An input that is unknown or no longer needed changes nothing.
    pub fn handle(&mut self, now: Timestamp, input: MachineInput) -> Vec<MachineOutput> {
        self.now = now;
        match (&mut self.state, input) {
            (MachineState::Finished, _) => return Vec::new(),
            // The run must still emit its start event, so a cancel before that is stored.
            (MachineState::NotBegun { cancelled }, MachineInput::CancelRequested { reason }) => {
                cancelled.get_or_insert(reason);
                return Vec::new();
            }
            (MachineState::NotBegun { .. }, _) => return Vec::new(),
            (MachineState::Running | MachineState::Stopping(_), MachineInput::Confirmed(confirmation)) => {
                self.handle_confirmation(&confirmation);
            }
            (MachineState::Running | MachineState::Stopping(_), MachineInput::Declined { reason }) => {
                self.handle_decline(reason);
            }
            (MachineState::Running | MachineState::Stopping(_), MachineInput::Done(result)) => {
                self.handle_result(result);
            }
            (MachineState::Running | MachineState::Stopping(_), MachineInput::TimerFired(id)) => {
                self.timer_fired(&id);
            }
            (MachineState::Running | MachineState::Stopping(_), MachineInput::CancelRequested { reason }) => {
                self.cancel(reason);
            }
        }
        self.advance()
    }

    /// Returns the calls that were started and are not done.
    pub fn open_calls(&self) -> impl Iterator<Item = &CallId> {
        self.open.keys()
    }

    pub fn is_finished(&self) -> bool {
        matches!(self.state, MachineState::Finished)
    }

    /// Schedules ready steps, fills the free slots in plan order, and ends the run if nothing is left.
    fn advance(&mut self) -> Vec<MachineOutput> {
        let max_parallel = usize::try_from(self.spec.limits.max_parallel).unwrap_or(usize::MAX).max(1);
        loop {
            if let Some(step) = self.ready.pop_first() {
                self.schedule(step);
            } else if self.open.len() >= max_parallel {
                break;
            } else if let Some(step) = self.startable.first().copied() {
                self.start_next(step);
            } else {
                break;
            }
        }
        self.finish_if_idle();
        std::mem::take(&mut self.out)
    }

    fn unblock_roots(&mut self) {
        self.ready.extend((0..self.steps.len()).filter(|step| self.steps[*step].is_unblocked()));
    }

    /// Starts the next call of a step, takes the output of a carried one, or settles it as failed if its arguments cannot be filled in.
    fn start_next(&mut self, at: usize) {
        let state = &mut self.steps[at];
        let StepStage::Working(work) = &mut state.stage else {
            self.startable.remove(&at);
            return;
        };
        let Some(attempt) = work.take_next() else {
            self.startable.remove(&at);
            return;
        };
        let step_id = &self.spec.plan.steps[at].id;
        if let Some(output) = self.spec.carried.output(step_id, work.index_of(attempt)) {
            let output = output.clone();
            state.carried += 1;
            self.item_succeeded(CallSlot { step: at, attempt }, output);
            self.update_startable(at);
            return;
        }
        let draft = CallDraft {
            spec: &self.spec,
            step: &self.spec.plan.steps[at],
            items: &work.items,
            store: &self.store,
            attempt,
            confirmation: state.confirmation.as_ref().or(self.confirmation.as_ref()),
            now: self.now,
        };
        if let Some(reason) = draft.reason_to_skip() {
            self.item_skipped(CallSlot { step: at, attempt }, reason);
            self.update_startable(at);
            return;
        }
        match draft.build() {
            Ok(call) => {
                state.calls += 1;
                self.open.insert(call.call_id.clone(), CallSlot { step: at, attempt });
                self.out.push(MachineOutput::Start(Box::new(call)));
            }
            Err(fault) => {
                let index = work.index_of(attempt);
                let result = self.record_not_started(at, index, NotStartedReason::Refused(fault));
                self.item_failed(CallSlot { step: at, attempt }, result.status, result.error.as_ref());
            }
        }
        self.update_startable(at);
    }

    fn handle_result(&mut self, result: ToolResult) {
        let Some(slot) = self.open.remove(&result.call_id) else {
            return;
        };
        match result.status {
            Status::Ok => match self.spec.plan.steps[slot.step].exit_failure(result.data.as_ref()) {
                Some(error) => self.item_failed(slot, Status::Error, Some(&error)),
                None => {
                    let output = CallOutput { data: result.data, incomplete: result.incomplete };
                    self.item_succeeded(slot, output);
                }
            },
            Status::Error | Status::Timeout | Status::Cancelled | Status::Skipped => {
                if !self.schedule_retry(slot, &result) {
                    self.item_failed(slot, result.status, result.error.as_ref());
                }
            }
        }
        self.update_startable(slot.step);
    }

    /// Updates `startable` after a change of a step.
    fn update_startable(&mut self, at: usize) {
        let can_start = match &self.steps[at].stage {
            StepStage::Working(work) => self.state.is_running() && work.can_start(),
            StepStage::Blocked | StepStage::Asking(_) | StepStage::Settled(_) => false,
        };
        if can_start {
            self.startable.insert(at);
        } else {
            self.startable.remove(&at);
        }
    }

    fn emit_event(&mut self, telling: EventBuilder) {
        self.out.push(MachineOutput::Event(telling.build(&self.spec.run_id, self.now)));
    }

    /// Number of entries that the machine holds beyond its plan and its steps. Must not grow with a foreach.
    #[cfg(test)]
    fn footprint(&self) -> usize {
        let works = self.steps.iter().map(|step| match &step.stage {
            StepStage::Working(work) => work.footprint(),
            StepStage::Blocked | StepStage::Asking(_) | StepStage::Settled(_) => 0,
        });
        works.sum::<usize>() + self.open.len() + self.timers.len() + self.startable.len() + self.ready.len()
    }
}
