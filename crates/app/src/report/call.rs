//! One call of a run, from its two records.

use envelope::{
    CallId, Cancellation, Mutation, Phase, PhaseFact, PhaseOutcome, Status, Timestamp, ToolCall, ToolError,
    ToolName, ToolResult, VaultChange,
};
use serde::Serialize;

/// One attempt at one call.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallDetails {
    pub call_id: CallId,
    pub tool: ToolName,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<u64>,
    pub attempt: u32,
    /// `None` if the call was started and has no result.
    pub status: Option<Status>,
    pub started_at: Timestamp,
    pub duration_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// The caller's remark for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The id of the call in the caller's own records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    #[serde(rename = "said", skip_serializing_if = "Option::is_none")]
    pub user_message: Option<String>,
    /// The phase that ended it, if it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_in: Option<Phase>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ToolError>,
    /// The part of its work that an ok call could not do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mutations: Vec<Mutation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancellation: Option<Cancellation>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reconciled: bool,
    /// Changes to the vault; for a call without a result, the intended ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<VaultChange>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipt: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseFact>,
}

/// The part of a call that is kept until its result is read.
#[derive(Default)]
pub(super) struct CallStart {
    index: Option<u64>,
    preview: Option<String>,
    note: Option<String>,
    request_id: Option<String>,
}

impl CallStart {
    pub(super) fn of(call: &ToolCall) -> CallStart {
        CallStart {
            index: call.iteration.as_ref().map(|iteration| iteration.index),
            preview: call.preview.clone(),
            note: call.note.clone(),
            request_id: call.request_id.clone(),
        }
    }
}

impl CallDetails {
    /// Returns a call with its result. A call that never started has no record of its own.
    pub(super) fn ended(pending: Option<CallStart>, result: ToolResult) -> CallDetails {
        let CallStart { index, preview, note, request_id } = pending.unwrap_or_default();
        let ended_in = result.phases.iter().find(|fact| matches!(fact.outcome, PhaseOutcome::Failed(_)));
        CallDetails {
            index,
            preview,
            note,
            request_id,
            ended_in: ended_in.map(|fact| fact.phase),
            call_id: result.call_id,
            tool: result.tool,
            attempt: result.attempt,
            status: Some(result.status),
            started_at: result.started_at,
            duration_ms: result.duration_ms,
            user_message: result.user_message,
            error: result.error,
            incomplete: result.incomplete,
            mutations: result.mutations,
            cancellation: result.cancellation,
            reconciled: result.reconciled,
            changes: result.changes,
            receipt: result.receipt,
            phases: result.phases,
        }
    }

    /// Returns a call that was started and has no result.
    pub(super) fn open(call: ToolCall) -> CallDetails {
        let CallStart { index, preview, note, request_id } = CallStart::of(&call);
        CallDetails {
            index,
            preview,
            note,
            request_id,
            call_id: call.call_id,
            tool: call.tool,
            attempt: call.attempt,
            status: None,
            started_at: call.created_at,
            duration_ms: 0,
            user_message: None,
            ended_in: None,
            error: None,
            incomplete: None,
            mutations: Vec::new(),
            cancellation: None,
            reconciled: false,
            changes: call.intent,
            receipt: None,
            phases: Vec::new(),
        }
    }

    /// Returns true if the call is listed even in a loop of a thousand.
    pub(super) fn is_notable(&self) -> bool {
        self.status != Some(Status::Ok)
            || self.attempt > 1
            || self.reconciled
            || self.incomplete.is_some()
            || self.cancellation.is_some()
            || !self.mutations.is_empty()
    }
}
