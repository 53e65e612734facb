//! The canonical result: the bounded, structured form of a call's outcome that receipts are rendered from.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Failure;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CanonicalStatus {
    Success,
    Error,
}

/// The outcome of a call; success and failure have the same fields. Exactly one of `result` and `error` is set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CanonicalResult {
    pub tool_name: String,
    pub status: CanonicalStatus,
    pub summary_text: String,
    pub result: Option<Value>,
    pub error: Option<CanonicalError>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CanonicalError {
    pub kind: Failure,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Map<String, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_hint: Option<String>,
    pub retryable: bool,
}
