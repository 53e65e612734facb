//! Ids of runs and confirmations. The only place that draws random numbers.

use std::sync::atomic::{AtomicU64, Ordering};

use envelope::{ConfirmationId, RunId, Timestamp};
use uuid::Uuid;

/// The engine's source of ids for runs and confirmations. Ids of calls are derived, not drawn.
pub trait IdSource: Send + Sync {
    /// Returns the id of a new run. `newest` is the largest [`RunId::millis`] of the runs beside it: the id sorts after
    /// those, also if the clock was set back.
    fn run_id(&self, now: Timestamp, newest: Option<u64>) -> RunId;
    fn confirmation_id(&self, now: Timestamp) -> ConfirmationId;
}

/// Time-ordered UUIDs (version 7), so that run folders sort by age.
pub struct SystemIds;

impl SystemIds {
    fn draw(millis: u64) -> Uuid {
        let nanos = u32::try_from(millis % 1_000).unwrap_or(0) * 1_000_000;
        Uuid::new_v7(uuid::Timestamp::from_unix(uuid::NoContext, millis / 1_000, nanos))
    }
}

/// A clock that is this far ahead, about a century, is ignored.
const FAR_FUTURE_MS: u64 = 100 * 365 * 24 * 3_600 * 1_000;

fn millis(now: Timestamp) -> u64 {
    u64::try_from(now.as_millisecond()).unwrap_or(0)
}

impl IdSource for SystemIds {
    fn run_id(&self, now: Timestamp, newest: Option<u64>) -> RunId {
        // Ids of the same millisecond are in no order. An id of the far future is not one that a clock has given.
        let now = millis(now);
        let after =
            newest.filter(|newest| newest.saturating_sub(now) < FAR_FUTURE_MS).map_or(0, |newest| newest + 1);
        RunId::from_uuid(SystemIds::draw(now.max(after)))
    }

    fn confirmation_id(&self, now: Timestamp) -> ConfirmationId {
        ConfirmationId::from_uuid(SystemIds::draw(millis(now)))
    }
}

/// A source that gives the same ids every time; for tests and simulations.
pub struct SeededIds {
    next: AtomicU64,
}

impl SeededIds {
    pub fn new(seed: u64) -> SeededIds {
        SeededIds { next: AtomicU64::new(seed) }
    }

    fn draw(&self) -> Uuid {
        let n = self.next.fetch_add(1, Ordering::SeqCst);
        Uuid::new_v5(&Uuid::NAMESPACE_OID, &n.to_le_bytes())
    }
}

impl IdSource for SeededIds {
    fn run_id(&self, _now: Timestamp, _newest: Option<u64>) -> RunId {
        RunId::from_uuid(self.draw())
    }

    fn confirmation_id(&self, _now: Timestamp) -> ConfirmationId {
        ConfirmationId::from_uuid(self.draw())
    }
}

#[cfg(test)]
mod tests {
    use envelope::Timestamp;

    use super::{IdSource as _, SystemIds};

    #[test]
    fn a_new_run_sorts_after_the_newest_one_also_when_the_clock_was_set_back() {
        let at = |millis| Timestamp::from_millisecond(millis).unwrap();
        let first = SystemIds.run_id(at(2_000_000), None);
        assert_eq!(first.millis(), Some(2_000_000));
        for now in [0, 1_000_000, 2_000_000] {
            let next = SystemIds.run_id(at(now), first.millis());
            assert!(next > first, "{next} at {now}");
            assert_eq!(next.millis(), Some(2_000_001));
        }
        assert_eq!(SystemIds.run_id(at(3_000_000), first.millis()).millis(), Some(3_000_000));
        assert_eq!(SystemIds.run_id(at(3_000_000), Some((1 << 48) - 1)).millis(), Some(3_000_000));
    }
}
