//! One invocation of one tool with concrete arguments.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    CallId, ConfirmationId, Hash, PolicySnapshot, Risk, RunId, StepId, Timestamp, ToolName, VaultChange,
};

/// A call as the executor issues it: everything needed to show, log, cancel, retry and replay it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    pub call_id: CallId,
    pub run_id: RunId,
    pub step_id: StepId,
    pub tool: ToolName,
    /// Counts from 1. Each attempt is its own call with its own result.
    pub attempt: u32,
    /// Complete arguments, without references or templates.
    pub args: Map<String, Value>,
    /// JSON pointers to the parts of `args` that were filled in at run time, for commands only. They were not
    /// visible when the plan was confirmed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filled_in: Vec<String>,
    /// [`crate::canonical_hash`] of `args`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args_hash: Option<Hash>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_at: Option<Timestamp>,
    pub cancellable: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iteration: Option<Iteration>,
    /// Identifies the foreach expansion that this call belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loop_id: Option<String>,
    pub created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planner_version: Option<String>,
    pub executor_version: Arc<str>,
    pub tool_registry_version: Arc<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// The caller's remark for people, from the argument `note`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The id of the call in the caller's own records, from the argument `requestId`. It only traces the call: a second
    /// call with the same id is another call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    pub risk_level: Risk,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<Arc<str>>,
    pub policy: Arc<PolicySnapshot>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmation_id: Option<ConfirmationId>,
    /// The arguments that the tool was called with, if a hook changed them; `args` keeps the plan's
    /// arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub called_with: Option<Map<String, Value>>,
    /// The changes that the call is about to make, with the states before and after each. After a crash they
    /// show whether a change happened, and let it be undone in either case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intent: Vec<VaultChange>,
}

/// The item of a foreach that a call is for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Iteration {
    pub index: u64,
    pub item_name: String,
    pub item_value: Value,
}
