//! The scheduler of calls: bounded concurrency, parallel reads, ordered writes on overlapping paths.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use envelope::{Concurrency, Failure, Fault, RunId, StepId};
use plan::SiblingPolicy;
use tokio::sync::oneshot;
use toolkit::{CancelCause, CancelToken, PathKeys, PathScope};

/// The resources that a call holds while it runs.
pub(crate) struct ResourceClaim {
    run: RunId,
    step: StepId,
    serial: bool,
    /// Folded paths with a trailing `/`, or empty for the whole vault, and whether they are written.
    keys: Vec<(String, bool)>,
}

impl ResourceClaim {
    pub(crate) fn new(
        run: &RunId,
        step: &StepId,
        concurrency: Concurrency,
        paths: &PathKeys,
    ) -> ResourceClaim {
        let key = |reach: &PathScope| match reach {
            PathScope::Vault => String::new(),
            // The slash makes `a/b` overlap `a/b/c` but not `a/bc`.
            PathScope::File(path) | PathScope::Folder(path) | PathScope::Path(path) => {
                format!("{}/", path.folded())
            }
        };
        let reads = paths.reads.iter().map(|reach| (key(reach), false));
        let writes = paths.writes.iter().map(|reach| (key(reach), true));
        ResourceClaim {
            run: run.clone(),
            step: step.clone(),
            serial: concurrency == Concurrency::Serial,
            keys: reads.chain(writes).collect(),
        }
    }

    /// Whether both are items of one foreach that touch the same paths.
    fn is_sibling(&self, other: &ResourceClaim) -> bool {
        self.run == other.run && self.step == other.step && self.overlaps(other)
    }

    /// Whether the two must not run at the same time.
    fn conflicts(&self, other: &ResourceClaim) -> bool {
        self.serial || other.serial || self.overlaps(other)
    }

    fn overlaps(&self, other: &ResourceClaim) -> bool {
        self.keys.iter().any(|(a, a_writes)| {
            other.keys.iter().any(|(b, b_writes)| {
                (*a_writes || *b_writes) && (a.starts_with(b.as_str()) || b.starts_with(a.as_str()))
            })
        })
    }
}

/// Hands out slots. Calls with overlapping paths get theirs in the order of their tickets.
#[derive(Clone)]
pub(crate) struct Scheduler {
    state: Arc<Mutex<SchedulerState>>,
    limit: usize,
    sibling: SiblingPolicy,
}

/// A place in the order of a run, taken before the paths of the call are known. Calls with overlapping paths run in the
/// order of their tickets, however long their earlier phases take.
pub(crate) struct CallTicket {
    scheduler: Scheduler,
    id: u64,
}

impl Drop for CallTicket {
    fn drop(&mut self) {
        let mut state = self.scheduler.lock();
        if state.undeclared.remove(&self.id).is_some() {
            state.wake(self.scheduler.limit);
        }
    }
}

#[derive(Default)]
struct SchedulerState {
    next: u64,
    /// Tickets of calls that have not declared their paths yet.
    undeclared: BTreeMap<u64, RunId>,
    /// Calls that wait until every earlier call has declared its paths.
    look_waiters: Vec<DeclarationWaiter>,
    running: Vec<(u64, Arc<ResourceClaim>)>,
    waiting: VecDeque<SlotWaiter>,
    /// Calls that finally failed under `cancel-dependents`. Later items of their foreach that touch the same paths do
    /// not run, whether they wait already or come later.
    failed: Vec<(u64, Arc<ResourceClaim>)>,
}

struct DeclarationWaiter {
    id: u64,
    run: RunId,
    wake: oneshot::Sender<()>,
}

struct SlotWaiter {
    id: u64,
    claim: Arc<ResourceClaim>,
    wake: oneshot::Sender<SlotGrant>,
}

enum SlotGrant {
    Go,
    SiblingFailed,
}

impl Scheduler {
    pub(crate) fn new(limit: usize, sibling: SiblingPolicy) -> Scheduler {
        Scheduler { state: Arc::default(), limit: limit.max(1), sibling }
    }

