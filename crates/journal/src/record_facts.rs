//! The facts of a record that `verify` needs, parsed without building the whole record.
//!
//! Most bytes of a log are arguments and outputs. Because they are skipped, a log is verified at the speed of
//! its hash.

use std::borrow::Cow;

use envelope::{
    Artifact, CallId, DataRef, EventType, Hash, RunId, Status, StepId, Timestamp, ToolError, ToolName,
    ToolResult, VaultChange,
};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::record_lines::present;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CallFacts<'a> {
    #[serde(borrow)]
    pub call_id: Cow<'a, str>,
    #[serde(borrow, default)]
    pub run_id: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResultFacts<'a> {
    #[serde(borrow)]
    pub call_id: Cow<'a, str>,
    #[serde(borrow, default)]
    pub run_id: Option<Cow<'a, str>>,
    status: Status,
    ok: bool,
    #[serde(default)]
    data: Option<IgnoredAny>,
    #[serde(default)]
    pub data_ref: Option<DataRef>,
    #[serde(default)]
    error: Option<IgnoredAny>,
    #[serde(default)]
    canonical: Option<IgnoredAny>,
    #[serde(default, deserialize_with = "present")]
    user_message: Option<Option<IgnoredAny>>,
    #[serde(default)]
    effects: Option<IgnoredAny>,
    #[serde(default)]
    pub changes: Vec<VaultChange>,
    #[serde(default)]
    pub artifacts: Vec<Artifact>,
    #[serde(default)]
    phases: Vec<IgnoredAny>,
}

impl ResultFacts<'_> {
    /// Whether the result is of a step that never started: no phase ran and nothing was done, so no call
    /// exists.
    pub(crate) fn never_started(&self) -> bool {
        self.status != Status::Ok && self.phases.is_empty() && self.effects.is_none()
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EventFacts<'a> {
    #[serde(rename = "type")]
    pub event_type: EventType,
    #[serde(borrow, default)]
    pub run_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub payload: Option<&'a RawValue>,
}

/// An empty result that facts are copied into, so that the invariants between its fields are defined in one
/// place.
pub(crate) struct ResultRules {
    shape: Option<ToolResult>,
}

impl ResultRules {
    pub(crate) fn new() -> ResultRules {
        let shape = || {
            Some(ToolResult {
                call_id: CallId::parse("-").ok()?,
                run_id: RunId::parse("-").ok()?,
                step_id: StepId::parse("a").ok()?,
                tool: ToolName::parse("a").ok()?,
                attempt: 1,
                status: Status::Ok,
                ok: true,
                data: None,
                data_hash: None,
                data_ref: None,
                error: None,
                started_at: Timestamp::UNIX_EPOCH,
                ended_at: Timestamp::UNIX_EPOCH,
                duration_ms: 0,
                effects: None,
                changes: Vec::new(),
                artifacts: Vec::new(),
                user_message: None,
                debug_message: None,
                canonical: None,
                receipt: None,
                phases: Vec::new(),
                mutations: Vec::new(),
                cancellation: None,
                context_modifiers: Vec::new(),
                reconciled: false,
                incomplete: None,
            })
        };
        ResultRules { shape: shape() }
    }

    /// Returns the invariant that a result violates, if any. In a short line, the message can be left out if the
    /// canonical result has it.
    pub(crate) fn broken_invariant(
        &mut self,
        facts: &ResultFacts<'_>,
        is_short: bool,
    ) -> Option<&'static str> {
        let shape = self.shape.as_mut()?;
        shape.status = facts.status;
        shape.ok = facts.ok;
        shape.data = (facts.data.is_some() || facts.data_ref.is_some()).then_some(Value::Null);
        shape.error = facts.error.is_some().then(|| ToolError {
            code: String::new(),
            message: String::new(),
            details: None,
            retryable: None,
            kind: None,
            recovery_hint: None,
        });
        let has_message = match &facts.user_message {
            Some(message) => message.is_some(),
            None => is_short && facts.canonical.is_some(),
        };
        shape.user_message = has_message.then(String::new);
        shape.broken_invariant()
    }
}

/// Returns a call's id in sixteen bytes, so that a million of them take little memory.
pub(crate) fn compact_id(call_id: &str) -> u128 {
    let hash = Hash::of(call_id.as_bytes());
    hash.as_bytes().iter().take(16).fold(0, |number, byte| number << 8 | u128::from(*byte))
}
