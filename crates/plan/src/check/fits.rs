//! Whether a value of one shape is welcome where another shape is asked for.

use serde_json::Value;

use super::follow::{Found, elements, field_names, follow_case, is_required, properties, required};
use super::shape::{Case, Detail, Kind, Shape};
use crate::Segment;

/// The answer, with the reason in words when it is not a yes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fit {
    Yes,
    /// Some values fit and some do not.
    Maybe(String),
    Never(String),
}

/// Lists of lists of objects: deeper than tools go. Past this, the check before dispatch decides.
const MAX_DEPTH: usize = 8;

pub(super) fn fits(source: &Shape<'_>, target: &Shape<'_>) -> Fit {
    compare(source, target, 0)
}

/// All the types a shape allows, in words: `a string or null`.
pub(super) fn words(shape: &Shape<'_>) -> String {
    let Some(cases) = shape.cases() else {
        return "any value".to_owned();
    };
    let values: Option<Vec<&Value>> = cases
        .iter()
        .map(|case| match case.detail {
            Detail::Exactly(value) if case.kind == Kind::String => Some(value),
            Detail::Nothing
            | Detail::Schema { .. }
            | Detail::Exactly(_)
            | Detail::ListOf(_)
            | Detail::Collected(_) => None,
        })
        .collect();
    if let Some(values) = values.filter(|values| (1..=8).contains(&values.len())) {
        let list = values.iter().map(|value| format!("`{}`", value.as_str().unwrap_or_default()));
        return list.collect::<Vec<_>>().join(" or ");
    }
    type_words(&cases)
}

/// The types of the cases, in words, without their values.
pub(super) fn type_words(cases: &[Case<'_>]) -> String {
    let mut kinds: Vec<Kind> = cases.iter().map(|case| case.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    // `null` reads best at the end.
    kinds.sort_by_key(|kind| *kind == Kind::Null);
    if kinds.is_empty() {
        return "nothing".to_owned();
    }
    kinds.into_iter().map(Kind::with_article).collect::<Vec<_>>().join(" or ")
}

fn compare(source: &Shape<'_>, target: &Shape<'_>, depth: usize) -> Fit {
    let (Some(from), Some(to)) = (source.cases(), target.cases()) else {
        return Fit::Yes;
    };
    // An empty literal list has no element that could be wrong.
    if from.is_empty() || depth > MAX_DEPTH {
        return Fit::Yes;
    }
    let (mut some_fit, mut doubt, mut refusal) = (false, None, None);
    for case in &from {
        match best(case, &to, target, depth) {
            Fit::Yes => some_fit = true,
            Fit::Maybe(why) => doubt = doubt.or(Some(why)),
            Fit::Never(why) => refusal = refusal.or(Some(why)),
        }
    }
    match (refusal, doubt) {
        (None, None) => Fit::Yes,
        (Some(why), doubt) if some_fit || doubt.is_some() => Fit::Maybe(why),
        (Some(why), _) => Fit::Never(why),
        (None, Some(why)) => Fit::Maybe(why),
    }
}

/// The kindest answer that any case of the target gives.
fn best(case: &Case<'_>, to: &[Case<'_>], target: &Shape<'_>, depth: usize) -> Fit {
    let mut answer = None;
    for wanted in to {
        match compare_case(case, wanted, depth) {
            None => {}
            Some(Fit::Yes) => return Fit::Yes,
            Some(maybe @ Fit::Maybe(_)) => answer = Some(maybe),
            Some(never @ Fit::Never(_)) => answer = answer.or(Some(never)),
        }
    }
    answer.unwrap_or_else(|| {
        let found = match case.detail {
            Detail::Exactly(value) if case.kind.is_scalar() => value.to_string(),
            Detail::Nothing
            | Detail::Schema { .. }
            | Detail::Exactly(_)
            | Detail::ListOf(_)
            | Detail::Collected(_) => case.kind.with_article().to_owned(),
        };
        Fit::Never(format!("{found} where {} is needed", words(target)))
    })
}

/// `None` when the types differ: then the words for all types together are better than for this one.
fn compare_case(case: &Case<'_>, wanted: &Case<'_>, depth: usize) -> Option<Fit> {
    if let Detail::Exactly(value) = wanted.detail {
        return exactly(case, wanted.kind, value);
    }
    match (case.kind, wanted.kind) {
        (Kind::Array, Kind::Array) => {
            let (from, to) = (elements(case)?, elements(wanted)?);
            // An empty list would fit anything, but nobody plans for a list that is always empty.
            Some(match compare(&from, &to, depth + 1) {
                Fit::Yes => Fit::Yes,
                Fit::Maybe(why) => Fit::Maybe(format!("a list with {why}")),
                Fit::Never(why) => Fit::Never(format!("a list with {why}")),
            })
        }
        (Kind::Object, Kind::Object) => Some(compare_object(case, wanted, depth)),
        (Kind::Number, Kind::Integer) => Some(match case.detail {
            Detail::Exactly(_) => return None,
            Detail::Nothing | Detail::Schema { .. } | Detail::ListOf(_) | Detail::Collected(_) => {
                Fit::Maybe("a number, possibly with a fraction, where an integer is needed".to_owned())
            }
        }),
        (Kind::Integer, Kind::Number) => Some(Fit::Yes),
        (from, to) => (from == to).then_some(Fit::Yes),
    }
}

fn exactly(case: &Case<'_>, kind: Kind, value: &Value) -> Option<Fit> {
    match case.detail {
        Detail::Exactly(given) => (given == value).then_some(Fit::Yes),
        Detail::Nothing | Detail::Schema { .. } | Detail::ListOf(_) | Detail::Collected(_) => (case.kind
            == kind)
            .then(|| Fit::Maybe(format!("{} where only certain values are allowed", kind.with_article()))),
    }
}

fn compare_object(case: &Case<'_>, wanted: &Case<'_>, depth: usize) -> Fit {
    let Detail::Schema { schema, root } = wanted.detail else {
        return Fit::Yes;
    };
    let mut doubt = None;
    for name in required(schema) {
        match follow_case(case, &Segment::Key(name.to_owned())) {
            Found::Always(_) => {}
            Found::Sometimes(_) => doubt = Some(format!("an object that may lack the field `{name}`")),
            Found::Never => return Fit::Never(format!("an object without the field `{name}`")),
        }
    }
    let known = properties(schema);
    let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    for name in field_names(std::slice::from_ref(case)) {
        let always = is_required(&case.detail, name);
        let fit = match known.and_then(|map| map.get(name)) {
            Some(schema) => match follow_case(case, &Segment::Key(name.to_owned())) {
                Found::Always(part) | Found::Sometimes(part) => {
                    compare(&part, &Shape::Schema { schema, root }, depth + 1)
                }
                Found::Never => Fit::Yes,
            },
            None if closed => Fit::Never("which is not a field here".to_owned()),
            None => Fit::Yes,
        };
        match fit {
            Fit::Yes => {}
            Fit::Never(why) if always => {
                return Fit::Never(format!("an object with the field `{name}`, {why}"));
            }
            Fit::Never(why) | Fit::Maybe(why) => {
                doubt = doubt.or(Some(format!("an object with the field `{name}`, {why}")));
            }
        }
    }
    doubt.map_or(Fit::Yes, Fit::Maybe)
}
