//! Resolves references inside a schema.

use serde_json::Value;

/// Returns the target of `#` or `#/...`.
pub(super) fn target<'a>(reference: &str, root: &'a Value) -> Option<&'a Value> {
    root.pointer(&percent_decoded(reference.strip_prefix('#')?)?)
}

/// Returns the schema behind a chain of references.
///
/// An endless chain is never compiled; the bound only makes sure of it here.
pub(super) fn follow<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    let mut schema = schema;
    for _ in 0..16 {
        match schema.get("$ref").and_then(Value::as_str).and_then(|reference| target(reference, root)) {
            Some(next) => schema = next,
            None => break,
        }
    }
    schema
}

/// A fragment is part of a URI, where `%20` is a space.
fn percent_decoded(fragment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}
