//! Adapts schemas for clients: the same values, with keywords that every client supports.
//!
//! Clients pass input schemas to models whose services support only a part of JSON Schema, and validate results
//! with validators that warn about unknown formats. Arguments are checked against the declared schema, and a refusal
//! names the argument and its bounds; the listed schema leaves out bounds, which cost tokens in every turn.

use std::sync::Arc;

use rmcp::model::JsonObject;
use serde_json::{Map, Value};

/// Formats defined by JSON Schema. Rust's number formats are not among them; their bounds are listed beside them.
const FORMATS: [&str; 9] =
    ["date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uri"];

/// Length of a description that says no more than the name of its field.
const SHORT_DESCRIPTION: usize = 12;

/// Words that only bound values, and defaults.
const BOUNDS: [&str; 10] = [
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "default",
    "examples",
    "additionalProperties",
];

/// Whether the listed schema has the bounds of its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bounds {
    /// Left out: the descriptions name those that a model needs, and a refusal names all.
    Described,
    Listed,
}

/// Returns the schema for the arguments of a call. Optional arguments can be left out, so none needs `null`.
pub(super) fn input_schema(schema: &Value, bounds: Bounds) -> Arc<JsonObject> {
    let mut shown = schema.clone();
    each_schema(&mut shown, &mut |schema| {
        drop_format(schema);
        if bounds == Bounds::Described {
            drop_bounds(schema);
        }
        let required = schema.get("required").cloned().unwrap_or_default();
        let is_required =
            |name: &str| required.as_array().is_some_and(|names| names.iter().any(|one| one == name));
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            for (name, property) in properties {
                if let Some(property) = property.as_object_mut().filter(|_| !is_required(name)) {
                    drop_null(property);
                }
            }
        }
    });
    object(shown)
}

/// Returns the schema for a result. Invisible characters are escaped in results, so a text can be longer than the
/// tool's own and not match its pattern.
pub(super) fn output_schema(schema: &Value) -> Arc<JsonObject> {
    let mut shown = schema.clone();
    each_schema(&mut shown, &mut |schema| {
        drop_format(schema);
        schema.retain(|word, _| word != "maxLength" && word != "pattern");
    });
    object(shown)
}

/// Converts a schema to rmcp's type. Tool schemas are objects; the registry accepts no others.
fn object(schema: Value) -> Arc<JsonObject> {
    match schema {
        Value::Object(object) => Arc::new(object),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Arc::default()
        }
    }
}

fn drop_bounds(schema: &mut Map<String, Value>) {
    schema.retain(|word, value| {
        // An object is the schema of the values of a map.
        !BOUNDS.contains(&word.as_str()) || (word == "additionalProperties" && value.is_object())
    });
    // A description of one or two words only repeats the name.
    if schema.get("description").and_then(Value::as_str).is_some_and(|text| text.len() <= SHORT_DESCRIPTION) {
        schema.remove("description");
    }
    if schema.get("required").and_then(Value::as_array).is_some_and(Vec::is_empty) {
        schema.remove("required");
    }
}

fn drop_format(schema: &mut Map<String, Value>) {
    let is_unknown = |format: &Value| format.as_str().is_none_or(|name| !FORMATS.contains(&name));
    if schema.get("format").is_some_and(is_unknown) {
        schema.remove("format");
    }
}

/// `["string", "null"]` becomes `"string"`, and a `null` default is removed.
fn drop_null(schema: &mut Map<String, Value>) {
    let Some(Value::Array(types)) = schema.get("type") else { return };
    let mut others = types.iter().filter(|name| *name != "null");
    let (Some(only), None) = (others.next().cloned(), others.next()) else { return };
    schema.insert("type".to_owned(), only);
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
}

/// Visits every schema within a schema, including itself. Values that look like schemas (`const`, `enum`,
/// `default`, `examples`) are skipped.
fn each_schema(schema: &mut Value, visit: &mut impl FnMut(&mut Map<String, Value>)) {
    let Value::Object(object) = schema else { return };
    visit(object);
    for (key, value) in object {
        match key.as_str() {
            "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => {
                for inner in value.as_object_mut().into_iter().flat_map(|named| named.values_mut()) {
                    each_schema(inner, visit);
                }
            }
            "items"
            | "additionalProperties"
            | "contains"
            | "not"
            | "if"
            | "then"
            | "else"
            | "propertyNames" => {
                each_schema(value, visit);
            }
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => {
                value.as_array_mut().into_iter().flatten().for_each(|inner| each_schema(inner, visit));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::{Value, json};

    use super::{Bounds, input_schema, output_schema};

    fn declared() -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": { "type": ["string", "null"], "format": "uri" },
                "limit": { "type": ["integer", "null"], "format": "uint64", "minimum": 0, "default": null },
                "items": { "type": "array", "items": { "type": "number", "format": "double" } },
                "format": { "type": "string", "enum": ["uint64"], "default": "uint64" },
            },
            "required": ["path"],
        })
    }

    #[test]
    fn an_input_schema_asks_for_no_null_that_can_be_left_out_and_names_no_format_of_rust() {
        expect![[r#"{"type":"object","properties":{"path":{"type":["string","null"],"format":"uri"},"limit":{"type":"integer"},"items":{"type":"array","items":{"type":"number"}},"format":{"type":"string","enum":["uint64"]}},"required":["path"]}"#]]
        .assert_eq(&serde_json::to_string(&*input_schema(&declared(), Bounds::Described)).unwrap());
    }

    #[test]
    fn an_output_schema_still_lets_through_every_value_that_it_let_through() {
        expect![[r#"{"type":"object","properties":{"path":{"type":["string","null"],"format":"uri"},"limit":{"type":["integer","null"],"default":null,"minimum":0},"items":{"type":"array","items":{"type":"number"}},"format":{"type":"string","enum":["uint64"],"default":"uint64"}},"required":["path"]}"#]]
        .assert_eq(&serde_json::to_string(&*output_schema(&declared())).unwrap());
    }
}
