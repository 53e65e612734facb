//! The state of one step of a run.

use envelope::{ConfirmationId, ToolError};

use super::StepStatus;
use super::step_work::{ItemSource, StepWork};
use crate::CheckedPlan;

pub(super) struct StepState {
    pub(super) stage: StepStage,
    /// Number of predecessors that are not settled.
    pub(super) blocked_by: usize,
    /// Steps that wait for this one.
    pub(super) dependents: Vec<usize>,
    /// The confirmation of this step's own question, if it had one.
    pub(super) confirmation: Option<ConfirmationId>,
    pub(super) calls: u64,
    /// Number of carried calls, which were not made again.
    pub(super) carried: u64,
    pub(super) failed: u64,
    /// The work that the first incomplete call could not do.
    pub(super) incomplete: Option<String>,
    /// The first final failure.
    pub(super) error: Option<ToolError>,
    /// The latest failure that was to be retried; reported if the retry never happens.
    pub(super) retried_error: Option<ToolError>,
    /// The step whose failure is the reason why this one did not run.
    pub(super) blame: Option<usize>,
    /// True if the steps that follow this one are skipped: it failed under `stop`, or was skipped for such a
    /// step.
    pub(super) ends_run: bool,
}

pub(super) enum StepStage {
    Blocked,
    /// Waits for confirmation of its size.
    Asking(ForeachExpansion),
    Working(StepWork),
    Settled(StepStatus),
}

/// A resolved list and its length.
pub(super) struct ForeachExpansion {
    pub(super) items: ItemSource,
    pub(super) total: u64,
}

impl StepState {
    pub(super) fn all(plan: &CheckedPlan) -> Vec<StepState> {
        let mut states: Vec<StepState> = plan.steps.iter().map(|_| StepState::new()).collect();
        for (at, step) in plan.steps.iter().enumerate() {
            for before in step.after.iter().chain(&step.follows) {
                if let Some(state) = states.get_mut(*before) {
                    state.dependents.push(at);
                    states[at].blocked_by += 1;
                }
            }
        }
        states
    }

    fn new() -> StepState {
        StepState {
            stage: StepStage::Blocked,
            blocked_by: 0,
            dependents: Vec::new(),
            confirmation: None,
            calls: 0,
            carried: 0,
            failed: 0,
            incomplete: None,
            error: None,
            retried_error: None,
            blame: None,
            ends_run: false,
        }
    }

    pub(super) fn is_unblocked(&self) -> bool {
        self.blocked_by == 0 && matches!(self.stage, StepStage::Blocked)
    }

    pub(super) fn status(&self) -> Option<StepStatus> {
        match self.stage {
            StepStage::Settled(status) => Some(status),
            StepStage::Blocked | StepStage::Asking(_) | StepStage::Working(_) => None,
        }
    }
}
