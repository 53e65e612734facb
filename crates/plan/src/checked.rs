//! A plan that passed the checker, in the form that the machine runs.
//!
//! Everything that can be decided once is decided here: templates are compiled, tools are resolved, the order
//! is an index list, defaults are filled in. Only the checker creates one from a text; a forecast runs a changed copy.

use std::sync::Arc;

use envelope::{ActionPlan, Failure, Fault, Hash, OnError, Retry, StepId, ToolDecl, ToolError, VarName};
use serde_json::{Map, Value};

use crate::Template;

/// An accepted plan.
#[derive(Debug, Clone)]
pub struct CheckedPlan {
    pub plan: Arc<ActionPlan>,
    /// The canonical hash of the plan as JSON; confirmations are bound to it.
    pub hash: Hash,
    /// In plan order.
    pub steps: Vec<CheckedStep>,
    pub outputs: Template,
    /// The plan's own variables. Captured variables are added during the run.
    pub vars: Map<String, Value>,
}

impl CheckedPlan {
    /// Returns whether every text means the same in both plans.
    pub fn has_same_templates(&self, other: &CheckedPlan) -> bool {
        let texts = |plan: &CheckedPlan| {
            let of_step = |step: &CheckedStep| {
                let from = step.foreach.as_ref().map(|foreach| foreach.from.clone());
                (step.args.clone(), step.preview.clone(), from)
            };
            (plan.steps.iter().map(of_step).collect::<Vec<_>>(), plan.outputs.clone())
        };
        texts(self) == texts(other)
    }
}

/// A step with its tool resolved and its defaults filled in.
#[derive(Debug, Clone)]
pub struct CheckedStep {
    pub id: StepId,
    /// The tool under its canonical name, even if the plan used an alias.
    pub decl: Arc<ToolDecl>,
    pub args: Template,
    pub preview: Option<Template>,
    pub foreach: Option<CheckedForeach>,
    /// Indices of the steps that must be settled before this one: `dependsOn` and references, ascending,
    /// without duplicates.
    pub after: Vec<usize>,
    /// Indices of further steps that must finish before this one, ascending and disjoint from `after`. This
    /// step is skipped if one of them ended the run.
    pub follows: Vec<usize>,
    /// True if another part of the plan refers to the output.
    pub keep_output: bool,
    pub capture_as: Option<VarName>,
    pub on_error: OnError,
    pub retry: Retry,
    /// From the step, else from the plan's defaults, else from the tool.
    pub timeout_ms: u64,
    /// True if an exit status other than 0 is a failure.
    pub fail_on_exit: bool,
    pub tags: Vec<String>,
}

impl CheckedStep {
    /// Returns the failure of a command that ended with another status than 0 or by a signal, if the step says that this
    /// is one.
    pub fn exit_failure(&self, data: Option<&Value>) -> Option<ToolError> {
        let data = data.filter(|_| self.fail_on_exit)?;
        let has_status = self.decl.output_schema.pointer("/properties/exit_status").is_some();
        let status = data.get("exit_status").and_then(Value::as_i64);
        let message = match (status, data.get("signal").and_then(Value::as_str)) {
            (Some(0), _) => return None,
            (Some(status), _) => {
                format!("the command exited with {status}, and the step has `failOnExit`")
            }
            (None, Some(signal)) => {
                format!("the command was ended by {signal}, and the step has `failOnExit`")
            }
            (None, None) if has_status => {
                "the command has not ended yet, and the step has `failOnExit`".to_owned()
            }
            (None, None) => return None,
        };
        Some(Fault::new(Failure::ExecutionFailed, message).retryable(false).to_tool_error())
    }
}

/// A foreach with its names filled in.
#[derive(Debug, Clone)]
pub struct CheckedForeach {
    pub from: Template,
    pub item_name: VarName,
    pub index_name: VarName,
    pub concurrency: Option<u32>,
    /// True if the items run one after another and the first failure skips the rest.
    pub stop_on_error: bool,
}
