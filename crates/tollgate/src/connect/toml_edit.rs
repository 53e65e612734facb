//! Changes single values in TOML text and leaves every other byte as it is.
//!
//! A value can be written in many ways: in a table with a head, in braces, behind a key with dots. The reader tells where
//! each stands. What is in the way of a safe change, a comment inside of a list for one, is an error and never dropped.
//! Whoever asks reads the result again.

use std::ops::Range;

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::toml_text::{line_end, written};

/// What is found at a path.
struct Spot {
    key: Range<usize>,
    value: Range<usize>,
    form: Form,
    hides_comment: bool,
    inner: Vec<String>,
}

/// How it is written.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    /// A string, a number, a list ...
    Plain,
    /// `[a.b]`
    Head,
    /// `{ … }`
    Braces,
    /// Only named by the keys of others.
    Implied,
}

/// The text with `value` at the end of this path.
pub(super) fn set(text: &str, path: &[&str], value: &Value) -> Result<String, String> {
    let new = written(value);
    if let Some(spot) = find(text, path)? {
        unhidden(&spot, path)?;
        return match spot.form {
            Form::Plain | Form::Braces => Ok(spliced(text, spot.value, &new)),
            Form::Head | Form::Implied => Err(unsafe_at(path)),
        };
    }
    for depth in (1..path.len()).rev() {
        let (above, below) = path.split_at(depth);
        let Some(spot) = find(text, above)? else { continue };
        let field = below.join(".");
        return match spot.form {
            Form::Head => Ok(line_below(text, spot.value.end, &format!("{field} = {new}"))),
            Form::Braces => {
                let at = spot.value.start + 1;
                let comma = if spot.inner.is_empty() { " " } else { "," };
                Ok(spliced(text, at..at, &format!(" {field} = {new}{comma}")))
            }
            Form::Implied => continue,
            Form::Plain => Err(unsafe_at(above)),
        };
    }
    Err(unsafe_at(path))
}

/// The text without what is at the end of this path. A comment behind it stays.
pub(super) fn remove(text: &str, path: &[&str]) -> Result<String, String> {
    let spot = find(text, path)?.ok_or_else(|| unsafe_at(path))?;
    unhidden(&spot, path)?;
    let above = path.split_last().map(|(_, above)| find(text, above)).transpose()?.flatten();
    match (spot.form, above.map(|above| above.form)) {
        (Form::Implied, _) => Err(unsafe_at(path)),
        (Form::Head, _) => {
            let mut text = text.to_owned();
            for name in &spot.inner {
                text = remove(&text, &[path, &[name.as_str()]].concat())?;
            }
            let head = find(&text, path)?.ok_or_else(|| unsafe_at(path))?.value;
            without_line(&text, head).ok_or_else(|| unsafe_at(path))
        }
        (Form::Plain | Form::Braces, Some(Form::Braces)) => {
            Ok(without_item(text, spot.key.start..spot.value.end))
        }
        (Form::Plain | Form::Braces, Some(Form::Head | Form::Implied | Form::Plain) | None) => {
            without_line(text, spot.key.start..spot.value.end).ok_or_else(|| unsafe_at(path))
        }
    }
}

fn unsafe_at(path: &[&str]) -> String {
    format!("`{}` is written in a way that cannot be changed safely", path.join("."))
}

fn unhidden(spot: &Spot, path: &[&str]) -> Result<(), String> {
    if spot.hides_comment {
        return Err(format!("a comment stands inside of `{}`, which would change", path.join(".")));
    }
    Ok(())
}

fn find(text: &str, path: &[&str]) -> Result<Option<Spot>, String> {
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
                    Some(b'[') => Form::Head,
                    Some(b'{') => Form::Braces,
                    _ => Form::Implied,
                };
                (form, inner.keys().map(|key| key.get_ref().to_string()).collect())
            }
            _ => (Form::Plain, Vec::new()),
        };
        let hides_comment = form != Form::Head && hides_comment(body, value);
        Spot { key: shifted(key.span()), value: shifted(value.span()), form, hides_comment, inner }
    }))
}

/// Whether something between the items of a list may be a comment.
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

/// The text with one more line below the one that this place is in.
fn line_below(text: &str, at: usize, line: &str) -> String {
    let end = line_end(text);
    match text[at..].find('\n') {
        Some(length) => spliced(text, at + length + 1..at + length + 1, &format!("{line}{end}")),
        None => format!("{text}{end}{line}{end}"),
    }
}

/// The text without this, which must be all that its line has but for a comment.
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

/// How long the byte order mark is.
fn mark_of(text: &str) -> usize {
    if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 }
}

/// The text without this item of a list in braces, and without a comma of its own.
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
