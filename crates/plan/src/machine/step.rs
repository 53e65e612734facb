//! How far one step of a run has come.

use envelope::{ConfirmationId, ToolError};

use super::StepStatus;
use super::work::{Items, Work};
use crate::CheckedPlan;

pub(super) struct StepState {
    pub(super) stage: Stage,
    /// How many of the steps before it are not settled.
    pub(super) blocked_by: usize,
    /// The steps that wait for this one.
    pub(super) dependents: Vec<usize>,
    /// The yes to this step's own question, if it had one.
    pub(super) confirmation: Option<ConfirmationId>,
    pub(super) calls: u64,
    pub(super) failed: u64,
    /// The first final failure.
    pub(super) error: Option<ToolError>,
    /// The newest failure that was to be retried: what is reported if the retry never comes.
    pub(super) retried_error: Option<ToolError>,
    /// The step whose failure is the reason why this one did not run.
    pub(super) blame: Option<usize>,
    /// Whether the steps that follow this one are skipped: it failed under `stop`, or was skipped for such a step.
    pub(super) ends_run: bool,
}

pub(super) enum Stage {
    Blocked,
    /// Waits for a yes to its size.
    Asking(Expansion),
    Working(Work),
    Settled(StepStatus),
}

/// A list that was found and counted.
pub(super) struct Expansion {
    pub(super) items: Items,
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
            stage: Stage::Blocked,
            blocked_by: 0,
            dependents: Vec::new(),
            confirmation: None,
            calls: 0,
            failed: 0,
            error: None,
            retried_error: None,
            blame: None,
            ends_run: false,
        }
    }

    pub(super) fn is_unblocked(&self) -> bool {
        self.blocked_by == 0 && matches!(self.stage, Stage::Blocked)
    }

    pub(super) fn status(&self) -> Option<StepStatus> {
        match self.stage {
            Stage::Settled(status) => Some(status),
            Stage::Blocked | Stage::Asking(_) | Stage::Working(_) => None,
        }
    }
}
