//! Executes a long list of work with several threads and returns the results in the order of the list.
//!
//! The list is produced on demand: each thread takes the next piece under a lock, so the list costs no memory
//! and an early end no work. A result waits until all before it have been taken, and no thread runs ahead of
//! the window, so a slow piece blocks the others instead of filling memory.
//!
//! Deliberately omitted: a thread pool and work stealing. Taking a piece is short compared with the work on it,
//! and threads are only started after the first pieces show that there is work to share.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use envelope::{Failure, Fault};

/// Results per thread that may wait for an earlier one.
const AHEAD: usize = 8;
/// Pieces that the caller executes before it starts helpers, so that a short list never waits for a new thread.
const ALONE: u64 = 12;
/// More threads than this would wait for the lock or the disk.
const MAX_THREADS: usize = 16;
/// Interval of the caller's cancellation checks while others work.
const LOOK: Duration = Duration::from_millis(20);

/// Tells whether the work should stop. The calling thread asks `check_cancelled`, the others only read the flag.
pub(super) struct StopCheck<'a> {
    stopped: &'a AtomicBool,
    asked: Option<&'a dyn Fn() -> Result<(), Fault>>,
}

impl StopCheck<'_> {
    pub(super) fn check(&self) -> Result<(), Fault> {
        if self.stopped.load(Ordering::Relaxed) {
            return Err(Fault::new(Failure::Canceled, "stopped: the result is settled"));
        }
        self.asked.map_or(Ok(()), |ask| ask())
    }
}

/// State that the threads share.
struct SharedQueue<N, T, D> {
    source: Mutex<PieceSource<N>>,
    results: Mutex<OrderedResults<T, D>>,
    moved: Condvar,
    stopped: AtomicBool,
    window: u64,
}

struct PieceSource<N> {
    next: N,
    handed_out: u64,
    ended: bool,
}

struct OrderedResults<T, D> {
    take: T,
    /// Index of the next result.
    wanted: u64,
    early: BTreeMap<u64, Result<D, Fault>>,
    working: usize,
    failed: Option<Fault>,
}

/// Takes pieces from `next` until it returns `None`, executes each, and passes the results to `take` in the
/// order of the pieces. `take` can end the work. Returns the first error in that order.
///
/// `worker` creates the state of one thread. `check_cancelled` is called by the calling thread only.
pub(super) fn execute_in_order<P: Send, D: Send, W: FnMut(P, &StopCheck<'_>) -> Result<D, Fault>>(
    check_cancelled: &dyn Fn() -> Result<(), Fault>,
    next: impl FnMut(&StopCheck<'_>) -> Result<Option<P>, Fault> + Send,
    worker: impl Fn() -> W + Sync,
    take: impl FnMut(D) -> ControlFlow<()> + Send,
) -> Result<(), Fault> {
    let helpers = std::thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS) - 1;
    let shared = SharedQueue {
        source: Mutex::new(PieceSource { next, handed_out: 0, ended: false }),
        results: Mutex::new(OrderedResults {
            take,
            wanted: 0,
            early: BTreeMap::new(),
            working: 0,
            failed: None,
        }),
        moved: Condvar::new(),
        stopped: AtomicBool::new(false),
        window: (AHEAD * (helpers + 1)) as u64,
    };
    std::thread::scope(|scope| {
        let _halt = StopOnPanic(&shared.stopped, &shared.moved);
        let stop = StopCheck { stopped: &shared.stopped, asked: Some(check_cancelled) };
        let mut work = worker();
        let mut done = 0;
        while shared.execute_one(&stop, &mut work) {
            done += 1;
            if done == ALONE {
                for _ in 0..helpers {
                    lock(&shared.results).working += 1;
                    scope.spawn(|| {
                        let _halt = StopOnPanic(&shared.stopped, &shared.moved);
                        let stop = StopCheck { stopped: &shared.stopped, asked: None };
                        let mut work = worker();
                        while shared.execute_one(&stop, &mut work) {}
                        lock(&shared.results).working -= 1;
                        shared.moved.notify_all();
                    });
                }
            }
        }
        shared.wait_for_helpers(&stop);
    });
    let results = shared.results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.failed.map_or(Ok(()), Err)
}

