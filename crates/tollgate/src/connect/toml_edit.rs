//! Sets or removes single values in TOML text, and keeps every other byte.
//!
//! The `toml` crate parses the text and gives the position of every value; edits splice the text there. The crate
//! `toml_edit` is not used: it writes `\n` for every line end, adds a last one, and regroups dotted keys. A value can
//! be in a table with a header, in an inline table, or behind a dotted key. An edit that could lose something, such as
//! a comment inside of an array, is an error. The caller parses the result again.

use std::ops::Range;

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::toml_text::{line_end, written};

/// The item at a path.
struct TomlItem {
    key: Range<usize>,
    value: Range<usize>,
    form: TomlSyntax,
    hides_comment: bool,
    inner: Vec<String>,
}

/// The syntax of an item.
#[derive(Clone, Copy, PartialEq)]
enum TomlSyntax {
    /// A string, a number, an array ...
    Plain,
    /// `[a.b]`
    Head,
    /// `{ … }`
    Braces,
    /// A table that exists only through the keys of others.
    Implied,
}

/// Sets the value at this path. Returns an error if that is not safe.
pub(super) fn set(text: &str, path: &[&str], value: &Value) -> Result<String, String> {
    let new = written(value);
    if let Some(item) = find(text, path)? {
        unhidden(&item, path)?;
        return match item.form {
            TomlSyntax::Plain | TomlSyntax::Braces => Ok(spliced(text, item.value, &new)),
            TomlSyntax::Head | TomlSyntax::Implied => Err(unsafe_at(path)),
        };
    }
    for depth in (1..path.len()).rev() {
        let (above, below) = path.split_at(depth);
        let Some(item) = find(text, above)? else { continue };
        let field = below.join(".");
        return match item.form {
            TomlSyntax::Head => Ok(line_below(text, item.value.end, &format!("{field} = {new}"))),
            TomlSyntax::Braces => {
                let at = item.value.start + 1;
                let comma = if item.inner.is_empty() { " " } else { "," };
                Ok(spliced(text, at..at, &format!(" {field} = {new}{comma}")))
            }
            TomlSyntax::Implied => continue,
            TomlSyntax::Plain => Err(unsafe_at(above)),
        };
    }
    Err(unsafe_at(path))
}

/// Removes the value at this path. A comment after it stays.
pub(super) fn remove(text: &str, path: &[&str]) -> Result<String, String> {
    let item = find(text, path)?.ok_or_else(|| unsafe_at(path))?;
    unhidden(&item, path)?;
    let above = path.split_last().map(|(_, above)| find(text, above)).transpose()?.flatten();
    match (item.form, above.map(|above| above.form)) {
        (TomlSyntax::Implied, _) => Err(unsafe_at(path)),
        (TomlSyntax::Head, _) => {
            let mut text = text.to_owned();
            for name in &item.inner {
                text = remove(&text, &[path, &[name.as_str()]].concat())?;
            }
            let head = find(&text, path)?.ok_or_else(|| unsafe_at(path))?.value;
            without_line(&text, head).ok_or_else(|| unsafe_at(path))
        }
        (TomlSyntax::Plain | TomlSyntax::Braces, Some(TomlSyntax::Braces)) => {
            Ok(without_item(text, item.key.start..item.value.end))
        }
        (
            TomlSyntax::Plain | TomlSyntax::Braces,
            Some(TomlSyntax::Head | TomlSyntax::Implied | TomlSyntax::Plain) | None,
        ) => without_line(text, item.key.start..item.value.end).ok_or_else(|| unsafe_at(path)),
    }
}

fn unsafe_at(path: &[&str]) -> String {
    format!("`{}` is written in a way that cannot be changed safely", path.join("."))
}

fn unhidden(item: &TomlItem, path: &[&str]) -> Result<(), String> {
    if item.hides_comment {
        return Err(format!("there is a comment inside `{}`, which would change", path.join(".")));
    }
    Ok(())
}

