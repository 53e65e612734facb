//! JSON pointers (RFC 6901) into the plan, and a walk over the strings of a value with their pointers.

use serde_json::Value;

/// Appends one escaped token.
pub(crate) fn push(pointer: &mut String, token: &str) {
    pointer.push('/');
    for char in token.chars() {
        match char {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            other => pointer.push(other),
        }
    }
}

/// Returns `base` with one more token.
pub(crate) fn join(base: &str, token: &str) -> String {
    let mut pointer = String::with_capacity(base.len() + token.len() + 1);
    pointer.push_str(base);
    push(&mut pointer, token);
    pointer
}

/// Returns the unescaped tokens of a pointer.
pub(crate) fn tokens(pointer: &str) -> impl Iterator<Item = String> + '_ {
    pointer.split('/').skip(1).map(|token| token.replace("~1", "/").replace("~0", "~"))
}

/// Visits every string with its JSON pointer and the name of its field.
pub(crate) fn visit_strings<'v>(value: &'v Value, base: &str, visit: &mut dyn FnMut(&str, &str, &'v str)) {
    walk(value, &mut base.to_owned(), "", visit);
}

fn walk<'v>(value: &'v Value, pointer: &mut String, field: &str, visit: &mut dyn FnMut(&str, &str, &'v str)) {
    let length = pointer.len();
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => visit(pointer, field, text),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                push(pointer, &index.to_string());
                walk(item, pointer, field, visit);
                pointer.truncate(length);
            }
        }
        Value::Object(map) => {
            for (key, value) in map {
                push(pointer, key);
                walk(value, pointer, key, visit);
                pointer.truncate(length);
            }
        }
    }
}
