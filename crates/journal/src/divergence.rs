//! Where a recorded run is not what follows from its plan and its results.

use std::fmt;

use envelope::{CallId, StepId};
use plan::RunStatus;
use serde::{Deserialize, Serialize};

use crate::kind::Seq;

/// What came out of deriving a run again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Replay {
    /// Calls that were derived and found in the record.
    pub calls: u64,
    /// Empty: every call follows from the plan and the recorded results.
    pub divergences: Vec<Divergence>,
    /// The record goes to the end of the run, and so did the replay.
    pub complete: bool,
    /// How the derived run ended, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<RunStatus>,
}

/// One difference between what was derived and what was recorded.
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
    /// Other arguments follow from the plan than were recorded.
    Args,
    /// The recorded arguments do not have the recorded hash.
    ArgsHash,
    Tool,
    Attempt,
    /// The call was made under another yes than the one that was given.
    Confirmation,
    /// A recorded call that the plan never asks for.
    UnexpectedCall,
    /// A call that the plan asks for, never recorded although the run is finished.
    MissingCall,
    /// A recorded result of nothing that the plan asks for.
    UnexpectedResult,
    /// A result that the run decides by itself, never recorded although the run is finished.
    MissingResult,
    /// The run ended otherwise than recorded.
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
