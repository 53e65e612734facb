//! The way around templates: a value that is to arrive as it is.

use serde_json::Value;

/// Escapes a value so that, as the arguments of a step, it resolves to itself.
///
/// Keys are never templates and stay as they are.
pub fn literal(value: &Value) -> Value {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        Value::String(text) => Value::String(escape(text)),
        Value::Array(items) => Value::Array(items.iter().map(literal).collect()),
        Value::Object(map) => {
            Value::Object(map.iter().map(|(key, value)| (key.clone(), literal(value))).collect())
        }
    }
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 8);
    // Only a leading dollar can start a reference; one anywhere else is already plain text.
    if text.starts_with('$') {
        escaped.push('$');
    }
    for char in text.chars() {
        escaped.push(char);
        if matches!(char, '{' | '}') {
            escaped.push(char);
        }
    }
    escaped
}
