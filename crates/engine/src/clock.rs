//! The clock of the engine. The only place in this crate that reads the system time.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;

use envelope::Timestamp;

/// The engine's source of time. A parameter, so that the same inputs give the same journal bytes.
pub trait Clock: Send + Sync {
    /// The time of day, for envelopes.
    fn now(&self) -> Timestamp;
    /// Monotonic microseconds, to measure how long a phase takes.
    fn micros(&self) -> u64;
}

/// The system clock.
pub struct SystemClock {
    started: Instant,
}

impl SystemClock {
    #[allow(clippy::disallowed_methods, reason = "the one place where time enters")]
    pub fn new() -> SystemClock {
        SystemClock { started: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> SystemClock {
        SystemClock::new()
    }
}

impl Clock for SystemClock {
    #[allow(clippy::disallowed_methods, reason = "the one place where time enters")]
    fn now(&self) -> Timestamp {
        let now = Timestamp::now();
        // Logs need milliseconds; finer digits would only make every line longer.
        Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
    }

    fn micros(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

/// A clock that moves only when it is advanced; for tests, simulations and drivers with their own time.
pub struct ManualClock {
    millis: AtomicI64,
}

impl ManualClock {
    pub fn at(start: Timestamp) -> ManualClock {
        ManualClock { millis: AtomicI64::new(start.as_millisecond()) }
    }

    pub fn advance_ms(&self, millis: i64) {
        self.millis.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(self.millis.load(Ordering::SeqCst)).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    fn micros(&self) -> u64 {
        u64::try_from(self.millis.load(Ordering::SeqCst)).unwrap_or(0).saturating_mul(1000)
    }
}
