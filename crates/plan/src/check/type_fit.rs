//! Compares the type of a value with the type that its target accepts.

use serde_json::Value;

use super::shape::{CaseDetail, JsonType, ShapeCase, ValueShape};
use super::shape_lookup::{
    PathLookup, elements, field_names, is_required, look_up_case, properties, required,
};
use crate::PathSegment;

/// The result of a comparison, with the reason in words unless everything fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TypeFit {
    Yes,
    /// Some values fit and others do not.
    Maybe(String),
    Never(String),
}

/// Deeper than the lists of lists of objects that tools take. Below this, the check before dispatch decides.
const MAX_DEPTH: usize = 8;

pub(super) fn check_fit(source: &ValueShape<'_>, target: &ValueShape<'_>) -> TypeFit {
    compare(source, target, 0)
}

/// Returns all types that a shape allows, in words: `a string or null`.
pub(super) fn describe_shape(shape: &ValueShape<'_>) -> String {
    let Some(cases) = shape.cases() else {
        return "any value".to_owned();
    };
    let values: Option<Vec<&Value>> = cases
        .iter()
        .map(|case| match case.detail {
            CaseDetail::Exactly(value) if case.kind == JsonType::String => Some(value),
            CaseDetail::Nothing
            | CaseDetail::Schema { .. }
            | CaseDetail::Exactly(_)
            | CaseDetail::ListOf(_)
            | CaseDetail::Collected(_) => None,
        })
        .collect();
    if let Some(values) = values.filter(|values| (1..=8).contains(&values.len())) {
        let list = values.iter().map(|value| format!("`{}`", value.as_str().unwrap_or_default()));
        return list.collect::<Vec<_>>().join(" or ");
    }
    describe_types(&cases)
}

