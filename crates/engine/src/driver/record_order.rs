//! The order in which the machine takes note of results: the order in which they were recorded.
//!
//! Calls that run side by side are recorded as they end, and reach the driver a moment later, in a race. Which calls
//! still start after a failure or a cancel depends on the order, so a replay must find it in the record.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use envelope::CallId;

/// Calls whose results were recorded and that the machine has not taken note of, oldest first.
#[derive(Default)]
pub(crate) struct RecordOrder(Mutex<VecDeque<CallId>>);

impl RecordOrder {
    /// Records a result and its place in the order, as one step.
    pub(crate) fn append<T, E>(&self, call: &CallId, record: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let mut order = self.lock();
        let appended = record()?;
        order.push_back(call.clone());
        Ok(appended)
    }

    /// Whether the result of the call is recorded and waits for its turn.
    pub(super) fn contains(&self, call: &CallId) -> bool {
        self.lock().contains(call)
    }

    /// Takes the next result, if `accepted` has it.
    pub(super) fn take_next<T>(&self, accepted: impl FnOnce(&CallId) -> Option<T>) -> Option<T> {
        let mut order = self.lock();
        let next = accepted(order.front()?)?;
        order.pop_front();
        Some(next)
    }

    /// Runs `act` unless a recorded result waits for its turn. No result can be recorded meanwhile, so the consequences
    /// of `act` keep their place in the record.
    pub(super) fn when_idle(&self, act: impl FnOnce()) {
        let order = self.lock();
        if order.is_empty() {
            act();
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<CallId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
