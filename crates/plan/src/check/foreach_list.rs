//! The list of a foreach, and the shape of its items.

use serde_json::Value;

use super::object_fields::describe;
use super::reference_path::fitting_fields;
use super::shape::{JsonType, ValueShape};
use super::shape_lookup::elements;
use super::template_context::{TemplateContext, as_written};
use super::type_fit::describe_shape;
use crate::{FindingCode, PathSegment, PlanFinding, Reference, ReferencePosition, ReferenceRoot, Template};

/// The result of checking `from`.
pub(super) struct LoopItems<'a> {
    pub(super) item: ValueShape<'a>,
    /// The steps that the list is read from.
    pub(super) reads: Vec<usize>,
}

/// Checks that `from` is a list, and returns the shape of its items.
pub(super) fn check<'a>(
    place: &TemplateContext<'a, '_>,
    template: &Template,
    raw: &'a Value,
    findings: &mut Vec<PlanFinding>,
) -> LoopItems<'a> {
    let mut reads = Vec::new();
    let mut shape = ValueShape::Unknown;
    template.references(&mut |at, reference, position| {
        let source = place.source(reference, &format!("{}{at}", place.pointer), position, findings);
        reads.extend(source.reads);
        shape = source.shape;
    });
    let item = match template {
        Template::Whole(reference) => match list_items(&shape, reference, place) {
            Ok((item, doubt)) => {
                findings.extend(doubt.map(|doubt| doubt.in_step(place.label)));
                // An item that stands for a failed item of that step is skipped.
                if is_outputs_of_foreach(reference, place) { without_null(item) } else { item }
            }
            Err(finding) => {
                findings.push(finding.in_step(place.label));
                ValueShape::Unknown
            }
        },
        Template::Literal(Value::Array(_)) => ValueShape::Exactly(raw)
            .cases()
            .and_then(|cases| elements(cases.first()?))
            .unwrap_or(ValueShape::Unknown),
        Template::List(_) => ValueShape::Unknown,
        Template::Text(_) | Template::Literal(_) | Template::Object(_) => {
            findings.extend(not_a_list(template, raw, place).map(|finding| finding.in_step(place.label)));
            ValueShape::Unknown
        }
    };
    LoopItems { item, reads }
}

/// Returns whether the reference is to all outputs of a foreach step.
fn is_outputs_of_foreach(reference: &Reference, place: &TemplateContext<'_, '_>) -> bool {
    let ReferenceRoot::Steps(id) = &reference.root else { return false };
    let is_items = matches!(reference.path.as_slice(), [PathSegment::Key(key)] if key == "items");
    let source = place.world.steps.get(id.as_str()).map(|step| place.world.output(*step));
    is_items && matches!(source, Some(ValueShape::Collected(_)))
}

/// Returns the shape without the case that the value is null.
fn without_null(shape: ValueShape<'_>) -> ValueShape<'_> {
    let ValueShape::OneOf(mut cases) = shape else { return shape };
    cases.retain(|case| !matches!(case, ValueShape::Plain(JsonType::Null)));
    if cases.len() == 1 { cases.remove(0) } else { ValueShape::OneOf(cases) }
}

fn list_items<'a>(
    shape: &ValueShape<'a>,
    reference: &Reference,
    place: &TemplateContext<'a, '_>,
) -> Result<(ValueShape<'a>, Option<PlanFinding>), PlanFinding> {
    let Some(cases) = shape.cases() else {
        return Ok((ValueShape::Unknown, None));
    };
    let mut items: Vec<ValueShape<'a>> = cases.iter().filter_map(elements).collect();
    let spelled = as_written(reference, ReferencePosition::Whole);
    if items.is_empty() {
        let message = format!("a foreach runs over a list, but `{spelled}` is {}", describe_shape(shape));
        let fields = fitting_fields(reference, shape, is_list);
        let hint = match fields.as_slice() {
            [] => "refer to a field that is a list, or write the list itself: `[\"a\", \"b\"]`".to_owned(),
            fields => {
                let fields = fields.iter().map(|field| format!("`{field}`")).collect::<Vec<_>>().join(" or ");
                format!("did you mean {fields}?")
            }
        };
        return Err(PlanFinding::error(FindingCode::TypeMismatch, place.pointer.clone(), message).hint(hint));
    }
    let doubt = (items.len() < cases.len()).then(|| {
        let message = format!("`{spelled}` might not be a list: it is {}", describe_shape(shape));
        PlanFinding::warning(FindingCode::MaybeMismatch, place.pointer.clone(), message)
            .hint("the step fails if it is not a list; refer to a field that is always a list")
    });
    let item = if items.len() == 1 { items.remove(0) } else { ValueShape::OneOf(items) };
    Ok((item, doubt))
}

fn is_list(shape: &ValueShape<'_>) -> bool {
    shape
        .cases()
        .is_some_and(|cases| !cases.is_empty() && cases.iter().all(|case| case.kind == JsonType::Array))
}

/// Reports a `from` that is neither a list nor a reference.
fn not_a_list(template: &Template, raw: &Value, place: &TemplateContext<'_, '_>) -> Option<PlanFinding> {
    let finding =
        |message: String| PlanFinding::error(FindingCode::WrongType, place.pointer.clone(), message);
    if let Template::Text(_) = template {
        let mut first = None;
        template.references(&mut |_, reference, _| {
            first.get_or_insert_with(|| as_written(reference, ReferencePosition::Whole));
        });
        return Some(
            finding("`from` is a text, because braces always give text".to_owned())
                .hint(format!("write `{}` to get the list itself", first.unwrap_or_default())),
        );
    }
    let Some(text) = raw.as_str() else {
        return Some(
            finding(format!("`from` must be a list or a reference to one, but this is {}", describe(raw)))
                .hint("write a reference such as `$steps.<id>.items`, or the list itself: `[\"a\", \"b\"]`"),
        );
    };
    let word: &str = text.trim_matches(|c: char| matches!(c, '$' | '{' | '}') || c.is_whitespace());
    let step = place.world.steps.get_key_value(word).map(|(id, _)| *id);
    let step = step.or_else(|| place.world.nearest_step(word));
    let (first, path) = word.split_at(word.find(['.', '[']).unwrap_or(word.len()));
    let hint = match step {
        _ if !path.is_empty() && place.world.steps.contains_key(first) => format!("write `$steps.{word}`"),
        Some(id) => match list_of_step(id, place) {
            Some(reference) => format!("to run over the output of `{id}`, write `{reference}`"),
            None => format!("to run over a list in the output of `{id}`, write `$steps.{id}.<field>`"),
        },
        None => {
            "write a reference such as `$steps.<id>.items`, or the list itself: `[\"a\", \"b\"]`".to_owned()
        }
    };
    Some(
        finding(format!("`from` must be a list or a reference to one, but `{text}` is plain text"))
            .hint(hint),
    )
}

fn list_of_step(id: &str, place: &TemplateContext<'_, '_>) -> Option<String> {
    let step = *place.world.steps.get(id)?;
    let root = ReferenceRoot::Steps(envelope::StepId::parse(id).ok()?);
    let reference = Reference { root, path: Vec::new() };
    fitting_fields(&reference, &place.world.output(step), is_list).into_iter().next()
}
