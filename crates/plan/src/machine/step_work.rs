//! The calls of one step: the next ones, the open ones, and how they ended.
//!
//! A step without foreach is the special case of one call. Nothing is stored per item: a foreach of 100,000
//! items takes a few counters, the items that wait for their retry (at most `limit`), and the outputs if
//! something reads them.

use std::collections::VecDeque;

use envelope::{OnError, Status};
use serde_json::{Map, Value};

use super::StepStatus;

pub(super) struct StepWork {
    pub(super) items: ItemSource,
    pub(super) total: u64,
    /// Maximum number of items in flight. An item in flight is open or waits for its retry: a failing
    /// dependency does not get more new items meanwhile.
    limit: u64,
    next: u64,
    in_flight: u64,
    due: VecDeque<ItemAttempt>,
    pub(super) done: u64,
    pub(super) failed: u64,
    /// True if a successful call could not do everything.
    incomplete: bool,
    /// The final status, once a failure decided it regardless of the other items.
    fatal: Option<StepStatus>,
    cancelled: u64,
    /// Items without a call, because the earlier item that they stand for failed.
    skipped: u64,
    /// True if the first failure skips the other items.
    stop_on_error: bool,
    /// True once that has happened.
    stopped: bool,
    /// Outputs by position, `null` until present; `None` if nothing reads them.
    kept: Option<Vec<Value>>,
}

/// Source of the items of a step.
pub(super) enum ItemSource {
    /// No foreach: one call.
    One,
    /// Looked up again for each item, in the plan or in an earlier step's output.
    InPlace,
    /// Created for this foreach.
    Own(Vec<Value>),
}

/// One attempt at one item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ItemAttempt {
    pub(super) position: u64,
    pub(super) attempt: u32,
}

impl StepWork {
    pub(super) fn single(keep_output: bool) -> StepWork {
        StepWork::for_items(ItemSource::One, 1, 1, keep_output)
    }

    pub(super) fn for_items(items: ItemSource, total: u64, limit: u64, keep_output: bool) -> StepWork {
        let kept = keep_output.then(|| (0..total).map(|_| Value::Null).collect());
        StepWork {
            items,
            total,
            limit: limit.max(1),
            next: 0,
            in_flight: 0,
            due: VecDeque::new(),
            done: 0,
            failed: 0,
            incomplete: false,
            fatal: None,
            cancelled: 0,
            skipped: 0,
            stop_on_error: false,
            stopped: false,
            kept,
        }
    }

    /// Returns the same work, without further items after the first failure.
    pub(super) fn stopping_on_error(self) -> StepWork {
        StepWork { stop_on_error: true, ..self }
    }

    pub(super) fn is_foreach(&self) -> bool {
        match self.items {
            ItemSource::One => false,
            ItemSource::InPlace | ItemSource::Own(_) => true,
        }
    }

    /// Returns the position for the call's id: only items of a foreach have one.
    pub(super) fn index_of(&self, attempt: ItemAttempt) -> Option<u64> {
        self.is_foreach().then_some(attempt.position)
    }

    pub(super) fn can_start(&self) -> bool {
        !self.due.is_empty() || (!self.stopped && self.next < self.total && self.in_flight < self.limit)
    }

    /// Returns the next attempt. Retries precede new items, because they are in flight already.
    pub(super) fn take_next(&mut self) -> Option<ItemAttempt> {
        if !self.can_start() {
            return None;
        }
        if let Some(due) = self.due.pop_front() {
            return Some(due);
        }
        let attempt = ItemAttempt { position: self.next, attempt: 1 };
        self.next += 1;
        self.in_flight += 1;
        Some(attempt)
    }

    pub(super) fn add_due_retry(&mut self, attempt: ItemAttempt) {
        self.due.push_back(attempt);
    }

    /// Drops every retry that waits for a free slot.
    pub(super) fn abandon_retries(&mut self) {
        self.due.clear();
    }

    pub(super) fn record_success(&mut self, attempt: ItemAttempt, data: Option<Value>, incomplete: bool) {
        self.end_item();
        self.incomplete |= incomplete;
        if let (Some(kept), Some(data)) = (&mut self.kept, data) {
            let slot = usize::try_from(attempt.position).ok().and_then(|at| kept.get_mut(at));
            if let Some(slot) = slot {
                *slot = data;
            }
        }
    }

    /// Records a final failure. If the run is already `ending`, a cancelled call is a consequence and not a
    /// cause.
    pub(super) fn record_failure(&mut self, status: Status, on_error: OnError, ending: bool) {
        self.end_item();
        self.failed += 1;
        let cancelled = status == Status::Cancelled;
        if ending && cancelled {
            self.cancelled += 1;
            return;
        }
        if self.stop_on_error {
            self.stopped = true;
            self.fatal.get_or_insert(StepStatus::Failed);
            return;
        }
        match on_error {
            OnError::Skip => {}
            OnError::Stop | OnError::Retry => {
                let how = if cancelled { StepStatus::Cancelled } else { StepStatus::Failed };
                self.fatal.get_or_insert(how);
            }
        }
    }

    /// Records that the item needs no call.
    pub(super) fn record_skip(&mut self) {
        self.end_item();
        self.skipped += 1;
    }

    fn end_item(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.done += 1;
    }

    pub(super) fn is_complete(&self) -> bool {
        self.done >= self.total || (self.stopped && self.in_flight == 0)
    }

    /// Returns the final status if nothing more happens.
    pub(super) fn status(&self) -> StepStatus {
        if let Some(fatal) = self.fatal {
            fatal
        } else if self.cancelled > 0 || !self.is_complete() {
            StepStatus::Cancelled
        } else if self.skipped > 0 && self.skipped == self.total {
            StepStatus::Skipped
        } else if self.failed == 0 && !self.incomplete {
            StepStatus::Ok
        } else if self.failed > 0 && self.failed + self.skipped == self.total {
            StepStatus::Failed
        } else {
            StepStatus::Partial
        }
    }

    /// Returns the value for `$steps.<id>`, if something reads it.
    pub(super) fn into_output(self) -> Option<Value> {
        let is_foreach = self.is_foreach();
        let mut kept = self.kept?;
        if is_foreach {
            // Moved, not serialised: the list can be long.
            let mut output = Map::new();
            output.insert("items".to_owned(), Value::Array(kept));
            output.insert("count".to_owned(), self.total.into());
            output.insert("failed".to_owned(), self.failed.into());
            Some(Value::Object(output))
        } else {
            kept.pop()
        }
    }

    /// Whether the end of this item deserves a progress event: every item of a small loop, about every
    /// hundredth of a large one, and always the last.
    pub(super) fn is_milestone(&self) -> bool {
        self.is_foreach() && (self.done == self.total || self.done.is_multiple_of((self.total / 100).max(1)))
    }

    #[cfg(test)]
    pub(super) fn footprint(&self) -> usize {
        let own = match &self.items {
            ItemSource::One | ItemSource::InPlace => 0,
            ItemSource::Own(items) => items.len(),
        };
        self.due.len() + self.kept.as_ref().map_or(0, Vec::len) + own
    }
}
