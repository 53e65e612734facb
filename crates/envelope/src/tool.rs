//! Tool declarations, and the catalog that plans are checked against.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ReceiptFamily, Risk, SideEffect, ToolName};

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

/// Whether calls of a tool can run in parallel with other calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Concurrency {
    /// In parallel with all calls whose paths do not overlap.
    Parallel,
    /// Alone: no other call runs meanwhile.
    Serial,
}

/// The effect of running the same call twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Idempotency {
    /// No further effect: safe to run again after a crash or a timeout.
    Idempotent,
    /// Possibly a further effect: never run again without a check.
    NotIdempotent,
}

/// The declaration of a tool: the single source of its help, listing, checks and policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolDecl {
    pub name: ToolName,
    pub version: String,
    /// One sentence that starts with a verb.
    pub summary: String,
    pub category: String,
    /// Selects how its results are bounded and rendered.
    #[serde(default)]
    pub family: ReceiptFamily,
    pub risk_level: Risk,
    pub side_effects: Vec<SideEffect>,
    /// The requirements of the tool; empty means always available.
    pub availability: Vec<Requirement>,
    pub concurrency: Concurrency,
    pub idempotency: Idempotency,
    pub cancellable: bool,
    pub timeout_ms: u64,
    pub input_schema: Value,
    pub output_schema: Value,
}

impl ToolDecl {
    /// Returns the name for providers and clients that refuse dots, dashes or long names. If two tools have
    /// the same alias, the registry gives the second another one.
    pub fn alias(&self) -> String {
        crate::alias::alias(self.name.as_str())
    }
}

/// One mismatch between a value and a schema, in words that its author can act on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchemaProblem {
    /// JSON pointer to the value, or to the object that lacks a field.
    pub pointer: String,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// True if the problem comes from a choice (`anyOf`, `oneOf`) and may disappear once a reference below
    /// `pointer` is replaced by its value.
    #[serde(default)]
    pub from_choice: bool,
}

/// The tools that a plan is checked against. Pure: answers from declarations, runs nothing.
pub trait ToolCatalog {
    /// Finds a tool by its name or alias.
    fn tool(&self, name: &str) -> Option<&ToolDecl>;

    /// Returns every visible name, for "did you mean" hints.
    fn names(&self) -> Vec<&str>;

    /// Returns the reason why a known tool cannot be used in this run, if there is one.
    fn blocked(&self, name: &str) -> Option<String>;

    /// Checks arguments against the tool's compiled input schema; empty when they match.
    fn check_input(&self, name: &str, args: &Value) -> Vec<SchemaProblem>;

    /// Checks what the tool can judge of arguments without I/O, such as a path that leaves the vault.
    fn check_values(&self, _name: &str, _args: &Value) -> Vec<SchemaProblem> {
        Vec::new()
    }
}

/// A catalog without the judgement of values. For a single call: one with a path that it must not use is recorded as
/// denied, like one of a model. For a run that has begun: its plan was admitted by the rules of its time.
pub struct SchemasOnly<'a>(pub &'a dyn ToolCatalog);

impl ToolCatalog for SchemasOnly<'_> {
    fn tool(&self, name: &str) -> Option<&ToolDecl> {
        self.0.tool(name)
    }

    fn names(&self) -> Vec<&str> {
        self.0.names()
    }

    fn blocked(&self, name: &str) -> Option<String> {
        self.0.blocked(name)
    }

    fn check_input(&self, name: &str, args: &Value) -> Vec<SchemaProblem> {
        self.0.check_input(name, args)
    }
}
