//! Work on a long list by several threads, with the results in the order of the list.
//!
//! The list is made as it is used: whoever is free takes the next piece under a lock, so making it costs no
//! memory and an early end costs no work. A result waits until all before it have been taken, and nobody
//! runs further ahead than the window, so a slow piece holds the others back instead of filling memory.
//!
//! Absent on purpose: a thread pool of our own and work stealing. Taking a piece is short against working on
//! it, and threads are only started when the first pieces show that there is something to share.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use envelope::{Failure, Fault};

/// Results, for each thread, that may wait for one that is not done.
const AHEAD: usize = 8;
/// Pieces that the caller works on before it asks for help. A short list is done by then, and never waits for
/// a thread that has only just begun.
const ALONE: u64 = 12;
/// More threads than this wait for the lock or for the disk.
const MAX_THREADS: usize = 16;
/// How often the caller looks whether it should stop while others work.
const LOOK: Duration = Duration::from_millis(20);

/// Whether the work should go on. The caller asks whoever wants the result; the others ask the caller.
pub(super) struct Halt<'a> {
    stopped: &'a AtomicBool,
    asked: Option<&'a dyn Fn() -> Result<(), Fault>>,
}

impl Halt<'_> {
    pub(super) fn may_go_on(&self) -> Result<(), Fault> {
        if self.stopped.load(Ordering::Relaxed) {
            return Err(Fault::new(Failure::Canceled, "stopped: the result is settled"));
        }
        self.asked.map_or(Ok(()), |ask| ask())
    }
}

/// What the threads share.
struct Shared<N, T, D> {
    source: Mutex<Source<N>>,
    results: Mutex<Results<T, D>>,
    moved: Condvar,
    stopped: AtomicBool,
    window: u64,
}

struct Source<N> {
    next: N,
    handed_out: u64,
    ended: bool,
}

struct Results<T, D> {
    take: T,
    /// The number of the result to take next.
    wanted: u64,
    early: BTreeMap<u64, Result<D, Fault>>,
    working: usize,
    failed: Option<Fault>,
}

/// Takes pieces from `next` until it has no more, has each worked on, and hands the results to `take` in
/// the order of the pieces. `take` can end everything. The first failure in that order is the answer.
///
/// `worker` makes what one thread keeps for itself. `may_go_on` is asked by the calling thread only.
pub(super) fn in_order<P: Send, D: Send, W: FnMut(P, &Halt<'_>) -> Result<D, Fault>>(
    may_go_on: &dyn Fn() -> Result<(), Fault>,
    next: impl FnMut(&Halt<'_>) -> Result<Option<P>, Fault> + Send,
    worker: impl Fn() -> W + Sync,
    take: impl FnMut(D) -> ControlFlow<()> + Send,
) -> Result<(), Fault> {
    let helpers = std::thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS) - 1;
    let shared = Shared {
        source: Mutex::new(Source { next, handed_out: 0, ended: false }),
        results: Mutex::new(Results { take, wanted: 0, early: BTreeMap::new(), working: 0, failed: None }),
        moved: Condvar::new(),
        stopped: AtomicBool::new(false),
        window: (AHEAD * (helpers + 1)) as u64,
    };
    std::thread::scope(|scope| {
        let _halt = HaltOnPanic(&shared.stopped, &shared.moved);
        let halt = Halt { stopped: &shared.stopped, asked: Some(may_go_on) };
        let mut work = worker();
        let mut done = 0;
        while shared.one(&halt, &mut work) {
            done += 1;
            if done == ALONE {
                for _ in 0..helpers {
                    lock(&shared.results).working += 1;
                    scope.spawn(|| {
                        let _halt = HaltOnPanic(&shared.stopped, &shared.moved);
                        let halt = Halt { stopped: &shared.stopped, asked: None };
                        let mut work = worker();
                        while shared.one(&halt, &mut work) {}
                        lock(&shared.results).working -= 1;
                        shared.moved.notify_all();
                    });
                }
            }
        }
        shared.wait_for_helpers(&halt);
    });
    let results = shared.results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.failed.map_or(Ok(()), Err)
}