/// Returns the types of the cases in words, without their values.
pub(super) fn describe_types(cases: &[ShapeCase<'_>]) -> String {
    let mut kinds: Vec<JsonType> = cases.iter().map(|case| case.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    // `null` comes last.
    kinds.sort_by_key(|kind| *kind == JsonType::Null);
    if kinds.is_empty() {
        return "nothing".to_owned();
    }
    kinds.into_iter().map(JsonType::with_article).collect::<Vec<_>>().join(" or ")
}

fn compare(source: &ValueShape<'_>, target: &ValueShape<'_>, depth: usize) -> TypeFit {
    let (Some(from), Some(to)) = (source.cases(), target.cases()) else {
        return TypeFit::Yes;
    };
    // An empty literal list has no element that could be wrong.
    if from.is_empty() || depth > MAX_DEPTH {
        return TypeFit::Yes;
    }
    let (mut some_fit, mut doubt, mut refusal) = (false, None, None);
    for case in &from {
        match best_fit(case, &to, target, depth) {
            TypeFit::Yes => some_fit = true,
            TypeFit::Maybe(why) => doubt = doubt.or(Some(why)),
            TypeFit::Never(why) => refusal = refusal.or(Some(why)),
        }
    }
    match (refusal, doubt) {
        (None, None) => TypeFit::Yes,
        (Some(why), doubt) if some_fit || doubt.is_some() => TypeFit::Maybe(why),
        (Some(why), _) => TypeFit::Never(why),
        (None, Some(why)) => TypeFit::Maybe(why),
    }
}

/// Returns the best fit of any case of the target.
fn best_fit(case: &ShapeCase<'_>, to: &[ShapeCase<'_>], target: &ValueShape<'_>, depth: usize) -> TypeFit {
    let mut answer = None;
    for wanted in to {
        match compare_case(case, wanted, depth) {
            None => {}
            Some(TypeFit::Yes) => return TypeFit::Yes,
            Some(maybe @ TypeFit::Maybe(_)) => answer = Some(maybe),
            Some(never @ TypeFit::Never(_)) => answer = answer.or(Some(never)),
        }
    }
    answer.unwrap_or_else(|| {
        let found = match case.detail {
            CaseDetail::Exactly(value) if case.kind.is_scalar() => value.to_string(),
            CaseDetail::Nothing
            | CaseDetail::Schema { .. }
            | CaseDetail::Exactly(_)
            | CaseDetail::ListOf(_)
            | CaseDetail::Collected(_) => case.kind.with_article().to_owned(),
        };
        TypeFit::Never(format!("{found} where {} is needed", describe_shape(target)))
    })
}

/// Compares two cases. Returns `None` if the types differ: then a message about all types together is
/// clearer.
fn compare_case(case: &ShapeCase<'_>, wanted: &ShapeCase<'_>, depth: usize) -> Option<TypeFit> {
    if let CaseDetail::Exactly(value) = wanted.detail {
        return compare_exact(case, wanted.kind, value);
    }
    match (case.kind, wanted.kind) {
        (JsonType::Array, JsonType::Array) => {
            let (from, to) = (elements(case)?, elements(wanted)?);
            // An empty list would fit anything, but a plan does not rely on a list that is always empty.
            Some(match compare(&from, &to, depth + 1) {
                TypeFit::Yes => TypeFit::Yes,
                TypeFit::Maybe(why) => TypeFit::Maybe(format!("a list with {why}")),
                TypeFit::Never(why) => TypeFit::Never(format!("a list with {why}")),
            })
        }
        (JsonType::Object, JsonType::Object) => Some(compare_object(case, wanted, depth)),
        (JsonType::Number, JsonType::Integer) => Some(match case.detail {
            CaseDetail::Exactly(_) => return None,
            CaseDetail::Nothing
            | CaseDetail::Schema { .. }
            | CaseDetail::ListOf(_)
            | CaseDetail::Collected(_) => {
                TypeFit::Maybe("a number, possibly with a fraction, where an integer is needed".to_owned())
            }
        }),
        (JsonType::Integer, JsonType::Number) => Some(TypeFit::Yes),
        (from, to) => (from == to).then_some(TypeFit::Yes),
    }
}

fn compare_exact(case: &ShapeCase<'_>, kind: JsonType, value: &Value) -> Option<TypeFit> {
    match case.detail {
        CaseDetail::Exactly(given) => (given == value).then_some(TypeFit::Yes),
        CaseDetail::Nothing
        | CaseDetail::Schema { .. }
        | CaseDetail::ListOf(_)
        | CaseDetail::Collected(_) => (case.kind == kind).then(|| {
            TypeFit::Maybe(format!("{} where only certain values are allowed", kind.with_article()))
        }),
    }
}

fn compare_object(case: &ShapeCase<'_>, wanted: &ShapeCase<'_>, depth: usize) -> TypeFit {
    let CaseDetail::Schema { schema, root } = wanted.detail else {
        return TypeFit::Yes;
    };
    let mut doubt = None;
    for name in required(schema) {
        match look_up_case(case, &PathSegment::Key(name.to_owned())) {
            PathLookup::Always(_) => {}
            PathLookup::Sometimes(_) => doubt = Some(format!("an object that may lack the field `{name}`")),
            PathLookup::Never => return TypeFit::Never(format!("an object without the field `{name}`")),
        }
    }
    let known = properties(schema);
    let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    for name in field_names(std::slice::from_ref(case)) {
        let always = is_required(&case.detail, name);
        let fit = match known.and_then(|map| map.get(name)) {
            Some(schema) => match look_up_case(case, &PathSegment::Key(name.to_owned())) {
                PathLookup::Always(part) | PathLookup::Sometimes(part) => {
                    compare(&part, &ValueShape::Schema { schema, root }, depth + 1)
                }
                PathLookup::Never => TypeFit::Yes,
            },
            None if closed => TypeFit::Never("which is not a field here".to_owned()),
            None => TypeFit::Yes,
        };
        match fit {
            TypeFit::Yes => {}
            TypeFit::Never(why) if always => {
                return TypeFit::Never(format!("an object with the field `{name}`, {why}"));
            }
            TypeFit::Never(why) | TypeFit::Maybe(why) => {
                doubt = doubt.or(Some(format!("an object with the field `{name}`, {why}")));
            }
        }
    }
    doubt.map_or(TypeFit::Yes, TypeFit::Maybe)
}
