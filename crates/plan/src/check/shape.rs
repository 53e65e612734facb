//! What is known about a value before anything runs.
//!
//! A shape is read off a tool's schema, or off a literal value. It may allow more than the schema does
//! (patterns, bounds and `not` are left aside), never less: when a shape has no room for a field, the value
//! has none either. That is what makes "this can never work" a fact.

use serde_json::Value;

use super::pointer;

/// What a value can be.
#[derive(Debug, Clone)]
pub(super) enum Shape<'a> {
    /// Anything: nothing is known.
    Unknown,
    /// What a schema says. `$ref` is looked up in `root`.
    Schema {
        schema: &'a Value,
        root: &'a Value,
    },
    /// This very value.
    Exactly(&'a Value),
    /// A list whose elements have this shape.
    ListOf(Box<Shape<'a>>),
    /// The output of a foreach step, each of whose items gives this.
    Collected(Box<Shape<'a>>),
    /// One of these.
    OneOf(Vec<Shape<'a>>),
    Plain(Kind),
}

/// The types of JSON, with whole numbers apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Null,
    Boolean,
    Integer,
    Number,
    String,
    Array,
    Object,
}

impl Kind {
    pub(super) fn with_article(self) -> &'static str {
        match self {
            Kind::Null => "null",
            Kind::Boolean => "a boolean",
            Kind::Integer => "an integer",
            Kind::Number => "a number",
            Kind::String => "a string",
            Kind::Array => "a list",
            Kind::Object => "an object",
        }
    }

    pub(super) fn of(value: &Value) -> Kind {
        match value {
            Value::Null => Kind::Null,
            Value::Bool(_) => Kind::Boolean,
            Value::Number(number) if number.is_f64() => Kind::Number,
            Value::Number(_) => Kind::Integer,
            Value::String(_) => Kind::String,
            Value::Array(_) => Kind::Array,
            Value::Object(_) => Kind::Object,
        }
    }

    /// A list or an object cannot be printed inside a text.
    pub(super) fn is_scalar(self) -> bool {
        match self {
            Kind::Boolean | Kind::Integer | Kind::Number | Kind::String => true,
            Kind::Null | Kind::Array | Kind::Object => false,
        }
    }

    fn named(name: &str) -> Option<Kind> {
        Some(match name {
            "null" => Kind::Null,
            "boolean" => Kind::Boolean,
            "integer" => Kind::Integer,
            "number" => Kind::Number,
            "string" => Kind::String,
            "array" => Kind::Array,
            "object" => Kind::Object,
            _ => return None,
        })
    }
}

/// One way a value can be, of a single type.
#[derive(Debug, Clone)]
pub(super) struct Case<'a> {
    pub(super) kind: Kind,
    pub(super) detail: Detail<'a>,
}

/// What else is known about a case.
#[derive(Debug, Clone)]
pub(super) enum Detail<'a> {
    Nothing,
    Schema { schema: &'a Value, root: &'a Value },
    Exactly(&'a Value),
    ListOf(Box<Shape<'a>>),
    Collected(Box<Shape<'a>>),
}

/// Deeper than any honest schema; ends the walk through one that refers to itself.
const MAX_DEPTH: usize = 24;

/// More alternatives than these are not told apart.
const MAX_CASES: usize = 256;

impl<'a> Shape<'a> {
    /// Every way the value can be; `None` when it can be anything.
    pub(super) fn cases(&self) -> Option<Vec<Case<'a>>> {
        let mut cases = Vec::new();
        (self.collect(&mut cases, 0) && cases.len() <= MAX_CASES).then_some(cases)
    }

    /// Adds the cases; `false` when there is no telling.
    fn collect(&self, cases: &mut Vec<Case<'a>>, depth: usize) -> bool {
        let mut add = |kind, detail| {
            cases.push(Case { kind, detail });
            true
        };
        match self {
            Shape::Unknown => false,
            Shape::Plain(kind) => add(*kind, Detail::Nothing),
            Shape::Exactly(value) => add(Kind::of(value), Detail::Exactly(value)),
            Shape::ListOf(item) => add(Kind::Array, Detail::ListOf(item.clone())),
            Shape::Collected(item) => add(Kind::Object, Detail::Collected(item.clone())),
            Shape::OneOf(shapes) => shapes.iter().all(|shape| shape.collect(cases, depth + 1)),
            Shape::Schema { schema, root } => collect_schema(schema, root, cases, depth),
        }
    }
}

fn collect_schema<'a>(schema: &'a Value, root: &'a Value, cases: &mut Vec<Case<'a>>, depth: usize) -> bool {
    if depth > MAX_DEPTH || cases.len() > MAX_CASES {
        return false;
    }
    let each = |schemas: &'a Vec<Value>, cases: &mut Vec<Case<'a>>| {
        schemas.iter().all(|schema| collect_schema(schema, root, cases, depth + 1))
    };
    let Some(map) = schema.as_object() else {
        // `false` has no case at all, `true` has every one.
        return schema == &Value::Bool(false);
    };
    if let Some(value) = map.get("const") {
        cases.push(Case { kind: Kind::of(value), detail: Detail::Exactly(value) });
        return true;
    }
    if let Some(values) = map.get("enum").and_then(Value::as_array) {
        cases.extend(
            values.iter().map(|value| Case { kind: Kind::of(value), detail: Detail::Exactly(value) }),
        );
        return true;
    }
    if let Some(target) = map.get("$ref").and_then(Value::as_str) {
        return local(root, target).is_some_and(|schema| collect_schema(schema, root, cases, depth + 1));
    }
    let detail = || Detail::Schema { schema, root };
    match map.get("type") {
        Some(Value::String(name)) => match Kind::named(name) {
            Some(kind) => {
                cases.push(Case { kind, detail: detail() });
                true
            }
            None => false,
        },
        Some(Value::Array(names)) => names.iter().all(|name| match name.as_str().and_then(Kind::named) {
            Some(kind) => {
                cases.push(Case { kind, detail: detail() });
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
                    cases.push(Case { kind: Kind::Object, detail: detail() });
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

/// The part of a schema that a reference such as `#/$defs/Entry` names. Others are not followed.
fn local<'a>(root: &'a Value, target: &str) -> Option<&'a Value> {
    let pointer = target.strip_prefix('#')?;
    let mut schema = root;
    for token in pointer::tokens(pointer) {
        schema = match schema {
            Value::Object(map) => map.get(&token)?,
            Value::Array(list) => list.get(token.parse::<usize>().ok()?)?,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
        };
    }
    Some(schema)
}
