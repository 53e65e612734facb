//! Backoff for restarting a server.

use std::time::Duration;

use tokio::time::Instant;

/// Consecutive failed starts after which the server is given up.
const MOST: u32 = 6;
const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(60);
/// Uptime after which the failures before a start no longer count.
const STEADY: Duration = Duration::from_secs(60);

/// State of the last starts.
#[derive(Debug, Default)]
pub(crate) struct RestartBackoff {
    failures: u32,
    /// Time and reason of the last failure.
    last: Option<(Instant, String)>,
}

/// Whether a start may be attempted now.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RestartDecision {
    Now,
    /// Wait this long; the last start failed for this reason.
    In(Duration, String),
    /// It failed too often.
    NeverAgain(String),
}

impl RestartBackoff {
    pub(crate) fn decide(&self, now: Instant) -> RestartDecision {
        let Some((last, why)) = &self.last else { return RestartDecision::Now };
        if self.failures >= MOST {
            return RestartDecision::NeverAgain(why.clone());
        }
        match self.delay().saturating_sub(now.duration_since(*last)) {
            Duration::ZERO => RestartDecision::Now,
            left => RestartDecision::In(left, why.clone()),
        }
    }

    /// Returns the delay before the next start. The first restart is immediate: most crashes do not happen at
    /// startup.
    fn delay(&self) -> Duration {
        match self.failures {
            0 | 1 => Duration::ZERO,
            more => (FIRST * 2_u32.saturating_pow(more - 2)).min(LONGEST),
        }
    }

    /// Lets a server that was given up be started again.
    pub(crate) fn reset_if_given_up(&mut self) {
        if self.failures >= MOST {
            *self = RestartBackoff::default();
        }
    }

    /// Records a failure after the given uptime.
    pub(crate) fn record_failure(&mut self, now: Instant, up_for: Duration, why: String) {
        self.failures = if up_for >= STEADY { 1 } else { self.failures + 1 };
        self.last = Some((now, why));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::{RestartBackoff, RestartDecision};

    #[test]
    fn each_failure_makes_the_next_start_wait_longer_until_nobody_tries() {
        let (mut backoff, mut now) = (RestartBackoff::default(), Instant::now());
        assert_eq!(backoff.decide(now), RestartDecision::Now);
        let mut waits = Vec::new();
        loop {
            backoff.record_failure(now, Duration::ZERO, "it crashed".to_owned());
            match backoff.decide(now) {
                RestartDecision::Now => waits.push(0),
                RestartDecision::In(wait, why) => {
                    assert_eq!(why, "it crashed");
                    now += wait;
                    assert_eq!(backoff.decide(now), RestartDecision::Now);
                    waits.push(wait.as_millis());
                }
                RestartDecision::NeverAgain(_) => break,
            }
        }
        assert_eq!(waits, [0, 500, 1_000, 2_000, 4_000]);
    }

    #[test]
    fn only_who_was_given_up_is_forgiven() {
        let (mut backoff, now) = (RestartBackoff::default(), Instant::now());
        for failures in 1..=6 {
            backoff.record_failure(now, Duration::ZERO, String::new());
            let before = backoff.decide(now);
            backoff.reset_if_given_up();
            match failures {
                6 => assert_eq!(
                    (before, backoff.decide(now)),
                    (RestartDecision::NeverAgain(String::new()), RestartDecision::Now)
                ),
                _few => assert_eq!(before, backoff.decide(now)),
            }
        }
    }

    #[test]
    fn a_server_that_was_steady_starts_anew() {
        let (mut backoff, now) = (RestartBackoff::default(), Instant::now());
        for _ in 0..4 {
            backoff.record_failure(now, Duration::ZERO, String::new());
        }
        backoff.record_failure(now, Duration::from_secs(61), String::new());
        assert_eq!(backoff.decide(now), RestartDecision::Now);
    }
}