    /// Returns the next place in the order of a run.
    pub(crate) fn ticket(&self, run: &RunId) -> CallTicket {
        let mut state = self.lock();
        let id = state.next;
        state.next += 1;
        state.undeclared.insert(id, run.clone());
        CallTicket { scheduler: self.clone(), id }
    }

    /// Waits until every earlier call of the run has declared its paths or has ended. A call with effects reads the
    /// vault only then, so that its checks do not depend on how many calls run at the same time.
    pub(crate) async fn wait_for_earlier_calls(
        &self,
        ticket: &CallTicket,
        cancel: &CancelToken,
    ) -> Result<(), Fault> {
        let turn = {
            let mut state = self.lock();
            let Some(run) = state.undeclared.get(&ticket.id).cloned() else { return Ok(()) };
            if state.all_declared_before(ticket.id, &run) {
                return Ok(());
            }
            let (wake, turn) = oneshot::channel();
            state.look_waiters.push(DeclarationWaiter { id: ticket.id, run, wake });
            turn
        };
        tokio::select! {
            biased;
            // The sender is dropped with the scheduler only.
            _turn = turn => Ok(()),
            cause = cancel.cancelled() => Err(cancelled(cause)),
        }
    }

    /// Waits for a slot. Returns an error if the call is cancelled or a sibling has failed. A call without a ticket
    /// comes last.
    pub(crate) async fn acquire(
        &self,
        claim: ResourceClaim,
        ticket: Option<CallTicket>,
        cancel: &CancelToken,
    ) -> Result<SchedulerSlot, Fault> {
        let (id, claim, turn) = match self.enter(claim, ticket.as_ref()) {
            SlotOutcome::Running(slot) => return refuse_if_cancelled(slot, cancel),
            SlotOutcome::Refused => return Err(sibling_failed()),
            SlotOutcome::Waiting { id, claim, turn } => (id, claim, turn),
        };
        // Leaves the queue however the wait ends, so that a dropped call does not block the calls behind it.
        let mut queued = QueueGuard { scheduler: self, id, armed: true };
        tokio::select! {
            biased;
            turn = turn => {
                queued.armed = false;
                match turn {
                    Ok(SlotGrant::Go) => refuse_if_cancelled(SchedulerSlot { scheduler: self.clone(), id, claim }, cancel),
                    Ok(SlotGrant::SiblingFailed) | Err(_) => Err(sibling_failed()),
                }
            }
            cause = cancel.cancelled() => Err(cancelled(cause)),
        }
    }

    fn enter(&self, claim: ResourceClaim, ticket: Option<&CallTicket>) -> SlotOutcome {
        let claim = Arc::new(claim);
        let mut state = self.lock();
        let id = match ticket {
            Some(ticket) => ticket.id,
            None => {
                state.next += 1;
                state.next - 1
            }
        };
        let declared = state.undeclared.remove(&id).is_some();
        if state.failed.iter().any(|(failed, of)| *failed < id && of.is_sibling(&claim)) {
            if declared {
                state.wake(self.limit);
            }
            return SlotOutcome::Refused;
        }
        let position = state.waiting.partition_point(|waiter| waiter.id < id);
        let entered = if state.may_run(self.limit, &claim, id, position) {
            state.running.push((id, claim.clone()));
            SlotOutcome::Running(SchedulerSlot { scheduler: self.clone(), id, claim })
        } else {
            let (wake, turn) = oneshot::channel();
            state.waiting.insert(position, SlotWaiter { id, claim: claim.clone(), wake });
            SlotOutcome::Waiting { id, claim, turn }
        };
        if declared {
            // Other calls may wait for this declaration.
            state.wake(self.limit);
        }
        entered
    }

    fn release(&self, id: u64) {
        let mut state = self.lock();
        state.running.retain(|(running, _)| *running != id);
        state.wake(self.limit);
    }

    fn leave(&self, id: u64) {
        let mut state = self.lock();
        state.waiting.retain(|waiter| waiter.id != id);
        // The slot may have been granted already.
        state.running.retain(|(running, _)| *running != id);
        state.wake(self.limit);
    }

