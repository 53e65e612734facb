//! The lines of one property, and the splices that change them.
//!
//! Each change replaces a part of these lines. Comments stay where they are: the ones above a property and
//! the ones below its value belong to no property, and a comment after a value on the line of the name is
//! kept when the value changes. Only comments inside a replaced value are lost.

use serde_json::Value;

use super::parser::FrontmatterProperty;
use super::yaml_node::{NodeValue, QuoteStyle, YamlNode};
use crate::lines::{line_end, line_start, next_line};
use crate::splice::TextSplice;
use crate::yaml::{self, PropertyLayout};

/// The lines of one property in the body of the frontmatter.
pub(super) struct PropertyPosition<'a> {
    body: &'a str,
    property: &'a FrontmatterProperty,
    /// Start of the property's first line.
    pub(super) start: usize,
    /// Start of the line after the property's last line.
    pub(super) end: usize,
    after_colon: usize,
    /// End of the line with the name, without its line ending.
    name_end: usize,
}

impl<'a> PropertyPosition<'a> {
    /// Returns the lines of `property`; `next` is the start of the next property or the end of the body.
    /// Returns `None` unless the line starts with the name and a colon.
    pub(super) fn find(
        body: &'a str,
        property: &'a FrontmatterProperty,
        next: usize,
    ) -> Option<PropertyPosition<'a>> {
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
        Some(PropertyPosition { body, property, start, end, after_colon, name_end })
    }

    /// Returns the splice that sets the property to `value`.
    pub(super) fn set(&self, value: &Value, newline: &str) -> TextSplice {
        let old = &self.property.value;
        let written =
            restyle(old, value).map_or_else(|| yaml::property_layout(value), PropertyLayout::Inline);
        self.write(written, newline)
    }

    /// Returns the splice that removes the property with its lines.
    pub(super) fn remove(&self) -> TextSplice {
        TextSplice { range: self.start..self.end, text: String::new() }
    }

    /// Returns the splice that appends `values` to the list. Returns `None` if the value is not a list with a
    /// known end.
    pub(super) fn append(&self, values: &[Value], newline: &str) -> Option<TextSplice> {
        match &self.property.value.kind {
            NodeValue::List { items, flow: true, .. } => Some(self.append_inline(items, values)),
            NodeValue::List { flow: false, .. } => {
                let dash = self.body[next_line(self.body, self.start)..self.end].lines().find(|line| {
                    let text = line.trim_start();
                    !text.is_empty() && !text.starts_with('#')
                })?;
                let indent = &dash[..dash.len() - dash.trim_start().len()];
                let text = values
                    .iter()
                    .map(|value| format!("{indent}- {}{newline}", yaml::inline_value(value)))
                    .collect();
                Some(TextSplice { range: self.end..self.end, text })
            }
            NodeValue::Scalar { .. } | NodeValue::Map { .. } | NodeValue::Alias(_) => None,
        }
    }

    /// Returns the splice that turns the single value, as it is spelled, into a list and appends `values`.
    /// Returns `None` if the value takes several lines.
    pub(super) fn convert_to_list(&self, values: &[Value], newline: &str) -> Option<TextSplice> {
        let source = &self.body[self.property.value.span.clone()];
        if source.contains(['\n', '\r']) {
            return None;
        }
        let items = std::iter::once(source.to_owned()).chain(values.iter().map(yaml::inline_value)).collect();
        Some(self.write(PropertyLayout::Items(items), newline))
    }

    /// Appends to `[a, b]` or `[a, b, ]`.
    fn append_inline(&self, items: &[YamlNode], values: &[Value]) -> TextSplice {
        let span = &self.property.value.span;
        let new = values.iter().map(yaml::flow_item).collect::<Vec<_>>().join(", ");
        let Some(last) = items.last() else {
            return TextSplice { range: span.end - 1..span.end - 1, text: new };
        };
        let rest = &self.body[last.span.end..span.end];
        let gap = rest.len() - rest.trim_start().len();
        if rest[gap..].starts_with(',') {
            let at = last.span.end + gap + 1;
            TextSplice { range: at..at, text: format!(" {new}") }
        } else {
            TextSplice { range: last.span.end..last.span.end, text: format!(", {new}") }
        }
    }

    fn write(&self, written: PropertyLayout, newline: &str) -> TextSplice {
        let behind = &self.body[self.after_colon..self.name_end];
        let first = behind.trim_start();
        let value_end = self.property.value.span.end;
        let one_line = self.end == next_line(self.body, self.start);
        // The part of the line that is kept: a comment with the space before it.
        let comment = if first.is_empty() {
            ""
        } else if first.starts_with('#') {
            behind
        } else if one_line && value_end >= self.after_colon && value_end <= self.name_end {
            if let PropertyLayout::Inline(text) = written {
                return TextSplice { range: self.name_end - first.len()..value_end, text };
            }
            &self.body[value_end..self.name_end]
        } else {
            ""
        };
        let mut text = match written {
            PropertyLayout::Nothing => comment.trim_end().to_owned(),
            PropertyLayout::Inline(value) => format!(" {value}{comment}"),
            PropertyLayout::Items(items) => {
                let indent = &self.body[self.start..self.property.key.start];
                let items: String = items.iter().map(|item| format!("{newline}{indent}  - {item}")).collect();
                format!("{}{items}", comment.trim_end())
            }
        };
        text.push_str(newline);
        TextSplice { range: self.after_colon..self.end, text }
    }
}

/// Returns the new value in the quotes or brackets of the old one, if both have the same type.
fn restyle(old: &YamlNode, value: &Value) -> Option<String> {
    match (&old.kind, value) {
        (NodeValue::Scalar { style: QuoteStyle::Double, .. }, Value::String(text)) => {
            Some(yaml::quoted(text))
        }
        (NodeValue::Scalar { style: QuoteStyle::Single, .. }, Value::String(text)) => {
            let simple =
                text.chars().all(|c| !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}'));
            simple.then(|| format!("'{}'", text.replace('\'', "''")))
        }
        (NodeValue::List { flow: true, .. }, Value::Array(items)) => {
            Some(format!("[{}]", items.iter().map(yaml::flow_item).collect::<Vec<_>>().join(", ")))
        }
        _ => None,
    }
}
