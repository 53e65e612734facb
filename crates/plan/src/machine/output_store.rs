//! Outputs of the settled steps: the only data that a run keeps.

use std::collections::BTreeMap;
use std::sync::Arc;

use envelope::{StepId, VarName};
use serde_json::Value;

use crate::{CheckedPlan, ValueSource};

/// Outputs by step. Each is written once, when the step settles, and only if something reads it.
pub(super) struct OutputStore {
    plan: Arc<CheckedPlan>,
    positions: BTreeMap<StepId, usize>,
    /// Step index by captured variable; a variable shares the step's output and does not copy it.
    captured: BTreeMap<VarName, usize>,
    outputs: Vec<Option<Value>>,
}

impl OutputStore {
    pub(super) fn new(plan: Arc<CheckedPlan>) -> OutputStore {
        let steps = || plan.steps.iter().enumerate();
        let positions = steps().map(|(at, step)| (step.id.clone(), at)).collect();
        let captured = steps().filter_map(|(at, step)| Some((step.capture_as.clone()?, at))).collect();
        let outputs = steps().map(|_| None).collect();
        OutputStore { plan, positions, captured, outputs }
    }

    pub(super) fn insert(&mut self, step: usize, output: Value) {
        self.outputs[step] = Some(output);
    }
}

impl ValueSource for OutputStore {
    fn step(&self, id: &str) -> Option<&Value> {
        self.outputs[*self.positions.get(id)?].as_ref()
    }

    fn var(&self, name: &str) -> Option<&Value> {
        let captured = self.captured.get(name).and_then(|step| self.outputs[*step].as_ref());
        captured.or_else(|| self.plan.vars.get(name))
    }
}
