//! The part of the policy that every call carries, as of the time of the call.

use serde::{Deserialize, Serialize};

/// The policy that applied to a call. Shared by all calls of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicySnapshot {
    pub confirmations_required: bool,
    pub sandbox: SandboxSnapshot,
    pub limits: LimitsSnapshot,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxSnapshot {
    pub enabled: bool,
    pub allowed_roots: Vec<String>,
    pub deny_patterns: Vec<String>,
}

impl SandboxSnapshot {
    /// Returns the sandbox of the tools of a vault. Records leave it out, so it can only change together with their
    /// format.
    pub fn of_vault() -> SandboxSnapshot {
        SandboxSnapshot {
            enabled: true,
            allowed_roots: vec!["/".to_owned()],
            deny_patterns: vec!["..".to_owned(), "://".to_owned()],
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LimitsSnapshot {
    pub max_concurrency: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_timeout_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_foreach_items: Option<u64>,
}
