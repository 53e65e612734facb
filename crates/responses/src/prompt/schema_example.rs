//! Generates a value that matches a schema, as an example for the model.
//!
//! The smallest useful value: required fields only, the first of several choices, fixed values of the schema. The
//! result is checked against the compiled schema; if no valid value is found with little effort, no example is given,
//! since a wrong one is worse than none.

use serde_json::{Map, Number, Value};
use toolkit::CompiledSchema;

use super::pattern_example;

/// The longest example.
const LONGEST: usize = 800;
/// Limits for recursive schemas and multiplying choices.
const DEEPEST: usize = 12;
const MOST_STEPS: usize = 400;
/// How many alternatives of a choice are tried.
const TRIES: usize = 3;
/// The example of a text.
const TEXT: &str = "text";

/// Returns an example of a valid value, if one is easily found.
pub(super) fn example(schema: &Value, compiled: &CompiledSchema) -> Option<Value> {
    (0..TRIES).find_map(|pick| {
        let mut search = ExampleSearch { root: schema, pick, steps: 0 };
        let value = search.value(schema, 0)?;
        (value.to_string().len() <= LONGEST && compiled.validate(&value).is_empty()).then_some(value)
    })
}

struct ExampleSearch<'a> {
    root: &'a Value,
    /// The index of the alternative that is taken of every choice.
    pick: usize,
    steps: usize,
}

impl ExampleSearch<'_> {
    fn value(&mut self, schema: &Value, depth: usize) -> Option<Value> {
        self.steps += 1;
        if depth > DEEPEST || self.steps > MOST_STEPS {
            return None;
        }
        let keywords = match schema {
            Value::Bool(true) => return Some(Value::from(TEXT)),
            Value::Object(keywords) => keywords,
            Value::Bool(false) | Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                return None;
            }
        };
        if let Some(fixed) = fixed_value(keywords) {
            return Some(fixed.clone());
        }
        match self.without_choice(keywords) {
            Some(merged) => self.value(&merged, depth + 1),
            None => self.of_type(keywords, depth),
        }
    }

    /// Returns the schema with one reference, `allOf` or choice merged into the keywords beside it; `None` if it has
    /// none of them.
    fn without_choice(&self, keywords: &Map<String, Value>) -> Option<Value> {
        let (key, parts) = if let Some(Value::String(reference)) = keywords.get("$ref") {
            ("$ref", vec![self.root.pointer(reference.strip_prefix('#')?)?])
        } else if let Some(Value::Array(all)) = keywords.get("allOf") {
            ("allOf", all.iter().collect())
        } else {
            let (key, choices) = ["anyOf", "oneOf"].into_iter().find_map(|key| {
                let choices = keywords.get(key)?.as_array().filter(|choices| !choices.is_empty())?;
                Some((key, choices))
            })?;
            let mut said: Vec<&Value> = choices.iter().filter(|choice| !is_null(choice)).collect();
            if said.is_empty() {
                said = choices.iter().collect();
            }
            (key, vec![*said.get(self.pick % said.len())?])
        };
        let mut merged: Map<String, Value> = keywords
            .iter()
            .filter(|(name, _)| *name != key)
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        for part in parts {
            merge(&mut merged, part);
        }
        Some(Value::Object(merged))
    }

    fn of_type(&mut self, keywords: &Map<String, Value>, depth: usize) -> Option<Value> {
        match type_of(keywords) {
            "object" => self.object(keywords, depth),
            "array" => self.array(keywords, depth),
            "string" => Some(Value::String(text(keywords))),
            "integer" => integer(keywords).map(Value::from),
            "number" => number(keywords),
            "boolean" => Some(Value::Bool(true)),
            "null" => Some(Value::Null),
            _ => None,
        }
    }

    fn object(&mut self, keywords: &Map<String, Value>, depth: usize) -> Option<Value> {
        let none = Map::new();
        let properties = keywords.get("properties").and_then(Value::as_object).unwrap_or(&none);
        let required = keywords.get("required").and_then(Value::as_array).into_iter().flatten();
        let mut names: Vec<&str> = required.filter_map(Value::as_str).collect();
        let fewest = count_keyword(keywords, "minProperties").unwrap_or(0);
        for name in properties.keys() {
            if names.len() < fewest && !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        let mut fields = Map::new();
        for name in names {
            let anything = Value::Bool(true);
            let schema =
                properties.get(name).or_else(|| keywords.get("additionalProperties")).unwrap_or(&anything);
            fields.insert(name.to_owned(), self.value(schema, depth + 1)?);
        }
        Some(Value::Object(fields))
    }

    fn array(&mut self, keywords: &Map<String, Value>, depth: usize) -> Option<Value> {
        let fewest = count_keyword(keywords, "minItems").unwrap_or(0);
        let wanted = fewest.max(1).min(count_keyword(keywords, "maxItems").unwrap_or(usize::MAX));
        let first = keywords.get("prefixItems").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let anything = Value::Bool(true);
        let rest = keywords.get("items").unwrap_or(&anything);
        let mut list = Vec::new();
        for index in 0..wanted {
            match self.value(first.get(index).unwrap_or(rest), depth + 1) {
                Some(element) => list.push(element),
                None if index >= fewest => break,
                None => return None,
            }
        }
        Some(Value::Array(list))
    }
}

