//! The calls of one step: which are next, how many are out, how they ended.
//!
//! A step without foreach is the same with one call. Nothing is kept per item: a foreach of 100,000 items is
//! a few counters, the items that wait for their retry (at most `limit`), and the outputs if anything
//! reads them.

use std::collections::VecDeque;

use envelope::{OnError, Status};
use serde_json::{Map, Value};

use super::StepStatus;

pub(super) struct Work {
    pub(super) items: Items,
    pub(super) total: u64,
    /// Most items in flight at once. An item in flight is open or waits for its retry: a failing
    /// dependency is not flooded with new items meanwhile.
    limit: u64,
    next: u64,
    in_flight: u64,
    due: VecDeque<Attempt>,
    pub(super) done: u64,
    pub(super) failed: u64,
    /// How the step ends whatever the other items do, once a failure decided it.
    fatal: Option<StepStatus>,
    cancelled: u64,
    /// Whether the first failure leaves the other items out.
    stop_on_error: bool,
    /// Whether that has happened.
    stopped: bool,
    /// Outputs by position, `null` until there is one; `None` when nothing reads them.
    kept: Option<Vec<Value>>,
}

/// Where the items of a step come from.
pub(super) enum Items {
    /// No foreach: one call.
    One,
    /// Looked up again for each item, in the plan or in an earlier step's output.
    InPlace,
    /// Put together for this foreach.
    Own(Vec<Value>),
}

/// One attempt at one item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Attempt {
    pub(super) position: u64,
    pub(super) attempt: u32,
}

impl Work {
    pub(super) fn one(keep_output: bool) -> Work {
        Work::of(Items::One, 1, 1, keep_output)
    }

    pub(super) fn of(items: Items, total: u64, limit: u64, keep_output: bool) -> Work {
        let kept = keep_output.then(|| (0..total).map(|_| Value::Null).collect());
        Work {
            items,
            total,
            limit: limit.max(1),
            next: 0,
            in_flight: 0,
            due: VecDeque::new(),
            done: 0,
            failed: 0,
            fatal: None,
            cancelled: 0,
            stop_on_error: false,
            stopped: false,
            kept,
        }
    }

    /// The same, without a further item after the first failure.
    pub(super) fn stopping_on_error(self) -> Work {
        Work { stop_on_error: true, ..self }
    }

    pub(super) fn is_foreach(&self) -> bool {
        match self.items {
            Items::One => false,
            Items::InPlace | Items::Own(_) => true,
        }
    }

    /// The position as a call names it: only an item of a foreach has one.
    pub(super) fn index_of(&self, attempt: Attempt) -> Option<u64> {
        self.is_foreach().then_some(attempt.position)
    }

    pub(super) fn can_start(&self) -> bool {
        !self.due.is_empty() || (!self.stopped && self.next < self.total && self.in_flight < self.limit)
    }

    /// Retries go before items that were not tried yet: they hold a place already.
    pub(super) fn take_next(&mut self) -> Option<Attempt> {
        if !self.can_start() {
            return None;
        }
        if let Some(due) = self.due.pop_front() {
            return Some(due);
        }
        let attempt = Attempt { position: self.next, attempt: 1 };
        self.next += 1;
        self.in_flight += 1;
        Some(attempt)
    }

    pub(super) fn retry_is_due(&mut self, attempt: Attempt) {
        self.due.push_back(attempt);
    }

    /// Gives up every retry that waits for a free slot.
    pub(super) fn abandon_retries(&mut self) {
        self.due.clear();
    }

    pub(super) fn worked(&mut self, attempt: Attempt, data: Option<Value>) {
        self.end_item();
        if let (Some(kept), Some(data)) = (&mut self.kept, data) {
            let slot = usize::try_from(attempt.position).ok().and_then(|at| kept.get_mut(at));
            if let Some(slot) = slot {
                *slot = data;
            }
        }
    }

    /// Notes a final failure. `ending` tells whether the run was already coming to its end, in which case a
    /// cancelled call is a consequence and not a cause.
    pub(super) fn did_not_work(&mut self, status: Status, on_error: OnError, ending: bool) {
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

    fn end_item(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.done += 1;
    }

    pub(super) fn is_complete(&self) -> bool {
        self.done >= self.total || (self.stopped && self.in_flight == 0)
    }

    /// How the step ends if nothing more happens to it.
    pub(super) fn status(&self) -> StepStatus {
        if let Some(fatal) = self.fatal {
            fatal
        } else if self.cancelled > 0 || !self.is_complete() {
            StepStatus::Cancelled
        } else if self.failed == 0 {
            StepStatus::Ok
        } else if self.failed == self.total {
            StepStatus::Failed
        } else {
            StepStatus::Partial
        }
    }

    /// What `$steps.<id>` reads, if anything does.
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

    /// Whether this end of an item is worth a progress event: each for small loops, about every hundredth of
    /// a large one, and always the last.
    pub(super) fn is_milestone(&self) -> bool {
        self.is_foreach() && (self.done == self.total || self.done.is_multiple_of((self.total / 100).max(1)))
    }

    #[cfg(test)]
    pub(super) fn footprint(&self) -> usize {
        let own = match &self.items {
            Items::One | Items::InPlace => 0,
            Items::Own(items) => items.len(),
        };
        self.due.len() + self.kept.as_ref().map_or(0, Vec::len) + own
    }
}
