//! Follows the path of a reference through the shape of its source, and reports where the path leaves the
//! shape.

use envelope::nearest;

use super::shape::{CaseDetail, JsonType, ShapeCase, ValueShape};
use super::shape_lookup::{PathLookup, field_names, is_required, look_up};
use super::template_context::{as_written, braced, list_names};
use super::type_fit::describe_types;
use crate::{FindingCode, PathSegment, PlanFinding, Reference, ReferencePosition};

/// Fields that are the point of an output, in order; the others describe it.
const MAIN_FIELDS: [&str; 8] = ["content", "text", "items", "matches", "files", "links", "slug", "path"];

/// Intermediate levels that models put between a step and its fields.
const LEVELS: [&str; 9] =
    ["data", "output", "outputs", "result", "results", "response", "value", "return", "json"];

/// Follows the whole path. Reports at most one finding: the first segment that is wrong or may be wrong.
pub(super) fn follow_path<'a>(
    root: ValueShape<'a>,
    reference: &Reference,
    position: ReferencePosition,
) -> (ValueShape<'a>, Option<PlanFinding>) {
    let mut shape = root;
    let mut doubt = None;
    for (depth, segment) in reference.path.iter().enumerate() {
        let trail = PathTrail { reference, depth, segment, position };
        match look_up(&shape, segment) {
            PathLookup::Always(next) => shape = next,
            PathLookup::Sometimes(next) => {
                doubt = doubt.or_else(|| Some(trail.maybe_absent(&shape)));
                shape = next;
            }
            PathLookup::Never => return (ValueShape::Unknown, Some(trail.unknown_path(&shape))),
        }
    }
    (shape, doubt)
}

/// Returns the number of segments that exist, up to the first one that is applied to a scalar.
pub(super) fn known_length(root: ValueShape<'_>, reference: &Reference) -> usize {
    let mut shape = root;
    for (depth, segment) in reference.path.iter().enumerate() {
        let scalar = |cases: Vec<ShapeCase<'_>>| cases.iter().all(|case| case.kind.is_scalar());
        shape = match look_up(&shape, segment) {
            PathLookup::Always(next) | PathLookup::Sometimes(next) => next,
            PathLookup::Never if shape.cases().is_some_and(scalar) => return depth,
            PathLookup::Never => break,
        };
    }
    reference.path.len()
}

/// One segment of a reference, with the segments before it.
struct PathTrail<'r> {
    reference: &'r Reference,
    depth: usize,
    segment: &'r PathSegment,
    position: ReferencePosition,
}