impl<P, D, N, T> SharedQueue<N, T, D>
where
    N: FnMut(&StopCheck<'_>) -> Result<Option<P>, Fault>,
    T: FnMut(D) -> ControlFlow<()>,
{
    /// Takes and executes one piece. Returns false if there is nothing more to do.
    fn execute_one(
        &self,
        stop: &StopCheck<'_>,
        work: &mut impl FnMut(P, &StopCheck<'_>) -> Result<D, Fault>,
    ) -> bool {
        if let Err(fault) = stop.check() {
            self.stop(fault);
            return false;
        }
        let (number, piece) = {
            let mut source = lock(&self.source);
            if source.ended {
                return false;
            }
            let piece = (source.next)(stop);
            source.ended = !matches!(piece, Ok(Some(_)));
            let number = source.handed_out;
            source.handed_out += 1;
            (number, piece)
        };
        match piece {
            Ok(Some(piece)) => {
                let done = work(piece, stop);
                self.deliver(number, done, stop);
                true
            }
            Ok(None) => false,
            Err(fault) => {
                self.deliver(number, Err(fault), stop);
                false
            }
        }
    }

    fn deliver(&self, number: u64, done: Result<D, Fault>, stop: &StopCheck<'_>) {
        let mut results = lock(&self.results);
        results.early.insert(number, done);
        while !self.stopped.load(Ordering::Relaxed) {
            let wanted = results.wanted;
            let Some(done) = results.early.remove(&wanted) else {
                break;
            };
            results.wanted += 1;
            let go_on = match done {
                Ok(done) => (results.take)(done).is_continue(),
                Err(fault) => {
                    results.failed = Some(fault);
                    false
                }
            };
            if !go_on {
                self.stopped.store(true, Ordering::Relaxed);
            }
        }
        self.moved.notify_all();
        // The thread with the piece that all wait for has delivered nothing after it, so it never waits here.
        while number >= results.wanted + self.window && !self.stopped.load(Ordering::Relaxed) {
            results = self.wait(results, stop);
        }
    }

    fn wait_for_helpers(&self, stop: &StopCheck<'_>) {
        let mut results = lock(&self.results);
        while results.working > 0 && !self.stopped.load(Ordering::Relaxed) {
            results = self.wait(results, stop);
        }
    }

    fn wait<'a>(
        &self,
        results: MutexGuard<'a, OrderedResults<T, D>>,
        stop: &StopCheck<'_>,
    ) -> MutexGuard<'a, OrderedResults<T, D>> {
        let (mut results, _) = self.moved.wait_timeout(results, LOOK).unwrap_or_else(PoisonError::into_inner);
        if !self.stopped.load(Ordering::Relaxed)
            && let Err(fault) = stop.check()
        {
            self.stopped.store(true, Ordering::Relaxed);
            results.failed = Some(fault);
        }
        results
    }

    /// Ends all work because the caller cancelled it.
    fn stop(&self, fault: Fault) {
        if !self.stopped.swap(true, Ordering::Relaxed) {
            lock(&self.results).failed = Some(fault);
        }
        self.moved.notify_all();
    }
}

/// Stops the other threads if one panics; the scope reports the panic when all have ended.
struct StopOnPanic<'a>(&'a AtomicBool, &'a Condvar);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
            self.1.notify_all();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::sync::atomic::{AtomicU64, Ordering};

    use envelope::{Failure, Fault};

    use super::{AHEAD, MAX_THREADS, StopCheck, execute_in_order};

    /// Squares the numbers below `count`; every `slow`th piece takes longer.
    fn squares(count: u64, end: u64, slow: u64) -> (Vec<u64>, u64) {
        let (mut taken, worked) = (Vec::new(), AtomicU64::new(0));
        let mut numbers = 0..count;
        let work = |number: u64, _: &StopCheck<'_>| {
            worked.fetch_add(1, Ordering::Relaxed);
            let turns = if number.is_multiple_of(slow) { 20_000 } else { 1 };
            Ok((0..turns).fold(0, |_, _| std::hint::black_box(number * number)))
        };
        execute_in_order(
            &|| Ok(()),
            |_| Ok(numbers.next()),
            || work,
            |square| {
                taken.push(square);
                if taken.len() as u64 == end { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            },
        )
        .unwrap();
        (taken, worked.into_inner())
    }

    #[test]
    fn results_come_in_the_order_of_the_pieces_whoever_is_first() {
        for slow in [1, 2, 3, 7, 1_000] {
            let expected: Vec<u64> = (0..3_000).map(|n| n * n).collect();
            assert_eq!(squares(3_000, u64::MAX, slow).0, expected);
        }
        assert_eq!(squares(0, u64::MAX, 1).0, Vec::<u64>::new());
    }

    #[test]
    fn an_early_end_leaves_the_rest_of_the_list_alone() {
        let (taken, worked) = squares(u64::MAX, 50, 3);
        assert_eq!(taken, (0..50).map(|n| n * n).collect::<Vec<u64>>());
        assert!(worked <= 50 + ((AHEAD + 1) * MAX_THREADS) as u64, "{worked}");
    }

    #[test]
    fn the_first_failure_in_order_is_the_answer() {
        let mut numbers = 0..1_000_u64;
        let mut taken = Vec::new();
        let failed = execute_in_order(
            &|| Ok(()),
            |_| Ok(numbers.next()),
            || {
                |number: u64, _: &StopCheck<'_>| match number {
                    100 | 101 | 300 => {
                        Err(Fault::new(Failure::ExecutionFailed, format!("number {number} is bad")))
                    }
                    _ => Ok(number),
                }
            },
            |number| {
                taken.push(number);
                ControlFlow::Continue(())
            },
        );
        assert_eq!(failed.unwrap_err().message, "number 100 is bad");
        assert_eq!(taken, (0..100).collect::<Vec<u64>>());
    }

    #[test]
    fn a_list_that_breaks_off_gives_what_came_before_and_then_fails() {
        let mut numbers = 0..10_u64;
        let mut taken = 0;
        let failed = execute_in_order(
            &|| Ok(()),
            |_| {
                numbers
                    .next()
                    .map_or_else(|| Err(Fault::new(Failure::NotFound, "the list is gone")), |n| Ok(Some(n)))
            },
            || |number: u64, _: &StopCheck<'_>| Ok(number),
            |_| {
                taken += 1;
                ControlFlow::Continue(())
            },
        );
        assert_eq!(failed.unwrap_err().failure, Failure::NotFound);
        assert_eq!(taken, 10);
    }

    #[test]
    fn whoever_asked_can_stop_it_also_while_others_work() {
        for after in [0, 1, 5, 40] {
            let asked = AtomicU64::new(0);
            let check_cancelled = || {
                if asked.fetch_add(1, Ordering::Relaxed) < after {
                    return Ok(());
                }
                Err(Fault::new(Failure::Canceled, "the run was cancelled"))
            };
            let mut numbers = 0_u64..;
            let failed = execute_in_order(
                &check_cancelled,
                |_| Ok(numbers.next()),
                || |number: u64, _: &StopCheck<'_>| Ok(number),
                |_| ControlFlow::Continue(()),
            );
            assert_eq!(failed.unwrap_err().message, "the run was cancelled");
        }
    }
}
