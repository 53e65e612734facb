//! Escaping of values, so that templates leave them unchanged.

use serde_json::Value;

use crate::TemplateScope;
use crate::template::braces::{BracedKind, BracedText};

/// Escapes a value so that it resolves to itself in the arguments of a step with this scope.
///
/// Keys are never templates and stay unchanged.
pub fn literal(value: &Value, scope: &TemplateScope<'_>) -> Value {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        Value::String(text) => Value::String(escape(text, scope)),
        Value::Array(items) => Value::Array(items.iter().map(|item| literal(item, scope)).collect()),
        Value::Object(map) => {
            Value::Object(map.iter().map(|(key, value)| (key.clone(), literal(value, scope))).collect())
        }
    }
}

fn escape(text: &str, scope: &TemplateScope<'_>) -> String {
    let mut escaped = String::with_capacity(text.len() + 8);
    // Only a leading dollar sign can start a reference; elsewhere it is plain text.
    if text.starts_with('$') {
        escaped.push('$');
    }
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        escaped.push_str(&rest[..at]);
        let here = &rest[at..];
        let Some(braced) = BracedText::read(here) else {
            rest = here.trim_start_matches('{');
            escaped.push_str(&here[..here.len() - rest.len()]);
            continue;
        };
        // Two pairs mean one.
        let more = match braced.kind(scope) {
            BracedKind::InScope(_) => braced.pairs(),
            BracedKind::Unscoped { .. } | BracedKind::Other => 0,
        };
        escaped.extend(std::iter::repeat_n('{', braced.opening + more));
        escaped.push_str(braced.inner);
        escaped.extend(std::iter::repeat_n('}', braced.closing + more));
        rest = braced.after;
    }
    escaped.push_str(rest);
    escaped
}