impl PathTrail<'_> {
    /// Returns the reference up to this segment, without it.
    fn before(&self) -> Reference {
        let path = self.reference.path.iter().take(self.depth).cloned().collect();
        Reference { root: self.reference.root.clone(), path }
    }

    /// Returns the reference with other segments in place of this one.
    fn with(&self, segments: &[PathSegment]) -> String {
        let mut reference = self.before();
        reference.path.extend_from_slice(segments);
        reference.path.extend(self.reference.path.iter().skip(self.depth + 1).cloned());
        as_written(&reference, self.position)
    }

    fn unknown_path(&self, shape: &ValueShape<'_>) -> PlanFinding {
        let cases = shape.cases().unwrap_or_default();
        let before = as_written(&self.before(), self.position);
        let what = match self.segment {
            PathSegment::Key(key) => format!("no field `{key}`"),
            PathSegment::Index(index) => format!("no element [{index}]"),
        };
        let (message, hint) = if cases.iter().any(|case| case.kind == JsonType::Object) {
            let hint = match self.segment {
                PathSegment::Key(key) => self.field_hint(key, shape, &cases),
                PathSegment::Index(_) => {
                    list_names("it is an object; its fields are", fields(&cases), "it is an object")
                }
            };
            (format!("`{before}` has {what}"), hint)
        } else if cases.iter().any(|case| case.kind == JsonType::Array) {
            (format!("`{before}` is a list and has {what}"), self.list_hint(&cases))
        } else {
            let message = format!("`{before}` is {}, so it has {what}", describe_types(&cases));
            let rest = as_written(self.reference, self.position);
            let rest =
                rest.trim_end_matches('}').get(before.trim_end_matches('}').len()..).unwrap_or_default();
            let joined = format!("{}{rest}", as_written(&self.before(), ReferencePosition::InText));
            (message, format!("end the reference there: `{before}`; to put text after it, write `{joined}`"))
        };
        PlanFinding::error(FindingCode::UnknownPath, "", message).hint(hint)
    }

    fn field_hint(&self, key: &str, shape: &ValueShape<'_>, cases: &[ShapeCase<'_>]) -> String {
        let rest = self.reference.path.get(self.depth + 1..).unwrap_or_default();
        if LEVELS.contains(&key) && self.depth == 0 {
            let direct = rest.first().is_none_or(|next| !matches!(look_up(shape, next), PathLookup::Never));
            if direct {
                let whole = format!("there is no `{key}` level: write `{}`", self.with(&[]));
                // With a path behind it the level is simply left out; otherwise a field of the output is meant.
                return match main_field(cases).filter(|_| rest.is_empty()) {
                    Some(field) => {
                        let field = self.with(&[PathSegment::Key(field.to_owned())]);
                        format!(
                            "there is no `{key}` level: write `{field}`, or `{}` for the whole output",
                            self.with(&[])
                        )
                    }
                    None => whole,
                };
            }
        }
        let collected = cases.iter().find_map(|case| match &case.detail {
            CaseDetail::Collected(item) => Some(item),
            CaseDetail::Nothing
            | CaseDetail::Schema { .. }
            | CaseDetail::Exactly(_)
            | CaseDetail::ListOf(_) => None,
        });
        let of_item = collected.filter(|item| !matches!(look_up(item, self.segment), PathLookup::Never));
        if of_item.is_some() {
            let first = [PathSegment::Key("items".to_owned()), PathSegment::Index(0), self.segment.clone()];
            return format!(
                "a foreach step gives `items` (one output per item), `count` and `failed`; one item's is `{}`",
                self.with(&first)
            );
        }
        if let Some(near) = nearest(key, fields(cases)) {
            return format!("did you mean `{}`?", self.with(&[PathSegment::Key(near.to_owned())]));
        }
        list_names("its fields are", fields(cases), "it has no fields at all")
    }

    fn list_hint(&self, cases: &[ShapeCase<'_>]) -> String {
        let before = self.before();
        let list = as_written(&before, ReferencePosition::Whole);
        match self.segment {
            PathSegment::Key(key) if matches!(key.as_str(), "length" | "size" | "count" | "len") => {
                "a list has no such field; use a count that the tool itself reports, or leave it out"
                    .to_owned()
            }
            PathSegment::Key(_) => {
                let first = self.with(&[PathSegment::Index(0), self.segment.clone()]);
                format!(
                    "take one element, `{first}`, or run the step once for each with foreach from `{list}`"
                )
            }
            PathSegment::Index(_) => {
                let length = cases.iter().find_map(|case| match case.detail {
                    CaseDetail::Exactly(value) => value.as_array().map(Vec::len),
                    CaseDetail::Nothing
                    | CaseDetail::Schema { .. }
                    | CaseDetail::ListOf(_)
                    | CaseDetail::Collected(_) => None,
                });
                match length {
                    Some(0) => "the list is empty".to_owned(),
                    Some(length) => format!("positions count from 0: the last one is [{}]", length - 1),
                    None => "use a smaller position".to_owned(),
                }
            }
        }
    }

    fn maybe_absent(&self, shape: &ValueShape<'_>) -> PlanFinding {
        let cases = shape.cases().unwrap_or_default();
        let before = as_written(&self.before(), self.position);
        let nullable = cases.iter().any(|case| case.kind == JsonType::Null);
        let (message, hint) = match self.segment {
            PathSegment::Index(index) => (
                format!("`{before}` may have no element [{index}]"),
                "this step fails if it is missing; a foreach over the list simply does nothing when it is empty"
                    .to_owned(),
            ),
            PathSegment::Key(key) if nullable => (
                format!("`{before}` may be null, and then has no field `{key}`"),
                "this step fails if it is; refer to something that is always there".to_owned(),
            ),
            PathSegment::Key(key) => {
                let sure: Vec<&str> = fields(&cases)
                    .filter(|name| cases.iter().all(|case| is_required(&case.detail, name)))
                    .collect();
                let sure = list_names("always there are", sure.into_iter(), "none of its fields is always there");
                (
                    format!("`{before}` may have no field `{key}`"),
                    format!("this step fails if it is missing; {sure}"),
                )
            }
        };
        PlanFinding::warning(FindingCode::MaybeAbsent, "", message).hint(hint)
    }
}

/// Returns the field of an output that a reference to the output as a whole most likely means.
fn main_field<'a>(cases: &'a [ShapeCase<'a>]) -> Option<&'static str> {
    MAIN_FIELDS.into_iter().find(|main| fields(cases).any(|field| field == *main))
}

fn fields<'c>(cases: &'c [ShapeCase<'c>]) -> impl Iterator<Item = &'c str> {
    field_names(cases).into_iter()
}

/// Returns whole references to the fields of an object whose values would fit the target.
pub(super) fn fitting_fields(
    reference: &Reference,
    shape: &ValueShape<'_>,
    fits: impl Fn(&ValueShape<'_>) -> bool,
) -> Vec<String> {
    let cases = shape.cases().unwrap_or_default();
    let mut names = field_names(&cases);
    names.retain(|name| match look_up(shape, &PathSegment::Key((*name).to_owned())) {
        PathLookup::Always(part) | PathLookup::Sometimes(part) => fits(&part),
        PathLookup::Never => false,
    });
    let root = reference.to_string();
    names
        .into_iter()
        .map(|name| braced(&format!("{}.{name}", root.trim_start_matches('$')), ReferencePosition::Whole))
        .collect()
}
