//! `run.json`: the plan of a run, and the hashes of its policy and of the declarations of its tools.
//!
//! The policy and the declarations are the same in most runs and larger than the rest of a small run, so they
//! are stored once, by their hash, in the object store. Together with them and the logs a run can be explained
//! and replayed. The header never changes, and the chain starts from its hash, which covers the hashes in it;
//! only the confirmation is added later.

use std::path::Path;

use envelope::{
    Confirmation, Hash, LimitsSnapshot, PolicySnapshot, ReceiptFamily, RunId, SandboxSnapshot, SessionId,
    StepId, Timestamp, ToolDecl, ToolName, canonical_bytes, canonical_hash,
};
use plan::{CarriedCall, CarriedCalls, RunLimits, SiblingPolicy};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

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
    /// The session that this run belongs to, if a client started it. A session groups the single calls and the plans of one
    /// connection or conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The run that this one continues, and the calls that are not made again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continues: Option<Continuation>,
    /// The vault of the run. The run is refused in every other vault. Runs of earlier builds name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vault: Option<String>,
    /// The plan as it was submitted.
    pub plan: Value,
    /// [`canonical_hash`] of `plan`.
    pub plan_hash: Hash,
    /// The whole policy, including the parts that calls do not carry. `None` if it is in the object store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Value>,
    /// [`canonical_hash`] of the policy, and so the hash of its object.
    pub policy_hash: Hash,
    /// The part of the policy that calls carry, apart from `limits`. A line that leaves out the policy of its call has
    /// this one. `None` in runs of earlier builds, whose lines leave out nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_policy: Option<CallPolicy>,
    /// The tools that the plan uses.
    pub tools: Vec<RecordedTool>,
    pub registry_version: String,
    pub executor_version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planner_version: Option<String>,
    pub limits: RunLimits,
    #[serde(default = "ignore_siblings", skip_serializing_if = "ignores_siblings")]
    pub sibling: SiblingPolicy,
    /// True if the user was to be asked before the first call.
    #[serde(default, skip_serializing_if = "is_false")]
    pub confirm: bool,
}

fn ignore_siblings() -> SiblingPolicy {
    SiblingPolicy::Ignore
}

fn ignores_siblings(sibling: &SiblingPolicy) -> bool {
    *sibling == ignore_siblings()
}

fn is_false(value: &bool) -> bool {
    !value
}

/// What [`PolicySnapshot`] has beside the sandbox of the vault and the limits of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallPolicy {
    pub confirmations_required: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_timeout_ms: Option<u64>,
}

impl From<&PolicySnapshot> for CallPolicy {
    fn from(snapshot: &PolicySnapshot) -> CallPolicy {
        CallPolicy {
            confirmations_required: snapshot.confirmations_required,
            call_timeout_ms: snapshot.limits.call_timeout_ms,
        }
    }
}

/// A finished run of the same plan that another run continues.
///
/// The outputs of its calls are copied, so that the run which continues it can be verified and replayed from its own
/// folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Continuation {
    pub run_id: RunId,
    /// The calls that succeeded, also those of runs that `run_id` has continued.
    pub carried: Vec<CarriedCall>,
    /// Calls that failed and may have happened nevertheless. They are made again only after a question.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncertain: Vec<UncertainCall>,
    /// Context that those calls set for later ones.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub context: Map<String, Value>,
}

/// A call whose outcome is unknown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UncertainCall {
    pub step_id: StepId,
    pub tool: ToolName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u64>,
}

/// A tool of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RecordedTool {
    /// The declaration is in the object store.
    Stored(StoredTool),
    /// Runs of earlier builds have the declaration in `run.json`.
    Declared(Box<ToolDecl>),
}

/// A tool whose declaration is in the object store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredTool {
    pub name: ToolName,
    /// For showing results without the declaration.
    pub family: ReceiptFamily,
    /// Hash of the declaration's JSON.
    pub hash: Hash,
}

impl RecordedTool {
    pub fn name(&self) -> &ToolName {
        match self {
            RecordedTool::Stored(tool) => &tool.name,
            RecordedTool::Declared(tool) => &tool.name,
        }
    }

    pub fn family(&self) -> ReceiptFamily {
        match self {
            RecordedTool::Stored(tool) => tool.family,
            RecordedTool::Declared(tool) => tool.family,
        }
    }

