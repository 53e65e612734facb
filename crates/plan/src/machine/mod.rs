//! A run as a pure state machine: inputs in, outputs out, no I/O and no clock.
//!
//! It decides order, expansion, retries and skips. A driver feeds it and does what it says; any driver that
//! feeds the same inputs gets the same outputs, which is what makes a recorded run derivable again.
//!
//! What always holds, whatever comes in and in whatever order; `tests/machine` tries to break each of these:
//!
//! 1. Every step is settled exactly once, and is in the outcome exactly once.
//! 2. A call id is started at most once; a started call is open until its first `Done`, and later ones are
//!    ignored.
//! 3. Never more open calls than `max_parallel`, nor than the foreach's `concurrency` for one step.
//! 4. A step starts only after every step in its `after` has settled with an output.
//! 5. `Finish` comes once, as the last output, when nothing is open; if every started call is done some day,
//!    every timer fires and every question is answered, it comes.
//! 6. After a cancel or a no nothing new starts. After a final failure under `stop`, no step starts that comes
//!    after the failed one or follows one that was skipped for it.
//! 7. Which calls are started depends on the plan and the results, never on how many run at once or who is first.
//! 8. The cost of an input does not depend on how many items a foreach has: counters and sets of steps are
//!    touched, never a list of items.

mod backoff;
mod call;
mod ending;
mod events;
mod expand;
mod outcome;
mod question;
mod retry;
mod settle;
mod signal;
mod spec;
mod step;
mod store;
mod work;

#[cfg(test)]
mod scale_tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use envelope::{CallId, ConfirmationId, Status, Timestamp, ToolResult};

pub use outcome::{RunOutcome, RunStatus, StepStatus, StepSummary};
pub use signal::{Input, Output, Question, TimerId};
pub use spec::{RunLimits, RunSpec, SiblingPolicy};

use call::{Draft, Unstarted};
use ending::Mode;
use events::Telling;
use question::Asked;
use step::{Stage, StepState};
use store::Store;
use work::Attempt;

/// One run.
pub struct Machine {
    spec: RunSpec,
    steps: Vec<StepState>,
    store: Store,
    open: BTreeMap<CallId, Slot>,
    timers: BTreeMap<TimerId, Slot>,
    /// The first one has been asked; one at a time, so that an answer has one meaning.
    questions: VecDeque<Asked>,
    /// Steps whose predecessors are all settled, not yet looked at.
    ready: BTreeSet<usize>,
    /// Steps that could start a call if a slot is free.
    startable: BTreeSet<usize>,
    mode: Mode,
    confirmation: Option<ConfirmationId>,
    now: Timestamp,
    out: Vec<Output>,
}

/// Which call of which step.
#[derive(Debug, Clone, Copy)]
struct Slot {
    step: usize,
    attempt: Attempt,
}

impl Machine {
    pub fn new(spec: RunSpec) -> Machine {
        let steps = StepState::all(&spec.plan);
        let store = Store::new(spec.plan.clone());
        Machine {
            spec,
            steps,
            store,
            open: BTreeMap::new(),
            timers: BTreeMap::new(),
            questions: VecDeque::new(),
            ready: BTreeSet::new(),
            startable: BTreeSet::new(),
            mode: Mode::NotBegun { cancelled: None },
            confirmation: None,
            now: Timestamp::UNIX_EPOCH,
            out: Vec::new(),
        }
    }

    /// Begins the run. Comes first, and once: later ones do nothing.
    pub fn begin(&mut self, now: Timestamp) -> Vec<Output> {
        let Mode::NotBegun { cancelled } = &mut self.mode else {
            return Vec::new();
        };
        let cancelled = cancelled.take();
        self.now = now;
        self.mode = Mode::Running;
        self.tell(events::started(&self.spec.plan));
        if let Some(reason) = cancelled {
            self.cancel(reason);
        } else if self.spec.confirm {
            self.ask(Asked { question: Question::Plan, step: None });
        } else {
            self.unblock_roots();
        }
        self.go_on()
    }

