//! One call of a run, from its two records.

use envelope::{
    CallId, Cancellation, Change, Mutation, Phase, PhaseFact, PhaseOutcome, Status, Timestamp, ToolCall,
    ToolError, ToolName, ToolResult,
};
use serde::Serialize;

/// What is told about one attempt at one call.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CallStory {
    pub(super) call_id: CallId,
    pub(super) tool: ToolName,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) index: Option<u64>,
    pub(super) attempt: u32,
    /// `None`: it was started and no result is recorded.
    pub(super) status: Option<Status>,
    pub(super) started_at: Timestamp,
    pub(super) duration_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) preview: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) said: Option<String>,
    /// The phase that ended it, if it did not work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ended_in: Option<Phase>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<ToolError>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) mutations: Vec<Mutation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cancellation: Option<Cancellation>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) reconciled: bool,
    /// What it changed in the vault; of a call without a result, what it was about to change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) changes: Vec<Change>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) receipt: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) phases: Vec<PhaseFact>,
}

/// The part of a call that is kept until its result comes.
pub(super) struct Pending {
    index: Option<u64>,
    preview: Option<String>,
}

impl Pending {
    pub(super) fn of(call: &ToolCall) -> Pending {
        Pending {
            index: call.iteration.as_ref().map(|iteration| iteration.index),
            preview: call.preview.clone(),
        }
    }
}

impl CallStory {
    /// A call with its result. A call that never started has no record of its own.
    pub(super) fn ended(pending: Option<Pending>, result: ToolResult) -> CallStory {
        let (index, preview) = pending.map_or((None, None), |call| (call.index, call.preview));
        let ended_in = result.phases.iter().find(|fact| matches!(fact.outcome, PhaseOutcome::Failed(_)));
        CallStory {
            index,
            preview,
            ended_in: ended_in.map(|fact| fact.phase),
            call_id: result.call_id,
            tool: result.tool,
            attempt: result.attempt,
            status: Some(result.status),
            started_at: result.started_at,
            duration_ms: result.duration_ms,
            said: result.user_message,
            error: result.error,
            mutations: result.mutations,
            cancellation: result.cancellation,
            reconciled: result.reconciled,
            changes: result.changes,
            receipt: result.receipt,
            phases: result.phases,
        }
    }

    /// A call that was started and never came back.
    pub(super) fn open(call: ToolCall) -> CallStory {
        let Pending { index, preview } = Pending::of(&call);
        CallStory {
            index,
            preview,
            call_id: call.call_id,
            tool: call.tool,
            attempt: call.attempt,
            status: None,
            started_at: call.created_at,
            duration_ms: 0,
            said: None,
            ended_in: None,
            error: None,
            mutations: Vec::new(),
            cancellation: None,
            reconciled: false,
            changes: call.intent,
            receipt: None,
            phases: Vec::new(),
        }
    }

    /// Worth a line even in a loop of a thousand.
    pub(super) fn is_notable(&self) -> bool {
        self.status != Some(Status::Ok)
            || self.attempt > 1
            || self.reconciled
            || self.cancellation.is_some()
            || !self.mutations.is_empty()
    }
}
