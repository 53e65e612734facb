//! Notices an answer that is dropped before its end, because its client went away.

use std::sync::Arc;

use backend::Usage;
use tokio::time::Instant;

use crate::metrics::{Metrics, TurnEnd};

pub(super) struct Watch {
    metrics: Arc<Metrics>,
    began: Instant,
    ended: bool,
}

impl Watch {
    pub(super) fn new(metrics: Arc<Metrics>, began: Instant) -> Watch {
        Watch { metrics, began, ended: false }
    }

    /// The answer has come to its end and was counted.
    pub(super) fn ended(&mut self) {
        self.ended = true;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if !self.ended {
            self.metrics.turn_ended(TurnEnd::Interrupted, Usage::default());
            let millis = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
            tracing::info!(millis, "interrupted: the client went away");
        }
    }
}
