//! Compares the types of references with the types that their targets accept, before the run.

use serde_json::Value;

use super::reference_path::fitting_fields;
use super::shape::{CaseDetail, JsonType, ValueShape};
use super::shape_lookup::{PathLookup, elements, look_up, required};
use super::template_context::{ReferenceSource, TemplateContext, as_written, braced};
use super::type_fit::{TypeFit, check_fit, describe_shape};
use crate::{FindingCode, PathSegment, PlanFinding, Reference, ReferencePosition, Template, json_pointer};

/// The target of a template.
pub(super) struct TemplateTarget<'a> {
    /// Its name in words, such as `vault.createFile`; absent if any value is accepted.
    pub(super) name: Option<&'a str>,
    pub(super) shape: ValueShape<'a>,
}

/// Checks every reference of a template. Returns the steps it reads, in order of appearance.
pub(super) fn check<'a>(
    place: &TemplateContext<'a, '_>,
    template: &Template,
    raw: &Value,
    target: &TemplateTarget<'a>,
    findings: &mut Vec<PlanFinding>,
) -> Vec<usize> {
    let mut reads = Vec::new();
    let mut last_text = None;
    template.references(&mut |at, reference, position| {
        let pointer = format!("{}{at}", place.pointer);
        let source = place.source(reference, &pointer, position, findings);
        reads.extend(source.reads);
        let wanted = expected_at(&target.shape, at, raw);
        let use_of = ReferenceUse {
            reference,
            source: &source,
            pointer: &pointer,
            target: target.name,
            wanted: &wanted,
        };
        let finding = match position {
            ReferencePosition::Whole => use_of.whole(),
            ReferencePosition::InText => {
                // One finding about being a text per string, however many references it has.
                let text = (last_text.as_deref() != Some(at))
                    .then(|| use_of.text(raw.pointer(at).and_then(Value::as_str)))
                    .flatten();
                last_text = Some(at.to_owned());
                findings.extend(text.map(|finding| finding.in_step(place.label)));
                use_of.scalar()
            }
        };
        findings.extend(finding.map(|finding| finding.in_step(place.label)));
    });
    reads
}

/// Returns the type that the target accepts at a pointer; unknown if the arguments have the wrong structure.
fn expected_at<'a>(target: &ValueShape<'a>, at: &str, raw: &Value) -> ValueShape<'a> {
    let mut shape = target.clone();
    let mut value = Some(raw);
    for token in json_pointer::tokens(at) {
        let segment = match (value, token.parse()) {
            (Some(Value::Array(_)), Ok(index)) => PathSegment::Index(index),
            _ => PathSegment::Key(token.clone()),
        };
        value = match &segment {
            PathSegment::Key(key) => value.and_then(|value| value.get(key)),
            PathSegment::Index(index) => value.and_then(|value| value.get(index)),
        };
        shape = match look_up(&shape, &segment) {
            PathLookup::Always(shape) | PathLookup::Sometimes(shape) => shape,
            PathLookup::Never => return ValueShape::Unknown,
        };
    }
    shape
}

/// One reference at one position.
struct ReferenceUse<'u, 'a> {
    reference: &'u Reference,
    source: &'u ReferenceSource<'a>,
    pointer: &'u str,
    target: Option<&'u str>,
    wanted: &'u ValueShape<'a>,
}

impl ReferenceUse<'_, '_> {
    /// Returns the target for messages: `reference_path` of `vault.readFile`.
    fn place(&self) -> String {
        let name = json_pointer::tokens(self.pointer).last().unwrap_or_default();
        match self.target {
            Some(tool) => format!("`{name}` of `{tool}`"),
            None => format!("`{name}`"),
        }
    }

    fn whole(&self) -> Option<PlanFinding> {
        let spelled = as_written(self.reference, ReferencePosition::Whole);
        match check_fit(&self.source.shape, self.wanted) {
            TypeFit::Yes => None,
            TypeFit::Never(why) => Some(
                PlanFinding::error(
                    FindingCode::TypeMismatch,
                    self.pointer,
                    format!("{} cannot be `{spelled}`: that gives {why}", self.place()),
                )
                .hint(self.suggestion()),
            ),
            TypeFit::Maybe(why) => Some(
                PlanFinding::warning(
                    FindingCode::MaybeMismatch,
                    self.pointer,
                    format!("`{spelled}` may give {why}"),
                )
                .hint(format!(
                    "the call fails if it does; {} takes {}",
                    self.place(),
                    describe_shape(self.wanted)
                )),
            ),
        }
    }

