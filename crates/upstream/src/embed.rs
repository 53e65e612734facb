//! The output schema of a foreign tool: its own, below `structured`, beside the blocks that every answer has.

use serde_json::{Map, Value, json};

/// Where their schema stands in ours.
const PLACE: &str = "#/properties/structured";

/// The schema of `{content, structured}`, so that a plan can refer to what the server promises.
pub(crate) fn output_schema(theirs: Option<&Value>) -> Value {
    let mut schema = json!({
        "type": "object",
        "required": ["content", "structured"],
        "additionalProperties": false,
        "properties": {
            "content": {
                "description": "What the server answered, in blocks.",
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["type"],
                    "properties": {
                        "type": {"type": "string"},
                        "text": {"type": "string"},
                        "mimeType": {"type": "string"},
                        "data": {"type": "string"},
                        "uri": {"type": "string"},
                        "name": {"type": "string"},
                    },
                },
            },
            "structured": {},
        },
    });
    let Some(theirs) = theirs else {
        schema["properties"]["structured"] =
            json!({"description": "The same as JSON, where the server gives it; else null."});
        return schema;
    };
    let mut theirs = theirs.clone();
    if let Value::Object(map) = &mut theirs {
        map.shift_remove("$id");
        // What the references and keywords of theirs mean holds for the whole.
        if let (Some(dialect), Some(ours)) = (map.shift_remove("$schema"), schema.as_object_mut()) {
            ours.insert("$schema".to_owned(), dialect);
        }
    }
    moved(&mut theirs);
    schema["properties"]["structured"] = theirs;
    schema
}

/// Rewrites every reference from the root of theirs to its new place.
fn moved(schema: &mut Value) {
    match schema {
        Value::Object(map) => moved_object(map),
        Value::Array(items) => items.iter_mut().for_each(moved),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn moved_object(map: &mut Map<String, Value>) {
    for (key, value) in map {
        match (key.as_str(), value) {
            ("$ref", Value::String(reference)) => {
                if let Some(rest) = reference.strip_prefix('#') {
                    *reference = format!("{PLACE}{rest}");
                }
            }
            // Values, whatever they look like.
            ("const" | "enum" | "default" | "examples", _) => {}
            // Here the keys are names that the author chose.
            (
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas",
                Value::Object(named),
            ) => {
                named.values_mut().for_each(moved);
            }
            (_, value) => moved(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolkit::CompiledSchema;

    use super::output_schema;

    #[test]
    fn their_references_lead_where_they_led() {
        let theirs = json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "$id": "https://example.org/x",
            "type": "object",
            "properties": {
                "item": {"$ref": "#/definitions/item"},
                "const": {"$ref": "#/definitions/item"},
                "fixed": {"const": {"$ref": "#/definitions/item"}},
            },
            "required": ["item"],
            "definitions": {"item": {"type": "object", "properties": {"next": {"$ref": "#"}, "n": {"type": "integer"}}}},
        });
        let schema = CompiledSchema::compile(&output_schema(Some(&theirs))).unwrap();
        let valid =
            |structured| schema.validate(&json!({"content": [], "structured": structured})).is_empty();
        assert!(valid(json!({"item": {"n": 1, "next": {"item": {}}}, "const": {"n": 2}})));
        assert!(valid(json!({"item": {}, "fixed": {"$ref": "#/definitions/item"}})));
        assert!(!valid(json!({"item": {"n": "one"}})));
        assert!(!valid(json!({"item": {"next": {}}})));
        assert!(!valid(json!(null)));
    }

    #[test]
    fn without_a_promise_anything_may_be_structured() {
        let schema = CompiledSchema::compile(&output_schema(None)).unwrap();
        for structured in [json!(null), json!(1), json!({"a": [1]})] {
            assert_eq!(
                schema
                    .validate(&json!({"content": [{"type": "text", "text": "x"}], "structured": structured})),
                []
            );
        }
    }
}
