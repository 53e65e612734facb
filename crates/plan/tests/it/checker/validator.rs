//! The part of JSON Schema that the test tools use, with problems in words.

use envelope::{SchemaProblem, nearest};
use serde_json::{Map, Value};

pub(crate) fn check(schema: &Value, value: &Value) -> Vec<SchemaProblem> {
    let mut problems = Vec::new();
    walk(schema, value, "", &mut problems);
    problems
}

fn problem(pointer: &str, message: String, hint: Option<String>) -> SchemaProblem {
    SchemaProblem { pointer: pointer.to_owned(), message, hint, from_choice: false }
}

fn walk(schema: &Value, value: &Value, pointer: &str, problems: &mut Vec<SchemaProblem>) {
    if let Some(allowed) = schema.get("enum").and_then(Value::as_array) {
        if !allowed.contains(value) {
            let list = allowed.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            problems.push(problem(
                pointer,
                format!("{value} is not allowed"),
                Some(format!("write one of {list}")),
            ));
        }
        return;
    }
    if let Some(choices) = schema.get("anyOf").and_then(Value::as_array) {
        if !choices.iter().any(|choice| check(choice, value).is_empty()) {
            let mut found = problem(pointer, "it fits none of the forms this takes".to_owned(), None);
            found.hint = Some("write a string or an object with `path`".to_owned());
            found.from_choice = true;
            problems.push(found);
        }
        return;
    }
    if let Some(kinds) = schema.get("type") {
        let kinds: Vec<&str> = match kinds {
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
            Value::String(kind) => vec![kind.as_str()],
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
                panic!("not a type: {kinds}")
            }
        };
        if !kinds.iter().any(|kind| has_kind(value, kind)) {
            let wanted = kinds.join(" or ");
            problems.push(problem(
                pointer,
                format!("{value} is not of type {wanted}"),
                Some(format!("write a value of type {wanted}")),
            ));
            return;
        }
    }
    bounds(schema, value, pointer, problems);
    match value {
        Value::Array(items) => {
            let Some(schema) = schema.get("items") else { return };
            for (index, item) in items.iter().enumerate() {
                walk(schema, item, &format!("{pointer}/{index}"), problems);
            }
        }
        Value::Object(map) => walk_object(schema, map, pointer, problems),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn has_kind(value: &Value, kind: &str) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("the test schemas have no type {other}"),
    }
}

fn bounds(schema: &Value, value: &Value, pointer: &str, problems: &mut Vec<SchemaProblem>) {
    let limit = |name: &str| schema.get(name).and_then(Value::as_i64);
    if let Some(number) = value.as_i64() {
        if let Some(min) = limit("minimum").filter(|min| number < *min) {
            problems.push(problem(
                pointer,
                format!("{number} is too small"),
                Some(format!("write {min} or more")),
            ));
        }
        if let Some(max) = limit("maximum").filter(|max| number > *max) {
            problems.push(problem(
                pointer,
                format!("{number} is too large"),
                Some(format!("write {max} or less")),
            ));
        }
    }
    if limit("minLength").is_some_and(|min| min > 0) && value.as_str() == Some("") {
        problems.push(problem(
            pointer,
            "the text is empty".to_owned(),
            Some("write at least one character".to_owned()),
        ));
    }
}

fn walk_object(schema: &Value, map: &Map<String, Value>, pointer: &str, problems: &mut Vec<SchemaProblem>) {
    let properties = schema.get("properties").and_then(Value::as_object);
    for name in
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    {
        if !map.contains_key(name) {
            problems.push(problem(pointer, format!("`{name}` is missing"), Some(format!("add `{name}`"))));
        }
    }
    for (key, value) in map {
        let below = format!("{pointer}/{key}");
        if let Some(schema) = properties.and_then(|known| known.get(key)) {
            walk(schema, value, &below, problems);
        } else if schema.get("additionalProperties") == Some(&Value::Bool(false)) {
            let known = properties.into_iter().flat_map(Map::keys).map(String::as_str);
            let hint = match nearest(key, known) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "remove it".to_owned(),
            };
            problems.push(problem(&below, format!("`{key}` is not an argument of this tool"), Some(hint)));
        }
    }
}
