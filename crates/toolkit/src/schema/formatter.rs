//! Formats values and schemas for messages: short, on one line, without terminal control characters.

use std::borrow::Cow;
use std::cmp::Ordering;

use envelope::escape_line;
use serde_json::Value;

use super::reference_resolver::follow;

/// Longest part of a value that a message repeats: enough to find it, too little to flood the answer.
const ECHO_CHARS: usize = 60;
const NAMES_SHOWN: usize = 20;
const OPTIONS_SHOWN: usize = 20;
/// Depth to which a schema is described; below that "a value" is more helpful than a very long sentence.
const DESCRIBED_LEVELS: usize = 3;

/// Formats text in quotes, as JSON as far as it is printable.
pub(super) fn quoted(text: &str) -> String {
    let shown = cut(text, ECHO_CHARS - 2);
    let escaped = debug(&shown);
    // Escapes can make a short text long: `\u{1b}` is one character.
    if escaped.chars().count() <= ECHO_CHARS { escaped } else { debug(&cut(text, 8)) }
}

/// Formats text in quotes as Rust does, and escapes the invisible characters that Rust considers printable.
fn debug(text: &str) -> String {
    escape_line(&format!("{text:?}")).into_owned()
}

/// Formats a field name, a pattern or a reference in backticks.
pub(super) fn name(text: &str) -> String {
    let shown: String = cut(text, ECHO_CHARS).escape_debug().filter(|c| *c != '`').collect();
    // Quotes cannot close backticks, so they need no escape.
    let shown = shown.replace("\\\"", "\"").replace("\\'", "'").replace("\\\\", "\\");
    format!("`{}`", escape_line(&shown))
}

pub(super) fn names<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    listed(texts.into_iter().map(name), NAMES_SHOWN, ", ")
}

fn cut(text: &str, chars: usize) -> Cow<'_, str> {
    match text.char_indices().nth(chars) {
        None => Cow::Borrowed(text),
        Some(_) => Cow::Owned(text.chars().take(chars - 1).chain(['…']).collect()),
    }
}

fn listed(mut items: impl Iterator<Item = String>, most: usize, between: &str) -> String {
    let mut shown: Vec<String> = items.by_ref().take(most).collect();
    let left_out = items.count();
    if left_out > 0 {
        shown.push(format!("{left_out} more"));
    }
    shown.join(between)
}

/// Describes a value, for use after "found".
pub(crate) fn found(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) if text.is_empty() => "an empty string".to_owned(),
        Value::String(text) => format!("the string {}", quoted(text)),
        Value::Array(items) if items.is_empty() => "an empty list".to_owned(),
        Value::Array(items) => format!("a list of {}", count(items.len() as u64, "item")),
        Value::Object(map) if map.is_empty() => "an empty object".to_owned(),
        Value::Object(map) => format!("an object with {}", names_brief(map.keys().map(String::as_str))),
    }
}

/// Number of field names that identify an object.
fn names_brief<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    listed(texts.map(name), 4, ", ")
}

/// Formats a value as one of several allowed values.
pub(super) fn literal(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            cut(&value.to_string(), ECHO_CHARS).into_owned()
        }
    }
}

pub(super) fn options(values: &[&Value]) -> String {
    match values {
        [only] => literal(only),
        several => {
            format!("one of {}", listed(several.iter().map(|value| literal(value)), OPTIONS_SHOWN, ", "))
        }
    }
}

pub(super) fn count(number: u64, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}

pub(super) fn type_name(json_type: &str) -> &'static str {
    match json_type {
        "string" => "a string",
        "integer" => "an integer",
        "number" => "a number",
        "boolean" => "true or false",
        "array" => "a list",
        "object" => "an object",
        "null" => "null",
        _ => "a value",
    }
}

pub(super) fn format_words(format: &str) -> String {
    match format {
        "date-time" => "a date and time such as 2026-01-31T09:00:00Z".to_owned(),
        "date" => "a date such as 2026-01-31".to_owned(),
        "time" => "a time such as 09:00:00Z".to_owned(),
        "duration" => "a duration such as PT15M".to_owned(),
        "email" => "an email address".to_owned(),
        "uri" => "an absolute URI such as https://example.com/page".to_owned(),
        "uuid" => "a UUID such as 123e4567-e89b-12d3-a456-426614174000".to_owned(),
        "regex" => "a regular expression".to_owned(),
        other => format!("text in the format {}", name(other)),
    }
}

/// Describes what a schema requires, for use after "expected".
pub(super) fn described(schema: &Value, root: &Value) -> String {
    describe(schema, root, DESCRIBED_LEVELS)
}

fn describe(schema: &Value, root: &Value, levels: usize) -> String {
    let Some(map) = follow(schema, root).as_object() else { return "a value".to_owned() };
    if levels == 0 {
        return "a value".to_owned();
    }
    if let Some(value) = map.get("const") {
        return literal(value);
    }
    if let Some(Value::Array(values)) = map.get("enum") {
        return options(&values.iter().collect::<Vec<_>>());
    }
    for choice in ["anyOf", "oneOf"] {
        if let Some(Value::Array(branches)) = map.get(choice) {
            return alternatives(branches.iter().map(|branch| describe(branch, root, levels - 1)));
        }
    }
    match map.get("type") {
        Some(Value::Array(types)) => {
            alternatives(types.iter().filter_map(Value::as_str).map(|name| type_name(name).to_owned()))
        }
        Some(Value::String(name)) if name == "array" => match map.get("items") {
            Some(items @ Value::Object(_)) => {
                format!("a list, each item {}", describe(items, root, levels - 1))
            }
            _ => "a list".to_owned(),
        },
        Some(Value::String(kind)) if kind == "object" => {
            match map.get("required").and_then(Value::as_array).filter(|required| !required.is_empty()) {
                Some(required) => {
                    format!("an object with {}", names_brief(required.iter().filter_map(Value::as_str)))
                }
                None => "an object".to_owned(),
            }
        }
        Some(Value::String(name)) => type_name(name).to_owned(),
        _ => "a value".to_owned(),
    }
}

pub(super) fn alternatives(phrases: impl Iterator<Item = String>) -> String {
    let mut distinct: Vec<String> = Vec::new();
    for phrase in phrases {
        if !distinct.contains(&phrase) {
            distinct.push(phrase);
        }
    }
    listed(distinct.into_iter(), 6, " or ")
}

pub(super) fn pointer_segment(key: &str) -> Cow<'_, str> {
    if key.contains(['~', '/']) {
        Cow::Owned(key.replace('~', "~0").replace('/', "~1"))
    } else {
        Cow::Borrowed(key)
    }
}

/// Compares pointers in reading order: `/items/2` before `/items/10`, an object before its fields.
pub(super) fn pointer_order(a: &str, b: &str) -> Ordering {
    let mut left = a.split('/');
    let mut right = b.split('/');
    loop {
        let order = match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(x), Some(y)) => match (x.parse::<u64>(), y.parse::<u64>()) {
                (Ok(m), Ok(n)) => m.cmp(&n).then(x.cmp(y)),
                (Ok(_), Err(_)) => Ordering::Less,
                (Err(_), Ok(_)) => Ordering::Greater,
                (Err(_), Err(_)) => x.cmp(y),
            },
        };
        if order.is_ne() {
            return order;
        }
    }
}
