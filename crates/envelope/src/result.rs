//! The result of one call.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    Artifact, CallId, CanonicalResult, Effects, Failure, Hash, Mutation, PhaseFact, RunId, StepId, Timestamp,
    ToolName, VaultChange,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Ok,
    Error,
    Timeout,
    Cancelled,
    Skipped,
}

impl Status {
    pub const fn name(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Error => "error",
            Status::Timeout => "timeout",
            Status::Cancelled => "cancelled",
            Status::Skipped => "skipped",
        }
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The outcome of one call in one shape, whether it succeeded, failed, timed out, was cancelled or skipped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    pub call_id: CallId,
    pub run_id: RunId,
    pub step_id: StepId,
    pub tool: ToolName,
    pub attempt: u32,
    pub status: Status,
    /// True if `status` is ok, for readers without a table of statuses.
    pub ok: bool,
    /// The tool's complete output, valid against its output schema; or `data_ref` when it is large.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_hash: Option<Hash>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_ref: Option<DataRef>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ToolError>,
    pub started_at: Timestamp,
    pub ended_at: Timestamp,
    pub duration_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effects: Option<Effects>,
    /// The changes to the vault, in the order in which they were made, each with its undo information.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<VaultChange>,
    /// The files that the call wrote beside its record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_message: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub debug_message: Option<String>,
    /// The bounded, structured form that compaction and programs work on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canonical: Option<CanonicalResult>,
    /// The text for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<String>,
    /// The facts of each phase, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseFact>,
    /// Every change between the model's input and the tool's arguments, and between the tool's output and the
    /// recorded output.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mutations: Vec<Mutation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancellation: Option<Cancellation>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context_modifiers: Vec<ContextModifier>,
    /// True if the result was determined after a crash instead of reported by the tool.
    #[serde(default, skip_serializing_if = "is_false")]
    pub reconciled: bool,
    /// The part of its work that an ok call could not do. Its step is then partial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<String>,
}

fn is_false(value: &bool) -> bool {
    !value
}

impl ToolResult {
    /// Returns the first violated invariant between the fields; `verify` checks every record with it.
    pub fn broken_invariant(&self) -> Option<&'static str> {
        let has_data = self.data.is_some() || self.data_ref.is_some();
        match self.status {
            Status::Ok if !self.ok => Some("`ok` is false although `status` is ok"),
            Status::Ok if !has_data => Some("`status` is ok but there is no `data`"),
            Status::Ok if self.error.is_some() => Some("`status` is ok but there is an `error`"),
            Status::Ok => None,
            Status::Error | Status::Timeout | Status::Cancelled | Status::Skipped if self.ok => {
                Some("`ok` is true although `status` is not ok")
            }
            Status::Error | Status::Timeout | Status::Cancelled if self.error.is_none() => {
                Some("`status` is not ok but there is no `error`")
            }
            Status::Skipped if self.error.is_none() && self.user_message.is_none() => {
                Some("a skipped call gives no reason")
            }
            Status::Error | Status::Timeout | Status::Cancelled | Status::Skipped if has_data => {
                Some("a call that is not ok carries `data`")
            }
            Status::Error | Status::Timeout | Status::Cancelled | Status::Skipped => None,
        }
    }
}

/// The reason why a call is not ok.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolError {
    pub code: String,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Map<String, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
    /// The kind of failure, from the closed list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Failure>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_hint: Option<String>,
}

/// Reference to a large `data`, stored once by its hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataRef {
    pub hash: Hash,
    pub bytes: u64,
}

/// The course of a cancellation: when it was requested, whether the tool responded, and how that ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cancellation {
    pub requested_at: Timestamp,
    /// When the tool ended after the request; absent if it did not within its grace period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledged_at: Option<Timestamp>,
    /// True if no part of the call is still running.
    pub done: bool,
}

/// A change to the context of later calls of the run, requested by a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContextModifier {
    pub key: String,
    pub value: Value,
    /// False if the call ran in parallel with others, because the order of changes would be a race.
    pub applied: bool,
}
