//! How one call ended.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    Artifact, CallId, CanonicalResult, Change, Effects, Failure, Hash, Mutation, PhaseFact, RunId, StepId,
    Timestamp, ToolName,
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

/// The outcome of one call in one shape, whether it worked, failed, timed out, was cancelled or skipped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    pub call_id: CallId,
    pub run_id: RunId,
    pub step_id: StepId,
    pub tool: ToolName,
    pub attempt: u32,
    pub status: Status,
    /// `status == ok`, spelled out for readers that want no table.
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
    /// The changes to the vault, in the order in which they were made, each with what undoes it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// The files that the call left beside its record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_message: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub debug_message: Option<String>,
    /// The bounded, structured form that compaction and programs work on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canonical: Option<CanonicalResult>,
    /// What the model reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<String>,
    /// What each phase found, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseFact>,
    /// Every change between what the model sent and what the tool was called with, or between what the
    /// tool gave and what was kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mutations: Vec<Mutation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancellation: Option<Cancellation>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context_modifiers: Vec<ContextModifier>,
    /// Set when the result was not reported by the tool but found out after a crash.
    #[serde(default, skip_serializing_if = "is_false")]
    pub reconciled: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

impl ToolResult {
    /// The rules that hold between the fields; `verify` checks them on every record it reads.
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

/// Why a call is not ok.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolError {
    pub code: String,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Map<String, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
    /// Which of the closed list of failures it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Failure>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_hint: Option<String>,
}

/// Where a large `data` is kept: once, by its hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataRef {
    pub hash: Hash,
    pub bytes: u64,
}

/// Cancellation as facts: when it was asked for, whether the tool answered, and how that ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cancellation {
    pub requested_at: Timestamp,
    /// When the tool came to an end after the request; absent if it never did within its grace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledged_at: Option<Timestamp>,
    /// True when nothing of the call is running any more.
    pub done: bool,
}

/// A change a tool asked for in what later calls of the run see.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContextModifier {
    pub key: String,
    pub value: Value,
    /// False when the call ran beside others, so that the order of changes would be a race.
    pub applied: bool,
}
