//! Walks the strings of a value, for checks that look at text.

use serde_json::Value;

use super::pointer;

/// Visits every string with its JSON pointer and the name of the field it stands in.
pub(super) fn each<'v>(value: &'v Value, base: &str, visit: &mut dyn FnMut(&str, &str, &'v str)) {
    walk(value, &mut base.to_owned(), "", visit);
}

fn walk<'v>(value: &'v Value, pointer: &mut String, field: &str, visit: &mut dyn FnMut(&str, &str, &'v str)) {
    let length = pointer.len();
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => visit(pointer, field, text),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                pointer::push(pointer, &index.to_string());
                walk(item, pointer, field, visit);
                pointer.truncate(length);
            }
        }
        Value::Object(map) => {
            for (key, value) in map {
                pointer::push(pointer, key);
                walk(value, pointer, key, visit);
                pointer.truncate(length);
            }
        }
    }
}
