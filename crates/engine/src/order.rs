//! The order in which a run takes note of results: the order in which they were recorded.
//!
//! Calls that run side by side are recorded as they end, and reach the driver a moment later, in a race. What
//! still starts after a failure or a cancel depends on the order, so a replay must find it in the record.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use envelope::CallId;

/// Calls whose results were recorded and not yet taken note of, oldest first.
#[derive(Default)]
pub(crate) struct RecordOrder(Mutex<VecDeque<CallId>>);

impl RecordOrder {
    /// Records a result and remembers its place, as one step.
    pub(crate) fn append<T, E>(&self, call: &CallId, record: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let mut order = self.lock();
        let appended = record()?;
        order.push_back(call.clone());
        Ok(appended)
    }

    /// Whether a result has its place in the record and still waits for its turn.
    pub(crate) fn holds(&self, call: &CallId) -> bool {
        self.lock().contains(call)
    }

    /// The result whose turn it is, if `arrived` has it.
    pub(crate) fn take_next<T>(&self, arrived: impl FnOnce(&CallId) -> Option<T>) -> Option<T> {
        let mut order = self.lock();
        let next = arrived(order.front()?)?;
        order.pop_front();
        Some(next)
    }

    /// Does something that must not overtake a recorded result, nor be overtaken by one; nothing while results
    /// wait for their turn.
    pub(crate) fn when_idle(&self, act: impl FnOnce()) {
        let order = self.lock();
        if order.is_empty() {
            act();
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<CallId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
