//! The only place that draws a random number.

use std::sync::atomic::{AtomicU64, Ordering};

use envelope::{ConfirmationId, RunId, Timestamp};
use uuid::Uuid;

/// Where the names of runs and answers come from. Ids of calls are derived, not drawn.
pub trait Ids: Send + Sync {
    fn run_id(&self, now: Timestamp) -> RunId;
    fn confirmation_id(&self, now: Timestamp) -> ConfirmationId;
}

/// Time-ordered UUIDs (version 7), so that run folders sort by age.
pub struct SystemIds;

impl SystemIds {
    fn draw(now: Timestamp) -> Uuid {
        let seconds = u64::try_from(now.as_second()).unwrap_or(0);
        let nanos = u32::try_from(now.subsec_nanosecond()).unwrap_or(0);
        Uuid::new_v7(uuid::Timestamp::from_unix(uuid::NoContext, seconds, nanos))
    }
}

impl Ids for SystemIds {
    fn run_id(&self, now: Timestamp) -> RunId {
        RunId::from_uuid(SystemIds::draw(now))
    }

    fn confirmation_id(&self, now: Timestamp) -> ConfirmationId {
        ConfirmationId::from_uuid(SystemIds::draw(now))
    }
}

/// The same ids every time; for tests and simulations.
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

impl Ids for SeededIds {
    fn run_id(&self, _now: Timestamp) -> RunId {
        RunId::from_uuid(self.draw())
    }

    fn confirmation_id(&self, _now: Timestamp) -> ConfirmationId {
        ConfirmationId::from_uuid(self.draw())
    }
}