    fn lock(&self) -> MutexGuard<'_, SchedulerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum SlotOutcome {
    Running(SchedulerSlot),
    /// A sibling on the same paths has failed.
    Refused,
    Waiting {
        id: u64,
        claim: Arc<ResourceClaim>,
        turn: oneshot::Receiver<SlotGrant>,
    },
}

impl SchedulerState {
    /// A call runs if a slot is free, every earlier call has declared its paths, and no call that runs, or waits before
    /// it, conflicts with it.
    fn may_run(&self, limit: usize, claim: &ResourceClaim, id: u64, position: usize) -> bool {
        self.running.len() < limit
            && self.all_declared_before(id, &claim.run)
            && self.running.iter().all(|(_, running)| !running.conflicts(claim))
            && self.waiting.iter().take(position).all(|waiter| !waiter.claim.conflicts(claim))
    }

    fn all_declared_before(&self, id: u64, run: &RunId) -> bool {
        self.undeclared.range(..id).all(|(_, other)| other != run)
    }

    fn wake(&mut self, limit: usize) {
        self.wake_look_waiters();
        let mut position = 0;
        while position < self.waiting.len() && self.running.len() < limit {
            let runs = self
                .waiting
                .get(position)
                .is_some_and(|waiter| self.may_run(limit, &waiter.claim, waiter.id, position));
            if !runs {
                position += 1;
                continue;
            }
            if let Some(waiter) = self.waiting.remove(position) {
                self.running.push((waiter.id, waiter.claim));
                if waiter.wake.send(SlotGrant::Go).is_err() {
                    self.running.pop();
                }
            }
        }
    }
}

impl SchedulerState {
    fn wake_look_waiters(&mut self) {
        for looker in std::mem::take(&mut self.look_waiters) {
            if self.all_declared_before(looker.id, &looker.run) {
                // A receiver that is gone was cancelled.
                let _gone = looker.wake.send(());
            } else {
                self.look_waiters.push(looker);
            }
        }
    }
}

/// The right to run. Dropping it grants the slot to the next call.
pub(crate) struct SchedulerSlot {
    scheduler: Scheduler,
    id: u64,
    claim: Arc<ResourceClaim>,
}

impl SchedulerSlot {
    /// Notes that the call failed. Under `cancel-dependents`, every later item of the same foreach that touches the
    /// same paths is cancelled, so that it does not work on what the failure left behind.
    pub(crate) fn failed(&self) {
        if self.scheduler.sibling != SiblingPolicy::CancelDependents {
            return;
        }
        let mut state = self.scheduler.lock();
        let waiting = std::mem::take(&mut state.waiting);
        for waiter in waiting {
            if waiter.id > self.id && waiter.claim.is_sibling(&self.claim) {
                // A receiver that is gone was cancelled already.
                let _gone = waiter.wake.send(SlotGrant::SiblingFailed);
            } else {
                state.waiting.push_back(waiter);
            }
        }
        state.failed.push((self.id, self.claim.clone()));
    }
}

impl Drop for SchedulerSlot {
    fn drop(&mut self) {
        self.scheduler.release(self.id);
    }
}

struct QueueGuard<'a> {
    scheduler: &'a Scheduler,
    id: u64,
    armed: bool,
}

impl Drop for QueueGuard<'_> {
    fn drop(&mut self) {
        if self.armed {
            self.scheduler.leave(self.id);
        }
    }
}

fn refuse_if_cancelled(slot: SchedulerSlot, cancel: &CancelToken) -> Result<SchedulerSlot, Fault> {
    match cancel.cause() {
        Some(cause) => Err(cancelled(cause)),
        None => Ok(slot),
    }
}

fn cancelled(cause: CancelCause) -> Fault {
    match cause {
        CancelCause::Run | CancelCause::Deadline => {
            Fault::new(Failure::Canceled, "the run was cancelled before this call started")
        }
        CancelCause::Sibling => sibling_failed(),
    }
}

fn sibling_failed() -> Fault {
    Fault::new(Failure::SiblingCanceled, "a sibling failed before this call started; nothing was changed")
}