    /// Suggests a replacement for a reference of the wrong type.
    fn suggestion(&self) -> String {
        let reference = self.reference.to_string();
        let bare = reference.trim_start_matches('$');
        let kinds = |shape: &ValueShape<'_>| -> Vec<JsonType> {
            shape.cases().unwrap_or_default().iter().map(|case| case.kind).collect()
        };
        let (from, to) = (kinds(&self.source.shape), kinds(self.wanted));
        if from.contains(&JsonType::Object) {
            let fields = fitting_fields(self.reference, &self.source.shape, |part| {
                check_fit(part, self.wanted) == TypeFit::Yes
            });
            if !fields.is_empty() {
                let fields = fields.iter().map(|field| format!("`{field}`")).collect::<Vec<_>>();
                return format!("pick the field that is meant: {}", fields.join(", "));
            }
        }
        if from.contains(&JsonType::Array) && !to.contains(&JsonType::Array) {
            return format!(
                "run the step once for each element: add `\"foreach\": {{\"from\": \"{reference}\", \
                 \"itemName\": \"item\"}}` and write `$item` or `{{item}}` here"
            );
        }
        if to.contains(&JsonType::String)
            && from.iter().all(|kind| kind.is_scalar() && *kind != JsonType::String)
        {
            return format!("write `{}` to put it in as text", braced(bare, ReferencePosition::InText));
        }
        if to.contains(&JsonType::Array) && !from.contains(&JsonType::Array) {
            return format!("write `[\"{reference}\"]` for a list with this one element");
        }
        self.expected_instruction()
    }

    /// Describes the accepted type as an instruction.
    fn expected_instruction(&self) -> String {
        let cases = self.wanted.cases().unwrap_or_default();
        if let [case] = cases.as_slice() {
            if let CaseDetail::Schema { schema, .. } = case.detail {
                let fields: Vec<String> = required(schema).map(|name| format!("`{name}`")).collect();
                if case.kind == JsonType::Object && !fields.is_empty() {
                    return format!("write an object with {}, or a reference to one", fields.join(", "));
                }
            }
            if let Some(element) = elements(case) {
                return format!("write a list, each element of which is {}", describe_shape(&element));
            }
        }
        format!("write {} here, or a reference to one", describe_shape(self.wanted))
    }

    /// Reports a text for a target that accepts something else.
    fn text(&self, raw: Option<&str>) -> Option<PlanFinding> {
        let TypeFit::Never(_) = check_fit(&ValueShape::Plain(JsonType::String), self.wanted) else {
            return None;
        };
        let alone = raw == Some(as_written(self.reference, ReferencePosition::InText).as_str());
        let welcome = !matches!(check_fit(&self.source.shape, self.wanted), TypeFit::Never(_));
        let hint = match (alone, welcome) {
            (true, true) => format!("write `{}`, which keeps the type", self.reference),
            (false, true) => format!("write the reference alone, `{}`, which keeps its type", self.reference),
            (_, false) => self.expected_instruction(),
        };
        Some(
            PlanFinding::error(
                FindingCode::TypeMismatch,
                self.pointer,
                format!(
                    "{} takes {}, but braces always give text",
                    self.place(),
                    describe_shape(self.wanted)
                ),
            )
            .hint(hint),
        )
    }

    /// Reports a value that cannot be printed: only scalars can.
    fn scalar(&self) -> Option<PlanFinding> {
        let cases = self.source.shape.cases()?;
        let spelled = as_written(self.reference, ReferencePosition::InText);
        let is = describe_shape(&self.source.shape);
        let printable = cases.iter().filter(|case| case.kind.is_scalar()).count();
        if cases.is_empty() || printable == cases.len() {
            return None;
        }
        if printable > 0 {
            let message =
                format!("`{spelled}` may be {is}, and only a string, a number or a boolean can be printed");
            return Some(
                PlanFinding::warning(FindingCode::MaybeMismatch, self.pointer, message)
                    .hint("the step fails if it is; refer to something that is always a string or a number"),
            );
        }
        let fields = fitting_fields(self.reference, &self.source.shape, |part| {
            part.cases().is_some_and(|cases| cases.iter().all(|case| case.kind.is_scalar()))
        });
        let hint = match fields.first() {
            Some(field) => {
                format!("print one of its fields, such as `{{{}}}`", field.trim_start_matches('$'))
            }
            None if cases.iter().any(|case| case.kind == JsonType::Array) => {
                format!(
                    "print one element, or run the step once for each with foreach from `{}`",
                    self.reference
                )
            }
            None => "refer to a string, a number or a boolean".to_owned(),
        };
        let message = format!("`{spelled}` is {is}, which cannot be printed inside a text");
        Some(PlanFinding::error(FindingCode::TemplateNotScalar, self.pointer, message).hint(hint))
    }
}
