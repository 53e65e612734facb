//! How items and steps come to their end, and what that means for the steps that wait for them.

use envelope::{OnError, ToolResult};
use serde_json::Value;

use super::call::{self, Unstarted};
use super::step::Stage;
use super::{Machine, Output, Slot, StepStatus, events};

impl Machine {
    pub(super) fn item_worked(&mut self, slot: Slot, data: Option<Value>) {
        if let Stage::Working(work) = &mut self.steps[slot.step].stage {
            work.worked(slot.attempt, data);
        }
        self.tell_progress(slot.step);
        self.settle_if_complete(slot.step);
    }

    /// An item failed for good.
    pub(super) fn item_failed(&mut self, slot: Slot, result: &ToolResult) {
        let on_error = self.spec.plan.steps[slot.step].on_error;
        let state = &mut self.steps[slot.step];
        state.failed += 1;
        if state.error.is_none() {
            state.error.clone_from(&result.error);
        }
        if let Stage::Working(work) = &mut state.stage {
            work.did_not_work(result.status, on_error, !self.mode.is_running());
        }
        self.tell_progress(slot.step);
        self.settle_if_complete(slot.step);
    }

    /// A step failed before it had any call to make.
    pub(super) fn step_failed(&mut self, at: usize, result: &ToolResult) {
        let state = &mut self.steps[at];
        state.failed += 1;
        state.error.clone_from(&result.error);
        self.settle(at, StepStatus::Failed);
    }

    pub(super) fn settle_if_complete(&mut self, at: usize) {
        let (status, done, total) = match &self.steps[at].stage {
            Stage::Working(work) if work.is_complete() => (work.status(), work.done, work.total),
            Stage::Blocked | Stage::Asking(_) | Stage::Working(_) | Stage::Settled(_) => return,
        };
        if done < total {
            let telling = events::cut_short(&self.spec.plan.steps[at], status, done, total);
            self.tell(telling);
        }
        self.settle(at, status);
    }

    pub(super) fn skip_because_of(&mut self, at: usize, failed: usize) {
        // Whoever reads the reason wants the step to mend, not the one skipped just before this one.
        let blame = self.steps[failed].blame.unwrap_or(failed);
        self.steps[at].blame = Some(blame);
        self.steps[at].ends_run = self.ends_before(at).is_some();
        let reason = format!("step `{}` failed", self.spec.plan.steps[blame].id);
        self.skip(at, reason);
    }

    pub(super) fn skip(&mut self, at: usize, reason: String) {
        self.unstarted(at, None, Unstarted::Skipped { reason });
        self.settle(at, StepStatus::Skipped);
    }

    /// Gives a call that never starts its result.
    pub(super) fn unstarted(&mut self, at: usize, index: Option<u64>, why: Unstarted) -> ToolResult {
        let step = &self.spec.plan.steps[at];
        let result = call::unstarted(&self.spec, step, index, why, self.now);
        let telling = events::unstarted(step, &result);
        self.out.push(Output::Settled(Box::new(result.clone())));
        self.tell(telling);
        result
    }

    /// The one place where a step becomes settled.
    pub(super) fn settle(&mut self, at: usize, status: StepStatus) {
        let stage = std::mem::replace(&mut self.steps[at].stage, Stage::Settled(status));
        self.startable.remove(&at);
        match self.spec.plan.steps[at].on_error {
            OnError::Skip => {}
            OnError::Stop | OnError::Retry => {
                self.steps[at].ends_run |= matches!(status, StepStatus::Failed | StepStatus::Cancelled);
            }
        }
        if let Stage::Working(work) = stage
            && status.has_output()
            && let Some(output) = work.into_output()
        {
            self.store.keep(at, output);
        }
        let dependents = std::mem::take(&mut self.steps[at].dependents);
        for dependent in dependents {
            let state = &mut self.steps[dependent];
            state.blocked_by = state.blocked_by.saturating_sub(1);
            if state.is_unblocked() && self.mode.is_running() {
                self.ready.insert(dependent);
            }
        }
    }

    fn tell_progress(&mut self, at: usize) {
        if let Stage::Working(work) = &self.steps[at].stage
            && work.is_milestone()
        {
            let telling = events::progress(&self.spec.plan.steps[at], work.done, work.total, work.failed);
            self.tell(telling);
        }
    }
}
