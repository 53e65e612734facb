//! What references can see: the steps and variables of the plan, and what their values look like.

use std::cell::Cell;
use std::collections::BTreeMap;

use envelope::{Catalog, OnError, Risk, StepId, ToolDecl, nearest};
use serde_json::Value;

use super::draft::{Draft, DraftStep};
use super::shape::{Kind, Shape};

/// A name that `$vars` can spell.
#[derive(Debug, Clone, Copy)]
pub(super) enum Variable<'a> {
    /// An entry of `vars`.
    Given(&'a Value),
    /// The output of a step, kept by its `captureAs`.
    Captured(usize),
}

/// Everything in the plan that has a name.
pub(super) struct World<'a> {
    pub(super) steps: BTreeMap<&'a str, usize>,
    pub(super) vars: BTreeMap<&'a str, Variable<'a>>,
    pub(super) tools: Vec<Option<&'a ToolDecl>>,
    outputs: Vec<Shape<'a>>,
    /// How many more names may be compared for "did you mean".
    comparisons: Cell<usize>,
}

/// Plenty for any honest plan; keeps a long plan that is wrong everywhere from taking quadratic time.
const COMPARISONS: usize = 100_000;

impl<'a> World<'a> {
    pub(super) fn new(draft: &'a Draft<'a>, catalog: &'a dyn Catalog) -> World<'a> {
        let tools: Vec<_> = draft.steps.iter().map(|step| tool_of(step, catalog)).collect();
        let outputs =
            draft.steps.iter().zip(&tools).map(|(step, tool)| output_of(step, *tool, draft)).collect();
        let comparisons = Cell::new(COMPARISONS);
        let mut world = World { steps: BTreeMap::new(), vars: BTreeMap::new(), tools, outputs, comparisons };
        for (index, step) in draft.steps.iter().enumerate() {
            if let Some(label) = step.label {
                // Of two steps with one id, the first is the one meant; the second has a finding of its own.
                world.steps.entry(label).or_insert(index);
            }
            if let Some(capture) = &step.capture_as {
                world.vars.entry(capture.value.as_str()).or_insert(Variable::Captured(index));
            }
        }
        for (name, at) in &draft.vars {
            world.vars.insert(name, Variable::Given(at.value));
        }
        world
    }

    pub(super) fn output(&self, step: usize) -> Shape<'a> {
        self.outputs.get(step).cloned().unwrap_or(Shape::Unknown)
    }

    /// The step that a wrong name most likely stands for.
    pub(super) fn nearest_step(&self, word: &str) -> Option<&'a str> {
        self.spend(self.steps.len())?;
        // An id that no reference can spell is no help.
        nearest(word, self.steps.keys().copied().filter(|id| StepId::parse(id).is_ok()))
    }

    /// The variable that a wrong name most likely stands for.
    pub(super) fn nearest_variable(&self, word: &str) -> Option<&'a str> {
        self.spend(self.vars.len())?;
        nearest(word, self.vars.keys().copied())
    }

    fn spend(&self, comparisons: usize) -> Option<()> {
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

/// The tool of a step. One that is only spelled in the wrong case is taken as meant, so that the finding about
/// its name does not hide what is wrong with its arguments.
fn tool_of<'a>(step: &DraftStep<'_>, catalog: &'a dyn Catalog) -> Option<&'a ToolDecl> {
    let name = step.tool.as_ref()?.value;
    catalog.tool(name).or_else(|| catalog.tool(same_letters(name, catalog)?))
}

/// The tool whose name has the same letters and digits, whatever their case and what stands between them.
pub(super) fn same_letters<'a>(name: &str, catalog: &'a dyn Catalog) -> Option<&'a str> {
    let letters = |name: &str| -> String {
        name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
    };
    let wanted = letters(name);
    catalog.names().into_iter().find(|known| letters(known) == wanted)
}

fn output_of<'a>(step: &DraftStep<'_>, tool: Option<&'a ToolDecl>, draft: &Draft<'_>) -> Shape<'a> {
    let Some(tool) = tool else {
        return Shape::Unknown;
    };
    let output = Shape::Schema { schema: &tool.output_schema, root: &tool.output_schema };
    if step.foreach.is_none() {
        return output;
    }
    let on_error = step.on_failure.on_error.as_ref().or(draft.defaults.on_error.as_ref());
    match on_error.map(|at| at.value) {
        // A failed item leaves a gap, so that positions stay those of the list it ran over.
        Some(OnError::Skip) => {
            Shape::Collected(Box::new(Shape::OneOf(vec![output, Shape::Plain(Kind::Null)])))
        }
        // Otherwise a failure ends the run, and nobody sees the gap.
        Some(OnError::Stop | OnError::Retry) | None => Shape::Collected(Box::new(output)),
    }
}
