//! Rate limit for progress reports: a server may report as often as it likes.

use std::time::Duration;

use tokio::time::Instant;

const GAP: Duration = Duration::from_millis(250);
/// Largest number of reports per call in the journal.
const MOST: u32 = 240;

/// Forwards a part of the progress reports of a call.
#[derive(Debug, Default)]
pub(crate) struct ProgressThrottle {
    last: Option<Instant>,
    reported: u32,
}

impl ProgressThrottle {
    /// Returns true if a report received now should be forwarded.
    pub(crate) fn allows(&mut self, now: Instant) -> bool {
        // The interval grows, so that a call of hours still reports at its end.
        let gap = GAP * (1 + self.reported / 20);
        if self.reported >= MOST || self.last.is_some_and(|last| now.duration_since(last) < gap) {
            return false;
        }
        self.reported += 1;
        self.last = Some(now);
        true
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::ProgressThrottle;

    #[test]
    fn endless_progress_is_heard_of_now_and_then() {
        let (mut pace, start) = (ProgressThrottle::default(), Instant::now());
        let heard = |pace: &mut ProgressThrottle, from: u64, to: u64| {
            (from..to).filter(|ms| pace.allows(start + Duration::from_millis(*ms))).count()
        };
        assert_eq!(heard(&mut pace, 0, 1), 1);
        assert_eq!(heard(&mut pace, 0, 1_000), 3);
        assert_eq!(heard(&mut pace, 1_000, 3_600_000), 236);
    }
}
