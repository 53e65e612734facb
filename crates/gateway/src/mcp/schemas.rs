//! Schemas as clients like to read them: the same values, in words that every client knows.
//!
//! Clients hand input schemas on to models whose services take only a part of JSON Schema, and check results with
//! validators that warn of each format that they do not know. What is checked here is the schema as declared; what is
//! shown may only be narrower about what to send, and wider about what to expect.

use std::sync::Arc;

use rmcp::model::JsonObject;
use serde_json::{Map, Value};

/// The formats of JSON Schema. Those of Rust's numbers are none of them, and their bounds stand beside them.
const FORMATS: [&str; 9] =
    ["date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uri"];

/// What a call may be made with. Whoever has nothing to say leaves it out, so nothing needs to be `null`.
pub(super) fn input(schema: &Value) -> Arc<JsonObject> {
    let mut shown = schema.clone();
    each_schema(&mut shown, &mut |schema| {
        drop_format(schema);
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

/// What a result looks like. Invisible characters are spelled out in it, so a text can be longer than the tool's own,
/// and have another pattern.
pub(super) fn output(schema: &Value) -> Arc<JsonObject> {
    let mut shown = schema.clone();
    each_schema(&mut shown, &mut |schema| {
        drop_format(schema);
        schema.retain(|word, _| word != "maxLength" && word != "pattern");
    });
    object(shown)
}

/// A schema as rmcp keeps it. Those of tools are objects: the registry takes no others.
fn object(schema: Value) -> Arc<JsonObject> {
    match schema {
        Value::Object(object) => Arc::new(object),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Arc::default()
        }
    }
}

fn drop_format(schema: &mut Map<String, Value>) {
    let is_unknown = |format: &Value| format.as_str().is_none_or(|name| !FORMATS.contains(&name));
    if schema.get("format").is_some_and(is_unknown) {
        schema.remove("format");
    }
}

/// `["string", "null"]` becomes `"string"`, and a default of `null` goes with it.
fn drop_null(schema: &mut Map<String, Value>) {
    let Some(Value::Array(types)) = schema.get("type") else { return };
    let mut others = types.iter().filter(|name| *name != "null");
    let (Some(only), None) = (others.next().cloned(), others.next()) else { return };
    schema.insert("type".to_owned(), only);
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
}

/// Every schema within a schema, itself included. Values that merely look like one (`const`, `enum`, `default`,
/// `examples`) are not entered.
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

    use super::{input, output};

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
        expect![[r#"{"type":"object","properties":{"path":{"type":["string","null"],"format":"uri"},"limit":{"type":"integer","minimum":0},"items":{"type":"array","items":{"type":"number"}},"format":{"type":"string","enum":["uint64"],"default":"uint64"}},"required":["path"]}"#]]
        .assert_eq(&serde_json::to_string(&*input(&declared())).unwrap());
    }

    #[test]
    fn an_output_schema_still_lets_through_every_value_that_it_let_through() {
        expect![[r#"{"type":"object","properties":{"path":{"type":["string","null"],"format":"uri"},"limit":{"type":["integer","null"],"default":null,"minimum":0},"items":{"type":"array","items":{"type":"number"}},"format":{"type":"string","enum":["uint64"],"default":"uint64"}},"required":["path"]}"#]]
        .assert_eq(&serde_json::to_string(&*output(&declared())).unwrap());
    }
}
