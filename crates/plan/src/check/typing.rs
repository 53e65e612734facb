//! Compares what references bring with what their places ask for, before anything runs.

use serde_json::Value;

use super::fits::{Fit, fits, words};
use super::follow::{Found, elements, follow, required};
use super::path::fitting_fields;
use super::place::{Place, Source, braced, spell};
use super::pointer;
use super::shape::{Detail, Kind, Shape};
use crate::{Finding, FindingCode, Position, Reference, Segment, Template};

/// What a template is for.
pub(super) struct Target<'a> {
    /// In words, such as `vault.createFile`; absent where any value is welcome.
    pub(super) name: Option<&'a str>,
    pub(super) shape: Shape<'a>,
}

/// Checks every reference of a template. Returns the steps it reads, in order of appearance.
pub(super) fn check<'a>(
    place: &Place<'a, '_>,
    template: &Template,
    raw: &Value,
    target: &Target<'a>,
    findings: &mut Vec<Finding>,
) -> Vec<usize> {
    let mut reads = Vec::new();
    let mut last_text = None;
    template.references(&mut |at, reference, position| {
        let pointer = format!("{}{at}", place.pointer);
        let source = place.source(reference, &pointer, position, findings);
        reads.extend(source.reads);
        let wanted = part(&target.shape, at, raw);
        let use_of =
            Use { reference, source: &source, pointer: &pointer, target: target.name, wanted: &wanted };
        let finding = match position {
            Position::Whole => use_of.whole(),
            Position::InText => {
                // One text, one verdict about being a text, however many references it has.
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

/// What the place at a pointer asks for; unknown where the arguments themselves are out of place.
fn part<'a>(target: &Shape<'a>, at: &str, raw: &Value) -> Shape<'a> {
    let mut shape = target.clone();
    let mut value = Some(raw);
    for token in pointer::tokens(at) {
        let segment = match (value, token.parse()) {
            (Some(Value::Array(_)), Ok(index)) => Segment::Index(index),
            _ => Segment::Key(token.clone()),
        };
        value = match &segment {
            Segment::Key(key) => value.and_then(|value| value.get(key)),
            Segment::Index(index) => value.and_then(|value| value.get(index)),
        };
        shape = match follow(&shape, &segment) {
            Found::Always(shape) | Found::Sometimes(shape) => shape,
            Found::Never => return Shape::Unknown,
        };
    }
    shape
}

/// One reference at one place.
struct Use<'u, 'a> {
    reference: &'u Reference,
    source: &'u Source<'a>,
    pointer: &'u str,
    target: Option<&'u str>,
    wanted: &'u Shape<'a>,
}

impl Use<'_, '_> {
    /// `path` of `vault.readFile`, for messages.
    fn place(&self) -> String {
        let name = pointer::tokens(self.pointer).last().unwrap_or_default();
        match self.target {
            Some(tool) => format!("`{name}` of `{tool}`"),
            None => format!("`{name}`"),
        }
    }

    fn whole(&self) -> Option<Finding> {
        let spelled = spell(self.reference, Position::Whole);
        match fits(&self.source.shape, self.wanted) {
            Fit::Yes => None,
            Fit::Never(why) => Some(
                Finding::error(
                    FindingCode::TypeMismatch,
                    self.pointer,
                    format!("{} cannot be `{spelled}`: that gives {why}", self.place()),
                )
                .hint(self.repair()),
            ),
            Fit::Maybe(why) => Some(
                Finding::warning(
                    FindingCode::MaybeMismatch,
                    self.pointer,
                    format!("`{spelled}` may give {why}"),
                )
                .hint(format!(
                    "the call fails if it does; {} takes {}",
                    self.place(),
                    words(self.wanted)
                )),
            ),
        }
    }

    /// What to write instead of a reference of the wrong type.
    fn repair(&self) -> String {
        let reference = self.reference.to_string();
        let bare = reference.trim_start_matches('$');
        let kinds = |shape: &Shape<'_>| -> Vec<Kind> {
            shape.cases().unwrap_or_default().iter().map(|case| case.kind).collect()
        };
        let (from, to) = (kinds(&self.source.shape), kinds(self.wanted));
        if from.contains(&Kind::Object) {
            let fields = fitting_fields(self.reference, &self.source.shape, |part| {
                fits(part, self.wanted) == Fit::Yes
            });
            if !fields.is_empty() {
                let fields = fields.iter().map(|field| format!("`{field}`")).collect::<Vec<_>>();
                return format!("pick the field that is meant: {}", fields.join(", "));
            }
        }
        if from.contains(&Kind::Array) && !to.contains(&Kind::Array) {
            return format!(
                "run the step once for each element: add `\"foreach\": {{\"from\": \"{reference}\", \
                 \"itemName\": \"item\"}}` and write `$item` or `{{item}}` here"
            );
        }
        if to.contains(&Kind::String) && from.iter().all(|kind| kind.is_scalar() && *kind != Kind::String) {
            return format!("write `{}` to put it in as text", braced(bare, Position::InText));
        }
        if to.contains(&Kind::Array) && !from.contains(&Kind::Array) {
            return format!("write `[\"{reference}\"]` for a list with this one element");
        }
        self.write_wanted()
    }

    /// What the place asks for, as an instruction.
    fn write_wanted(&self) -> String {
        let cases = self.wanted.cases().unwrap_or_default();
        if let [case] = cases.as_slice() {
            if let Detail::Schema { schema, .. } = case.detail {
                let fields: Vec<String> = required(schema).map(|name| format!("`{name}`")).collect();
                if case.kind == Kind::Object && !fields.is_empty() {
                    return format!("write an object with {}, or a reference to one", fields.join(", "));
                }
            }
            if let Some(element) = elements(case) {
                return format!("write a list, each element of which is {}", words(&element));
            }
        }
        format!("write {} here, or a reference to one", words(self.wanted))
    }

    /// A text where something else is asked for.
    fn text(&self, raw: Option<&str>) -> Option<Finding> {
        let Fit::Never(_) = fits(&Shape::Plain(Kind::String), self.wanted) else {
            return None;
        };
        let alone = raw == Some(spell(self.reference, Position::InText).as_str());
        let welcome = !matches!(fits(&self.source.shape, self.wanted), Fit::Never(_));
        let hint = match (alone, welcome) {
            (true, true) => format!("write `{}`, which keeps the type", self.reference),
            (false, true) => format!("write the reference alone, `{}`, which keeps its type", self.reference),
            (_, false) => self.write_wanted(),
        };
        Some(
            Finding::error(
                FindingCode::TypeMismatch,
                self.pointer,
                format!("{} takes {}, but braces always give text", self.place(), words(self.wanted)),
            )
            .hint(hint),
        )
    }

    /// Only a scalar can be printed.
    fn scalar(&self) -> Option<Finding> {
        let cases = self.source.shape.cases()?;
        let spelled = spell(self.reference, Position::InText);
        let is = words(&self.source.shape);
        let printable = cases.iter().filter(|case| case.kind.is_scalar()).count();
        if cases.is_empty() || printable == cases.len() {
            return None;
        }
        if printable > 0 {
            let message =
                format!("`{spelled}` may be {is}, and only a string, a number or a boolean can be printed");
            return Some(
                Finding::warning(FindingCode::MaybeMismatch, self.pointer, message)
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
            None if cases.iter().any(|case| case.kind == Kind::Array) => {
                format!(
                    "print one element, or run the step once for each with foreach from `{}`",
                    self.reference
                )
            }
            None => "refer to a string, a number or a boolean".to_owned(),
        };
        let message = format!("`{spelled}` is {is}, which cannot be printed inside a text");
        Some(Finding::error(FindingCode::TemplateNotScalar, self.pointer, message).hint(hint))
    }
}
