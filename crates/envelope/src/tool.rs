//! What a tool says about itself, and what a plan can be checked against.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Family, Risk, SideEffect, ToolName};

/// Something that must be there for a tool to work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Requirement {
    /// An open vault.
    Vault,
    /// A host application, live or headless.
    Host,
    /// A sandbox for commands.
    CommandSandbox,
    /// A server that this tool belongs to.
    Server,
}

/// Whether calls of a tool may run beside others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Concurrency {
    /// Beside anything whose paths do not overlap.
    Parallel,
    /// Alone: nothing else runs meanwhile.
    Serial,
}

/// What a second run of the same call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Idempotency {
    /// Nothing more than the first: safe to run again after a crash or a timeout.
    Idempotent,
    /// Perhaps more: never run again blindly.
    NotIdempotent,
}

/// The declaration of a tool: the single source of its help, its listing, its checks and its policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolDecl {
    pub name: ToolName,
    pub version: String,
    /// One sentence that starts with a verb.
    pub summary: String,
    pub category: String,
    /// How its results are bounded and worded.
    #[serde(default)]
    pub family: Family,
    pub risk_level: Risk,
    pub side_effects: Vec<SideEffect>,
    /// What must be there; empty means always available.
    pub availability: Vec<Requirement>,
    pub concurrency: Concurrency,
    pub idempotency: Idempotency,
    pub cancellable: bool,
    pub timeout_ms: u64,
    pub input_schema: Value,
    pub output_schema: Value,
}

impl ToolDecl {
    /// The spelling for providers and clients that refuse dots, dashes or long names. Where two tools have the same
    /// one, a registry gives the second another.
    pub fn alias(&self) -> String {
        crate::alias::alias(self.name.as_str())
    }
}

/// One thing that is wrong with a value under a schema, in words its author can act on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchemaProblem {
    /// JSON pointer to the value, or to the object that lacks something.
    pub pointer: String,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Set when the problem comes from a choice (`anyOf`, `oneOf`) and so may vanish once a reference
    /// below `pointer` is replaced by its value.
    #[serde(default)]
    pub from_choice: bool,
}

/// The tools a plan can be checked against. Pure: answers from declarations, runs nothing.
pub trait Catalog {
    /// Finds a tool by its name or alias.
    fn tool(&self, name: &str) -> Option<&ToolDecl>;

    /// Every visible name, for "did you mean".
    fn names(&self) -> Vec<&str>;

    /// Why a known tool cannot be used in this run, if so.
    fn blocked(&self, name: &str) -> Option<String>;

    /// Checks arguments against the tool's compiled input schema; empty when they match.
    fn check_input(&self, name: &str, args: &Value) -> Vec<SchemaProblem>;
}