impl<P, D, N, T> Shared<N, T, D>
where
    N: FnMut(&Halt<'_>) -> Result<Option<P>, Fault>,
    T: FnMut(D) -> ControlFlow<()>,
{
    /// Takes a piece and works on it; false when there is nothing more to do.
    fn one(&self, halt: &Halt<'_>, work: &mut impl FnMut(P, &Halt<'_>) -> Result<D, Fault>) -> bool {
        if let Err(fault) = halt.may_go_on() {
            self.stop(fault);
            return false;
        }
        let (number, piece) = {
            let mut source = lock(&self.source);
            if source.ended {
                return false;
            }
            let piece = (source.next)(halt);
            source.ended = !matches!(piece, Ok(Some(_)));
            let number = source.handed_out;
            source.handed_out += 1;
            (number, piece)
        };
        match piece {
            Ok(Some(piece)) => {
                let done = work(piece, halt);
                self.deliver(number, done, halt);
                true
            }
            Ok(None) => false,
            Err(fault) => {
                self.deliver(number, Err(fault), halt);
                false
            }
        }
    }

    fn deliver(&self, number: u64, done: Result<D, Fault>, halt: &Halt<'_>) {
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
        // Whoever works on the piece that all wait for has delivered nothing after it, so it never waits.
        while number >= results.wanted + self.window && !self.stopped.load(Ordering::Relaxed) {
            results = self.wait(results, halt);
        }
    }

    fn wait_for_helpers(&self, halt: &Halt<'_>) {
        let mut results = lock(&self.results);
        while results.working > 0 && !self.stopped.load(Ordering::Relaxed) {
            results = self.wait(results, halt);
        }
    }

    fn wait<'a>(
        &self,
        results: MutexGuard<'a, Results<T, D>>,
        halt: &Halt<'_>,
    ) -> MutexGuard<'a, Results<T, D>> {
        let (mut results, _) = self.moved.wait_timeout(results, LOOK).unwrap_or_else(PoisonError::into_inner);
        if !self.stopped.load(Ordering::Relaxed)
            && let Err(fault) = halt.may_go_on()
        {
            self.stopped.store(true, Ordering::Relaxed);
            results.failed = Some(fault);
        }
        results
    }

    /// Ends everything at the caller's wish. A helper that was told to stop has nothing to add.
    fn stop(&self, fault: Fault) {
        if !self.stopped.swap(true, Ordering::Relaxed) {
            lock(&self.results).failed = Some(fault);
        }
        self.moved.notify_all();
    }
}

/// A thread that panics must not leave the others waiting: the scope reports it when all have ended.
struct HaltOnPanic<'a>(&'a AtomicBool, &'a Condvar);

impl Drop for HaltOnPanic<'_> {
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

    use super::{AHEAD, Halt, MAX_THREADS, in_order};

    /// Squares the numbers below `count`; a slow piece is one that counts for long.
    fn squares(count: u64, end: u64, slow: u64) -> (Vec<u64>, u64) {
        let (mut taken, worked) = (Vec::new(), AtomicU64::new(0));
        let mut numbers = 0..count;
        let work = |number: u64, _: &Halt<'_>| {
            worked.fetch_add(1, Ordering::Relaxed);
            let turns = if number.is_multiple_of(slow) { 20_000 } else { 1 };
            Ok((0..turns).fold(0, |_, _| std::hint::black_box(number * number)))
        };
        in_order(
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
        let failed = in_order(
            &|| Ok(()),
            |_| Ok(numbers.next()),
            || {
                |number: u64, _: &Halt<'_>| match number {
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
        let failed = in_order(
            &|| Ok(()),
            |_| {
                numbers
                    .next()
                    .map_or_else(|| Err(Fault::new(Failure::NotFound, "the list is gone")), |n| Ok(Some(n)))
            },
            || |number: u64, _: &Halt<'_>| Ok(number),
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
            let may_go_on = || {
                if asked.fetch_add(1, Ordering::Relaxed) < after {
                    return Ok(());
                }
                Err(Fault::new(Failure::Canceled, "the run was cancelled"))
            };
            let mut numbers = 0_u64..;
            let failed = in_order(
                &may_go_on,
                |_| Ok(numbers.next()),
                || |number: u64, _: &Halt<'_>| Ok(number),
                |_| ControlFlow::Continue(()),
            );
            assert_eq!(failed.unwrap_err().message, "the run was cancelled");
        }
    }
}
