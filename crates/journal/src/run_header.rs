//! `run.json`: the plan of a run, its tools and its policy.
//!
//! Together with the logs it is all a reader needs: a run can be explained and replayed from its folder
//! alone. The header never changes, and the chain starts from its hash; only the confirmation is added later.

use std::path::Path;

use envelope::{Confirmation, Hash, RunId, Timestamp, ToolDecl, canonical_hash};
use plan::{RunLimits, SiblingPolicy};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::JournalError;
use crate::log_kind::ChainHead;

pub(crate) const RUN_FILE: &str = "run.json";
const CONFIRMATION: &str = "confirmation";

/// The kind of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunKind {
    /// A whole plan.
    Plan,
    /// One call of the command line, recorded as a plan of one step.
    Call,
    /// Undoes the changes of other runs. The undo of an undo is a redo.
    Undo,
    /// Undoes a part of the changes of other runs; the rest can be undone later.
    #[serde(rename = "partial-undo")]
    PartialUndo,
    /// Single calls without a plan, such as those of a model in a conversation.
    Session,
}

impl RunKind {
    /// Returns true for a run that undoes other runs, also in part.
    pub fn is_undo(self) -> bool {
        match self {
            RunKind::Undo | RunKind::PartialUndo => true,
            RunKind::Plan | RunKind::Call | RunKind::Session => false,
        }
    }
}

/// The fixed part of `run.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunHeader {
    /// [`RunHeader::FORMAT`].
    pub format: u32,
    pub run_id: RunId,
    pub created_at: Timestamp,
    pub kind: RunKind,
    /// The runs whose changes this one undoes, newest first. More than one if an earlier undo stopped midway
    /// and another continued it: a redo undoes both.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undoes: Vec<RunId>,
    /// The vault of the run. The run is refused in every other vault. Runs of earlier builds name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vault: Option<String>,
    /// The plan as it was submitted.
    pub plan: Value,
    /// [`canonical_hash`] of `plan`.
    pub plan_hash: Hash,
    /// The whole policy, including the parts that calls do not carry.
    pub policy: Value,
    /// [`canonical_hash`] of `policy`.
    pub policy_hash: Hash,
    /// The declarations of the tools that the plan uses.
    pub tools: Vec<ToolDecl>,
    pub registry_version: String,
    pub executor_version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planner_version: Option<String>,
    pub limits: RunLimits,
    pub sibling: SiblingPolicy,
    /// True if the user was to be asked before the first call.
    pub confirm: bool,
}

impl RunHeader {
    /// The format version of run folders that this build writes and reads.
    pub const FORMAT: u32 = 1;
}

/// `run.json` as read: the header, the confirmation if one was given, and the start of the chain.
#[derive(Debug, Clone)]
pub(crate) struct RunFile {
    pub header: RunHeader,
    pub confirmation: Option<Confirmation>,
    pub genesis: Hash,
}

impl RunFile {
    pub(crate) fn new(header: &RunHeader) -> RunFile {
        // A header always has a JSON form; otherwise `to_json` would fail before anything is written.
        let value = serde_json::to_value(header).unwrap_or_default();
        RunFile { header: header.clone(), confirmation: None, genesis: canonical_hash(&value) }
    }

    pub(crate) fn start(&self) -> ChainHead {
        ChainHead { seq: 0, hash: self.genesis }
    }

    pub(crate) fn to_json(&self) -> Result<Vec<u8>, JournalError> {
        let mut value = serde_json::to_value(&self.header).map_err(JournalError::NotJson)?;
        if let (Some(confirmation), Some(fields)) = (&self.confirmation, value.as_object_mut()) {
            let confirmation = serde_json::to_value(confirmation).map_err(JournalError::NotJson)?;
            fields.insert(CONFIRMATION.to_owned(), confirmation);
        }
        let mut text = serde_json::to_vec_pretty(&value).map_err(JournalError::NotJson)?;
        text.push(b'\n');
        Ok(text)
    }

    pub(crate) fn parse(path: &Path, text: &[u8]) -> Result<RunFile, JournalError> {
        let bad = |why: String| JournalError::BadHeader { path: path.join(RUN_FILE), why };
        let mut value: Value = serde_json::from_slice(text).map_err(|error| bad(error.to_string()))?;
        let confirmation = match value.as_object_mut().and_then(|fields| fields.shift_remove(CONFIRMATION)) {
            Some(given) => Some(serde_json::from_value(given).map_err(|error| bad(error.to_string()))?),
            None => None,
        };
        // The hash covers the file's content and not only the fields that this build knows: a change must not
        // be hidden in an unknown field.
        let genesis = canonical_hash(&value);
        let header: RunHeader = serde_json::from_value(value).map_err(|error| bad(error.to_string()))?;
        if header.format != RunHeader::FORMAT {
            return Err(bad(format!(
                "its format is {}, this build reads {}",
                header.format,
                RunHeader::FORMAT
            )));
        }
        Ok(RunFile { header, confirmation, genesis })
    }
}
