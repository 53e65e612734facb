//! Differences between a recorded run and its replay.

use std::fmt;

use envelope::{CallId, StepId};
use plan::RunStatus;
use serde::{Deserialize, Serialize};

use crate::log_kind::Seq;

/// The result of replaying a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplayReport {
    /// Number of calls that were derived and found in the record.
    pub calls: u64,
    /// Empty if every call follows from the plan and the recorded results.
    pub divergences: Vec<Divergence>,
    /// True if the record includes the end of the run and the replay reached it.
    pub complete: bool,
    /// The final status of the replayed run, if it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<RunStatus>,
}

/// One difference between the replay and the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Divergence {
    pub what: DivergenceKind,
    /// The record, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<Seq>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<CallId>,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DivergenceKind {
    /// The derived arguments differ from the recorded ones.
    Args,
    /// The recorded arguments do not have the recorded hash.
    ArgsHash,
    Tool,
    Attempt,
    /// The call was made under a confirmation other than the one that was given.
    Confirmation,
    /// The record has a call that the plan does not derive.
    UnexpectedCall,
    /// The plan derives a call that a finished run did not record.
    MissingCall,
    /// The record has a result for a call that the plan does not derive.
    UnexpectedResult,
    /// The run decides a result itself that a finished run did not record.
    MissingResult,
    /// The final status differs from the recorded one.
    Status,
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(seq) = self.seq {
            write!(f, "record {seq}, ")?;
        }
        if let Some(step) = &self.step {
            write!(f, "step `{step}`: ")?;
        }
        f.write_str(&self.message)
    }
}
