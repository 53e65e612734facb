//! YAML writer for the values of properties.
//!
//! A writer of our own, because every value must be read back as it was given: every text that YAML could
//! read as something else is quoted, links included. Lists are written one item a line, as Obsidian does;
//! deeper values are written in flow style, which is JSON. This module does not parse YAML.

use std::fmt::Write as _;

use serde_json::Value;

/// The layout of a value after the colon of its property.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PropertyLayout {
    /// No value: an empty property, as Obsidian writes it.
    Nothing,
    /// On the line of the name.
    Inline(String),
    /// Below the name, one item a line; the items are without their dashes.
    Items(Vec<String>),
}

/// Returns the layout of `value` in a property.
pub(crate) fn property_layout(value: &Value) -> PropertyLayout {
    match value {
        Value::Null => PropertyLayout::Nothing,
        Value::Array(items) if !items.is_empty() => {
            PropertyLayout::Items(items.iter().map(inline_value).collect())
        }
        Value::Array(_) | Value::Object(_) | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            PropertyLayout::Inline(inline_value(value))
        }
    }
}

/// Writes a whole property, ended by `newline`.
pub fn write_property(note: &mut String, name: &str, value: &Value, newline: &str) {
    note.push_str(&scalar(name));
    note.push(':');
    match property_layout(value) {
        PropertyLayout::Nothing => {}
        PropertyLayout::Inline(text) => {
            note.push(' ');
            note.push_str(&text);
        }
        PropertyLayout::Items(items) => {
            for item in items {
                note.push_str(newline);
                note.push_str("  - ");
                note.push_str(&item);
            }
        }
    }
    note.push_str(newline);
}

/// Returns a value on one line.
pub(crate) fn inline_value(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            let mut out = String::new();
            write_flow(&mut out, value);
            out
        }
    }
}

/// Returns a value for a list on one line, between its brackets.
pub(crate) fn flow_item(value: &Value) -> String {
    match value {
        Value::String(text) if text.contains(',') => quoted(text),
        Value::String(_)
        | Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::Array(_)
        | Value::Object(_) => inline_value(value),
    }
}

/// Writes flow style. Every text is quoted, because commas and brackets have a meaning here.
fn write_flow(note: &mut String, value: &Value) {
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
                write_flow(note, item);
            }
            note.push(']');
        }
        Value::Object(fields) => {
            note.push('{');
            for (n, (name, value)) in fields.iter().enumerate() {
                note.push_str(if n == 0 { "" } else { ", " });
                note.push_str(&quoted(name));
                note.push_str(": ");
                write_flow(note, value);
            }
            note.push('}');
        }
    }
}

fn scalar(text: &str) -> String {
    if is_plain(text) { text.to_owned() } else { quoted(text) }
}

/// Whether every YAML reader takes the unquoted text as exactly this text.
fn is_plain(text: &str) -> bool {
    is_date(text)
        || (text.starts_with(char::is_alphabetic)
            && !text.ends_with(' ')
            && text.chars().all(|c| c.is_alphanumeric() || " _-./,()'!".contains(c))
            && !is_yaml_keyword(text))
}

/// Whether some version of YAML reads the word as a boolean or null.
fn is_yaml_keyword(text: &str) -> bool {
    const WORDS: [&str; 9] = ["true", "false", "yes", "no", "on", "off", "null", "y", "n"];
    WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// Whether the text is a date such as `2026-11-15` or `2026-11-15T09:30:00`, the two forms that Obsidian
/// writes without quotes.
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

/// Quotes the text with double quotes and escapes that YAML 1.1, YAML 1.2 and JSON read alike.
pub fn quoted(text: &str) -> String {
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
