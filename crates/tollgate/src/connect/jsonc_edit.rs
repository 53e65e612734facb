//! Puts one entry into JSON text and leaves every other byte as it is.

use serde_json::{Value, json};

use super::jsonc::{Kind, Member, Node, end_of_comments, read};

/// The text with `entry` under `key`, then `name`. Says why if that is not possible.
pub(super) fn put(text: &str, key: &str, name: &str, entry: &Value) -> Result<String, String> {
    let style = Style::of(text);
    let Some(root) = read(text)? else {
        let whole = style.lines(&json!({ key: { name: entry } }), "");
        let before =
            if text.is_empty() || text == "\u{feff}" || text.ends_with('\n') { "" } else { style.end };
        return Ok(format!("{text}{before}{whole}{}", style.end));
    };
    let Kind::Object(members) = &root.kind else { return Err("it is not an object".to_owned()) };
    let Some(servers) = members.iter().find(|member| member.key == key) else {
        return Ok(style.insert(text, &root, members, key, &json!({ name: entry })));
    };
    let Kind::Object(entries) = &servers.value.kind else { return Err(format!("`{key}` is not an object")) };
    Ok(match entries.iter().find(|member| member.key == name) {
        Some(old) => style.replace(text, old, entry),
        None => style.insert(text, &servers.value, entries, name, entry),
    })
}

/// How the person writes.
struct Style {
    end: &'static str,
    step: String,
}

impl Style {
    fn of(text: &str) -> Style {
        let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let indented = text.lines().map(indent_of).find(|indent| !indent.is_empty() && indent.len() <= 8);
        Style { end, step: indented.unwrap_or("  ").to_owned() }
    }

    /// A value over several lines; the first one is not indented.
    fn lines(&self, value: &Value, indent: &str) -> String {
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                let inner = format!("{indent}{}", self.step);
                let fields: Vec<String> = fields
                    .iter()
                    .map(|(key, value)| format!("{inner}{}: {}", json!(key), self.lines(value, &inner)))
                    .collect();
                let end = self.end;
                format!("{{{end}{}{end}{indent}}}", fields.join(&format!(",{end}")))
            }
            Value::Array(items) => {
                let items: Vec<String> = items.iter().map(Value::to_string).collect();
                format!("[{}]", items.join(", "))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                value.to_string()
            }
        }
    }

    fn replace(&self, text: &str, old: &Member, entry: &Value) -> String {
        let span = &old.value.span;
        let new = self.lines(entry, indent_at(text, old.key_at));
        format!("{}{new}{}", &text[..span.start], &text[span.end..])
    }

    /// Behind the last member, whose own comment stays with it.
    fn insert(&self, text: &str, object: &Node, members: &[Member], name: &str, value: &Value) -> String {
        let close = object.span.end - 1;
        let outer = indent_at(text, object.span.start).to_owned();
        let first = members.first().filter(|first| is_first_on_line(text, first.key_at));
        let inner = match first {
            Some(first) => indent_at(text, first.key_at).to_owned(),
            None => format!("{outer}{}", self.step),
        };
        let new = format!("{}{inner}{}: {}", self.end, json!(name), self.lines(value, &inner));
        let Some(last) = members.last() else {
            let at = object.span.start + 1;
            return self.spliced(text, at, close, &new, &outer);
        };
        let after = last.value.span.end;
        let comments = end_of_comments(text, after..close);
        match comma_in(text, after..close) {
            Some(comma) => {
                let at = comments.filter(|end| *end > comma).unwrap_or(comma + 1);
                self.spliced(text, at, close, &format!("{new},"), &outer)
            }
            None => {
                let at = comments.unwrap_or(after);
                let spliced = self.spliced(text, at, close, &new, &outer);
                format!("{},{}", &spliced[..after], &spliced[after..])
            }
        }
    }

    /// Puts `new` at its place, and the closing bracket on a line of its own.
    fn spliced(&self, text: &str, at: usize, close: usize, new: &str, outer: &str) -> String {
        let rest = &text[at..close];
        let end = if rest.contains('\n') { String::new() } else { format!("{}{outer}", self.end) };
        format!("{}{new}{end}{}", &text[..at], &text[at..])
    }
}

/// The comma behind the last member, outside of comments.
fn comma_in(text: &str, stretch: std::ops::Range<usize>) -> Option<usize> {
    let mut at = stretch.start;
    while at < stretch.end {
        match text.as_bytes().get(at) {
            Some(b',') => return Some(at),
            Some(b'/') => {
                let line = text[at..].starts_with("//");
                let mark = if line { "\n" } else { "*/" };
                at += text[at..].find(mark).map(|end| end + mark.len())?;
            }
            _ => at += 1,
        }
    }
    None
}

fn indent_of(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// The indent of the line that this place is in.
fn indent_at(text: &str, at: usize) -> &str {
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    indent_of(text[start..].trim_start_matches('\u{feff}'))
}

fn is_first_on_line(text: &str, at: usize) -> bool {
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    start > 0 && text[start..at].bytes().all(|byte| matches!(byte, b' ' | b'\t'))
}
