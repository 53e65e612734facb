//! Follows the path of a reference through the shape of its source, and says where it leaves the road.

use envelope::nearest;

use super::fits::type_words;
use super::follow::{Found, field_names, follow, is_required};
use super::place::{braced, listed, spell};
use super::shape::{Case, Detail, Kind, Shape};
use crate::{Finding, FindingCode, Position, Reference, Segment};

/// The levels that models put between a step and its fields.
const LEVELS: [&str; 9] =
    ["data", "output", "outputs", "result", "results", "response", "value", "return", "json"];

/// Follows the whole path. At most one finding: the first place where it goes wrong or may go wrong.
pub(super) fn walk<'a>(
    root: Shape<'a>,
    reference: &Reference,
    position: Position,
) -> (Shape<'a>, Option<Finding>) {
    let mut shape = root;
    let mut doubt = None;
    for (depth, segment) in reference.path.iter().enumerate() {
        let trail = Trail { reference, depth, segment, position };
        match follow(&shape, segment) {
            Found::Always(next) => shape = next,
            Found::Sometimes(next) => {
                doubt = doubt.or_else(|| Some(trail.maybe_absent(&shape)));
                shape = next;
            }
            Found::Never => return (Shape::Unknown, Some(trail.unknown_path(&shape))),
        }
    }
    (shape, doubt)
}

/// How many segments of the path lead somewhere, before the first that is asked of a scalar.
pub(super) fn known_length(root: Shape<'_>, reference: &Reference) -> usize {
    let mut shape = root;
    for (depth, segment) in reference.path.iter().enumerate() {
        let scalar = |cases: Vec<Case<'_>>| cases.iter().all(|case| case.kind.is_scalar());
        shape = match follow(&shape, segment) {
            Found::Always(next) | Found::Sometimes(next) => next,
            Found::Never if shape.cases().is_some_and(scalar) => return depth,
            Found::Never => break,
        };
    }
    reference.path.len()
}

/// One segment of a reference, with what stands before it.
struct Trail<'r> {
    reference: &'r Reference,
    depth: usize,
    segment: &'r Segment,
    position: Position,
}

