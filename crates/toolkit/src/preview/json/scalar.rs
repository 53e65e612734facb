//! When a text may stand without quotes, and what a word of JSON is.

use std::borrow::Cow;

use crate::preview::clean::clean;

/// Whether `text` is a number, `true`, `false` or `null`.
pub(super) fn is_word(text: &str) -> bool {
    matches!(text, "true" | "false" | "null") || is_number(text)
}

/// A number by the grammar of JSON, whatever its size.
fn is_number(text: &str) -> bool {
    let rest = text.strip_prefix('-').unwrap_or(text);
    let whole = digits(rest);
    if whole == 0 || (whole > 1 && rest.starts_with('0')) {
        return false;
    }
    let mut rest = &rest[whole..];
    if let Some(fraction) = rest.strip_prefix('.') {
        let length = digits(fraction);
        if length == 0 {
            return false;
        }
        rest = &fraction[length..];
    }
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        let length = digits(exponent);
        return length > 0 && length == exponent.len();
    }
    rest.is_empty()
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// Where a text stands decides what it may be mistaken for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The rest of a line is its own.
    Line,
    /// Between commas, in brackets or braces.
    Between,
    /// Between the commas of a row, which ends with its line.
    Cell,
    /// Before a colon, or between the commas of a heading.
    Name,
}

/// A text made safe, and in quotes where it needs them.
pub(super) fn text_at(text: &str, place: Place) -> Cow<'_, str> {
    let text = safe(text);
    if !needs_quotes(&text, place) {
        return text;
    }
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    Cow::Owned(quoted)
}

/// Whether quotes would bring escapes with them. Such a text is better shown as a block, as it is.
pub(super) fn needs_escapes(text: &str, place: Place) -> bool {
    text.contains(['"', '\\']) && needs_quotes(text, place)
}

/// Without anything that could move a cursor or hide text.
pub(super) fn safe(text: &str) -> Cow<'_, str> {
    let plain = text.bytes().all(|byte| matches!(byte, b'\n' | b'\t' | 0x20..=0x7e));
    if plain { Cow::Borrowed(text) } else { Cow::Owned(clean(text.as_bytes()).text) }
}

fn needs_quotes(text: &str, place: Place) -> bool {
    let Some(first) = text.chars().next() else { return true };
    let edges = text.starts_with(char::is_whitespace) || text.ends_with(char::is_whitespace);
    // What a list, a block, a quote or a note of ours begins with.
    let misleading = matches!(first, '[' | '{' | '"' | '|' | '(')
        || text.starts_with("- ")
        || text.starts_with("...")
        || (first == '-' && text.len() == 1);
    let breaks = match place {
        Place::Line => text.contains('\n'),
        Place::Between => text.contains(['\n', '\t', ',', ']', '}']) || text.contains(": "),
        Place::Cell => text.contains(['\n', '\t', ',']),
        Place::Name => text.contains(['\n', '\t', ',', ':', '[', ']', '{', '}', '"', ' ']),
    };
    edges || misleading || breaks || (place != Place::Name && is_word(text))
}
