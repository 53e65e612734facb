//! How often the progress of a call is passed on: a server may report as often as it likes.

use std::time::Duration;

use tokio::time::Instant;

const GAP: Duration = Duration::from_millis(250);
/// The record of a call holds no more than so many of them, however long it takes.
const MOST: u32 = 240;

/// Lets some reports through.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    last: Option<Instant>,
    told: u32,
}

impl Pace {
    /// Whether a report that came now is passed on.
    pub(crate) fn lets_through(&mut self, now: Instant) -> bool {
        // The gap grows, so that a call of hours is still heard of at its end.
        let gap = GAP * (1 + self.told / 20);
        if self.told >= MOST || self.last.is_some_and(|last| now.duration_since(last) < gap) {
            return false;
        }
        self.told += 1;
        self.last = Some(now);
        true
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::Pace;

    #[test]
    fn endless_progress_is_heard_of_now_and_then() {
        let (mut pace, start) = (Pace::default(), Instant::now());
        let heard = |pace: &mut Pace, from: u64, to: u64| {
            (from..to).filter(|ms| pace.lets_through(start + Duration::from_millis(*ms))).count()
        };
        assert_eq!(heard(&mut pace, 0, 1), 1);
        assert_eq!(heard(&mut pace, 0, 1_000), 3);
        assert_eq!(heard(&mut pace, 1_000, 3_600_000), 236);
    }
}
