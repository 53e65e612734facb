//! Whether a failed call is tried again, and what happens when its wait is over.

use envelope::{CallId, OnError, ToolResult};

use super::events::{self, Try};
use super::step::Stage;
use super::work::Attempt;
use super::{Machine, Output, Slot, TimerId, backoff};

impl Machine {
    /// Sets a timer for another attempt, if the failure, the step and the policy all allow one.
    ///
    /// The call frees its slot of the run while it waits, but keeps its place in its foreach.
    pub(super) fn will_retry(&mut self, slot: Slot, result: &ToolResult) -> bool {
        let plan = self.spec.plan.clone();
        let step = &plan.steps[slot.step];
        let of = self.attempts_of(slot.step);
        let retryable = result.error.as_ref().is_some_and(|error| error.retryable == Some(true));
        let allowed = self.mode.is_running() && step.on_error == OnError::Retry && slot.attempt.attempt < of;
        if !(retryable && allowed) {
            return false;
        }
        let attempt = slot.attempt.attempt;
        let max_ms = self.spec.limits.max_backoff_ms;
        let after_ms = backoff::delay_ms(step.retry.backoff_ms, attempt, &result.call_id, max_ms);
        self.tell(events::retry_waits(step, result, Try { attempt, of }, after_ms));
        self.steps[slot.step].retried_error.clone_from(&result.error);
        let next = Slot { attempt: Attempt { attempt: attempt + 1, ..slot.attempt }, ..slot };
        let id = TimerId(self.call_id(next));
        self.timers.insert(id.clone(), next);
        self.out.push(Output::SetTimer { id, after_ms });
        true
    }

    pub(super) fn timer_fired(&mut self, id: &TimerId) {
        let Some(slot) = self.timers.remove(id) else {
            return;
        };
        let due = Try { attempt: slot.attempt.attempt, of: self.attempts_of(slot.step) };
        self.tell(events::retry_is_due(&self.spec.plan.steps[slot.step], &id.0, due));
        if let Stage::Working(work) = &mut self.steps[slot.step].stage {
            work.retry_is_due(slot.attempt);
        }
        self.note_startable(slot.step);
    }

    /// The step's wish, clamped by the policy.
    fn attempts_of(&self, at: usize) -> u32 {
        self.spec.plan.steps[at].retry.max_attempts.min(self.spec.limits.max_attempts).max(1)
    }

    fn call_id(&self, slot: Slot) -> CallId {
        let index = match &self.steps[slot.step].stage {
            Stage::Working(work) => work.index_of(slot.attempt),
            Stage::Blocked | Stage::Asking(_) | Stage::Settled(_) => None,
        };
        CallId::derive(&self.spec.run_id, &self.spec.plan.steps[slot.step].id, index, slot.attempt.attempt)
    }
}
