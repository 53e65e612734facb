//! The output schema of an external tool: its own schema under `structured`, beside the content blocks of every
//! answer.

use serde_json::{Map, Value, json};

/// Location of the embedded schema.
const EMBEDDED_AT: &str = "#/properties/structured";

/// Returns the schema of `{content, structured}`, so that a plan can reference the declared fields.
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
        // The dialect decides what the references and keywords of the embedded schema mean, so it is set for the
        // whole schema.
        if let (Some(dialect), Some(ours)) = (map.shift_remove("$schema"), schema.as_object_mut()) {
            ours.insert("$schema".to_owned(), dialect);
        }
    }
    rebase_references(&mut theirs);
    schema["properties"]["structured"] = theirs;
    schema
}

/// Rewrites every reference that begins at the root of the embedded schema.
fn rebase_references(schema: &mut Value) {
    match schema {
        Value::Object(map) => rebase_object(map),
        Value::Array(items) => items.iter_mut().for_each(rebase_references),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn rebase_object(map: &mut Map<String, Value>) {
    for (key, value) in map {
        match (key.as_str(), value) {
            ("$ref", Value::String(reference)) => {
                if let Some(rest) = reference.strip_prefix('#') {
                    *reference = format!("{EMBEDDED_AT}{rest}");
                }
            }
            // Values, not schemas.
            ("const" | "enum" | "default" | "examples", _) => {}
            // The keys of these maps are names chosen by the author.
            (
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas",
                Value::Object(named),
            ) => {
                named.values_mut().for_each(rebase_references);
            }
            (_, value) => rebase_references(value),
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
