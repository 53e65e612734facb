//! Rejects a schema by properties that need no reference resolution: size, references, dialects, patterns.
//!
//! Every key is checked, also inside `default`, `enum` or an unknown keyword: `{"$ref": "#/default"}` turns the
//! value there into a schema, so no location is mere data.

use serde_json::Value;

use super::SchemaError;
use super::formatter::{name, pointer_segment};

/// Total size of keys and strings. A hand-written tool has 2 kB, the largest known one some 60.
const MAX_BYTES: usize = 128 * 1024;
/// Deepest nesting. The validator and the walks in this crate recurse; hand-written schemas have at most ten
/// levels.
const MAX_DEPTH: usize = 48;
const MAX_VALUES: usize = 8_000;
/// Total length of the paths of all parts. The validator stores one with each part, and a long name near the root
/// is in the path of every part below it.
const MAX_PATH_BYTES: usize = 4 << 20;
/// Number of `anyOf`, `oneOf`, `allOf`, `not`, `if`: each may double the work on a value.
const MAX_CHOICES: usize = 500;
const MAX_REFERENCES: usize = 500;
/// Longest pattern: enough for a name or a path, with room to spare.
pub(super) const MAX_PATTERN_BYTES: usize = 1024;

const DIALECTS: [&str; 4] = [
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2020-12/schema#",
    "http://json-schema.org/draft-07/schema",
    "http://json-schema.org/draft-07/schema#",
];

/// Returns the schema as it may be compiled.
///
/// A root `$id` is dropped: all remaining references begin with `#`, which means the root whatever its name is,
/// while a name such as `file:///etc/` would only give the validator something to resolve against.
pub(super) fn validate_schema(schema: &Value) -> Result<Value, SchemaError> {
    if !schema.is_object() && !schema.is_boolean() {
        return Err(SchemaError::NotASchema {
            pointer: String::new(),
            message: "expected an object such as {\"type\": \"object\"}".to_owned(),
        });
    }
    SchemaScan::default().visit(schema, &mut String::new(), 0)?;
    let mut schema = schema.clone();
    if let Value::Object(map) = &mut schema {
        map.shift_remove("$id");
    }
    Ok(schema)
}

#[derive(Default)]
struct SchemaScan {
    bytes: usize,
    values: usize,
    path_bytes: usize,
    choices: usize,
    references: usize,
}

impl SchemaScan {
    fn visit(&mut self, value: &Value, pointer: &mut String, depth: usize) -> Result<(), SchemaError> {
        self.values += 1;
        limit(self.values, MAX_VALUES, "too many parts")?;
        limit(depth, MAX_DEPTH, "too many levels")?;
        self.path_bytes += pointer.len();
        limit(self.path_bytes, MAX_PATH_BYTES, "too many bytes in the paths of its parts")?;
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
            Value::String(text) => self.add_bytes(text.len()),
            Value::Array(items) => items.iter().enumerate().try_for_each(|(index, item)| {
                let here = push(pointer, &index.to_string());
                self.visit(item, pointer, depth + 1)?;
                pointer.truncate(here);
                Ok(())
            }),
            Value::Object(map) => map.iter().try_for_each(|(key, item)| {
                self.add_bytes(key.len())?;
                let here = push(pointer, key);
                self.keyword(key, item, pointer, depth)?;
                self.visit(item, pointer, depth + 1)?;
                pointer.truncate(here);
                Ok(())
            }),
        }
    }

    fn add_bytes(&mut self, bytes: usize) -> Result<(), SchemaError> {
        self.bytes += bytes;
        limit(self.bytes, MAX_BYTES, "too many bytes")
    }

    /// A property may be *named* `$ref` or `pattern`; then its value is a schema and not text.
    fn keyword(&mut self, key: &str, item: &Value, pointer: &str, depth: usize) -> Result<(), SchemaError> {
        let pointer = || pointer.to_owned();
        match (key, item) {
            ("$ref", Value::String(reference)) => {
                self.references += 1;
                limit(self.references, MAX_REFERENCES, "too many references")?;
                if reference == "#" || reference.starts_with("#/") {
                    Ok(())
                } else if reference.starts_with('#') {
                    Err(SchemaError::MovedBase { pointer: pointer() })
                } else {
                    Err(SchemaError::OutsideReference { pointer: pointer(), reference: name(reference) })
                }
            }
            ("$dynamicRef" | "$recursiveRef", Value::String(reference)) if !reference.starts_with('#') => {
                Err(SchemaError::OutsideReference { pointer: pointer(), reference: name(reference) })
            }
            // A plain `$anchor` is a name that no reference here may use, so it has no effect.
            ("$dynamicRef" | "$recursiveRef" | "$dynamicAnchor", Value::String(_))
            | ("$recursiveAnchor", Value::Bool(_))
            | ("$vocabulary", Value::Object(_)) => Err(SchemaError::MovedBase { pointer: pointer() }),
            ("$id", Value::String(_)) if depth > 0 => Err(SchemaError::MovedBase { pointer: pointer() }),
            ("$schema", Value::String(dialect)) if !DIALECTS.contains(&dialect.as_str()) => {
                Err(SchemaError::UnknownDialect { pointer: pointer(), dialect: name(dialect) })
            }
            ("pattern", Value::String(pattern)) => check_pattern(pattern, pointer),
            ("patternProperties", Value::Object(map)) => {
                map.keys().try_for_each(|pattern| check_pattern(pattern, pointer))
            }
            ("anyOf" | "oneOf" | "allOf" | "not" | "if", Value::Array(_) | Value::Object(_)) => {
                self.choices += 1;
                limit(self.choices, MAX_CHOICES, "too many choices")
            }
            _ => Ok(()),
        }
    }
}

fn push(pointer: &mut String, key: &str) -> usize {
    let before = pointer.len();
    pointer.push('/');
    pointer.push_str(&pointer_segment(key));
    before
}

fn check_pattern(pattern: &str, pointer: impl Fn() -> String) -> Result<(), SchemaError> {
    if pattern.len() > MAX_PATTERN_BYTES {
        return Err(SchemaError::BadPattern { pointer: pointer(), limit: MAX_PATTERN_BYTES });
    }
    Ok(())
}

fn limit(count: usize, limit: usize, what: &'static str) -> Result<(), SchemaError> {
    if count > limit { Err(SchemaError::TooLarge { what, limit }) } else { Ok(()) }
}