fn find(text: &str, path: &[&str]) -> Result<Option<TomlItem>, String> {
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mark = text.len() - body.len();
    let root = DeTable::parse(body).map_err(|error| error.to_string().trim_end().to_owned())?;
    let mut table = root.get_ref();
    let mut found = None;
    for (depth, name) in path.iter().enumerate() {
        let Some((key, value)) = table.iter().find(|(key, _)| key.get_ref() == name) else { return Ok(None) };
        found = Some((key, value));
        if let DeValue::Table(inner) = value.get_ref() {
            table = inner;
        } else if depth + 1 < path.len() {
            return Ok(None);
        }
    }
    let shifted = |span: Range<usize>| span.start + mark..span.end + mark;
    Ok(found.map(|(key, value)| {
        let first = body.as_bytes().get(value.span().start);
        let (form, inner) = match (value.get_ref(), first) {
            (DeValue::Table(inner), first) => {
                let form = match first {
                    Some(b'[') => TomlSyntax::Head,
                    Some(b'{') => TomlSyntax::Braces,
                    _ => TomlSyntax::Implied,
                };
                (form, inner.keys().map(|key| key.get_ref().to_string()).collect())
            }
            _ => (TomlSyntax::Plain, Vec::new()),
        };
        let hides_comment = form != TomlSyntax::Head && hides_comment(body, value);
        TomlItem { key: shifted(key.span()), value: shifted(value.span()), form, hides_comment, inner }
    }))
}

/// Returns whether there may be a comment between the items of an array.
fn hides_comment(text: &str, value: &Spanned<DeValue<'_>>) -> bool {
    let span = value.span();
    match value.get_ref() {
        DeValue::Array(items) => {
            let mut at = span.start;
            for item in items.iter() {
                if text[at..item.span().start].contains('#') || hides_comment(text, item) {
                    return true;
                }
                at = item.span().end;
            }
            text[at..span.end].contains('#')
        }
        DeValue::Table(_) => text[span].contains('#'),
        DeValue::String(_)
        | DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_) => false,
    }
}

fn spliced(text: &str, span: Range<usize>, new: &str) -> String {
    format!("{}{new}{}", &text[..span.start], &text[span.end..])
}

/// Inserts a line below the line at this position.
fn line_below(text: &str, at: usize, line: &str) -> String {
    let end = line_end(text);
    match text[at..].find('\n') {
        Some(length) => spliced(text, at + length + 1..at + length + 1, &format!("{line}{end}")),
        None => format!("{text}{end}{line}{end}"),
    }
}

/// Removes this range. Returns `None` unless the rest of its line is empty or a comment.
fn without_line(text: &str, span: Range<usize>) -> Option<String> {
    let start = text[..span.start].rfind('\n').map_or(0, |end| end + 1);
    let end = text[span.end..].find('\n').map_or(text.len(), |length| span.end + length + 1);
    if !text[start..span.start].trim_start_matches('\u{feff}').trim().is_empty() {
        return None;
    }
    match text[span.end..end].trim() {
        "" => Some(spliced(text, start.max(mark_of(text))..end, "")),
        rest if rest.starts_with('#') => {
            let comment = span.end + text[span.end..end].find('#')?;
            Some(spliced(text, span.start..comment, ""))
        }
        _ => None,
    }
}

/// Returns the length of the byte order mark.
fn mark_of(text: &str) -> usize {
    if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 }
}

/// Removes an item of an inline table with its comma.
fn without_item(text: &str, span: Range<usize>) -> String {
    let (before, after) = (&text[..span.start], &text[span.end..]);
    if let Some(rest) = after.trim_start().strip_prefix(',') {
        return format!("{before}{}", rest.trim_start_matches(' '));
    }
    match before.trim_end().strip_suffix(',') {
        Some(before) => format!("{before}{after}"),
        None => format!("{}{after}", before.trim_end_matches(' ')),
    }
}
