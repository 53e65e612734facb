//! Timing on a machine that may be busy with other work.

use std::time::{Duration, Instant};

/// Work that comes in short steps, always the same ones in the same order.
///
/// Records the shortest time of every step over all rounds, because the rest is other work. Steps take a fraction of
/// a millisecond, so most of them are uninterrupted at some time.
pub(crate) struct Steps {
    shortest: Vec<Duration>,
    next: usize,
}

impl Steps {
    pub(crate) const fn new() -> Steps {
        Steps { shortest: Vec::new(), next: 0 }
    }

    pub(crate) fn begin_round(&mut self) {
        self.next = 0;
    }

    pub(crate) fn step<R>(&mut self, work: impl FnOnce() -> R) -> R {
        let began = Instant::now();
        let made = work();
        let took = began.elapsed();
        match self.shortest.get_mut(self.next) {
            Some(shortest) => *shortest = took.min(*shortest),
            None => self.shortest.push(took),
        }
        self.next += 1;
        made
    }

    pub(crate) fn total(&self) -> Duration {
        self.shortest.iter().sum()
    }
}
