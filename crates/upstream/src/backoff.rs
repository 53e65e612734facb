//! When a server that ended may be started again.

use std::time::Duration;

use tokio::time::Instant;

/// Starts in a row that ended badly, before nobody tries any more.
const MOST: u32 = 6;
const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(60);
/// A server that was up for so long has earned a new start.
const STEADY: Duration = Duration::from_secs(60);

/// What is known of the last starts.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    failures: u32,
    /// When the last one failed, and why.
    last: Option<(Instant, String)>,
}

/// Whether a start may be tried now.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    Now,
    /// Not before so long, since it failed for this reason.
    In(Duration, String),
    /// It failed too often.
    NeverAgain(String),
}

impl Backoff {
    pub(crate) fn turn(&self, now: Instant) -> Turn {
        let Some((last, why)) = &self.last else { return Turn::Now };
        if self.failures >= MOST {
            return Turn::NeverAgain(why.clone());
        }
        match self.wait().saturating_sub(now.duration_since(*last)) {
            Duration::ZERO => Turn::Now,
            left => Turn::In(left, why.clone()),
        }
    }

    /// The first one is free: most servers that crash once do not crash at their start.
    fn wait(&self) -> Duration {
        match self.failures {
            0 | 1 => Duration::ZERO,
            more => (FIRST * 2_u32.saturating_pow(more - 2)).min(LONGEST),
        }
    }

    /// Lets a server that was given up be tried again.
    pub(crate) fn forgive(&mut self) {
        if self.failures >= MOST {
            *self = Backoff::default();
        }
    }

    /// It failed, after it had been up for so long.
    pub(crate) fn failed(&mut self, now: Instant, up_for: Duration, why: String) {
        self.failures = if up_for >= STEADY { 1 } else { self.failures + 1 };
        self.last = Some((now, why));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::{Backoff, Turn};

    #[test]
    fn each_failure_makes_the_next_start_wait_longer_until_nobody_tries() {
        let (mut backoff, mut now) = (Backoff::default(), Instant::now());
        assert_eq!(backoff.turn(now), Turn::Now);
        let mut waits = Vec::new();
        loop {
            backoff.failed(now, Duration::ZERO, "it crashed".to_owned());
            match backoff.turn(now) {
                Turn::Now => waits.push(0),
                Turn::In(wait, why) => {
                    assert_eq!(why, "it crashed");
                    now += wait;
                    assert_eq!(backoff.turn(now), Turn::Now);
                    waits.push(wait.as_millis());
                }
                Turn::NeverAgain(_) => break,
            }
        }
        assert_eq!(waits, [0, 500, 1_000, 2_000, 4_000]);
    }

    #[test]
    fn only_who_was_given_up_is_forgiven() {
        let (mut backoff, now) = (Backoff::default(), Instant::now());
        for failures in 1..=6 {
            backoff.failed(now, Duration::ZERO, String::new());
            let before = backoff.turn(now);
            backoff.forgive();
            match failures {
                6 => assert_eq!((before, backoff.turn(now)), (Turn::NeverAgain(String::new()), Turn::Now)),
                _few => assert_eq!(before, backoff.turn(now)),
            }
        }
    }

    #[test]
    fn a_server_that_was_steady_starts_anew() {
        let (mut backoff, now) = (Backoff::default(), Instant::now());
        for _ in 0..4 {
            backoff.failed(now, Duration::ZERO, String::new());
        }
        backoff.failed(now, Duration::from_secs(61), String::new());
        assert_eq!(backoff.turn(now), Turn::Now);
    }
}
