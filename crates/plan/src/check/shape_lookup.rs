//! Looks up one path segment: from the shape of a value to the shape of one of its parts.

use serde_json::{Map, Value};

use super::shape::{CaseDetail, JsonType, ShapeCase, ValueShape};
use crate::PathSegment;

/// The result of looking up a path segment.
#[derive(Debug, Clone)]
pub(super) enum PathLookup<'a> {
    /// Present in every value.
    Always(ValueShape<'a>),
    /// Present in some values.
    Sometimes(ValueShape<'a>),
    Never,
}

/// Looks up one segment.
pub(super) fn look_up<'a>(shape: &ValueShape<'a>, segment: &PathSegment) -> PathLookup<'a> {
    let Some(cases) = shape.cases() else {
        return PathLookup::Always(ValueShape::Unknown);
    };
    let mut shapes = Vec::new();
    let mut sure = true;
    for case in &cases {
        match look_up_case(case, segment) {
            PathLookup::Always(shape) => shapes.push(shape),
            PathLookup::Sometimes(shape) => {
                sure = false;
                shapes.push(shape);
            }
            PathLookup::Never => sure = false,
        }
    }
    let shape = match shapes.len() {
        0 => return PathLookup::Never,
        1 => shapes.remove(0),
        _ => ValueShape::OneOf(shapes),
    };
    if sure { PathLookup::Always(shape) } else { PathLookup::Sometimes(shape) }
}

/// Looks up one segment in one case.
pub(super) fn look_up_case<'a>(case: &ShapeCase<'a>, segment: &PathSegment) -> PathLookup<'a> {
    match (segment, case.kind) {
        (PathSegment::Key(key), JsonType::Object) => property(&case.detail, key),
        (PathSegment::Index(index), JsonType::Array) => element(&case.detail, *index),
        _ => PathLookup::Never,
    }
}

fn property<'a>(detail: &CaseDetail<'a>, key: &str) -> PathLookup<'a> {
    match detail {
        CaseDetail::Nothing | CaseDetail::ListOf(_) => PathLookup::Sometimes(ValueShape::Unknown),
        CaseDetail::Exactly(value) => {
            value.get(key).map_or(PathLookup::Never, |value| PathLookup::Always(ValueShape::Exactly(value)))
        }
        CaseDetail::Collected(item) => match key {
            "items" => PathLookup::Always(ValueShape::ListOf(item.clone())),
            "count" | "failed" => PathLookup::Always(ValueShape::Plain(JsonType::Integer)),
            _ => PathLookup::Never,
        },
        CaseDetail::Schema { schema, root } => {
            if let Some(schema) = properties(schema).and_then(|map| map.get(key)) {
                let shape = ValueShape::Schema { schema, root };
                return if is_required(detail, key) {
                    PathLookup::Always(shape)
                } else {
                    PathLookup::Sometimes(shape)
                };
            }
            match schema.get("additionalProperties") {
                Some(Value::Bool(false)) if schema.get("patternProperties").is_none() => PathLookup::Never,
                Some(schema @ Value::Object(_)) => PathLookup::Sometimes(ValueShape::Schema { schema, root }),
                Some(_) | None => PathLookup::Sometimes(ValueShape::Unknown),
            }
        }
    }
}

fn element<'a>(detail: &CaseDetail<'a>, index: usize) -> PathLookup<'a> {
    match detail {
        CaseDetail::Nothing | CaseDetail::Collected(_) => PathLookup::Sometimes(ValueShape::Unknown),
        CaseDetail::Exactly(value) => {
            value.get(index).map_or(PathLookup::Never, |value| PathLookup::Always(ValueShape::Exactly(value)))
        }
        CaseDetail::ListOf(item) => PathLookup::Sometimes((**item).clone()),
        CaseDetail::Schema { schema, root } => {
            let limit = |name: &str| schema.get(name).and_then(Value::as_u64);
            let position = u64::try_from(index).unwrap_or(u64::MAX);
            if limit("maxItems").is_some_and(|max| position >= max) {
                return PathLookup::Never;
            }
            let prefix = schema.get("prefixItems").and_then(|prefix| prefix.get(index));
            let shape = match prefix.or_else(|| schema.get("items")) {
                Some(schema) => ValueShape::Schema { schema, root },
                None => ValueShape::Unknown,
            };
            if limit("minItems").is_some_and(|min| position < min) {
                PathLookup::Always(shape)
            } else {
                PathLookup::Sometimes(shape)
            }
        }
    }
}

/// Returns the shape of a list's elements; `None` if the case is not a list.
pub(super) fn elements<'a>(case: &ShapeCase<'a>) -> Option<ValueShape<'a>> {
    /// Enough items to determine the element type; a literal list of thousands is not compared item by item.
    const SAMPLE: usize = 64;
    if case.kind != JsonType::Array {
        return None;
    }
    Some(match &case.detail {
        CaseDetail::Nothing | CaseDetail::Collected(_) => ValueShape::Unknown,
        CaseDetail::Exactly(value) => {
            let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
            let mut shapes: Vec<ValueShape<'a>> =
                items.iter().take(SAMPLE).map(ValueShape::Exactly).collect();
            if items.len() > SAMPLE {
                shapes.push(ValueShape::Unknown);
            }
            ValueShape::OneOf(shapes)
        }
        CaseDetail::ListOf(item) => (**item).clone(),
        CaseDetail::Schema { schema, root } => match schema.get("items") {
            Some(schema) => ValueShape::Schema { schema, root },
            None => ValueShape::Unknown,
        },
    })
}

/// Returns the known fields of an object, for "did you mean" hints.
pub(super) fn field_names<'a>(cases: &[ShapeCase<'a>]) -> Vec<&'a str> {
    let mut names = Vec::new();
    for case in cases {
        match &case.detail {
            CaseDetail::Schema { schema, .. } if case.kind == JsonType::Object => {
                names.extend(properties(schema).into_iter().flat_map(Map::keys).map(String::as_str));
            }
            CaseDetail::Exactly(Value::Object(map)) => names.extend(map.keys().map(String::as_str)),
            CaseDetail::Collected(_) => names.extend(["items", "count", "failed"]),
            CaseDetail::Nothing
            | CaseDetail::ListOf(_)
            | CaseDetail::Exactly(_)
            | CaseDetail::Schema { .. } => {}
        }
    }
    names.dedup();
    names
}

pub(super) fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties").and_then(Value::as_object)
}

/// Whether every object of this case has the field.
pub(super) fn is_required(detail: &CaseDetail<'_>, key: &str) -> bool {
    match detail {
        CaseDetail::Schema { schema, .. } => required(schema).any(|name| name == key),
        CaseDetail::Exactly(value) => value.get(key).is_some(),
        CaseDetail::Collected(_) => matches!(key, "items" | "count" | "failed"),
        CaseDetail::Nothing | CaseDetail::ListOf(_) => false,
    }
}

pub(super) fn required(schema: &Value) -> impl Iterator<Item = &str> {
    schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}
