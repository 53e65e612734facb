//! The forecast of each step.

use engine::RunReport;
use envelope::{Requirement, Risk, StepId, ToolName};
use plan::{CheckedPlan, StepStatus, StepSummary};
use serde::Serialize;

use super::PreviewVerdict;
use super::recording::{RecordingObserver, is_unknown};
use crate::display_text::escape_line;
use crate::error::ErrorKind;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StepOutlook {
    pub(super) id: StepId,
    pub(super) tool: ToolName,
    pub(super) risk: Risk,
    pub(super) fate: StepFate,
    pub(super) calls: u64,
    /// Calls that an earlier run has made.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) carried: u64,
    pub(super) failed: u64,
    /// Descriptions of its first calls.
    pub(super) would: Vec<String>,
    /// Reason why it would fail or not be run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) why: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hint: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum StepFate {
    Works,
    /// Some of its calls would fail.
    WorksInPart,
    Fails,
    /// A rule or the mode denies it.
    Denied,
    /// It runs a command, or needs the output of such a step.
    Unforeseen,
    /// The run would end before it, or a step that it depends on would fail.
    NotReached,
}

impl StepFate {
    /// Returns a word of at most ten characters, for a column.
    pub(super) fn word(self) -> &'static str {
        match self {
            StepFate::Works => "ok",
            StepFate::WorksInPart => "in part",
            StepFate::Fails => "fails",
            StepFate::Denied => "denied",
            StepFate::Unforeseen => "unknown",
            StepFate::NotReached => "not run",
        }
    }
}

/// Returns the forecast of every step, in plan order.
pub(super) fn outlooks(plan: &CheckedPlan, report: &RunReport, seen: &RecordingObserver) -> Vec<StepOutlook> {
    let mut outlooks: Vec<StepOutlook> = Vec::with_capacity(plan.steps.len());
    for (step, summary) in plan.steps.iter().zip(&report.steps) {
        let fate = step_fate(summary);
        let error = summary.error.as_ref().filter(|_| fate != StepFate::Unforeseen);
        outlooks.push(StepOutlook {
            id: step.id.clone(),
            tool: step.decl.name.clone(),
            risk: step.decl.risk_level,
            fate,
            calls: summary.calls,
            carried: summary.carried,
            failed: summary.failed,
            would: seen.descriptions(&step.id),
            why: match fate {
                StepFate::Unforeseen if step.decl.availability.contains(&Requirement::Server) => {
                    Some("cannot be forecast: a server answers it".to_owned())
                }
                StepFate::Unforeseen => Some("cannot be forecast: it runs a command".to_owned()),
                StepFate::Works
                | StepFate::WorksInPart
                | StepFate::Fails
                | StepFate::Denied
                | StepFate::NotReached => error.map(|error| escape_line(&error.message)),
            },
            hint: error.and_then(|error| error.recovery_hint.as_deref()).map(escape_line),
        });
    }
    for index in topological_order(plan) {
        if outlooks[index].fate == StepFate::NotReached {
            let (fate, why) = blocking_step(plan, &outlooks, index);
            outlooks[index].fate = fate;
            outlooks[index].why = Some(why);
        }
    }
    outlooks
}

/// Returns the expected outcome of the run.
pub(super) fn verdict(steps: &[StepOutlook]) -> PreviewVerdict {
    let is = |fate: StepFate| steps.iter().any(|step| step.fate == fate);
    if is(StepFate::Fails) || is(StepFate::WorksInPart) {
        PreviewVerdict::Fails
    } else if is(StepFate::Denied) {
        PreviewVerdict::Denied
    } else {
        PreviewVerdict::Works
    }
}

fn step_fate(summary: &StepSummary) -> StepFate {
    match summary.status {
        StepStatus::Ok => StepFate::Works,
        StepStatus::Partial => StepFate::WorksInPart,
        StepStatus::Skipped | StepStatus::Cancelled => StepFate::NotReached,
        StepStatus::Failed => match &summary.error {
            Some(error) if is_unknown(error) => StepFate::Unforeseen,
            Some(error)
                if error.kind.is_some_and(|kind| ErrorKind::of_failure(kind) == ErrorKind::Denied) =>
            {
                StepFate::Denied
            }
            Some(_) | None => StepFate::Fails,
        },
    }
}

/// Returns why a step would not be run, and which step prevents it.
fn blocking_step(plan: &CheckedPlan, outlooks: &[StepOutlook], index: usize) -> (StepFate, String) {
    let waits_for = plan.steps[index].after.iter().chain(&plan.steps[index].follows);
    for before in waits_for {
        let step = &outlooks[*before];
        match step.fate {
            StepFate::Unforeseen => {
                return (
                    StepFate::Unforeseen,
                    format!("depends on step {}, which cannot be forecast", step.id),
                );
            }
            StepFate::Fails | StepFate::Denied => {
                return (StepFate::NotReached, format!("depends on step {}, which would fail", step.id));
            }
            StepFate::NotReached => {
                return (
                    StepFate::NotReached,
                    format!("depends on step {}, which would not be run", step.id),
                );
            }
            StepFate::Works | StepFate::WorksInPart => {}
        }
    }
    (StepFate::NotReached, "the run would have ended before it".to_owned())
}

/// Returns the steps in topological order.
fn topological_order(plan: &CheckedPlan) -> Vec<usize> {
    let mut order = Vec::with_capacity(plan.steps.len());
    let mut left: Vec<usize> = plan.steps.iter().map(|step| step.after.len() + step.follows.len()).collect();
    let mut waiting: Vec<Vec<usize>> = vec![Vec::new(); plan.steps.len()];
    for (index, step) in plan.steps.iter().enumerate() {
        for before in step.after.iter().chain(&step.follows) {
            waiting[*before].push(index);
        }
    }
    let mut ready: Vec<usize> = (0..left.len()).filter(|index| left[*index] == 0).collect();
    while let Some(index) = ready.pop() {
        order.push(index);
        for after in std::mem::take(&mut waiting[index]) {
            left[after] -= 1;
            if left[after] == 0 {
                ready.push(after);
            }
        }
    }
    order
}
