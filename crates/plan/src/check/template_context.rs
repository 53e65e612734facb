//! The position of a template in the plan, and the sources of the references in it.

use super::reference_path;
use super::shape::{JsonType, ValueShape};
use super::symbol_table::{PlanVariable, SymbolTable};
use crate::{FindingCode, PlanFinding, Reference, ReferencePosition, ReferenceRoot, TemplateScope};

/// The surroundings of a template.
#[derive(Clone)]
pub(super) struct TemplateContext<'a, 'w> {
    pub(super) world: &'w SymbolTable<'a>,
    /// The step that contains it; `None` for `outputs`.
    pub(super) step: Option<usize>,
    pub(super) label: Option<&'a str>,
    /// JSON pointer of the template in the plan.
    pub(super) pointer: String,
    pub(super) scope: TemplateScope<'a>,
    /// The shape of one item of the enclosing foreach.
    pub(super) item: ValueShape<'a>,
}

/// The resolved source of a reference.
pub(super) struct ReferenceSource<'a> {
    pub(super) shape: ValueShape<'a>,
    /// The step that must run before.
    pub(super) reads: Option<usize>,
}

impl<'a> TemplateContext<'a, '_> {
    /// Resolves a reference to its source and reports problems. The shape is unknown if the source cannot be
    /// determined.
    pub(super) fn source(
        &self,
        reference: &Reference,
        pointer: &str,
        position: ReferencePosition,
        findings: &mut Vec<PlanFinding>,
    ) -> ReferenceSource<'a> {
        let (shape, reads) = match self.root(reference, position) {
            Ok(found) => found,
            Err(finding) => {
                findings.push(PlanFinding { pointer: pointer.to_owned(), ..finding }.in_step(self.label));
                return ReferenceSource { shape: ValueShape::Unknown, reads: None };
            }
        };
        let (shape, finding) = reference_path::follow_path(shape, reference, position);
        if let Some(finding) = finding {
            findings.push(PlanFinding { pointer: pointer.to_owned(), ..finding }.in_step(self.label));
        }
        ReferenceSource { shape, reads }
    }

    /// Splits off the end of the path that can only be literal text, such as `.md` after a string.
    pub(super) fn without_text(&self, reference: &Reference) -> (Reference, String) {
        let known = match self.root(reference, ReferencePosition::Whole) {
            Ok((shape, _)) => reference_path::known_length(shape, reference),
            Err(_) => reference.path.len(),
        };
        let path = reference.path.iter().take(known).cloned().collect();
        let kept = Reference { root: reference.root.clone(), path };
        let text = reference.to_string().get(kept.to_string().len()..).unwrap_or_default().to_owned();
        (kept, text)
    }

    fn root(
        &self,
        reference: &Reference,
        position: ReferencePosition,
    ) -> Result<(ValueShape<'a>, Option<usize>), PlanFinding> {
        match &reference.root {
            ReferenceRoot::Item(_) => Ok((self.item.clone(), None)),
            ReferenceRoot::Index(_) => Ok((ValueShape::Plain(JsonType::Integer), None)),
            ReferenceRoot::Steps(id) => match self.world.steps.get(id.as_str()) {
                Some(step) if Some(*step) == self.step => Err(self_reference(reference, position)),
                Some(step) => Ok((self.world.output(*step), Some(*step))),
                None => Err(self.unknown_step(id.as_str(), reference, position)),
            },
            ReferenceRoot::Vars(name) => match self.world.vars.get(name.as_str()) {
                Some(PlanVariable::Given(value)) => Ok((ValueShape::Exactly(value), None)),
                Some(PlanVariable::Captured(step)) if Some(*step) == self.step => {
                    Err(self_reference(reference, position))
                }
                Some(PlanVariable::Captured(step)) => Ok((self.world.output(*step), Some(*step))),
                None => Err(self.unknown_variable(name.as_str(), reference, position)),
            },
        }
    }

    fn unknown_step(&self, id: &str, reference: &Reference, position: ReferencePosition) -> PlanFinding {
        let tail = path_text(reference);
        let hint = if self.world.vars.contains_key(id) {
            format!("`{id}` is a variable: write `{}`", braced(&format!("vars.{id}{tail}"), position))
        } else if self.scope.item_name == Some(id) {
            format!(
                "`{id}` is the item of this foreach: write `{}`",
                braced(&format!("{id}{tail}"), position)
            )
        } else if let Some(near) = self.world.nearest_step(id).filter(|near| Some(*near) != self.label) {
            format!("did you mean `{}`?", braced(&format!("steps.{near}{tail}"), position))
        } else {
            let others = self.world.steps.iter().filter(|(_, step)| Some(**step) != self.step);
            list_names("the other steps are", others.map(|(id, _)| *id), "add a step with that id before it")
        };
        PlanFinding::error(
            FindingCode::UnknownStep,
            "",
            format!("`{}` names a step that does not exist", as_written(reference, position)),
        )
        .hint(hint)
    }

    fn unknown_variable(
        &self,
        name: &str,
        reference: &Reference,
        position: ReferencePosition,
    ) -> PlanFinding {
        let tail = path_text(reference);
        let hint = if self.world.steps.contains_key(name) {
            format!("`{name}` is a step: write `{}`", braced(&format!("steps.{name}{tail}"), position))
        } else if self.scope.item_name == Some(name) || self.scope.index_name == Some(name) {
            format!(
                "`{name}` belongs to this foreach: write `{}`",
                braced(&format!("{name}{tail}"), position)
            )
        } else if let Some(near) = self.world.nearest_variable(name) {
            format!("did you mean `{}`?", braced(&format!("vars.{near}{tail}"), position))
        } else {
            list_names(
                "the variables are",
                self.world.vars.keys().copied(),
                "add it to `vars`, or keep a step's output under that name with `captureAs`",
            )
        };
        PlanFinding::error(
            FindingCode::UnknownVariable,
            "",
            format!("`{}` names a variable that does not exist", as_written(reference, position)),
        )
        .hint(hint)
    }
}

