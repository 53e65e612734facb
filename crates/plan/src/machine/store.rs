//! What the settled steps of a run have come out as: the only data a run keeps.

use std::collections::BTreeMap;
use std::sync::Arc;

use envelope::{StepId, VarName};
use serde_json::Value;

use crate::{CheckedPlan, Values};

/// Outputs by step, written once each when the step settles, and only if something reads them.
pub(super) struct Store {
    plan: Arc<CheckedPlan>,
    positions: BTreeMap<StepId, usize>,
    /// A captured variable is another name for a step's output, not a copy of it.
    captured: BTreeMap<VarName, usize>,
    outputs: Vec<Option<Value>>,
}

impl Store {
    pub(super) fn new(plan: Arc<CheckedPlan>) -> Store {
        let steps = || plan.steps.iter().enumerate();
        let positions = steps().map(|(at, step)| (step.id.clone(), at)).collect();
        let captured = steps().filter_map(|(at, step)| Some((step.capture_as.clone()?, at))).collect();
        let outputs = steps().map(|_| None).collect();
        Store { plan, positions, captured, outputs }
    }

    pub(super) fn keep(&mut self, step: usize, output: Value) {
        self.outputs[step] = Some(output);
    }
}

impl Values for Store {
    fn step(&self, id: &str) -> Option<&Value> {
        self.outputs[*self.positions.get(id)?].as_ref()
    }

    fn var(&self, name: &str) -> Option<&Value> {
        let captured = self.captured.get(name).and_then(|step| self.outputs[*step].as_ref());
        captured.or_else(|| self.plan.vars.get(name))
    }
}