#[cfg(test)]
mod tests {
    use envelope::{Concurrency, Failure, RunId, StepId, VaultPath};
    use plan::SiblingPolicy;
    use tokio::task::yield_now;
    use toolkit::{CancelCause, CancelToken, PathKeys};

    use super::{ResourceClaim, Scheduler};

    fn claim(concurrency: Concurrency, paths: &PathKeys) -> ResourceClaim {
        ResourceClaim::new(&RunId::parse("r").unwrap(), &StepId::parse("s").unwrap(), concurrency, paths)
    }

    fn write(path: &str) -> ResourceClaim {
        claim(Concurrency::Parallel, &PathKeys::write(&VaultPath::parse(path).unwrap()))
    }

    fn read(path: &str) -> ResourceClaim {
        claim(Concurrency::Parallel, &PathKeys::read(&VaultPath::parse(path).unwrap()))
    }

    #[test]
    fn only_overlapping_paths_with_a_writer_conflict() {
        for (a, b, conflict) in [
            (write("a/b"), write("a/b"), true),
            (write("a"), write("a/b"), true),
            (write("A/B"), write("a/b"), true),
            (write("a/b"), write("a/bc"), false),
            (read("a/b"), read("a/b"), false),
            (read("a"), write("a/b"), true),
            (claim(Concurrency::Parallel, &PathKeys::read_vault()), write("x"), true),
            (claim(Concurrency::Serial, &PathKeys::default()), read("x"), true),
        ] {
            assert_eq!(a.conflicts(&b), conflict, "{:?} {:?}", a.keys, b.keys);
            assert_eq!(b.conflicts(&a), conflict);
        }
    }

