//! Symbol table of the checker: the steps and variables of a plan, and the shapes of their values.

use std::cell::Cell;
use std::collections::BTreeMap;

use envelope::{OnError, Risk, StepId, ToolCatalog, ToolDecl, nearest};
use serde_json::Value;

use super::draft::{DraftStep, PlanDraft};
use super::shape::{JsonType, ValueShape};
use crate::BraceRule;

/// A name that `$vars` can refer to.
#[derive(Debug, Clone, Copy)]
pub(super) enum PlanVariable<'a> {
    /// An entry of `vars`.
    Given(&'a Value),
    /// The output of a step, named by its `captureAs`.
    Captured(usize),
}

/// All names that references in the plan can use.
pub(super) struct SymbolTable<'a> {
    pub(super) steps: BTreeMap<&'a str, usize>,
    pub(super) vars: BTreeMap<&'a str, PlanVariable<'a>>,
    pub(super) tools: Vec<Option<&'a ToolDecl>>,
    /// The rule about braces in the texts of the plan.
    pub(super) braces: BraceRule,
    outputs: Vec<ValueShape<'a>>,
    /// Remaining name comparisons for "did you mean" hints.
    comparisons: Cell<usize>,
}

/// Enough for any real plan; prevents quadratic time for a long plan that is wrong everywhere.
const COMPARISONS: usize = 100_000;

impl<'a> SymbolTable<'a> {
    pub(super) fn new(
        draft: &'a PlanDraft<'a>,
        catalog: &'a dyn ToolCatalog,
        braces: BraceRule,
    ) -> SymbolTable<'a> {
        let tools: Vec<_> = draft.steps.iter().map(|step| tool_of(step, catalog)).collect();
        let outputs =
            draft.steps.iter().zip(&tools).map(|(step, tool)| output_of(step, *tool, draft)).collect();
        let comparisons = Cell::new(COMPARISONS);
        let mut world = SymbolTable {
            steps: BTreeMap::new(),
            vars: BTreeMap::new(),
            tools,
            braces,
            outputs,
            comparisons,
        };
        for (index, step) in draft.steps.iter().enumerate() {
            if let Some(label) = step.label {
                // If two steps have the same id, references mean the first; the second has its own finding.
                world.steps.entry(label).or_insert(index);
            }
            if let Some(capture) = &step.capture_as {
                world.vars.entry(capture.value.as_str()).or_insert(PlanVariable::Captured(index));
            }
        }
        for (name, at) in &draft.vars {
            world.vars.insert(name, PlanVariable::Given(at.value));
        }
        world
    }

    pub(super) fn output(&self, step: usize) -> ValueShape<'a> {
        self.outputs.get(step).cloned().unwrap_or(ValueShape::Unknown)
    }

    /// Returns the step whose id is nearest to a wrong name.
    pub(super) fn nearest_step(&self, word: &str) -> Option<&'a str> {
        self.spend_comparisons(self.steps.len())?;
        // An id that no reference can spell is not suggested.
        nearest(word, self.steps.keys().copied().filter(|id| StepId::parse(id).is_ok()))
    }

    /// Returns the variable whose name is nearest to a wrong name.
    pub(super) fn nearest_variable(&self, word: &str) -> Option<&'a str> {
        self.spend_comparisons(self.vars.len())?;
        nearest(word, self.vars.keys().copied())
    }

    fn spend_comparisons(&self, comparisons: usize) -> Option<()> {
        self.comparisons.set(self.comparisons.get().checked_sub(comparisons)?);
        Some(())
    }

    pub(super) fn tool(&self, step: usize) -> Option<&'a ToolDecl> {
        self.tools.get(step).copied().flatten()
    }

    pub(super) fn has_effects(&self, step: usize) -> bool {
        self.tool(step).is_some_and(|tool| match tool.risk_level {
            Risk::ReadOnly => false,
            Risk::Writes | Risk::Commands => true,
        })
    }
}

/// Returns the tool of a step. A name in the wrong case is accepted here, so that the finding about the name
/// does not hide problems in the arguments.
fn tool_of<'a>(step: &DraftStep<'_>, catalog: &'a dyn ToolCatalog) -> Option<&'a ToolDecl> {
    let name = step.tool.as_ref()?.value;
    catalog.tool(name).or_else(|| catalog.tool(tool_ignoring_case(name, catalog)?))
}

/// Returns the tool whose name has the same letters and digits, ignoring case and separators.
pub(super) fn tool_ignoring_case<'a>(name: &str, catalog: &'a dyn ToolCatalog) -> Option<&'a str> {
    let letters = |name: &str| -> String {
        name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
    };
    let wanted = letters(name);
    catalog.names().into_iter().find(|known| letters(known) == wanted)
}

fn output_of<'a>(step: &DraftStep<'_>, tool: Option<&'a ToolDecl>, draft: &PlanDraft<'_>) -> ValueShape<'a> {
    let Some(tool) = tool else {
        return ValueShape::Unknown;
    };
    let output = ValueShape::Schema { schema: &tool.output_schema, root: &tool.output_schema };
    if step.foreach.is_none() {
        return output;
    }
    let on_error = step.on_failure.on_error.as_ref().or(draft.defaults.on_error.as_ref());
    match on_error.map(|at| at.value) {
        // A failed item leaves `null`, so that positions match the list that was looped over.
        Some(OnError::Skip) => ValueShape::Collected(Box::new(ValueShape::OneOf(vec![
            output,
            ValueShape::Plain(JsonType::Null),
        ]))),
        // Otherwise a failure ends the run, and the `null` is never read.
        Some(OnError::Stop | OnError::Retry) | None => ValueShape::Collected(Box::new(output)),
    }
}
