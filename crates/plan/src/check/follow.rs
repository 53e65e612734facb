//! One step along a path: from the shape of a value to the shape of a part of it.

use serde_json::{Map, Value};

use super::shape::{Case, Detail, Kind, Shape};
use crate::Segment;

/// What a path finds.
#[derive(Debug, Clone)]
pub(super) enum Found<'a> {
    /// Always there.
    Always(Shape<'a>),
    /// There in some values.
    Sometimes(Shape<'a>),
    Never,
}

/// Goes one segment further.
pub(super) fn follow<'a>(shape: &Shape<'a>, segment: &Segment) -> Found<'a> {
    let Some(cases) = shape.cases() else {
        return Found::Always(Shape::Unknown);
    };
    let mut shapes = Vec::new();
    let mut sure = true;
    for case in &cases {
        match follow_case(case, segment) {
            Found::Always(shape) => shapes.push(shape),
            Found::Sometimes(shape) => {
                sure = false;
                shapes.push(shape);
            }
            Found::Never => sure = false,
        }
    }
    let shape = match shapes.len() {
        0 => return Found::Never,
        1 => shapes.remove(0),
        _ => Shape::OneOf(shapes),
    };
    if sure { Found::Always(shape) } else { Found::Sometimes(shape) }
}

/// Goes one segment further in one case.
pub(super) fn follow_case<'a>(case: &Case<'a>, segment: &Segment) -> Found<'a> {
    match (segment, case.kind) {
        (Segment::Key(key), Kind::Object) => property(&case.detail, key),
        (Segment::Index(index), Kind::Array) => element(&case.detail, *index),
        _ => Found::Never,
    }
}

fn property<'a>(detail: &Detail<'a>, key: &str) -> Found<'a> {
    match detail {
        Detail::Nothing | Detail::ListOf(_) => Found::Sometimes(Shape::Unknown),
        Detail::Exactly(value) => {
            value.get(key).map_or(Found::Never, |value| Found::Always(Shape::Exactly(value)))
        }
        Detail::Collected(item) => match key {
            "items" => Found::Always(Shape::ListOf(item.clone())),
            "count" | "failed" => Found::Always(Shape::Plain(Kind::Integer)),
            _ => Found::Never,
        },
        Detail::Schema { schema, root } => {
            if let Some(schema) = properties(schema).and_then(|map| map.get(key)) {
                let shape = Shape::Schema { schema, root };
                return if is_required(detail, key) { Found::Always(shape) } else { Found::Sometimes(shape) };
            }
            match schema.get("additionalProperties") {
                Some(Value::Bool(false)) if schema.get("patternProperties").is_none() => Found::Never,
                Some(schema @ Value::Object(_)) => Found::Sometimes(Shape::Schema { schema, root }),
                Some(_) | None => Found::Sometimes(Shape::Unknown),
            }
        }
    }
}

fn element<'a>(detail: &Detail<'a>, index: usize) -> Found<'a> {
    match detail {
        Detail::Nothing | Detail::Collected(_) => Found::Sometimes(Shape::Unknown),
        Detail::Exactly(value) => {
            value.get(index).map_or(Found::Never, |value| Found::Always(Shape::Exactly(value)))
        }
        Detail::ListOf(item) => Found::Sometimes((**item).clone()),
        Detail::Schema { schema, root } => {
            let limit = |name: &str| schema.get(name).and_then(Value::as_u64);
            let position = u64::try_from(index).unwrap_or(u64::MAX);
            if limit("maxItems").is_some_and(|max| position >= max) {
                return Found::Never;
            }
            let prefix = schema.get("prefixItems").and_then(|prefix| prefix.get(index));
            let shape = match prefix.or_else(|| schema.get("items")) {
                Some(schema) => Shape::Schema { schema, root },
                None => Shape::Unknown,
            };
            if limit("minItems").is_some_and(|min| position < min) {
                Found::Always(shape)
            } else {
                Found::Sometimes(shape)
            }
        }
    }
}

/// What the elements of a list look like; `None` when the case is no list.
pub(super) fn elements<'a>(case: &Case<'a>) -> Option<Shape<'a>> {
    /// Enough to see what kind of list it is; a literal list of thousands is not compared item by item.
    const SAMPLE: usize = 64;
    if case.kind != Kind::Array {
        return None;
    }
    Some(match &case.detail {
        Detail::Nothing | Detail::Collected(_) => Shape::Unknown,
        Detail::Exactly(value) => {
            let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
            let mut shapes: Vec<Shape<'a>> = items.iter().take(SAMPLE).map(Shape::Exactly).collect();
            if items.len() > SAMPLE {
                shapes.push(Shape::Unknown);
            }
            Shape::OneOf(shapes)
        }
        Detail::ListOf(item) => (**item).clone(),
        Detail::Schema { schema, root } => match schema.get("items") {
            Some(schema) => Shape::Schema { schema, root },
            None => Shape::Unknown,
        },
    })
}

/// The fields an object is known to have or may have, for "did you mean".
pub(super) fn field_names<'a>(cases: &[Case<'a>]) -> Vec<&'a str> {
    let mut names = Vec::new();
    for case in cases {
        match &case.detail {
            Detail::Schema { schema, .. } if case.kind == Kind::Object => {
                names.extend(properties(schema).into_iter().flat_map(Map::keys).map(String::as_str));
            }
            Detail::Exactly(Value::Object(map)) => names.extend(map.keys().map(String::as_str)),
            Detail::Collected(_) => names.extend(["items", "count", "failed"]),
            Detail::Nothing | Detail::ListOf(_) | Detail::Exactly(_) | Detail::Schema { .. } => {}
        }
    }
    names.dedup();
    names
}

pub(super) fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties").and_then(Value::as_object)
}

/// Whether an object of this case always has the field.
pub(super) fn is_required(detail: &Detail<'_>, key: &str) -> bool {
    match detail {
        Detail::Schema { schema, .. } => required(schema).any(|name| name == key),
        Detail::Exactly(value) => value.get(key).is_some(),
        Detail::Collected(_) => matches!(key, "items" | "count" | "failed"),
        Detail::Nothing | Detail::ListOf(_) => false,
    }
}

pub(super) fn required(schema: &Value) -> impl Iterator<Item = &str> {
    schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}