    /// Whether the tool was declared like this.
    pub fn is(&self, declaration: &ToolDecl) -> bool {
        match self {
            RecordedTool::Stored(tool) => serde_json::to_vec(declaration)
                .is_ok_and(|bytes| tool.name == declaration.name && tool.hash == Hash::of(&bytes)),
            RecordedTool::Declared(tool) => **tool == *declaration,
        }
    }
}

impl From<ToolDecl> for RecordedTool {
    fn from(tool: ToolDecl) -> RecordedTool {
        RecordedTool::Declared(Box::new(tool))
    }
}

impl RunHeader {
    /// The format version of run folders that this build writes.
    pub const FORMAT: u32 = 3;
    /// The first format whose plans were all read with [`plan::BraceRule::AroundScope`].
    pub(crate) const BRACES_AROUND_SCOPE: u32 = 2;
    /// The first format whose lines leave out what `run.json` says.
    pub(crate) const SHORT_LINES: u32 = 3;
    /// The oldest format version that this build reads: the policy and the declarations are in `run.json`.
    const OLDEST_FORMAT: u32 = 1;

    /// Returns the policy of the calls whose lines have none.
    pub(crate) fn call_policy_snapshot(&self) -> Option<PolicySnapshot> {
        self.call_policy.map(|policy| PolicySnapshot {
            confirmations_required: policy.confirmations_required,
            sandbox: SandboxSnapshot::of_vault(),
            limits: LimitsSnapshot {
                max_concurrency: self.limits.max_parallel,
                max_attempts: Some(self.limits.max_attempts),
                call_timeout_ms: policy.call_timeout_ms,
                max_foreach_items: Some(self.limits.max_foreach_items),
            },
        })
    }

    /// Returns the calls that are not made again; none if the run continues no other one.
    pub fn carried_calls(&self) -> CarriedCalls {
        CarriedCalls::new(self.continues.iter().flat_map(|run| run.carried.iter().cloned()))
    }

    /// Returns the JSON of `run.json` without the confirmation.
    fn to_json_value(&self) -> serde_json::Result<Value> {
        let mut value = serde_json::to_value(self)?;
        if self.format < RunHeader::SHORT_LINES
            && let Some(fields) = value.as_object_mut()
        {
            // Earlier builds wrote the defaults too, and the chain starts from the hash of what they wrote.
            fields.entry("sibling").or_insert(json!(self.sibling));
            fields.entry("confirm").or_insert(json!(self.confirm));
        }
        Ok(value)
    }

    /// Returns the header with hashes in place of the policy and the declarations, and their contents.
    pub(crate) fn with_hashes(&self) -> Result<(RunHeader, Vec<Vec<u8>>), JournalError> {
        let mut header = self.clone();
        let mut contents: Vec<Vec<u8>> = header.policy.take().iter().map(canonical_bytes).collect();
        for tool in &mut header.tools {
            if let RecordedTool::Declared(declaration) = tool {
                let bytes = serde_json::to_vec(declaration).map_err(JournalError::NotJson)?;
                *tool = RecordedTool::Stored(StoredTool {
                    name: declaration.name.clone(),
                    family: declaration.family,
                    hash: Hash::of(&bytes),
                });
                contents.push(bytes);
            }
        }
        Ok((header, contents))
    }
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
        let value = header.to_json_value().unwrap_or_default();
        RunFile { header: header.clone(), confirmation: None, genesis: canonical_hash(&value) }
    }

    pub(crate) fn start(&self) -> ChainHead {
        ChainHead { seq: 0, hash: self.genesis }
    }

    pub(crate) fn to_json(&self) -> Result<Vec<u8>, JournalError> {
        let mut value = self.header.to_json_value().map_err(JournalError::NotJson)?;
        if let (Some(confirmation), Some(fields)) = (&self.confirmation, value.as_object_mut()) {
            let confirmation = serde_json::to_value(confirmation).map_err(JournalError::NotJson)?;
            fields.insert(CONFIRMATION.to_owned(), confirmation);
        }
        let mut text = serde_json::to_vec(&value).map_err(JournalError::NotJson)?;
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
        if !(RunHeader::OLDEST_FORMAT..=RunHeader::FORMAT).contains(&header.format) {
            return Err(bad(format!(
                "its format is {}, this build reads {} to {}",
                header.format,
                RunHeader::OLDEST_FORMAT,
                RunHeader::FORMAT
            )));
        }
        Ok(RunFile { header, confirmation, genesis })
    }
}
