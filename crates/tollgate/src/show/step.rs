//! One step of a run, from its calls.

use envelope::{Status, StepId, ToolName};
use plan::StepStatus;
use serde::Serialize;

use super::bounded::Bounded;
use super::call::CallStory;

/// How the calls of a step ended. A failed attempt that was tried again counts as retried only.
#[derive(Debug, Default, Clone, Copy, Serialize)]
pub(super) struct Counts {
    pub(super) ok: u64,
    pub(super) failed: u64,
    pub(super) cancelled: u64,
    pub(super) skipped: u64,
    pub(super) retried: u64,
    /// Started, and no result is recorded.
    pub(super) open: u64,
}

impl Counts {
    fn add(&mut self, call: &CallStory) {
        if call.attempt > 1 {
            self.retried += 1;
            self.failed = self.failed.saturating_sub(1);
        }
        match call.status {
            Some(Status::Ok) => self.ok += 1,
            Some(Status::Error | Status::Timeout) => self.failed += 1,
            Some(Status::Cancelled) => self.cancelled += 1,
            Some(Status::Skipped) => self.skipped += 1,
            None => self.open += 1,
        }
    }

    /// What became of the step; `None` while that is open or it was never reached.
    fn status(&self, total: Option<u64>) -> Option<StepStatus> {
        let ended = self.ok + self.failed + self.cancelled + self.skipped;
        if self.open > 0 || (ended == 0 && total != Some(0)) {
            None
        } else if self.cancelled > 0 {
            Some(StepStatus::Cancelled)
        } else if self.failed > 0 && self.ok > 0 {
            Some(StepStatus::Partial)
        } else if self.failed > 0 {
            Some(StepStatus::Failed)
        } else if self.skipped > 0 {
            Some(StepStatus::Skipped)
        } else if total.is_some_and(|total| ended < total) {
            None
        } else {
            Some(StepStatus::Ok)
        }
    }
}

/// A step while its records are read.
#[derive(Debug)]
pub(super) struct StepDraft {
    pub(super) id: StepId,
    pub(super) tool: ToolName,
    /// How many calls it was to make; known once it was scheduled.
    pub(super) total: Option<u64>,
    pub(super) counts: Counts,
    calls: Bounded<CallStory>,
}

/// A step as it is told.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StepStory {
    pub(super) id: StepId,
    pub(super) tool: ToolName,
    pub(super) status: Option<StepStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) total: Option<u64>,
    pub(super) counts: Counts,
    pub(super) calls: Vec<CallStory>,
    /// Calls that are not listed; `--all` lists them.
    pub(super) left_out: u64,
}

impl StepDraft {
    pub(super) fn new(id: StepId, tool: ToolName, all: bool) -> StepDraft {
        StepDraft { id, tool, total: None, counts: Counts::default(), calls: Bounded::new(all) }
    }

    pub(super) fn take(&mut self, call: CallStory) {
        self.counts.add(&call);
        let notable = call.is_notable();
        self.calls.push(call, notable);
    }

    pub(super) fn end(self) -> StepStory {
        let (mut calls, left_out) = self.calls.end();
        // Calls of a loop end in any order; a reader looks for the item.
        calls.sort_by_key(|call| (call.index, call.attempt));
        StepStory {
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
