//! The twelve phases of a call, and the facts that they record.

use serde::{Deserialize, Serialize};

use crate::Failure;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    ResolveTool,
    ParseSchema,
    ValidateValues,
    PrepareObservableInput,
    PreHooks,
    Permission,
    Schedule,
    Execute,
    MapResult,
    PostHooks,
    PersistResult,
    EmitTerminal,
}

impl Phase {
    pub const ALL: [Phase; 12] = [
        Phase::ResolveTool,
        Phase::ParseSchema,
        Phase::ValidateValues,
        Phase::PrepareObservableInput,
        Phase::PreHooks,
        Phase::Permission,
        Phase::Schedule,
        Phase::Execute,
        Phase::MapResult,
        Phase::PostHooks,
        Phase::PersistResult,
        Phase::EmitTerminal,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Phase::ResolveTool => "resolve_tool",
            Phase::ParseSchema => "parse_schema",
            Phase::ValidateValues => "validate_values",
            Phase::PrepareObservableInput => "prepare_observable_input",
            Phase::PreHooks => "pre_hooks",
            Phase::Permission => "permission",
            Phase::Schedule => "schedule",
            Phase::Execute => "execute",
            Phase::MapResult => "map_result",
            Phase::PostHooks => "post_hooks",
            Phase::PersistResult => "persist_result",
            Phase::EmitTerminal => "emit_terminal",
        }
    }
}

impl std::fmt::Display for Phase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseOutcome {
    #[default]
    Ok,
    /// The phase ended the call with this failure.
    Failed(Failure),
}

impl PhaseOutcome {
    fn is_ok(&self) -> bool {
        *self == PhaseOutcome::Ok
    }
}

/// The record of one phase of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseFact {
    pub phase: Phase,
    /// Omitted if ok, to keep the twelve facts of each call short.
    #[serde(default, skip_serializing_if = "PhaseOutcome::is_ok")]
    pub outcome: PhaseOutcome,
    pub micros: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// The origin of a change to an input or an output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Actor {
    /// Tollgate itself, for example by filling in a default.
    Gate,
    /// A hook, by its name.
    Hook(String),
}

/// One change to the model's input or to the tool's output, with its origin, the changed fields and the
/// reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mutation {
    pub phase: Phase,
    pub by: Actor,
    /// JSON pointers into the input (before `execute`) or the output (after it).
    pub fields: Vec<String>,
    pub why: String,
}
