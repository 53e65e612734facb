//! The outcome of a run, step by step.

use envelope::{StepId, ToolError};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunOutcome {
    pub status: RunStatus,
    /// In plan order; every step once.
    pub steps: Vec<StepSummary>,
    /// The outputs of the plan that have a value.
    pub outputs: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// Every step, and every item of every foreach, succeeded.
    Ok,
    Failed,
    Cancelled,
    /// You declined a question.
    Declined,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepSummary {
    pub id: StepId,
    pub status: StepStatus,
    /// Number of started calls, including retries.
    pub calls: u64,
    /// Number of calls that an earlier run has made and this one did not make again.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub carried: u64,
    /// Number of items (or the one call) that failed finally, without retries.
    pub failed: u64,
    /// The work that the first incomplete call could not do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<String>,
    /// The first failure that affected the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ToolError>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepStatus {
    Ok,
    /// A foreach of which some items failed and others succeeded, or a call that could not do everything.
    Partial,
    Failed,
    /// Never started.
    Skipped,
    /// Started, then cut short by a cancel or by the failure of another step.
    Cancelled,
}

impl RunStatus {
    pub const fn name(self) -> &'static str {
        match self {
            RunStatus::Ok => "ok",
            RunStatus::Failed => "failed",
            RunStatus::Cancelled => "cancelled",
            RunStatus::Declined => "declined",
        }
    }
}

impl StepStatus {
    pub const ALL: [StepStatus; 5] =
        [StepStatus::Ok, StepStatus::Partial, StepStatus::Failed, StepStatus::Skipped, StepStatus::Cancelled];

    pub const fn name(self) -> &'static str {
        match self {
            StepStatus::Ok => "ok",
            StepStatus::Partial => "partial",
            StepStatus::Failed => "failed",
            StepStatus::Skipped => "skipped",
            StepStatus::Cancelled => "cancelled",
        }
    }

    /// Whether steps that depend on this one can run: there is an output for them to read.
    pub const fn has_output(self) -> bool {
        match self {
            StepStatus::Ok | StepStatus::Partial => true,
            StepStatus::Failed | StepStatus::Skipped | StepStatus::Cancelled => false,
        }
    }
}

impl std::fmt::Display for RunStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl std::fmt::Display for StepStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
