//! Sets or removes one value in JSON text, and keeps every other byte.

use serde_json::{Value, json};

use super::jsonc_document::{JsoncDocument, JsoncKind, JsoncMember, JsoncNode};

/// Sets the value at this path. Returns an error if a parent is not an object.
pub(super) fn set(text: &str, path: &[&str], value: &Value) -> Result<String, String> {
    let style = JsonStyle::of(text);
    let document = JsoncDocument::parse(text)?;
    let Some(root) = &document.root else {
        let whole = style.lines(&nested(path, value), "");
        let before =
            if text.is_empty() || text == "\u{feff}" || text.ends_with('\n') { "" } else { style.end };
        return Ok(format!("{text}{before}{whole}{}", style.end));
    };
    let mut above = None;
    let mut node = root;
    for (depth, key) in path.iter().enumerate() {
        let members = members_of(node, above)?;
        let rest = path.get(depth + 1..).unwrap_or_default();
        match members.iter().find(|member| member.key == *key) {
            Some(member) if rest.is_empty() => return Ok(style.replace(text, member, value)),
            Some(member) => (above, node) = (Some(*key), &member.value),
            None => return Ok(style.insert(text, &document, node, members, key, &nested(rest, value))),
        }
    }
    Err("nothing is named".to_owned())
}

/// Removes the value at this path. Returns an error if it is not there. Comments around it stay.
pub(super) fn remove(text: &str, path: &[&str]) -> Result<String, String> {
    let missing = || format!("`{}` is not there", path.join("."));
    let (last, above) = path.split_last().ok_or_else(missing)?;
    let document = JsoncDocument::parse(text)?;
    let mut node = document.root.as_ref().ok_or_else(missing)?;
    for (depth, key) in above.iter().enumerate() {
        let members = members_of(node, depth.checked_sub(1).map(|before| above[before]))?;
        node = &members.iter().find(|member| member.key == *key).ok_or_else(missing)?.value;
    }
    let members = members_of(node, above.last().copied())?;
    let index = members.iter().position(|member| member.key == *last).ok_or_else(missing)?;
    Ok(without_member(text, &document, node, members, index))
}

fn members_of<'a>(node: &'a JsoncNode, name: Option<&str>) -> Result<&'a [JsoncMember], String> {
    match (&node.kind, name) {
        (JsoncKind::Object(members), _) => Ok(members),
        (JsoncKind::Array(_) | JsoncKind::Scalar(_), Some(name)) => Err(format!("`{name}` is not an object")),
        (JsoncKind::Array(_) | JsoncKind::Scalar(_), None) => Err("it is not an object".to_owned()),
    }
}

/// Wraps the value in objects with these keys.
fn nested(path: &[&str], value: &Value) -> Value {
    path.iter().rev().fold(value.clone(), |inner, key| json!({ *key: inner }))
}

/// Removes one member, its comma, and its line if nothing else is on it.
fn without_member(
    text: &str,
    document: &JsoncDocument,
    object: &JsoncNode,
    members: &[JsoncMember],
    index: usize,
) -> String {
    let (from, to) = (members[index].key_start, members[index].value.span.end);
    let next = members.get(index + 1).map_or(object.span.end - 1, |next| next.key_start);
    let own = document.comma_in(&(to..next));
    // If the last member has no comma of its own, the one before it goes.
    let earlier = index.checked_sub(1).filter(|_| own.is_none());
    let earlier = earlier.and_then(|before| document.comma_in(&(members[before].value.span.end..from)));
    let mut head = text[..from].to_owned();
    if let Some(comma) = earlier {
        head.remove(comma);
    }
    let mut tail = text[to..].to_owned();
    if let Some(comma) = own {
        tail.remove(comma - to);
    }
    let blank = |text: &str| text.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'));
    match (head.rfind('\n'), tail.find('\n')) {
        (Some(start), Some(end)) if blank(&head[start + 1..]) && blank(&tail[..end]) => {
            format!("{}{}", &head[..=start], &tail[end + 1..])
        }
        _ if head.ends_with(' ') && tail.starts_with(' ') => format!("{head}{}", &tail[1..]),
        _ => head + &tail,
    }
}

/// The formatting of the file.
struct JsonStyle {
    end: &'static str,
    step: String,
}

impl JsonStyle {
    fn of(text: &str) -> JsonStyle {
        let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let indented = text.lines().map(indent_of).find(|indent| !indent.is_empty() && indent.len() <= 8);
        JsonStyle { end, step: indented.unwrap_or("  ").to_owned() }
    }

    /// Formats a value over several lines; the first one is not indented.
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

    fn replace(&self, text: &str, old: &JsoncMember, entry: &Value) -> String {
        let span = &old.value.span;
        let new = self.lines(entry, indent_at(text, old.key_start));
        format!("{}{new}{}", &text[..span.start], &text[span.end..])
    }

    /// Inserts after the last member and its comment.
    fn insert(
        &self,
        text: &str,
        document: &JsoncDocument,
        object: &JsoncNode,
        members: &[JsoncMember],
        name: &str,
        value: &Value,
    ) -> String {
        let is_list = value.as_object().is_some_and(|fields| !fields.is_empty());
        if let Some(last) = members.last()
            && !is_list
            && !text[object.span.clone()].contains('\n')
        {
            let at = last.value.span.end;
            return format!("{}, {}: {}{}", &text[..at], json!(name), self.lines(value, ""), &text[at..]);
        }
        let close = object.span.end - 1;
        let outer = indent_at(text, object.span.start).to_owned();
        let first = members.first().filter(|first| is_first_on_line(text, first.key_start));
        let inner = match first {
            Some(first) => indent_at(text, first.key_start).to_owned(),
            None => format!("{outer}{}", self.step),
        };
        let new = format!("{}{inner}{}: {}", self.end, json!(name), self.lines(value, &inner));
        let Some(last) = members.last() else {
            let at = object.span.start + 1;
            return self.spliced(text, at, close, &new, &outer);
        };
        let after = last.value.span.end;
        let comments = document.comment_end_in(&(after..close));
        match document.comma_in(&(after..close)) {
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

    /// Inserts `new` at this position, with the closing bracket on a line of its own.
    fn spliced(&self, text: &str, at: usize, close: usize, new: &str, outer: &str) -> String {
        let rest = &text[at..close];
        let end = if rest.contains('\n') { String::new() } else { format!("{}{outer}", self.end) };
        format!("{}{new}{end}{}", &text[..at], &text[at..])
    }
}

fn indent_of(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// The indent of the line at this position.
fn indent_at(text: &str, at: usize) -> &str {
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    indent_of(text[start..].trim_start_matches('\u{feff}'))
}

fn is_first_on_line(text: &str, at: usize) -> bool {
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    start > 0 && text[start..at].bytes().all(|byte| matches!(byte, b' ' | b'\t'))
}
