//! Escapes invisible characters in the schema of an external tool: a model reads all of it, and the user must have
//! been able to.

use std::borrow::Cow;

use envelope::{escape_invisible, has_invisible};
use serde_json::{Map, Value};

use crate::escape::one_line;

/// Longest part of a text that an error repeats.
const MAX_SHOWN: usize = 100;

/// Returns the schema with every text escaped. Returns an error if a text that affects validation contains
/// invisible characters, because escaping would change which values are valid.
pub(crate) fn escape_schema(schema: &Value) -> Result<Value, String> {
    let mut schema = schema.clone();
    escape_texts(&mut schema, &mut String::new())?;
    Ok(schema)
}

fn escape_texts(value: &mut Value, at: &mut String) -> Result<(), String> {
    match value {
        Value::String(text) => {
            if let Cow::Owned(escaped) = escape_invisible(text) {
                *text = escaped;
            }
            Ok(())
        }
        Value::Array(items) => for_each_part(
            items.iter_mut().enumerate().map(|(n, item)| (n.to_string(), item)),
            at,
            escape_texts,
        ),
        Value::Object(map) => escape_object(map, at),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

fn escape_object(map: &mut Map<String, Value>, at: &mut String) -> Result<(), String> {
    for (key, value) in map {
        let length = at.len();
        at.push('/');
        at.push_str(key);
        refuse_hidden(key, at)?;
        match (key.as_str(), value) {
            // The keys of these maps are names chosen by the author, not keywords.
            (
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas",
                Value::Object(named),
            ) => {
                for_each_part(
                    named.iter_mut().map(|(name, schema)| (name.clone(), schema)),
                    at,
                    escape_texts,
                )?;
            }
            (
                "const" | "enum" | "pattern" | "required" | "dependentRequired" | "dependencies" | "type"
                | "$ref" | "$dynamicRef" | "$id" | "$schema" | "$anchor" | "$dynamicAnchor",
                value,
            ) => refuse_hidden_in(value, at)?,
            (_, value) => escape_texts(value, at)?,
        }
        at.truncate(length);
    }
    Ok(())
}

/// Returns an error if any part of the value contains invisible characters.
fn refuse_hidden_in(value: &mut Value, at: &mut String) -> Result<(), String> {
    match value {
        Value::String(text) => refuse_hidden(text, at),
        Value::Array(items) => for_each_part(
            items.iter_mut().enumerate().map(|(n, item)| (n.to_string(), item)),
            at,
            refuse_hidden_in,
        ),
        Value::Object(map) => {
            for_each_part(map.iter_mut().map(|(name, item)| (name.clone(), item)), at, refuse_hidden_in)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

/// Applies `act` to each part, with its name appended to the location. Returns an error if a name contains
/// invisible characters.
fn for_each_part<'v>(
    parts: impl Iterator<Item = (String, &'v mut Value)>,
    at: &mut String,
    act: impl Fn(&mut Value, &mut String) -> Result<(), String>,
) -> Result<(), String> {
    for (name, part) in parts {
        let length = at.len();
        at.push('/');
        at.push_str(&name);
        refuse_hidden(&name, at)?;
        act(part, at)?;
        at.truncate(length);
    }
    Ok(())
}

fn refuse_hidden(text: &str, at: &str) -> Result<(), String> {
    if !has_invisible(text) {
        return Ok(());
    }
    Err(format!(
        "`{}` hides characters: `{}`; its server has to write it without them",
        one_line(at, MAX_SHOWN),
        one_line(text, MAX_SHOWN)
    ))
}

#[cfg(test)]
mod tests {
    use envelope::has_invisible;
    use proptest::prelude::{any, prop_assert, proptest};
    use serde_json::{Value, json};

    use super::escape_schema;

    #[test]
    fn what_is_only_read_is_spelled_out_wherever_it_stands() {
        let schema = json!({
            "title": "A\u{200b}", "$comment": "\u{e0041}", "unknown": ["\u{202e}"],
            "properties": {"const": {"description": "B\u{e0041}", "default": {"x": "\u{feff}"}, "examples": ["\u{2066}"]}},
            "$defs": {"d": {"anyOf": [{"description": "C\u{200d}"}]}},
        });
        let seen = json!({
            "title": "A\\u{200b}", "$comment": "\\u{e0041}", "unknown": ["\\u{202e}"],
            "properties": {"const": {"description": "B\\u{e0041}", "default": {"x": "\\u{feff}"}, "examples": ["\\u{2066}"]}},
            "$defs": {"d": {"anyOf": [{"description": "C\\u{200d}"}]}},
        });
        assert_eq!(escape_schema(&schema), Ok(seen));
    }

    #[test]
    fn what_decides_is_refused_with_its_place() {
        let refused = |schema: Value| escape_schema(&schema).unwrap_err();
        let end = "its server has to write it without them";
        assert_eq!(
            refused(json!({"properties": {"a": {"items": {"enum": ["x", "y\u{200b}"]}}}})),
            format!("`/properties/a/items/enum/1` hides characters: `y\\u{{200b}}`; {end}")
        );
        assert_eq!(
            refused(json!({"properties": {"a\u{200b}": {}}})),
            format!("`/properties/a\\u{{200b}}` hides characters: `a\\u{{200b}}`; {end}")
        );
        for schema in [
            json!({"const": {"x": ["\u{e0041}"]}}),
            json!({"const": {"\u{e0041}": 1}}),
            json!({"pattern": "\u{e0041}"}),
            json!({"required": ["\u{e0041}"]}),
            json!({"default": {"\u{e0041}": 1}}),
            json!({"x\u{e0041}": 1}),
            json!({"properties": {"x\u{e0041}/y": {}}}),
        ] {
            assert!(refused(schema).ends_with(end));
        }
    }

    proptest! {
        #[test]
        fn what_is_let_through_hides_nothing(key in any::<String>(), name in "enum|properties|x", text in any::<String>()) {
            let schema = json!({"properties": {"a": {name: {key: {"description": text}}}}, "description": text});
            if let Ok(seen) = escape_schema(&schema) {
                // JSON output escapes control characters, so the texts are checked one by one.
                prop_assert!(!texts(&seen).iter().any(|text| has_invisible(text)));
            }
        }
    }

    fn texts(value: &Value) -> Vec<String> {
        match value {
            Value::String(text) => vec![text.clone()],
            Value::Array(items) => items.iter().flat_map(texts).collect(),
            Value::Object(map) => {
                map.iter().flat_map(|(key, item)| [vec![key.clone()], texts(item)].concat()).collect()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
        }
    }
}
