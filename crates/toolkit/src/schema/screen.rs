//! Refuses a schema for what can be seen without following it: size, references, dialects, patterns.
//!
//! Every key is looked at, also inside `default`, `enum` or an unknown keyword: `{"$ref": "#/default"}` turns
//! what stands there into a schema, so no place is mere data.

use serde_json::Value;

use super::SchemaRefused;
use super::words::{name, pointer_segment};

/// Keys and strings together. A hand-written tool has 2 kB, the largest seen in the wild some 60.
const MAX_BYTES: usize = 128 * 1024;
/// The validator and our own walks recurse; people stop at ten.
const MAX_DEPTH: usize = 48;
const MAX_VALUES: usize = 8_000;
/// The paths of all parts together. The validator keeps one with each part, and a long name high up is in all that are
/// below it.
const MAX_PATH_BYTES: usize = 4 << 20;
/// `anyOf`, `oneOf`, `allOf`, `not`, `if`: each may double the work on a value.
const MAX_CHOICES: usize = 500;
const MAX_REFERENCES: usize = 500;
/// What a name or path needs, with room; longer patterns are programs.
pub(super) const MAX_PATTERN_BYTES: usize = 1024;

const DIALECTS: [&str; 4] = [
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2020-12/schema#",
    "http://json-schema.org/draft-07/schema",
    "http://json-schema.org/draft-07/schema#",
];

/// The schema as it may be compiled.
///
/// A root `$id` is dropped: all references that are left begin with `#`, which means the root whatever its
/// name is, while a name such as `file:///etc/` would only give the validator something to resolve against.
pub(super) fn screen(schema: &Value) -> Result<Value, SchemaRefused> {
    if !schema.is_object() && !schema.is_boolean() {
        return Err(SchemaRefused::NotASchema {
            pointer: String::new(),
            message: "expected an object such as {\"type\": \"object\"}".to_owned(),
        });
    }
    Screen::default().visit(schema, &mut String::new(), 0)?;
    let mut schema = schema.clone();
    if let Value::Object(map) = &mut schema {
        map.shift_remove("$id");
    }
    Ok(schema)
}

#[derive(Default)]
struct Screen {
    bytes: usize,
    values: usize,
    path_bytes: usize,
    choices: usize,
    references: usize,
}

impl Screen {
    fn visit(&mut self, value: &Value, pointer: &mut String, depth: usize) -> Result<(), SchemaRefused> {
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

    fn add_bytes(&mut self, bytes: usize) -> Result<(), SchemaRefused> {
        self.bytes += bytes;
        limit(self.bytes, MAX_BYTES, "too many bytes")
    }

    /// A property may be *named* `$ref` or `pattern`; then its value is a schema and not text.
    fn keyword(&mut self, key: &str, item: &Value, pointer: &str, depth: usize) -> Result<(), SchemaRefused> {
        let pointer = || pointer.to_owned();
        match (key, item) {
            ("$ref", Value::String(reference)) => {
                self.references += 1;
                limit(self.references, MAX_REFERENCES, "too many references")?;
                if reference == "#" || reference.starts_with("#/") {
                    Ok(())
                } else if reference.starts_with('#') {
                    Err(SchemaRefused::MovedBase { pointer: pointer() })
                } else {
                    Err(SchemaRefused::OutsideReference { pointer: pointer(), reference: name(reference) })
                }
            }
            ("$dynamicRef" | "$recursiveRef", Value::String(reference)) if !reference.starts_with('#') => {
                Err(SchemaRefused::OutsideReference { pointer: pointer(), reference: name(reference) })
            }
            ("$dynamicRef" | "$recursiveRef" | "$dynamicAnchor" | "$anchor", Value::String(_))
            | ("$recursiveAnchor", Value::Bool(_))
            | ("$vocabulary", Value::Object(_)) => Err(SchemaRefused::MovedBase { pointer: pointer() }),
            ("$id", Value::String(_)) if depth > 0 => Err(SchemaRefused::MovedBase { pointer: pointer() }),
            ("$schema", Value::String(dialect)) if !DIALECTS.contains(&dialect.as_str()) => {
                Err(SchemaRefused::UnknownDialect { pointer: pointer(), dialect: name(dialect) })
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

fn check_pattern(pattern: &str, pointer: impl Fn() -> String) -> Result<(), SchemaRefused> {
    if pattern.len() > MAX_PATTERN_BYTES {
        return Err(SchemaRefused::BadPattern { pointer: pointer(), limit: MAX_PATTERN_BYTES });
    }
    Ok(())
}

fn limit(count: usize, limit: usize, what: &'static str) -> Result<(), SchemaRefused> {
    if count > limit { Err(SchemaRefused::TooLarge { what, limit }) } else { Ok(()) }
}
