//! How items and steps come to their end, and what that means for the steps that wait for them.

use envelope::{CallId, OnError, ToolResult};
use serde_json::Value;

use super::call::{self, Unstarted};
use super::ending::Ending;
use super::step::Stage;
use super::{Machine, Output, RunStatus, SiblingPolicy, Slot, StepStatus, events};

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
        self.stop_if_asked(slot.step, on_error);
    }

    /// A step failed before it had any call to make.
    pub(super) fn step_failed(&mut self, at: usize, result: &ToolResult) {
        let state = &mut self.steps[at];
        state.failed += 1;
        state.error.clone_from(&result.error);
        self.settle(at, StepStatus::Failed);
        self.stop_if_asked(at, self.spec.plan.steps[at].on_error);
    }

    fn stop_if_asked(&mut self, at: usize, on_error: OnError) {
        match on_error {
            OnError::Skip => {}
            OnError::Stop | OnError::Retry => self.stop(at),
        }
    }

    /// The final failure of a step that the plan cannot go on without.
    fn stop(&mut self, at: usize) {
        if !self.mode.is_running() {
            return;
        }
        let id = &self.spec.plan.steps[at].id;
        let reason = match &self.steps[at].error {
            Some(error) => format!("step `{id}` failed: {}", error.message),
            None => format!("step `{id}` failed"),
        };
        self.end(Ending { status: RunStatus::Failed, reason, culprit: Some(at) });
        match self.spec.sibling {
            SiblingPolicy::Ignore | SiblingPolicy::CancelDependents => {}
            SiblingPolicy::CancelSiblings => self.cancel_siblings(at),
        }
    }

    fn cancel_siblings(&mut self, at: usize) {
        let mut open: Vec<(u64, CallId)> = self
            .open
            .iter()
            .filter(|(_, slot)| slot.step == at)
            .map(|(id, slot)| (slot.attempt.position, id.clone()))
            .collect();
        open.sort_unstable();
        if !open.is_empty() {
            let only = Some(open.into_iter().map(|(_, id)| id).collect());
            self.out.push(Output::CancelOpenCalls { only, sibling: true });
        }
    }

    pub(super) fn settle_if_complete(&mut self, at: usize) {
        let status = match &self.steps[at].stage {
            Stage::Working(work) if work.is_complete() => work.status(),
            Stage::Blocked | Stage::Asking(_) | Stage::Working(_) | Stage::Settled(_) => return,
        };
        self.settle(at, status);
    }

    pub(super) fn skip_because_of(&mut self, at: usize, failed: usize) {
        // Whoever reads the reason wants the step to mend, not the one skipped just before this one.
        let blame = self.steps[failed].blame.unwrap_or(failed);
        self.steps[at].blame = Some(blame);
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
