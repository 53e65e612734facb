//! How long work takes, on a machine that may be busy with something else.

use std::time::{Duration, Instant};

/// Work that comes in short steps, always the same ones in the same order.
///
/// What is kept is the shortest time of every step over all rounds, because the rest is the work of others. Steps
/// take a fraction of a millisecond, so most of them are at some time not interrupted.
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