    // Conformance: pipeline 2.23
    #[tokio::test]
    async fn writes_on_one_path_run_in_the_order_they_were_asked_for() {
        let scheduler = Scheduler::new(8, SiblingPolicy::Ignore);
        let cancel = CancelToken::new();
        let order = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let first = scheduler.acquire(write("a"), None, &cancel).await.unwrap();
        let mut tasks = Vec::new();
        for n in 0..5 {
            let (scheduler, cancel, order) = (scheduler.clone(), cancel.clone(), order.clone());
            tasks.push(tokio::spawn(async move {
                let _slot = scheduler.acquire(write("a"), None, &cancel).await.unwrap();
                order.lock().unwrap().push(n);
            }));
            yield_now().await;
        }
        assert!(order.lock().unwrap().is_empty());
        drop(first);
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3, 4]);
    }

    #[tokio::test]
    async fn calls_that_meet_run_in_the_order_of_their_tickets_whoever_is_ready_first() {
        let scheduler = Scheduler::new(8, SiblingPolicy::Ignore);
        let run = RunId::parse("r").unwrap();
        let cancel = CancelToken::new();
        let (first, second, stranger) =
            (scheduler.ticket(&run), scheduler.ticket(&run), scheduler.ticket(&RunId::parse("s").unwrap()));
        let spawn = |claim: ResourceClaim, ticket| {
            let (scheduler, cancel) = (scheduler.clone(), cancel.clone());
            tokio::spawn(async move { scheduler.acquire(claim, Some(ticket), &cancel).await })
        };
        let late = spawn(write("a"), second);
        yield_now().await;
        assert!(!late.is_finished(), "nobody knows yet what the first one wants");
        let (run, step) = (RunId::parse("s").unwrap(), StepId::parse("s").unwrap());
        let other_run = ResourceClaim::new(&run, &step, Concurrency::Parallel, &PathKeys::default());
        assert!(spawn(other_run, stranger).await.unwrap().is_ok());
        let slot = scheduler.acquire(write("a"), Some(first), &cancel).await.unwrap();
        yield_now().await;
        assert!(!late.is_finished());
        drop(slot);
        assert!(late.await.unwrap().is_ok());
        // A call that ends before it declares its paths gives up its place.
        let (gone, next) = (scheduler.ticket(&run), scheduler.ticket(&run));
        let waiting = spawn(write("a"), next);
        yield_now().await;
        drop(gone);
        assert!(waiting.await.unwrap().is_ok());
    }

    #[tokio::test]
    async fn calls_look_in_the_order_of_their_tickets() {
        let scheduler = Scheduler::new(8, SiblingPolicy::Ignore);
        let run = RunId::parse("r").unwrap();
        let (first, second) = (scheduler.ticket(&run), scheduler.ticket(&run));
        assert!(scheduler.wait_for_earlier_calls(&first, &CancelToken::new()).await.is_ok());
        let waiting = {
            let scheduler = scheduler.clone();
            tokio::spawn(async move { scheduler.wait_for_earlier_calls(&second, &CancelToken::new()).await })
        };
        yield_now().await;
        assert!(!waiting.is_finished(), "nobody knows yet what the first one wants");
        let slot = scheduler.acquire(write("a"), Some(first), &CancelToken::new()).await.unwrap();
        assert!(waiting.await.unwrap().is_ok(), "the first one has said it, though it still runs");
        drop(slot);
    }

    #[tokio::test]
    async fn a_reader_does_not_overtake_a_waiting_writer_and_a_stranger_does() {
        let scheduler = Scheduler::new(8, SiblingPolicy::Ignore);
        let cancel = CancelToken::new();
        let reading = scheduler.acquire(read("a"), None, &cancel).await.unwrap();
        let spawn = |claim: ResourceClaim| {
            let (scheduler, cancel) = (scheduler.clone(), cancel.clone());
            tokio::spawn(async move { scheduler.acquire(claim, None, &cancel).await.is_ok() })
        };
        let writer = spawn(write("a"));
        yield_now().await;
        let second_reader = spawn(read("a"));
        yield_now().await;
        assert!(!second_reader.is_finished());
        assert!(scheduler.acquire(write("b"), None, &cancel).await.is_ok());
        drop(reading);
        assert!(writer.await.unwrap());
        assert!(second_reader.await.unwrap());
    }

    // Conformance: pipeline 2.23
    // Conformance: pipeline 2.24
    #[tokio::test]
    async fn the_limit_holds_and_a_cancelled_wait_leaves_the_queue() {
        let scheduler = Scheduler::new(1, SiblingPolicy::Ignore);
        let held = scheduler.acquire(read("a"), None, &CancelToken::new()).await.unwrap();
        let cancel = CancelToken::new();
        let waiting = {
            let (scheduler, cancel) = (scheduler.clone(), cancel.clone());
            tokio::spawn(async move {
                scheduler.acquire(read("b"), None, &cancel).await.err().map(|fault| fault.failure)
            })
        };
        yield_now().await;
        assert!(!waiting.is_finished());
        cancel.cancel(CancelCause::Run);
        assert_eq!(waiting.await.unwrap(), Some(Failure::Canceled));
        drop(held);
        assert!(scheduler.acquire(read("c"), None, &CancelToken::new()).await.is_ok());
    }

    // Conformance: pipeline 2.25
    #[tokio::test]
    async fn a_failure_cancels_what_waits_for_the_same_path_when_the_policy_says_so() {
        for (policy, expected) in
            [(SiblingPolicy::CancelDependents, Some(Failure::SiblingCanceled)), (SiblingPolicy::Ignore, None)]
        {
            let scheduler = Scheduler::new(8, policy);
            let cancel = CancelToken::new();
            let slot = scheduler.acquire(write("a"), None, &cancel).await.unwrap();
            let behind = {
                let (scheduler, cancel) = (scheduler.clone(), cancel.clone());
                tokio::spawn(async move {
                    scheduler.acquire(write("a"), None, &cancel).await.err().map(|fault| fault.failure)
                })
            };
            yield_now().await;
            slot.failed();
            drop(slot);
            assert_eq!(behind.await.unwrap(), expected);
            let later = scheduler.acquire(write("a"), None, &cancel).await.err().map(|fault| fault.failure);
            assert_eq!(later, expected, "also one that comes when the failed one is long gone");
            assert!(scheduler.acquire(write("b"), None, &cancel).await.is_ok());
        }
    }
}
