//! A plan that passed the checker, in the form the machine runs.
//!
//! Everything that can be decided once is decided here: templates are compiled, tools are resolved, the
//! order is an index list, defaults are filled in. Only the checker makes one.

use std::sync::Arc;

use envelope::{ActionPlan, Hash, OnError, Retry, StepId, ToolDecl, VarName};
use serde_json::{Map, Value};

use crate::Template;

/// An accepted plan.
#[derive(Debug, Clone)]
pub struct CheckedPlan {
    pub plan: Arc<ActionPlan>,
    /// The canonical hash of the plan as JSON: what a confirmation binds.
    pub hash: Hash,
    /// In plan order.
    pub steps: Vec<CheckedStep>,
    pub outputs: Template,
    /// The plan's own variables. Captured ones join them while the plan runs.
    pub vars: Map<String, Value>,
}

/// A step with its tool resolved and its defaults filled in.
#[derive(Debug, Clone)]
pub struct CheckedStep {
    pub id: StepId,
    /// The tool under its real name, even when the plan used its alias.
    pub decl: Arc<ToolDecl>,
    pub args: Template,
    pub preview: Option<Template>,
    pub foreach: Option<CheckedForeach>,
    /// Indices of the steps that must be settled before: `dependsOn` and references, ascending, each once.
    pub after: Vec<usize>,
    /// Indices of the steps that must be over before. This step is skipped if one of them ended the run. Ascending,
    /// none of them in `after`.
    pub follows: Vec<usize>,
    /// Whether anything refers to the output, so that it must be kept.
    pub keep_output: bool,
    pub capture_as: Option<VarName>,
    pub on_error: OnError,
    pub retry: Retry,
    /// Of the step, else of the plan's defaults, else of the tool.
    pub timeout_ms: u64,
    pub tags: Vec<String>,
}

/// A loop with its names filled in.
#[derive(Debug, Clone)]
pub struct CheckedForeach {
    pub from: Template,
    pub item_name: VarName,
    pub index_name: VarName,
    pub concurrency: Option<u32>,
    /// Whether the items run one after another and the first failure leaves the rest out.
    pub stop_on_error: bool,
}
