//! Retries of failed calls.

use envelope::{CallId, OnError, ToolResult};

use super::events::{self, RetryAttempt};
use super::step_state::StepStage;
use super::step_work::ItemAttempt;
use super::{CallSlot, MachineOutput, RunMachine, TimerId, backoff};

impl RunMachine {
    /// Sets a timer for another attempt, if the failure, the step and the policy all allow one.
    ///
    /// During the wait the call frees its slot of the run, but keeps its place in its foreach.
    pub(super) fn schedule_retry(&mut self, slot: CallSlot, result: &ToolResult) -> bool {
        let plan = self.spec.plan.clone();
        let step = &plan.steps[slot.step];
        let of = self.max_attempts(slot.step);
        let retryable = result.error.as_ref().is_some_and(|error| error.retryable == Some(true));
        let allowed = self.state.is_running() && step.on_error == OnError::Retry && slot.attempt.attempt < of;
        if !(retryable && allowed) {
            return false;
        }
        let attempt = slot.attempt.attempt;
        let max_ms = self.spec.limits.max_backoff_ms;
        let after_ms = backoff::delay_ms(step.retry.backoff_ms, attempt, &result.call_id, max_ms);
        self.emit_event(events::retry_waits(step, result, RetryAttempt { attempt, of }, after_ms));
        self.steps[slot.step].retried_error.clone_from(&result.error);
        let next = CallSlot { attempt: ItemAttempt { attempt: attempt + 1, ..slot.attempt }, ..slot };
        let id = TimerId(self.call_id(next));
        self.timers.insert(id.clone(), next);
        self.out.push(MachineOutput::SetTimer { id, after_ms });
        true
    }

    pub(super) fn timer_fired(&mut self, id: &TimerId) {
        let Some(slot) = self.timers.remove(id) else {
            return;
        };
        let due = RetryAttempt { attempt: slot.attempt.attempt, of: self.max_attempts(slot.step) };
        self.emit_event(events::retry_is_due(&self.spec.plan.steps[slot.step], &id.0, due));
        if let StepStage::Working(work) = &mut self.steps[slot.step].stage {
            work.add_due_retry(slot.attempt);
        }
        self.update_startable(slot.step);
    }

    /// The number of attempts that the step requests, limited by the policy.
    fn max_attempts(&self, at: usize) -> u32 {
        self.spec.plan.steps[at].retry.max_attempts.min(self.spec.limits.max_attempts).max(1)
    }

    fn call_id(&self, slot: CallSlot) -> CallId {
        let index = match &self.steps[slot.step].stage {
            StepStage::Working(work) => work.index_of(slot.attempt),
            StepStage::Blocked | StepStage::Asking(_) | StepStage::Settled(_) => None,
        };
        CallId::derive(&self.spec.run_id, &self.spec.plan.steps[slot.step].id, index, slot.attempt.attempt)
    }
}
