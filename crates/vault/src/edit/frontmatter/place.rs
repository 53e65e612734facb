//! The lines of one property, and how they change.
//!
//! Every change is a part of these lines and a text for it. Comments stay where they are: those above a
//! property and those below its value belong to nobody, and one behind a value on the line of the name
//! survives a new value. Only comments inside a value that is replaced go with it.

use serde_json::Value;

use super::node::{Kind, Node, Style};
use super::read::Property;
use crate::edit::lines::{line_end, line_start, next_line};
use crate::edit::splice::Splice;
use crate::text::yaml::{self, Written};

/// Where a property stands in the body of the frontmatter.
pub(super) struct Place<'a> {
    body: &'a str,
    property: &'a Property,
    /// The start of its first line.
    pub(super) start: usize,
    /// The start of the line after its last.
    pub(super) end: usize,
    after_colon: usize,
    /// The end of the line of the name, its line ending not counted.
    name_end: usize,
}

impl<'a> Place<'a> {
    /// The lines of `property`; the next one, or the end of the body, is at `next`. `None` when its name does
    /// not simply stand at the start of a line with a colon behind it.
    pub(super) fn find(body: &'a str, property: &'a Property, next: usize) -> Option<Place<'a>> {
        let start = line_start(body, property.key.start);
        let name_end = line_end(body, property.key.end);
        let behind = &body[property.key.end..name_end];
        let colon = behind.trim_start_matches([' ', '\t']);
        if !body[start..property.key.start].chars().all(|c| c == ' ') || !colon.starts_with(':') {
            return None;
        }
        let after_colon = name_end - colon.len() + 1;
        let content_end = property.value.span.end.max(after_colon);
        let mut end = line_start(body, next).max(next_line(body, start));
        while end > start {
            let line = line_start(body, end - 1);
            let text = body[line..end].trim();
            if line < content_end || !(text.is_empty() || text.starts_with('#')) {
                break;
            }
            end = line;
        }
        Some(Place { body, property, start, end, after_colon, name_end })
    }

    /// The property gets `value`.
    pub(super) fn set(&self, value: &Value, newline: &str) -> Splice {
        let old = &self.property.value;
        let written = in_its_style(old, value).map_or_else(|| yaml::written(value), Written::Inline);
        self.write(written, newline)
    }

    /// The property goes away with its lines.
    pub(super) fn remove(&self) -> Splice {
        Splice { range: self.start..self.end, text: String::new() }
    }

    /// `values` follow the items of the list. `None` when the value is no list whose end is known.
    pub(super) fn append(&self, values: &[Value], newline: &str) -> Option<Splice> {
        match &self.property.value.kind {
            Kind::List { items, flow: true, .. } => Some(self.append_inline(items, values)),
            Kind::List { flow: false, .. } => {
                let dash = self.body[next_line(self.body, self.start)..self.end].lines().find(|line| {
                    let text = line.trim_start();
                    !text.is_empty() && !text.starts_with('#')
                })?;
                let indent = &dash[..dash.len() - dash.trim_start().len()];
                let text = values
                    .iter()
                    .map(|value| format!("{indent}- {}{newline}", yaml::inline(value)))
                    .collect();
                Some(Splice { range: self.end..self.end, text })
            }
            Kind::Scalar { .. } | Kind::Map { .. } | Kind::Alias(_) => None,
        }
    }

    /// The one value becomes a list, as it is written, and `values` follow it. `None` when it takes several
    /// lines.
    pub(super) fn make_list(&self, values: &[Value], newline: &str) -> Option<Splice> {
        let source = &self.body[self.property.value.span.clone()];
        if source.contains(['\n', '\r']) {
            return None;
        }
        let items = std::iter::once(source.to_owned()).chain(values.iter().map(yaml::inline)).collect();
        Some(self.write(Written::Items(items), newline))
    }

    /// `[a, b]` and `[a, b, ]` alike.
    fn append_inline(&self, items: &[Node], values: &[Value]) -> Splice {
        let span = &self.property.value.span;
        let new = values.iter().map(yaml::flow_item).collect::<Vec<_>>().join(", ");
        let Some(last) = items.last() else {
            return Splice { range: span.end - 1..span.end - 1, text: new };
        };
        let rest = &self.body[last.span.end..span.end];
        let gap = rest.len() - rest.trim_start().len();
        if rest[gap..].starts_with(',') {
            let at = last.span.end + gap + 1;
            Splice { range: at..at, text: format!(" {new}") }
        } else {
            Splice { range: last.span.end..last.span.end, text: format!(", {new}") }
        }
    }

    fn write(&self, written: Written, newline: &str) -> Splice {
        let behind = &self.body[self.after_colon..self.name_end];
        let first = behind.trim_start();
        let value_end = self.property.value.span.end;
        let one_line = self.end == next_line(self.body, self.start);
        // The part of the name's line that stays: a comment, with the space before it.
        let comment = if first.is_empty() {
            ""
        } else if first.starts_with('#') {
            behind
        } else if one_line && value_end >= self.after_colon && value_end <= self.name_end {
            if let Written::Inline(text) = written {
                return Splice { range: self.name_end - first.len()..value_end, text };
            }
            &self.body[value_end..self.name_end]
        } else {
            ""
        };
        let mut text = match written {
            Written::Nothing => comment.trim_end().to_owned(),
            Written::Inline(value) => format!(" {value}{comment}"),
            Written::Items(items) => {
                let indent = &self.body[self.start..self.property.key.start];
                let items: String = items.iter().map(|item| format!("{newline}{indent}  - {item}")).collect();
                format!("{}{items}", comment.trim_end())
            }
        };
        text.push_str(newline);
        Splice { range: self.after_colon..self.end, text }
    }
}

/// A new value in the quotes or brackets of the old one, where both are of one kind.
fn in_its_style(old: &Node, value: &Value) -> Option<String> {
    match (&old.kind, value) {
        (Kind::Scalar { style: Style::Double, .. }, Value::String(text)) => Some(yaml::quoted(text)),
        (Kind::Scalar { style: Style::Single, .. }, Value::String(text)) => {
            let simple =
                text.chars().all(|c| !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}'));
            simple.then(|| format!("'{}'", text.replace('\'', "''")))
        }
        (Kind::List { flow: true, .. }, Value::Array(items)) => {
            Some(format!("[{}]", items.iter().map(yaml::flow_item).collect::<Vec<_>>().join(", ")))
        }
        _ => None,
    }
}
