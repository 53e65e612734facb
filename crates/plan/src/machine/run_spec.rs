//! The immutable start parameters of a run.

use std::sync::Arc;

use envelope::{PolicySnapshot, RunId};
use serde::{Deserialize, Serialize};

use super::CarriedCalls;
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
    /// True if the user is asked before the first call.
    pub confirm: bool,
    pub sibling: SiblingPolicy,
    /// Calls of the run that this one continues.
    pub carried: Arc<CarriedCalls>,
}

/// Limits of a run, whatever its plan asks for. No `Default`: the caller decides.
///
/// Zero parallel calls or zero attempts would be a run that cannot end, so they count as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunLimits {
    pub max_parallel: u32,
    pub max_attempts: u32,
    /// A foreach with more items asks before it starts.
    pub max_foreach_items: u64,
    pub max_backoff_ms: u64,
}

/// The effect of an item's final failure on the following items of its foreach. Never depends on the degree
/// of parallelism.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SiblingPolicy {
    /// Every item is attempted.
    Ignore,
    /// Items run one after another, and none is started after the first failure: every foreach is taken to have
    /// `stopOnError`.
    CancelSiblings,
    /// A later item that touches the paths of a failed one is cancelled. Only the scheduler of calls knows
    /// the paths, so the machine treats this as `Ignore`.
    CancelDependents,
}