fn self_reference(reference: &Reference, position: ReferencePosition) -> PlanFinding {
    PlanFinding::error(
        FindingCode::SelfReference,
        "",
        format!(
            "`{}` is this step's own output, which is there only after it has run",
            as_written(reference, position)
        ),
    )
    .hint("refer to an earlier step, or move this into a step of its own")
}

/// Returns the reference as its author wrote it.
pub(super) fn as_written(reference: &Reference, position: ReferencePosition) -> String {
    braced(reference.to_string().trim_start_matches('$'), position)
}

/// Returns a path in the syntax of its position.
pub(super) fn braced(path: &str, position: ReferencePosition) -> String {
    match position {
        ReferencePosition::Whole => format!("${path}"),
        ReferencePosition::InText => format!("{{{path}}}"),
    }
}

/// Returns the text after the root.
pub(super) fn path_text(reference: &Reference) -> String {
    let bare = Reference { root: reference.root.clone(), path: Vec::new() };
    let (whole, root) = (reference.to_string(), bare.to_string());
    whole.get(root.len()..).unwrap_or_default().to_owned()
}

/// Returns a short list of names, sorted so that the message does not depend on the order of fields.
pub(super) fn list_names<'n>(lead: &str, names: impl Iterator<Item = &'n str>, otherwise: &str) -> String {
    const SHOWN: usize = 8;
    // Limits the work: the names of a plan with thousands of steps are not sorted again for every finding.
    const LOOKED_AT: usize = 32;
    let mut names: Vec<&str> = names.take(LOOKED_AT).collect();
    names.sort_unstable();
    if names.is_empty() {
        return otherwise.to_owned();
    }
    let list = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(SHOWN) {
        None | Some(0) => format!("{lead} {list}"),
        Some(_) if names.len() == LOOKED_AT => format!("{lead} {list} and many more"),
        Some(more) => format!("{lead} {list} and {more} more"),
    }
}
