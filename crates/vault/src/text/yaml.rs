//! Values as YAML text, for the properties of a note.
//!
//! Written by hand because every value must come back as it was given: whatever YAML could read as something
//! else is quoted, links among it. Lists stand one item a line, as Obsidian writes them; what is nested
//! deeper is written in flow style, which is JSON. Reading YAML is no business of this file.

use std::fmt::Write as _;

use serde_json::Value;

/// How a value stands behind the colon of its property.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// Not at all: an empty property, as Obsidian writes it.
    Nothing,
    /// On the line of the name.
    Inline(String),
    /// Below the name, one item a line; without the dashes.
    Items(Vec<String>),
}

/// `value` as a property holds it.
pub(crate) fn written(value: &Value) -> Written {
    match value {
        Value::Null => Written::Nothing,
        Value::Array(items) if !items.is_empty() => Written::Items(items.iter().map(inline).collect()),
        Value::Array(_) | Value::Object(_) | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            Written::Inline(inline(value))
        }
    }
}

/// A whole property, ended by `newline`.
pub(crate) fn property(note: &mut String, name: &str, value: &Value, newline: &str) {
    note.push_str(&scalar(name));
    note.push(':');
    match written(value) {
        Written::Nothing => {}
        Written::Inline(text) => {
            note.push(' ');
            note.push_str(&text);
        }
        Written::Items(items) => {
            for item in items {
                note.push_str(newline);
                note.push_str("  - ");
                note.push_str(&item);
            }
        }
    }
    note.push_str(newline);
}

/// A value on one line.
pub(crate) fn inline(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            let mut out = String::new();
            flow(&mut out, value);
            out
        }
    }
}

/// A value between the brackets of a list on one line.
pub(crate) fn flow_item(value: &Value) -> String {
    match value {
        Value::String(text) if text.contains(',') => quoted(text),
        Value::String(_)
        | Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::Array(_)
        | Value::Object(_) => inline(value),
    }
}

/// Flow style: every text quoted, since commas and brackets mean something here.
fn flow(note: &mut String, value: &Value) {
    match value {
        Value::Null => note.push_str("null"),
        Value::Bool(flag) => note.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => {
            write!(note, "{number}").ok();
        }
        Value::String(text) => note.push_str(&quoted(text)),
        Value::Array(items) => {
            note.push('[');
            for (n, item) in items.iter().enumerate() {
                note.push_str(if n == 0 { "" } else { ", " });
                flow(note, item);
            }
            note.push(']');
        }
        Value::Object(fields) => {
            note.push('{');
            for (n, (name, value)) in fields.iter().enumerate() {
                note.push_str(if n == 0 { "" } else { ", " });
                note.push_str(&quoted(name));
                note.push_str(": ");
                flow(note, value);
            }
            note.push('}');
        }
    }
}

fn scalar(text: &str) -> String {
    if is_plain(text) { text.to_owned() } else { quoted(text) }
}

/// Whether every reader of YAML takes the bare text for exactly this text.
fn is_plain(text: &str) -> bool {
    is_date(text)
        || (text.starts_with(char::is_alphabetic)
            && !text.ends_with(' ')
            && text.chars().all(|c| c.is_alphanumeric() || " _-./,()'!".contains(c))
            && !means_something_else(text))
}

/// Words that some version of YAML reads as a truth value or as nothing.
fn means_something_else(text: &str) -> bool {
    const WORDS: [&str; 9] = ["true", "false", "yes", "no", "on", "off", "null", "y", "n"];
    WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// `2026-11-15` or `2026-11-15T09:30:00`: the two forms in which Obsidian keeps dates, unquoted.
fn is_date(text: &str) -> bool {
    let fits = |pattern: &str| {
        text.len() == pattern.len()
            && text.bytes().zip(pattern.bytes()).all(|(byte, shape)| match shape {
                b'0' => byte.is_ascii_digit(),
                fixed => byte == fixed,
            })
    };
    fits("0000-00-00") || fits("0000-00-00T00:00:00") || fits("0000-00-00T00:00")
}

/// Double quotes, with escapes that YAML 1.1, YAML 1.2 and JSON read alike.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_control()
                || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}') =>
            {
                write!(out, "\\u{:04x}", u32::from(c)).ok();
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
