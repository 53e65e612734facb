//! Escapes invisible characters in text, lines and JSON.
//!
//! The module [`crate::invisible`] alone defines which characters are invisible and which joiners a text
//! keeps. Escaping a text twice gives the same result as escaping it once.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::invisible::invisible_chars;

/// Returns the text with every invisible character escaped as `\u{202e}` and carriage returns as `\r`. Line
/// feeds and tabs stay.
pub fn escape_invisible(text: &str) -> Cow<'_, str> {
    replace(text, |c| matches!(c, '\n' | '\t'), push_escape)
}

/// Like [`escape_invisible`], on one line: a line feed becomes `\n` and a tab `\t`, so that no text can forge
/// a line of output.
pub fn escape_line(text: &str) -> Cow<'_, str> {
    replace(text, |_| false, push_escape)
}

/// Whether [`escape_invisible`] would change the text.
pub fn has_invisible(text: &str) -> bool {
    invisible_chars(text).any(|(_, c)| !matches!(c, '\n' | '\t'))
}

/// Escapes JSON text without changing its meaning, so that it is safe to print. For programs, which need the
/// exact characters. JSON escapes most controls itself; all other invisible characters are inside strings,
/// where a JSON escape means the same character.
pub fn escape_json(json: &str) -> Cow<'_, str> {
    replace(json, |c| matches!(c, '\0'..=' '), push_units)
}

/// Escapes every text and key of a value, for people and models, who read the texts. Line feeds, tabs and
/// carriage returns stay, because JSON escapes them. Keys that become equal get a number.
pub fn escape_value(value: &Value) -> Cow<'_, Value> {
    if is_plain(value) { Cow::Borrowed(value) } else { Cow::Owned(escaped(value)) }
}

/// Writes `c` as `\u{202e}`; line feed, tab and carriage return as `\n`, `\t` and `\r`.
pub(crate) fn push_escape(out: &mut String, c: char) {
    match c {
        '\n' => out.push_str("\\n"),
        '\t' => out.push_str("\\t"),
        '\r' => out.push_str("\\r"),
        _ => {
            // Written by hand, because a file of zeros has millions of them.
            let code = u32::from(c);
            let digits = (u32::BITS - code.leading_zeros()).div_ceil(4).max(1);
            out.push_str("\\u{");
            push_hex(out, code, digits);
            out.push('}');
        }
    }
}

/// Writes `c` as a JSON escape: `\u202e`, or a surrogate pair for characters beyond the first plane.
fn push_units(out: &mut String, c: char) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        out.push_str("\\u");
        push_hex(out, u32::from(*unit), 4);
    }
}

fn push_hex(out: &mut String, code: u32, digits: u32) {
    for digit in (0..digits).rev() {
        out.push(char::from_digit((code >> (4 * digit)) & 0xf, 16).unwrap_or('?'));
    }
}

fn replace(text: &str, keep: impl Fn(char) -> bool, push: impl Fn(&mut String, char)) -> Cow<'_, str> {
    let mut found = invisible_chars(text).filter(|&(_, c)| !keep(c)).peekable();
    if found.peek().is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut copied = 0;
    for (at, c) in found {
        out.push_str(&text[copied..at]);
        push(&mut out, c);
        copied = at + c.len_utf8();
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

fn escape_member(text: &str) -> Cow<'_, str> {
    replace(text, |c| matches!(c, '\n' | '\t' | '\r'), push_escape)
}

fn is_plain(value: &Value) -> bool {
    let plain = |text: &str| invisible_chars(text).all(|(_, c)| matches!(c, '\n' | '\t' | '\r'));
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => plain(text),
        Value::Array(items) => items.iter().all(is_plain),
        Value::Object(map) => map.iter().all(|(key, value)| plain(key) && is_plain(value)),
    }
}

fn escaped(value: &Value) -> Value {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        Value::String(text) => Value::String(escape_member(text).into_owned()),
        Value::Array(items) => Value::Array(items.iter().map(escaped).collect()),
        Value::Object(map) => {
            let mut out = Map::with_capacity(map.len());
            for (key, value) in map {
                let key = free_key(&out, escape_member(key).into_owned());
                out.insert(key, escaped(value));
            }
            Value::Object(out)
        }
    }
}

/// Returns the key, with a number if another key was escaped to the same text: no member may hide another.
fn free_key(taken: &Map<String, Value>, key: String) -> String {
    if !taken.contains_key(&key) {
        return key;
    }
    let numbered = (2_u32..).map(|number| format!("{key} ({number})")).find(|key| !taken.contains_key(key));
    numbered.unwrap_or(key)
}

#[cfg(test)]
#[path = "escape_tests.rs"]
mod tests;
