//! What a run is started with. Nothing in it changes while the run lives.

use std::sync::Arc;

use envelope::{PolicySnapshot, RunId};
use serde::{Deserialize, Serialize};

use crate::CheckedPlan;

#[derive(Debug, Clone)]
pub struct RunSpec {
    pub run_id: RunId,
    pub plan: Arc<CheckedPlan>,
    pub policy: Arc<PolicySnapshot>,
    pub limits: RunLimits,
    pub executor_version: Arc<str>,
    pub registry_version: Arc<str>,
    pub planner_version: Option<String>,
    /// Whether a person is asked before the first call.
    pub confirm: bool,
    pub sibling: SiblingPolicy,
}

/// How far a run may go, whatever its plan says. No `Default`: whoever starts a run decides.
///
/// Zero parallel calls or attempts would be a run that cannot end; they count as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunLimits {
    pub max_parallel: u32,
    pub max_attempts: u32,
    /// A foreach with more items asks before it starts.
    pub max_foreach_items: u64,
    pub max_backoff_ms: u64,
}

/// What the final failure of one item of a foreach means for the items after it. Never depends on how many run at
/// the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SiblingPolicy {
    /// Every item is attempted.
    Ignore,
    /// Items run one after another, and none is started after the first failure: every foreach is taken to have
    /// `stopOnError`.
    CancelSiblings,
    /// A later item that touches the paths of a failed one is cancelled. Only the scheduler of calls knows those,
    /// so the machine does here as for `Ignore`.
    CancelDependents,
}
