//! Progress events of a run, for people, web pages and logs.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{CallId, RunId, StepId, Timestamp, ToolName};

/// The type of an event. Events describe the pipeline; the tool is a field, not a variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum EventType {
    #[serde(rename = "run.started")]
    RunStarted,
    #[serde(rename = "run.confirmationRequested")]
    RunConfirmationRequested,
    #[serde(rename = "run.confirmed")]
    RunConfirmed,
    #[serde(rename = "run.cancelled")]
    RunCancelled,
    #[serde(rename = "step.scheduled")]
    StepScheduled,
    #[serde(rename = "step.started")]
    StepStarted,
    #[serde(rename = "step.progress")]
    StepProgress,
    #[serde(rename = "step.finished")]
    StepFinished,
    #[serde(rename = "step.failed")]
    StepFailed,
    #[serde(rename = "run.finished")]
    RunFinished,
}

impl EventType {
    pub const ALL: [EventType; 10] = [
        EventType::RunStarted,
        EventType::RunConfirmationRequested,
        EventType::RunConfirmed,
        EventType::RunCancelled,
        EventType::StepScheduled,
        EventType::StepStarted,
        EventType::StepProgress,
        EventType::StepFinished,
        EventType::StepFailed,
        EventType::RunFinished,
    ];
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EventLevel {
    Info,
    Warn,
    Error,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExecutionEvent {
    #[serde(rename = "type")]
    pub event_type: EventType,
    pub run_id: RunId,
    pub timestamp: Timestamp,
    pub level: EventLevel,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<CallId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_id: Option<StepId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Value>,
}