/// Returns a value that the schema contains.
fn fixed_value(keywords: &Map<String, Value>) -> Option<&Value> {
    let first = |key: &str| keywords.get(key).and_then(Value::as_array).and_then(|list| list.first());
    keywords
        .get("const")
        .or_else(|| first("enum"))
        .or_else(|| first("examples"))
        .or_else(|| keywords.get("default").filter(|default| !default.is_null()))
}

fn is_null(schema: &Value) -> bool {
    schema.get("type").is_some_and(|name| name == "null") || schema.get("const").is_some_and(Value::is_null)
}

/// Adds the keywords of another schema for the same value.
fn merge(into: &mut Map<String, Value>, part: &Value) {
    let Value::Object(part) = part else { return };
    for (key, value) in part {
        match (into.get_mut(key), value) {
            (Some(Value::Object(known)), Value::Object(more)) => {
                known.extend(more.iter().map(|(name, value)| (name.clone(), value.clone())));
            }
            (Some(Value::Array(known)), Value::Array(more)) if key == "required" => {
                known.extend(more.iter().cloned());
            }
            (Some(_) | None, value) => {
                into.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Returns the type of a value, inferred from the keywords if it is not named.
fn type_of(keywords: &Map<String, Value>) -> &str {
    let named = match keywords.get("type") {
        Some(Value::String(name)) => Some(name.as_str()),
        Some(Value::Array(names)) => {
            let mut names = names.iter().filter_map(Value::as_str);
            names.clone().find(|name| *name != "null").or_else(|| names.next())
        }
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => None,
    };
    let has = |keys: &[&str]| keys.iter().any(|key| keywords.contains_key(*key));
    match named {
        Some(name) => name,
        None if has(&["properties", "required", "additionalProperties", "minProperties"]) => "object",
        None if has(&["items", "prefixItems", "minItems"]) => "array",
        None if has(&["minimum", "maximum", "multipleOf", "exclusiveMinimum", "exclusiveMaximum"]) => {
            "number"
        }
        None => "string",
    }
}

fn text(keywords: &Map<String, Value>) -> String {
    let (fewest, most) =
        (count_keyword(keywords, "minLength").unwrap_or(0), count_keyword(keywords, "maxLength"));
    let matching = |pattern: &str| pattern_example::example(pattern, fewest, most.unwrap_or(LONGEST));
    if let Some(found) = keywords.get("pattern").and_then(Value::as_str).and_then(matching) {
        return found;
    }
    let word = match keywords.get("format").and_then(Value::as_str) {
        Some("date") => "2024-01-31",
        Some("date-time") => "2024-01-31T09:30:00Z",
        Some("time") => "09:30:00Z",
        Some("duration") => "PT1H",
        Some("email" | "idn-email") => "name@example.com",
        Some("hostname" | "idn-hostname") => "example.com",
        Some("ipv4") => "192.0.2.1",
        Some("ipv6") => "2001:db8::1",
        Some("uri" | "iri") => "https://example.com/",
        Some("uri-reference" | "iri-reference") => "/path",
        Some("uuid") => "123e4567-e89b-42d3-a456-426614174000",
        Some("json-pointer") => "/field",
        Some("regex") => "text.*",
        Some(_) | None => TEXT,
    };
    if word.len() < fewest.min(LONGEST) {
        return word.chars().cycle().take(fewest.min(LONGEST)).collect();
    }
    word.chars().take(most.unwrap_or(usize::MAX)).collect()
}

fn integer(keywords: &Map<String, Value>) -> Option<i64> {
    // Whole numbers that a float represents exactly; schemas have no larger bounds.
    #[allow(clippy::cast_possible_truncation, reason = "saturates, and the result is validated")]
    let whole = |value: f64| value as i64;
    let least = number_keyword(keywords, "minimum").map(|value| whole(value.ceil())).max(
        number_keyword(keywords, "exclusiveMinimum").map(|value| whole(value.floor()).saturating_add(1)),
    );
    let most = [
        number_keyword(keywords, "maximum").map(|value| whole(value.floor())),
        number_keyword(keywords, "exclusiveMaximum").map(|value| whole(value.ceil()).saturating_sub(1)),
    ];
    let most = most.into_iter().flatten().min();
    let start = 1.max(least.unwrap_or(1)).min(most.unwrap_or(i64::MAX));
    match number_keyword(keywords, "multipleOf").map(whole) {
        Some(step) if step > 1 => {
            let up = start.checked_add((step - start.rem_euclid(step)) % step)?;
            Some(if most.is_some_and(|most| up > most) { up.saturating_sub(step) } else { up })
        }
        Some(_) | None => Some(start),
    }
}

fn number(keywords: &Map<String, Value>) -> Option<Value> {
    let least = number_keyword(keywords, "minimum").or_else(|| number_keyword(keywords, "exclusiveMinimum"));
    let most = number_keyword(keywords, "maximum").or_else(|| number_keyword(keywords, "exclusiveMaximum"));
    match (least, most) {
        // The middle, so that exclusive bounds do not matter.
        (Some(least), Some(most)) if most - least < 2.0 => {
            Number::from_f64(f64::midpoint(least, most)).map(Value::Number)
        }
        (Some(_) | None, Some(_) | None) => integer(keywords).map(Value::from),
    }
}

fn number_keyword(keywords: &Map<String, Value>, key: &str) -> Option<f64> {
    keywords.get(key).and_then(Value::as_f64)
}

fn count_keyword(keywords: &Map<String, Value>, key: &str) -> Option<usize> {
    keywords.get(key).and_then(Value::as_u64).and_then(|count| usize::try_from(count).ok())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use toolkit::CompiledSchema;

    use super::example;

    #[track_caller]
    fn check(schema: Value, expected: Option<Value>) {
        let compiled = CompiledSchema::compile(&schema).unwrap();
        let found = example(&schema, &compiled);
        assert_eq!(found, expected);
        assert!(found.is_none_or(|value| compiled.validate(&value).is_empty()));
    }

    #[test]
    fn required_fields_are_there_and_others_are_not() {
        check(
            json!({
                "type": "object",
                "properties": { "path": { "type": "string" }, "max": { "type": "integer" }, "deep": { "type": "boolean" } },
                "required": ["path", "deep"],
                "additionalProperties": false,
            }),
            Some(json!({ "path": "text", "deep": true })),
        );
        check(json!({ "type": "object", "properties": {} }), Some(json!({})));
    }

    #[test]
    fn what_a_schema_fixes_is_used() {
        check(
            json!({
                "type": "object",
                "properties": {
                    "unit": { "enum": ["celsius", "kelvin"] },
                    "kind": { "const": "weather" },
                    "days": { "type": "integer", "minimum": 3, "maximum": 9, "multipleOf": 4 },
                    "share": { "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1 },
                    "when": { "type": "string", "format": "date-time" },
                    "key": { "type": "string", "minLength": 6 },
                    "short": { "type": "string", "maxLength": 2 },
                    "code": { "type": "string", "pattern": "^[A-Z]{2}-\\d+$" },
                    "mode": { "type": ["null", "string"], "default": "fast" },
                },
                "required": ["unit", "kind", "days", "share", "when", "key", "short", "code", "mode"],
            }),
            Some(json!({
                "unit": "celsius", "kind": "weather", "days": 4, "share": 0.5, "when": "2024-01-31T09:30:00Z",
                "key": "textte", "short": "te", "code": "AA-0", "mode": "fast",
            })),
        );
    }

    #[test]
    fn an_example_of_the_whole_schema_is_used_although_nothing_is_required() {
        check(
            json!({
                "type": "object",
                "properties": { "cmd": { "type": "string" }, "argv": { "type": "array" } },
                "examples": [{ "cmd": "ls -la" }],
            }),
            Some(json!({ "cmd": "ls -la" })),
        );
    }

    #[test]
    fn nested_values_references_and_choices_are_followed() {
        check(
            json!({
                "type": "object",
                "properties": {
                    "edits": { "type": "array", "minItems": 2, "items": { "$ref": "#/$defs/Edit" } },
                    "target": { "anyOf": [{ "type": "null" }, { "type": "object", "properties": { "id": { "type": "integer", "minimum": 5 } }, "required": ["id"] }] },
                    "pair": { "type": "array", "prefixItems": [{ "type": "string" }, { "type": "boolean" }], "minItems": 2 },
                },
                "required": ["edits", "target", "pair"],
                "$defs": {
                    "Edit": { "allOf": [{ "$ref": "#/$defs/Base" }, { "properties": { "text": { "type": "string" } }, "required": ["text"] }] },
                    "Base": { "type": "object", "properties": { "line": { "type": "integer" } }, "required": ["line"] },
                },
            }),
            Some(json!({
                "edits": [{ "line": 1, "text": "text" }, { "line": 1, "text": "text" }],
                "target": { "id": 5 },
                "pair": ["text", true],
            })),
        );
    }

    #[test]
    fn another_alternative_is_tried_when_the_first_cannot_be_met() {
        check(
            json!({ "type": "object", "properties": { "at": { "oneOf": [{ "type": "string", "pattern": "^a", "const": "b" }, { "type": "integer" }] } }, "required": ["at"] }),
            Some(json!({ "at": 1 })),
        );
    }

    // Conformance: proxy 12.2
    #[test]
    fn no_example_rather_than_a_wrong_or_endless_one() {
        check(
            json!({ "type": "object", "properties": { "a": { "type": "string", "pattern": "^[0-9]{4}$", "maxLength": 3 } }, "required": ["a"] }),
            None,
        );
        check(json!({ "type": "object", "properties": { "a": false }, "required": ["a"] }), None);
        check(
            json!({ "type": "object", "properties": { "next": { "$ref": "#" } }, "required": ["next"] }),
            None,
        );
        check(
            json!({ "type": "object", "properties": { "a": { "type": "string", "minLength": 5000 } }, "required": ["a"] }),
            None,
        );
    }
}
