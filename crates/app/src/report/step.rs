//! One step of a run, from its calls.

use envelope::{Status, StepId, ToolName};
use plan::StepStatus;
use serde::Serialize;

use super::bounded::BoundedList;
use super::call::CallDetails;

/// Calls of a step by outcome. A failed attempt that was retried counts as retried only.
#[derive(Debug, Default, Clone, Copy, Serialize)]
pub struct CallCounts {
    pub ok: u64,
    pub failed: u64,
    pub cancelled: u64,
    pub skipped: u64,
    pub retried: u64,
    /// Started without a recorded result.
    pub open: u64,
    /// Made by the run that this one continues.
    #[serde(skip_serializing_if = "is_zero")]
    pub carried: u64,
    /// Calls that are ok and could not do everything.
    #[serde(skip_serializing_if = "is_zero")]
    pub incomplete: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl CallCounts {
    fn add(&mut self, call: &CallDetails) {
        if call.attempt > 1 {
            self.retried += 1;
            self.failed = self.failed.saturating_sub(1);
        }
        self.incomplete += u64::from(call.incomplete.is_some());
        match call.status {
            Some(Status::Ok) => self.ok += 1,
            Some(Status::Error | Status::Timeout) => self.failed += 1,
            Some(Status::Cancelled) => self.cancelled += 1,
            Some(Status::Skipped) => self.skipped += 1,
            None => self.open += 1,
        }
    }

    /// Returns the status of the step; `None` while it is open or if it was never reached.
    fn status(&self, total: Option<u64>) -> Option<StepStatus> {
        let ended = self.ok + self.carried + self.failed + self.cancelled + self.skipped;
        if self.open > 0 || total.is_none() && ended == self.carried || (ended == 0 && total != Some(0)) {
            None
        } else if self.cancelled > 0 {
            Some(StepStatus::Cancelled)
        } else if self.failed > 0 && self.ok + self.carried > 0 {
            Some(StepStatus::Partial)
        } else if self.failed > 0 {
            Some(StepStatus::Failed)
        } else if self.skipped > 0 {
            Some(StepStatus::Skipped)
        } else if total.is_some_and(|total| ended < total) {
            None
        } else if self.incomplete > 0 {
            Some(StepStatus::Partial)
        } else {
            Some(StepStatus::Ok)
        }
    }
}

/// Builder of a step while its records are read.
#[derive(Debug)]
pub(super) struct StepBuilder {
    pub(super) id: StepId,
    pub(super) tool: ToolName,
    /// Number of calls; known once the step was scheduled.
    pub(super) total: Option<u64>,
    pub(super) counts: CallCounts,
    calls: BoundedList<CallDetails>,
}

/// A step with its calls.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StepReport {
    pub id: StepId,
    pub tool: ToolName,
    pub status: Option<StepStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    pub counts: CallCounts,
    pub calls: Vec<CallDetails>,
    /// Calls that are not listed; `--all` lists them.
    pub left_out: u64,
}

impl StepBuilder {
    pub(super) fn new(id: StepId, tool: ToolName, all: bool) -> StepBuilder {
        StepBuilder { id, tool, total: None, counts: CallCounts::default(), calls: BoundedList::new(all) }
    }

    pub(super) fn take(&mut self, call: CallDetails) {
        self.counts.add(&call);
        let notable = call.is_notable();
        self.calls.push(call, notable);
    }

    pub(super) fn end(self) -> StepReport {
        let (mut calls, left_out) = self.calls.end();
        // Sorted by item for the reader: calls of a loop end in any order.
        calls.sort_by_key(|call| (call.index, call.attempt));
        StepReport {
            status: self.counts.status(self.total),
            id: self.id,
            tool: self.tool,
            total: self.total,
            counts: self.counts,
            calls,
            left_out,
        }
    }
}
