//! What would become of each step.

use engine::RunReport;
use envelope::{Requirement, Risk, StepId, ToolName};
use plan::{CheckedPlan, StepStatus, StepSummary};
use serde::Serialize;

use super::Verdict;
use super::recording::{RecordingObserver, is_unknown};
use crate::exit::Exit;
use crate::visible::one_line;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StepOutlook {
    pub(super) id: StepId,
    pub(super) tool: ToolName,
    pub(super) risk: Risk,
    pub(super) fate: StepFate,
    pub(super) calls: u64,
    pub(super) failed: u64,
    /// What its first calls would do.
    pub(super) would: Vec<String>,
    /// Why it would not work, or would not be run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) why: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hint: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum StepFate {
    Works,
    /// Some of its calls would fail.
    WorksInPart,
    Fails,
    /// A rule or the mode says no.
    Denied,
    /// It runs a command, or needs what such a step gives.
    Unforeseen,
    /// The run would end before it, or a step it waits for would fail.
    NotReached,
}

impl StepFate {
    /// At most ten characters, for a column.
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

/// Every step, in plan order.
pub(super) fn outlooks(plan: &CheckedPlan, report: &RunReport, seen: &RecordingObserver) -> Vec<StepOutlook> {
    let mut outlooks: Vec<StepOutlook> = Vec::with_capacity(plan.steps.len());
    for (step, summary) in plan.steps.iter().zip(&report.steps) {
        let fate = fate(summary);
        let error = summary.error.as_ref().filter(|_| fate != StepFate::Unforeseen);
        outlooks.push(StepOutlook {
            id: step.id.clone(),
            tool: step.decl.name.clone(),
            risk: step.decl.risk_level,
            fate,
            calls: summary.calls,
            failed: summary.failed,
            would: seen.told(&step.id),
            why: match fate {
                StepFate::Unforeseen if step.decl.availability.contains(&Requirement::Server) => {
                    Some("cannot be forecast: a server answers it".to_owned())
                }
                StepFate::Unforeseen => Some("cannot be forecast: it runs a command".to_owned()),
                StepFate::Works
                | StepFate::WorksInPart
                | StepFate::Fails
                | StepFate::Denied
                | StepFate::NotReached => error.map(|error| one_line(&error.message)),
            },
            hint: error.and_then(|error| error.recovery_hint.as_deref()).map(one_line),
        });
    }
    for index in order_of(plan) {
        if outlooks[index].fate == StepFate::NotReached {
            let (fate, why) = blame(plan, &outlooks, index);
            outlooks[index].fate = fate;
            outlooks[index].why = Some(why);
        }
    }
    outlooks
}

/// How the run would end, as far as that can be foreseen.
pub(super) fn verdict(steps: &[StepOutlook]) -> Verdict {
    let is = |fate: StepFate| steps.iter().any(|step| step.fate == fate);
    if is(StepFate::Fails) || is(StepFate::WorksInPart) {
        Verdict::Fails
    } else if is(StepFate::Denied) {
        Verdict::Denied
    } else {
        Verdict::Works
    }
}

fn fate(summary: &StepSummary) -> StepFate {
    match summary.status {
        StepStatus::Ok => StepFate::Works,
        StepStatus::Partial => StepFate::WorksInPart,
        StepStatus::Skipped | StepStatus::Cancelled => StepFate::NotReached,
        StepStatus::Failed => match &summary.error {
            Some(error) if is_unknown(error) => StepFate::Unforeseen,
            Some(error) if error.kind.is_some_and(|kind| Exit::of_failure(kind) == Exit::Denied) => {
                StepFate::Denied
            }
            Some(_) | None => StepFate::Fails,
        },
    }
}

/// Which step keeps another one from being run.
fn blame(plan: &CheckedPlan, outlooks: &[StepOutlook], index: usize) -> (StepFate, String) {
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

/// The steps, each after those it waits for.
fn order_of(plan: &CheckedPlan) -> Vec<usize> {
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
