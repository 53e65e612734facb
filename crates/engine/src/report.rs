//! How a run ended, for the door that asked for it.

use std::path::PathBuf;

use envelope::{ConfirmationId, Effects, Hash, RunId};
use journal::ChainHead;
use plan::{RunOutcome, RunStatus, StepSummary};
use serde::Serialize;
use serde_json::{Map, Value};

/// The summary of a run. Everything in it can be derived again from the run folder.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunReport {
    pub run_id: RunId,
    pub status: RunStatus,
    pub plan_hash: Hash,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmation_id: Option<ConfirmationId>,
    pub steps: Vec<StepSummary>,
    pub effects: Effects,
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub outputs: Map<String, Value>,
    /// Kept elsewhere, it proves that nothing was changed or cut off since. Absent when the record could not be
    /// brought to its end: nobody knows then which record is its last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain_head: Option<ChainHead>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_dir: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Set when the record, or something that belongs to it, could not be kept; the run folder then holds what
    /// was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub journal_error: Option<String>,
}

/// A run that ended without the machine saying so, because its record could not be kept.
pub(crate) fn unfinished(plan: &plan::CheckedPlan, reason: &str) -> RunOutcome {
    RunOutcome {
        status: RunStatus::Failed,
        steps: plan
            .steps
            .iter()
            .map(|step| StepSummary {
                id: step.id.clone(),
                status: plan::StepStatus::Skipped,
                calls: 0,
                failed: 0,
                error: None,
            })
            .collect(),
        outputs: Map::new(),
        reason: Some(reason.to_owned()),
    }
}
