//! Shortens a JSON Schema for a model.
//!
//! `$schema`, `title` and `$comment` do not constrain values. They are removed as keywords, and kept as names or
//! values: a property named `title` stays.

use serde_json::Value;

/// Keywords that do not constrain values.
const IDLE: [&str; 3] = ["$schema", "title", "$comment"];
/// Keywords that hold schemas by name.
const NAMED: [&str; 6] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"];
/// Keywords that hold a list of schemas, or one.
const LISTED: [&str; 5] = ["allOf", "anyOf", "oneOf", "prefixItems", "items"];
/// Keywords that hold one schema.
const SINGLE: [&str; 10] = [
    "additionalProperties",
    "additionalItems",
    "contains",
    "else",
    "if",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Returns the schema for a model.
pub(super) fn compact(schema: &Value) -> Value {
    match schema {
        Value::Object(keywords) => Value::Object(
            keywords.iter().filter(|(name, _)| !IDLE.contains(&name.as_str())).map(keyword).collect(),
        ),
        Value::Array(list) => Value::Array(list.iter().map(compact).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => schema.clone(),
    }
}

fn keyword((name, value): (&String, &Value)) -> (String, Value) {
    let is_one_of = |keywords: &[&str]| keywords.contains(&name.as_str());
    let value = match value.as_object().filter(|_| is_one_of(&NAMED)) {
        Some(schemas) => schemas.iter().map(|(name, schema)| (name.clone(), named(schema))).collect(),
        None if is_one_of(&LISTED) || is_one_of(&SINGLE) => compact(value),
        None => value.clone(),
    };
    (name.clone(), value)
}

/// `dependencies` may contain lists of names beside schemas.
fn named(value: &Value) -> Value {
    if value.is_array() { value.clone() } else { compact(value) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::compact;

    // Conformance: proxy 12.1
    #[test]
    fn titles_go_and_properties_of_that_name_stay() {
        let schema = json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "title": "Args",
            "type": "object",
            "properties": {
                "title": { "title": "Title", "type": "string", "const": "title" },
                "any": { "anyOf": [{ "title": "A", "type": "null" }, { "$ref": "#/$defs/B" }] },
                "list": { "type": "array", "items": { "title": "Item", "enum": [{ "title": 1 }] } },
            },
            "$defs": { "B": { "title": "B", "type": "object", "default": { "title": "kept" } } },
            "required": ["title"],
            "additionalProperties": false,
        });
        let expected = json!({
            "type": "object",
            "properties": {
                "title": { "type": "string", "const": "title" },
                "any": { "anyOf": [{ "type": "null" }, { "$ref": "#/$defs/B" }] },
                "list": { "type": "array", "items": { "enum": [{ "title": 1 }] } },
            },
            "$defs": { "B": { "type": "object", "default": { "title": "kept" } } },
            "required": ["title"],
            "additionalProperties": false,
        });
        assert_eq!(compact(&schema), expected);
    }
}
