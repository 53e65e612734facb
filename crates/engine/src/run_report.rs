//! The report of a run, for the front end that started it.

use std::path::PathBuf;

use envelope::{ConfirmationId, Effects, Hash, RunId};
use journal::ChainHead;
use plan::{RunOutcome, RunStatus, StepSummary};
use serde::Serialize;
use serde_json::{Map, Value};

/// Summary of a run. Everything in it can be derived again from the run folder.
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
    /// Head of the hash chain. Stored elsewhere, it proves that the record was not changed or cut since. Absent if the
    /// record could not be completed: its last line is then unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain_head: Option<ChainHead>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_dir: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Set if the record, or a file that belongs to it, could not be written. The run folder then holds the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub journal_error: Option<String>,
}

/// Returns the outcome of a run whose machine has not finished.
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
                carried: 0,
                incomplete: None,
                failed: 0,
                error: None,
            })
            .collect(),
        outputs: Map::new(),
        reason: Some(reason.to_owned()),
    }
}