impl Trail<'_> {
    /// The reference up to here, without this segment.
    fn before(&self) -> Reference {
        let path = self.reference.path.iter().take(self.depth).cloned().collect();
        Reference { root: self.reference.root.clone(), path }
    }

    /// The reference with something else in place of this segment.
    fn with(&self, segments: &[Segment]) -> String {
        let mut reference = self.before();
        reference.path.extend_from_slice(segments);
        reference.path.extend(self.reference.path.iter().skip(self.depth + 1).cloned());
        spell(&reference, self.position)
    }

    fn unknown_path(&self, shape: &Shape<'_>) -> Finding {
        let cases = shape.cases().unwrap_or_default();
        let before = spell(&self.before(), self.position);
        let what = match self.segment {
            Segment::Key(key) => format!("no field `{key}`"),
            Segment::Index(index) => format!("no element [{index}]"),
        };
        let (message, hint) = if cases.iter().any(|case| case.kind == Kind::Object) {
            let hint = match self.segment {
                Segment::Key(key) => self.field_hint(key, shape, &cases),
                Segment::Index(_) => {
                    listed("it is an object; its fields are", fields(&cases), "it is an object")
                }
            };
            (format!("`{before}` has {what}"), hint)
        } else if cases.iter().any(|case| case.kind == Kind::Array) {
            (format!("`{before}` is a list and has {what}"), self.list_hint(&cases))
        } else {
            let message = format!("`{before}` is {}, so it has {what}", type_words(&cases));
            let rest = spell(self.reference, self.position);
            let rest =
                rest.trim_end_matches('}').get(before.trim_end_matches('}').len()..).unwrap_or_default();
            let joined = format!("{}{rest}", spell(&self.before(), Position::InText));
            (message, format!("end the reference there: `{before}`; to put text after it, write `{joined}`"))
        };
        Finding::error(FindingCode::UnknownPath, "", message).hint(hint)
    }

    fn field_hint(&self, key: &str, shape: &Shape<'_>, cases: &[Case<'_>]) -> String {
        let rest = self.reference.path.get(self.depth + 1..).unwrap_or_default();
        if LEVELS.contains(&key) && self.depth == 0 {
            let direct = rest.first().is_none_or(|next| !matches!(follow(shape, next), Found::Never));
            if direct {
                return format!("there is no `{key}` level: write `{}`", self.with(&[]));
            }
        }
        let collected = cases.iter().find_map(|case| match &case.detail {
            Detail::Collected(item) => Some(item),
            Detail::Nothing | Detail::Schema { .. } | Detail::Exactly(_) | Detail::ListOf(_) => None,
        });
        let of_item = collected.filter(|item| !matches!(follow(item, self.segment), Found::Never));
        if of_item.is_some() {
            let first = [Segment::Key("items".to_owned()), Segment::Index(0), self.segment.clone()];
            return format!(
                "a foreach step gives `items` (one output per item), `count` and `failed`; one item's is `{}`",
                self.with(&first)
            );
        }
        if let Some(near) = nearest(key, fields(cases)) {
            return format!("did you mean `{}`?", self.with(&[Segment::Key(near.to_owned())]));
        }
        listed("its fields are", fields(cases), "it has no fields at all")
    }

    fn list_hint(&self, cases: &[Case<'_>]) -> String {
        let before = self.before();
        let list = spell(&before, Position::Whole);
        match self.segment {
            Segment::Key(key) if matches!(key.as_str(), "length" | "size" | "count" | "len") => {
                "a list has no such field; use a count that the tool itself reports, or leave it out"
                    .to_owned()
            }
            Segment::Key(_) => {
                let first = self.with(&[Segment::Index(0), self.segment.clone()]);
                format!(
                    "take one element, `{first}`, or run the step once for each with foreach from `{list}`"
                )
            }
            Segment::Index(_) => {
                let length = cases.iter().find_map(|case| match case.detail {
                    Detail::Exactly(value) => value.as_array().map(Vec::len),
                    Detail::Nothing | Detail::Schema { .. } | Detail::ListOf(_) | Detail::Collected(_) => {
                        None
                    }
                });
                match length {
                    Some(0) => "the list is empty".to_owned(),
                    Some(length) => format!("positions count from 0: the last one is [{}]", length - 1),
                    None => "use a smaller position".to_owned(),
                }
            }
        }
    }

    fn maybe_absent(&self, shape: &Shape<'_>) -> Finding {
        let cases = shape.cases().unwrap_or_default();
        let before = spell(&self.before(), self.position);
        let nullable = cases.iter().any(|case| case.kind == Kind::Null);
        let (message, hint) = match self.segment {
            Segment::Index(index) => (
                format!("`{before}` may have no element [{index}]"),
                "this step fails if it is missing; a foreach over the list simply does nothing when it is empty"
                    .to_owned(),
            ),
            Segment::Key(key) if nullable => (
                format!("`{before}` may be null, and then has no field `{key}`"),
                "this step fails if it is; refer to something that is always there".to_owned(),
            ),
            Segment::Key(key) => {
                let sure: Vec<&str> = fields(&cases)
                    .filter(|name| cases.iter().all(|case| is_required(&case.detail, name)))
                    .collect();
                let sure = listed("always there are", sure.into_iter(), "none of its fields is always there");
                (
                    format!("`{before}` may have no field `{key}`"),
                    format!("this step fails if it is missing; {sure}"),
                )
            }
        };
        Finding::warning(FindingCode::MaybeAbsent, "", message).hint(hint)
    }
}

fn fields<'c>(cases: &'c [Case<'c>]) -> impl Iterator<Item = &'c str> {
    field_names(cases).into_iter()
}

/// The fields of an object whose values would be welcome in a place, as whole references.
pub(super) fn fitting_fields(
    reference: &Reference,
    shape: &Shape<'_>,
    fits: impl Fn(&Shape<'_>) -> bool,
) -> Vec<String> {
    let cases = shape.cases().unwrap_or_default();
    let mut names = field_names(&cases);
    names.retain(|name| match follow(shape, &Segment::Key((*name).to_owned())) {
        Found::Always(part) | Found::Sometimes(part) => fits(&part),
        Found::Never => false,
    });
    let root = reference.to_string();
    names
        .into_iter()
        .map(|name| braced(&format!("{}.{name}", root.trim_start_matches('$')), Position::Whole))
        .collect()
}