    /// Takes one input. What it does not know, or no longer needs, changes nothing.
    pub fn handle(&mut self, now: Timestamp, input: Input) -> Vec<Output> {
        self.now = now;
        match (&mut self.mode, input) {
            (Mode::Finished, _) => return Vec::new(),
            // The run must still say that it began, so a cancel before that is only remembered.
            (Mode::NotBegun { cancelled }, Input::CancelRequested { reason }) => {
                cancelled.get_or_insert(reason);
                return Vec::new();
            }
            (Mode::NotBegun { .. }, _) => return Vec::new(),
            (Mode::Running | Mode::Ending(_), Input::Confirmed(confirmation)) => {
                self.confirmed(&confirmation);
            }
            (Mode::Running | Mode::Ending(_), Input::Declined { reason }) => self.declined(reason),
            (Mode::Running | Mode::Ending(_), Input::Done(result)) => self.done(result),
            (Mode::Running | Mode::Ending(_), Input::TimerFired(id)) => self.timer_fired(&id),
            (Mode::Running | Mode::Ending(_), Input::CancelRequested { reason }) => self.cancel(reason),
        }
        self.go_on()
    }

    /// Calls that were started and are not done.
    pub fn open_calls(&self) -> impl Iterator<Item = &CallId> {
        self.open.keys()
    }

    pub fn finished(&self) -> bool {
        matches!(self.mode, Mode::Finished)
    }

    /// Schedules what became ready, fills the free slots in plan order, and ends the run when nothing is left.
    fn go_on(&mut self) -> Vec<Output> {
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

    /// Starts the next call of a step, or settles it as failed when its arguments cannot be filled in.
    fn start_next(&mut self, at: usize) {
        let state = &mut self.steps[at];
        let Stage::Working(work) = &mut state.stage else {
            self.startable.remove(&at);
            return;
        };
        let Some(attempt) = work.take_next() else {
            self.startable.remove(&at);
            return;
        };
        let draft = Draft {
            spec: &self.spec,
            step: &self.spec.plan.steps[at],
            items: &work.items,
            store: &self.store,
            attempt,
            confirmation: state.confirmation.as_ref().or(self.confirmation.as_ref()),
            now: self.now,
        };
        match draft.call() {
            Ok(call) => {
                state.calls += 1;
                self.open.insert(call.call_id.clone(), Slot { step: at, attempt });
                self.out.push(Output::Start(Box::new(call)));
            }
            Err(fault) => {
                let index = work.index_of(attempt);
                let result = self.unstarted(at, index, Unstarted::Refused(fault));
                self.item_failed(Slot { step: at, attempt }, &result);
            }
        }
        self.note_startable(at);
    }

    fn done(&mut self, result: ToolResult) {
        let Some(slot) = self.open.remove(&result.call_id) else {
            return;
        };
        match result.status {
            Status::Ok => self.item_worked(slot, result.data),
            Status::Error | Status::Timeout | Status::Cancelled | Status::Skipped => {
                if !self.will_retry(slot, &result) {
                    self.item_failed(slot, &result);
                }
            }
        }
        self.note_startable(slot.step);
    }

    /// Keeps `startable` true after anything happened to a step.
    fn note_startable(&mut self, at: usize) {
        let can_start = match &self.steps[at].stage {
            Stage::Working(work) => self.mode.is_running() && work.can_start(),
            Stage::Blocked | Stage::Asking(_) | Stage::Settled(_) => false,
        };
        if can_start {
            self.startable.insert(at);
        } else {
            self.startable.remove(&at);
        }
    }

    fn tell(&mut self, telling: Telling) {
        self.out.push(Output::Event(telling.event(&self.spec.run_id, self.now)));
    }

    /// What the machine holds beyond its plan and its steps, in entries. Must not grow with a foreach.
    #[cfg(test)]
    fn footprint(&self) -> usize {
        let works = self.steps.iter().map(|step| match &step.stage {
            Stage::Working(work) => work.footprint(),
            Stage::Blocked | Stage::Asking(_) | Stage::Settled(_) => 0,
        });
        works.sum::<usize>() + self.open.len() + self.timers.len() + self.startable.len() + self.ready.len()
    }
}
