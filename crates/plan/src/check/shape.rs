//! Static types of values, known before the run.
//!
//! A shape comes from a tool's schema or from a literal value. It can allow more than the schema does
//! (patterns, bounds and `not` are ignored), never less: if a shape has no such field, the value has none
//! either. This is why the checker can say that something never works.

use serde_json::Value;

use crate::json_pointer;

/// The static type of a value.
#[derive(Debug, Clone)]
pub(super) enum ValueShape<'a> {
    /// Anything: nothing is known.
    Unknown,
    /// Described by a schema. `$ref` is looked up in `root`.
    Schema {
        schema: &'a Value,
        root: &'a Value,
    },
    /// Exactly this value.
    Exactly(&'a Value),
    /// A list whose elements have this shape.
    ListOf(Box<ValueShape<'a>>),
    /// The output of a foreach step; each item has this shape.
    Collected(Box<ValueShape<'a>>),
    /// Any one of these.
    OneOf(Vec<ValueShape<'a>>),
    Plain(JsonType),
}

/// The JSON types, with integers separate from other numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum JsonType {
    Null,
    Boolean,
    Integer,
    Number,
    String,
    Array,
    Object,
}

impl JsonType {
    pub(super) fn with_article(self) -> &'static str {
        match self {
            JsonType::Null => "null",
            JsonType::Boolean => "a boolean",
            JsonType::Integer => "an integer",
            JsonType::Number => "a number",
            JsonType::String => "a string",
            JsonType::Array => "a list",
            JsonType::Object => "an object",
        }
    }

    pub(super) fn of(value: &Value) -> JsonType {
        match value {
            Value::Null => JsonType::Null,
            Value::Bool(_) => JsonType::Boolean,
            Value::Number(number) if number.is_f64() => JsonType::Number,
            Value::Number(_) => JsonType::Integer,
            Value::String(_) => JsonType::String,
            Value::Array(_) => JsonType::Array,
            Value::Object(_) => JsonType::Object,
        }
    }

    /// Whether the value can be printed inside a text; lists and objects cannot.
    pub(super) fn is_scalar(self) -> bool {
        match self {
            JsonType::Boolean | JsonType::Integer | JsonType::Number | JsonType::String => true,
            JsonType::Null | JsonType::Array | JsonType::Object => false,
        }
    }

    fn named(name: &str) -> Option<JsonType> {
        Some(match name {
            "null" => JsonType::Null,
            "boolean" => JsonType::Boolean,
            "integer" => JsonType::Integer,
            "number" => JsonType::Number,
            "string" => JsonType::String,
            "array" => JsonType::Array,
            "object" => JsonType::Object,
            _ => return None,
        })
    }
}

/// One alternative of a shape, with a single JSON type.
#[derive(Debug, Clone)]
pub(super) struct ShapeCase<'a> {
    pub(super) kind: JsonType,
    pub(super) detail: CaseDetail<'a>,
}

/// Further knowledge about a case.
#[derive(Debug, Clone)]
pub(super) enum CaseDetail<'a> {
    Nothing,
    Schema { schema: &'a Value, root: &'a Value },
    Exactly(&'a Value),
    ListOf(Box<ValueShape<'a>>),
    Collected(Box<ValueShape<'a>>),
}

/// Deeper than real schemas; ends the recursion in a schema that refers to itself.
const MAX_DEPTH: usize = 24;

/// Maximum number of alternatives that are considered.
const MAX_CASES: usize = 256;

impl<'a> ValueShape<'a> {
    /// Returns every alternative of the shape; `None` if it can be anything.
    pub(super) fn cases(&self) -> Option<Vec<ShapeCase<'a>>> {
        let mut cases = Vec::new();
        (self.collect(&mut cases, 0) && cases.len() <= MAX_CASES).then_some(cases)
    }

    /// Adds the cases; returns `false` if they cannot be determined.
    fn collect(&self, cases: &mut Vec<ShapeCase<'a>>, depth: usize) -> bool {
        let mut add = |kind, detail| {
            cases.push(ShapeCase { kind, detail });
            true
        };
        match self {
            ValueShape::Unknown => false,
            ValueShape::Plain(kind) => add(*kind, CaseDetail::Nothing),
            ValueShape::Exactly(value) => add(JsonType::of(value), CaseDetail::Exactly(value)),
            ValueShape::ListOf(item) => add(JsonType::Array, CaseDetail::ListOf(item.clone())),
            ValueShape::Collected(item) => add(JsonType::Object, CaseDetail::Collected(item.clone())),
            ValueShape::OneOf(shapes) => shapes.iter().all(|shape| shape.collect(cases, depth + 1)),
            ValueShape::Schema { schema, root } => collect_schema(schema, root, cases, depth),
        }
    }
}

fn collect_schema<'a>(
    schema: &'a Value,
    root: &'a Value,
    cases: &mut Vec<ShapeCase<'a>>,
    depth: usize,
) -> bool {
    if depth > MAX_DEPTH || cases.len() > MAX_CASES {
        return false;
    }
    let each = |schemas: &'a Vec<Value>, cases: &mut Vec<ShapeCase<'a>>| {
        schemas.iter().all(|schema| collect_schema(schema, root, cases, depth + 1))
    };
    let Some(map) = schema.as_object() else {
        // `false` allows no value, `true` allows every value.
        return schema == &Value::Bool(false);
    };
    if let Some(value) = map.get("const") {
        cases.push(ShapeCase { kind: JsonType::of(value), detail: CaseDetail::Exactly(value) });
        return true;
    }
    if let Some(values) = map.get("enum").and_then(Value::as_array) {
        cases.extend(
            values
                .iter()
                .map(|value| ShapeCase { kind: JsonType::of(value), detail: CaseDetail::Exactly(value) }),
        );
        return true;
    }
    if let Some(target) = map.get("$ref").and_then(Value::as_str) {
        return local(root, target).is_some_and(|schema| collect_schema(schema, root, cases, depth + 1));
    }
    let detail = || CaseDetail::Schema { schema, root };
    match map.get("type") {
        Some(Value::String(name)) => match JsonType::named(name) {
            Some(kind) => {
                cases.push(ShapeCase { kind, detail: detail() });
                true
            }
            None => false,
        },
        Some(Value::Array(names)) => names.iter().all(|name| match name.as_str().and_then(JsonType::named) {
            Some(kind) => {
                cases.push(ShapeCase { kind, detail: detail() });
                true
            }
            None => false,
        }),
        Some(_) => false,
        None => {
            if let Some(schemas) = choice(map) {
                return each(schemas, cases);
            }
            match map.get("allOf").and_then(Value::as_array).map(Vec::as_slice) {
                Some([only]) => collect_schema(only, root, cases, depth + 1),
                Some(_) | None if map.contains_key("properties") => {
                    cases.push(ShapeCase { kind: JsonType::Object, detail: detail() });
                    true
                }
                Some(_) | None => false,
            }
        }
    }
}

fn choice(map: &serde_json::Map<String, Value>) -> Option<&Vec<Value>> {
    map.get("anyOf").or_else(|| map.get("oneOf")).and_then(Value::as_array)
}

/// Returns the part of a schema that a reference such as `#/$defs/Entry` names. Other references are not
/// followed.
fn local<'a>(root: &'a Value, target: &str) -> Option<&'a Value> {
    let pointer = target.strip_prefix('#')?;
    let mut schema = root;
    for token in json_pointer::tokens(pointer) {
        schema = match schema {
            Value::Object(map) => map.get(&token)?,
            Value::Array(list) => list.get(token.parse::<usize>().ok()?)?,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
        };
    }
    Some(schema)
}
