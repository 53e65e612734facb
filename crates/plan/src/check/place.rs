//! Where a template stands, and what the references in it come from.

use super::path;
use super::shape::{Kind, Shape};
use super::world::{Variable, World};
use crate::{Finding, FindingCode, Position, Reference, Root, Scope};

/// The surroundings of a template.
#[derive(Clone)]
pub(super) struct Place<'a, 'w> {
    pub(super) world: &'w World<'a>,
    /// The step it belongs to; `outputs` belong to none.
    pub(super) step: Option<usize>,
    pub(super) label: Option<&'a str>,
    /// JSON pointer of the template in the plan.
    pub(super) pointer: String,
    pub(super) scope: Scope<'a>,
    /// What one item of the foreach around it looks like.
    pub(super) item: Shape<'a>,
}

/// What a reference turned out to be.
pub(super) struct Source<'a> {
    pub(super) shape: Shape<'a>,
    /// The step that must have run before.
    pub(super) reads: Option<usize>,
}

impl<'a> Place<'a, '_> {
    /// Follows a reference to its source. What is wrong with it is noted; what cannot be known is unknown.
    pub(super) fn source(
        &self,
        reference: &Reference,
        pointer: &str,
        position: Position,
        findings: &mut Vec<Finding>,
    ) -> Source<'a> {
        let (shape, reads) = match self.root(reference, position) {
            Ok(found) => found,
            Err(finding) => {
                findings.push(Finding { pointer: pointer.to_owned(), ..finding }.in_step(self.label));
                return Source { shape: Shape::Unknown, reads: None };
            }
        };
        let (shape, finding) = path::walk(shape, reference, position);
        if let Some(finding) = finding {
            findings.push(Finding { pointer: pointer.to_owned(), ..finding }.in_step(self.label));
        }
        Source { shape, reads }
    }

    /// The reference without the end of its path that can only be text, as `.md` after a string is, and that
    /// text.
    pub(super) fn without_text(&self, reference: &Reference) -> (Reference, String) {
        let known = match self.root(reference, Position::Whole) {
            Ok((shape, _)) => path::known_length(shape, reference),
            Err(_) => reference.path.len(),
        };
        let path = reference.path.iter().take(known).cloned().collect();
        let kept = Reference { root: reference.root.clone(), path };
        let text = reference.to_string().get(kept.to_string().len()..).unwrap_or_default().to_owned();
        (kept, text)
    }

    fn root(&self, reference: &Reference, position: Position) -> Result<(Shape<'a>, Option<usize>), Finding> {
        match &reference.root {
            Root::Item(_) => Ok((self.item.clone(), None)),
            Root::Index(_) => Ok((Shape::Plain(Kind::Integer), None)),
            Root::Steps(id) => match self.world.steps.get(id.as_str()) {
                Some(step) if Some(*step) == self.step => Err(own_output(reference, position)),
                Some(step) => Ok((self.world.output(*step), Some(*step))),
                None => Err(self.unknown_step(id.as_str(), reference, position)),
            },
            Root::Vars(name) => match self.world.vars.get(name.as_str()) {
                Some(Variable::Given(value)) => Ok((Shape::Exactly(value), None)),
                Some(Variable::Captured(step)) if Some(*step) == self.step => {
                    Err(own_output(reference, position))
                }
                Some(Variable::Captured(step)) => Ok((self.world.output(*step), Some(*step))),
                None => Err(self.unknown_variable(name.as_str(), reference, position)),
            },
        }
    }

    fn unknown_step(&self, id: &str, reference: &Reference, position: Position) -> Finding {
        let tail = tail(reference);
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
            listed("the other steps are", others.map(|(id, _)| *id), "add a step with that id before it")
        };
        Finding::error(
            FindingCode::UnknownStep,
            "",
            format!("`{}` names a step that does not exist", spell(reference, position)),
        )
        .hint(hint)
    }

    fn unknown_variable(&self, name: &str, reference: &Reference, position: Position) -> Finding {
        let tail = tail(reference);
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
            listed(
                "the variables are",
                self.world.vars.keys().copied(),
                "add it to `vars`, or keep a step's output under that name with `captureAs`",
            )
        };
        Finding::error(
            FindingCode::UnknownVariable,
            "",
            format!("`{}` names a variable that does not exist", spell(reference, position)),
        )
        .hint(hint)
    }
}

fn own_output(reference: &Reference, position: Position) -> Finding {
    Finding::error(
        FindingCode::SelfReference,
        "",
        format!(
            "`{}` is this step's own output, which is there only after it has run",
            spell(reference, position)
        ),
    )
    .hint("refer to an earlier step, or move this into a step of its own")
}

/// The reference as its author wrote it.
pub(super) fn spell(reference: &Reference, position: Position) -> String {
    braced(reference.to_string().trim_start_matches('$'), position)
}

/// A path in the form its position asks for.
pub(super) fn braced(path: &str, position: Position) -> String {
    match position {
        Position::Whole => format!("${path}"),
        Position::InText => format!("{{{path}}}"),
    }
}

/// What stands after the root.
pub(super) fn tail(reference: &Reference) -> String {
    let bare = Reference { root: reference.root.clone(), path: Vec::new() };
    let (whole, root) = (reference.to_string(), bare.to_string());
    whole.get(root.len()..).unwrap_or_default().to_owned()
}

/// A short list of names, sorted so that the message does not depend on the order of fields.
pub(super) fn listed<'n>(lead: &str, names: impl Iterator<Item = &'n str>, otherwise: &str) -> String {
    const SHOWN: usize = 8;
    // A plan of thousands of steps is not sorted anew for every finding.
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
