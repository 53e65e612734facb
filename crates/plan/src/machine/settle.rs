//! Settles items and steps, and updates the steps that depend on them.

use envelope::{OnError, Status, ToolError, ToolResult};

use super::call_draft::{self, NotStartedReason};
use super::carried_calls::CallOutput;
use super::step_state::StepStage;
use super::{CallSlot, MachineOutput, RunMachine, StepStatus, events};

impl RunMachine {
    pub(super) fn item_succeeded(&mut self, slot: CallSlot, output: CallOutput) {
        let state = &mut self.steps[slot.step];
        if let StepStage::Working(work) = &mut state.stage {
            work.record_success(slot.attempt, output.data, output.incomplete.is_some());
        }
        if state.incomplete.is_none() {
            state.incomplete = output.incomplete;
        }
        self.emit_progress(slot.step);
        self.settle_if_complete(slot.step);
    }

    /// Handles the final failure of an item.
    pub(super) fn item_failed(&mut self, slot: CallSlot, status: Status, error: Option<&ToolError>) {
        let on_error = self.spec.plan.steps[slot.step].on_error;
        let state = &mut self.steps[slot.step];
        state.failed += 1;
        if state.error.is_none() {
            state.error = error.cloned();
        }
        if let StepStage::Working(work) = &mut state.stage {
            work.record_failure(status, on_error, !self.state.is_running());
        }
        self.emit_progress(slot.step);
        self.settle_if_complete(slot.step);
    }

    /// Records that an item gets no call, because the earlier item that it stands for has no output.
    pub(super) fn item_skipped(&mut self, slot: CallSlot, reason: String) {
        let index = match &self.steps[slot.step].stage {
            StepStage::Working(work) => work.index_of(slot.attempt),
            StepStage::Blocked | StepStage::Asking(_) | StepStage::Settled(_) => None,
        };
        self.record_not_started(slot.step, index, NotStartedReason::Skipped { reason });
        if let StepStage::Working(work) = &mut self.steps[slot.step].stage {
            work.record_skip();
        }
        self.emit_progress(slot.step);
        self.settle_if_complete(slot.step);
    }

    /// Handles the failure of a step before its first call.
    pub(super) fn step_failed(&mut self, at: usize, result: &ToolResult) {
        let state = &mut self.steps[at];
        state.failed += 1;
        state.error.clone_from(&result.error);
        self.settle(at, StepStatus::Failed);
    }

    pub(super) fn settle_if_complete(&mut self, at: usize) {
        let (status, done, total) = match &self.steps[at].stage {
            StepStage::Working(work) if work.is_complete() => (work.status(), work.done, work.total),
            StepStage::Blocked | StepStage::Asking(_) | StepStage::Working(_) | StepStage::Settled(_) => {
                return;
            }
        };
        if done < total {
            let telling = events::cut_short(&self.spec.plan.steps[at], status, done, total);
            self.emit_event(telling);
        }
        self.settle(at, status);
    }

    pub(super) fn skip_because_of(&mut self, at: usize, failed: usize) {
        // The reader of the message wants the step to fix, not the one that was skipped just before this one.
        let blame = self.steps[failed].blame.unwrap_or(failed);
        self.steps[at].blame = Some(blame);
        self.steps[at].ends_run = self.ending_predecessor(at).is_some();
        let reason = format!("step `{}` failed", self.spec.plan.steps[blame].id);
        self.skip(at, reason);
    }

    pub(super) fn skip(&mut self, at: usize, reason: String) {
        self.record_not_started(at, None, NotStartedReason::Skipped { reason });
        self.settle(at, StepStatus::Skipped);
    }

    /// Records the result of a call that never starts.
    pub(super) fn record_not_started(
        &mut self,
        at: usize,
        index: Option<u64>,
        why: NotStartedReason,
    ) -> ToolResult {
        let step = &self.spec.plan.steps[at];
        let result = call_draft::not_started_result(&self.spec, step, index, why, self.now);
        let telling = events::not_started(step, &result);
        self.out.push(MachineOutput::Settled(Box::new(result.clone())));
        self.emit_event(telling);
        result
    }

    /// Settles a step. No other function does.
    pub(super) fn settle(&mut self, at: usize, status: StepStatus) {
        let stage = std::mem::replace(&mut self.steps[at].stage, StepStage::Settled(status));
        self.startable.remove(&at);
        match self.spec.plan.steps[at].on_error {
            OnError::Skip => {}
            OnError::Stop | OnError::Retry => {
                self.steps[at].ends_run |= matches!(status, StepStatus::Failed | StepStatus::Cancelled);
            }
        }
        if let StepStage::Working(work) = stage
            && status.has_output()
            && let Some(output) = work.into_output()
        {
            self.store.insert(at, output);
        }
        let dependents = std::mem::take(&mut self.steps[at].dependents);
        for dependent in dependents {
            let state = &mut self.steps[dependent];
            state.blocked_by = state.blocked_by.saturating_sub(1);
            if state.is_unblocked() && self.state.is_running() {
                self.ready.insert(dependent);
            }
        }
    }

    fn emit_progress(&mut self, at: usize) {
        if let StepStage::Working(work) = &self.steps[at].stage
            && work.is_milestone()
        {
            let telling = events::progress(&self.spec.plan.steps[at], work.done, work.total, work.failed);
            self.emit_event(telling);
        }
    }
}
