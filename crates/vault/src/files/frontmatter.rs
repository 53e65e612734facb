//! Properties as the YAML block at the top of a note.
//!
//! Written by hand because only writing is needed and every value must come back as it was given: whatever
//! YAML could read as something else is quoted. Lists stand one item a line, as Obsidian writes them;
//! what is nested deeper is written in flow style, which is JSON. Reading YAML is no business of this file.

use std::fmt::Write as _;

use envelope::{Failure, Fault};
use serde_json::{Map, Value};

/// `properties` above `content`.
pub(super) fn on_top(properties: &Map<String, Value>, content: &str) -> Result<String, Fault> {
    let text = content.strip_prefix('\u{feff}').unwrap_or(content);
    if text.lines().next().is_some_and(|line| line.trim_end() == "---") {
        return Err(Fault::new(
            Failure::InvalidArguments,
            "`content` already begins with frontmatter, and `frontmatter` would add a second block",
        )
        .hint("put all properties into `frontmatter`, or leave it out"));
    }
    let mut note = String::from("---\n");
    for (name, value) in properties {
        property(&mut note, name, value);
    }
    note.push_str("---\n");
    note.push_str(text);
    Ok(note)
}

fn property(note: &mut String, name: &str, value: &Value) {
    note.push_str(&scalar(name));
    note.push(':');
    match value {
        // An empty property, as Obsidian writes it.
        Value::Null => note.push('\n'),
        Value::Array(items) if !items.is_empty() => {
            note.push('\n');
            for item in items {
                note.push_str("  - ");
                inline(note, item);
                note.push('\n');
            }
        }
        Value::Array(_) | Value::Object(_) | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            note.push(' ');
            inline(note, value);
            note.push('\n');
        }
    }
}

/// A value on one line.
fn inline(note: &mut String, value: &Value) {
    match value {
        Value::String(text) => note.push_str(&scalar(text)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            flow(note, value);
        }
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
fn quoted(text: &str) -> String {
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

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::{Value, json};

    use super::on_top;

    fn check(properties: &Value, content: &str, expected: Expect) {
        let shown = match on_top(properties.as_object().unwrap(), content) {
            Ok(note) => note,
            Err(fault) => format!("{}: {fault}", fault.failure),
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn plain_values_stay_plain_and_doubtful_ones_are_quoted() {
        check(
            &json!({
                "title": "Das Café, am Abend", "tags": ["idea", "to do", "#x", "no"], "done": false, "rank": 1.5,
                "date": "2026-11-15", "at": "2026-11-15T09:30:00", "version": "1.0", "link": "[[Note]]",
                "empty": "", "none": null, "nothing": [], "yes": "yes", "a: b": "c: d",
            }),
            "# Text\n",
            expect![[r##"
                ---
                title: Das Café, am Abend
                tags:
                  - idea
                  - to do
                  - "#x"
                  - "no"
                done: false
                rank: 1.5
                date: 2026-11-15
                at: 2026-11-15T09:30:00
                version: "1.0"
                link: "[[Note]]"
                empty: ""
                none:
                nothing: []
                "yes": "yes"
                "a: b": "c: d"
                ---
                # Text
            "##]],
        );
    }

    #[test]
    fn nothing_in_a_value_can_end_the_block_or_start_a_property() {
        check(
            &json!({"a": "x\n---\nevil: true", "b": "tab\tquote\" back\\ nel\u{85} ls\u{2028}",
                    "c": {"k, }": ["v", {"deep": null}]}, "---": "x", "d": "trailing ", "e": "- item"}),
            "",
            expect![[r#"
                ---
                a: "x\n---\nevil: true"
                b: "tab\tquote\" back\\ nel\u0085 ls\u2028"
                c: {"k, }": ["v", {"deep": null}]}
                "---": x
                d: "trailing "
                e: "- item"
                ---
            "#]],
        );
    }

    #[test]
    fn two_blocks_are_refused() {
        check(
            &json!({"a": 1}),
            "---\nb: 2\n---\n",
            expect![
                "invalid_arguments: `content` already begins with frontmatter, and `frontmatter` would add a second block"
            ],
        );
    }
}
