//! Steps of a plan that are certain to fail, so that a question about the plan would be asked for nothing.

use engine::RunReport;
use envelope::{Failure, Fault, OnError, StepId, ToolError};
use plan::CheckedPlan;
use serde::Serialize;

use super::PlanPreview;
use super::steps::{StepFate, StepOutlook};
use crate::display_text::escape_line;

/// A step that is certain to fail.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KnownFailure {
    pub step: StepId,
    pub code: String,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    #[serde(skip)]
    kind: Failure,
    /// Whether a rule denies the step, also with the arguments that the plan has before hooks.
    #[serde(skip)]
    pub(super) is_denied: bool,
    #[serde(skip)]
    error: ToolError,
}

impl KnownFailure {
    /// Returns the failure of a single call: what the call itself would fail with.
    pub(super) fn of_call(&self) -> Fault {
        let ToolError { message, details, retryable, recovery_hint, .. } = self.error.clone();
        Fault { failure: self.kind, message, details: details.map(Box::new), hint: recovery_hint, retryable }
    }

    /// Returns the reason to refuse a plan; `None` if no step is certain to fail.
    pub(super) fn of_plan(failures: &[KnownFailure]) -> Option<Fault> {
        let first = failures.first()?;
        let more = match failures.len() - 1 {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        let message = format!(
            "no one was asked, because step {} is certain to fail{more}: {}: {}",
            first.step, first.code, first.message
        );
        Some(Fault::new(first.kind, message))
    }
}

impl PlanPreview {
    /// Returns the steps that are certain to fail in the run. A hook, which no forecast runs, can change what a step is made
    /// with; but a rule denies a step by its input before hooks, too.
    pub(super) fn certain_failures(&self) -> Vec<KnownFailure> {
        let is_certain = |failure: &&KnownFailure| self.hooks_not_run.is_empty() || failure.is_denied;
        self.known_failures.iter().filter(is_certain).cloned().collect()
    }
}

/// Returns the steps that are certain to fail and whose failure ends the run, in plan order.
///
/// A step that fails in the forecast may still work after a command or an external tool, whose effects are unknown, unless
/// that is made only after the step. A rule that denies a step denies it in any case.
pub(super) fn known_failures(
    plan: &CheckedPlan,
    report: &RunReport,
    outlooks: &[StepOutlook],
) -> Vec<KnownFailure> {
    let mut found = Vec::new();
    for (index, ((step, outlook), summary)) in plan.steps.iter().zip(outlooks).zip(&report.steps).enumerate()
    {
        let is_certain = match outlook.fate {
            StepFate::Denied => true,
            StepFate::Fails => !may_follow_unknown(plan, outlooks, index),
            StepFate::Works | StepFate::WorksInPart | StepFate::Unforeseen | StepFate::NotReached => false,
        };
        let Some(error) = summary.error.as_ref().filter(|_| is_certain && ends_run(step.on_error)) else {
            continue;
        };
        let Some(kind) = error.kind.filter(|kind| depends_on_state_alone(*kind)) else { continue };
        let message = escape_line(&error.message);
        found.push(KnownFailure {
            step: step.id.clone(),
            code: error.code.clone(),
            message: match outlook.calls {
                0 | 1 => message,
                calls => format!("{} of {calls} items: {message}", outlook.failed),
            },
            hint: error.recovery_hint.as_deref().map(escape_line),
            kind,
            is_denied: outlook.fate == StepFate::Denied,
            error: error.clone(),
        });
    }
    found
}

fn ends_run(on_error: OnError) -> bool {
    match on_error {
        OnError::Stop | OnError::Retry => true,
        OnError::Skip => false,
    }
}

/// Whether a failure follows from the arguments, the rules and the vault, so that the run would end the same way.
fn depends_on_state_alone(kind: Failure) -> bool {
    match kind {
        Failure::UnknownTool
        | Failure::BlockedTool
        | Failure::SandboxViolation
        | Failure::PermissionDenied
        | Failure::PolicyBlocked
        | Failure::SchemaValidationFailed
        | Failure::InvalidArguments
        | Failure::NotFound
        | Failure::Conflict
        | Failure::PreconditionFailed => true,
        Failure::SchemaNotLoaded
        | Failure::SetupRequired
        | Failure::HookBlocked
        | Failure::HookFailed
        | Failure::InputMutationFailed
        | Failure::ApprovalRejected
        | Failure::Canceled
        | Failure::SiblingCanceled
        | Failure::ExecutionFailed
        | Failure::Timeout
        | Failure::DependencyUnavailable
        | Failure::ResultMappingFailed
        | Failure::PostHookFailed
        | Failure::ResultTooLarge => false,
    }
}

/// Returns whether a step with unknown effects may be made before this one: any that does not wait for it.
fn may_follow_unknown(plan: &CheckedPlan, outlooks: &[StepOutlook], index: usize) -> bool {
    let mut waits = vec![false; plan.steps.len()];
    waits[index] = true;
    // A step can wait for one that is written after it, so that one pass may not find all.
    while let Some(next) = (0..waits.len()).find(|step| {
        let step = (*step, &plan.steps[*step]);
        !waits[step.0] && step.1.after.iter().chain(&step.1.follows).any(|before| waits[*before])
    }) {
        waits[next] = true;
    }
    outlooks.iter().zip(waits).any(|(outlook, waits)| !waits && outlook.fate == StepFate::Unforeseen)
}
