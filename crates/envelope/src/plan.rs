//! The plan that a model writes and the user confirms.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Risk, StepId, VarName};

/// The plan format this build reads and writes.
pub const PLAN_VERSION: &str = "1.0";

/// A plan: the goal, and the steps that reach it, each a tool and its arguments.
///
/// Strict: an unknown field is an error. `plan::check` reports all errors at once with their nearest known
/// name; the derived reader here only guarantees that no unknown field is accepted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
// The published description keeps its wording, because `schemas/action-plan.json` is part of the interface.
#[schemars(description = "A plan: what is to be done, in steps, each a tool and its arguments.\n\n\
    Strict: an unknown field is an error. `plan::parse` reports all errors at once with their nearest known\n\
    name; the derived reader here only guarantees that nothing unknown slips in.")]
pub struct ActionPlan {
    /// The plan format.
    #[schemars(schema_with = "version_schema")]
    pub version: String,
    /// The user's aim, in a sentence.
    #[schemars(length(min = 1))]
    pub goal: String,
    /// The highest risk of any step's tool.
    pub risk_level: Risk,
    /// The steps. They run in an order that satisfies `dependsOn` and every reference.
    #[schemars(length(min = 1))]
    pub steps: Vec<PlanStep>,
    /// Assumptions of the planner. They are shown in the question before the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumptions: Vec<String>,
    /// Questions that the planner had. A run does not answer them; the question before the run shows them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context_requests: Vec<ContextRequest>,
    /// Values that steps refer to as `$vars.<name>` or `{vars.<name>}`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub vars: Map<String, Value>,
    /// What holds for steps that say nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub defaults: Option<PlanDefaults>,
    /// Named values, usually references, that the run reports when it is done.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub outputs: Map<String, Value>,
    /// Free-form hints for user interfaces; `title` is shown above the plan.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub ui_hints: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(rename = "Step")]
pub struct PlanStep {
    /// Unique in the plan; other steps refer to this one by it.
    pub id: StepId,
    /// The tool's name, such as `vault.createFile`.
    #[schemars(length(min = 1))]
    pub tool: String,
    /// The tool's arguments. A string that is wholly `$steps.<id>.<path>` or `$vars.<name>.<path>` becomes
    /// that value; `{item.path}`, `{index}`, `{vars.x}` and `{steps.id.path}` inside a string become text.
    pub args: Map<String, Value>,
    /// One line for the person: a verb, then the path or command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// Steps that must have finished before this one starts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<StepId>,
    /// Runs the step once for each item of a list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreach: Option<Foreach>,
    /// Keeps the step's output as a variable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture_as: Option<VarName>,
    /// What a failure means for the rest of the plan. Default `stop`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_error: Option<OnError>,
    /// How often and how patiently to try again; goes with `onError: "retry"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// How long one attempt may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 86_400_000))]
    pub timeout_ms: Option<u64>,
    /// True: the step fails if its command exits with another status than 0. Left out or false: the status is data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fail_on_exit: Option<bool>,
    /// Labels that are recorded with the plan. They change nothing in a run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(inline)]
pub struct Foreach {
    /// The list: a reference such as `$steps.parse.items`, or the list itself.
    pub from: Value,
    /// What one item is called in templates.
    pub item_name: VarName,
    /// What the position, counted from 0, is called in templates. Default `index`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index_name: Option<VarName>,
    /// How many items run at the same time, within the policy's limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 64))]
    pub concurrency: Option<u32>,
    /// True runs the items one after another and stops at the first one that fails. Left out or false: every
    /// item is attempted, whatever happens to the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_on_error: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum OnError {
    /// Run nothing that comes after this step. Steps that only read and do not wait for it go on.
    Stop,
    /// Skip what depends on this step and go on with the rest.
    Skip,
    /// Try again as `retry` says, then stop.
    Retry,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(inline)]
pub struct Retry {
    /// Attempts in all, the first included.
    #[schemars(range(min = 1, max = 10))]
    pub max_attempts: u32,
    /// The wait before the second attempt; it doubles from there.
    #[schemars(range(min = 0, max = 600_000))]
    pub backoff_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(inline)]
#[schemars(rename = "Defaults")]
pub struct PlanDefaults {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_error: Option<OnError>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 86_400_000))]
    pub timeout_ms: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(inline)]
pub struct ContextRequest {
    pub kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Map<String, Value>>,
}

fn version_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": "string", "const": PLAN_VERSION })
}

/// The published JSON Schema of a plan (`schemas/action-plan.json` is this, printed).
pub fn action_plan_schema() -> Value {
    schemars::schema_for!(ActionPlan).to_value()
}
