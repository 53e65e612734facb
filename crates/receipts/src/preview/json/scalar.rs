//! Decides when a text needs quotes, and recognises JSON literals.

use std::borrow::Cow;

use crate::preview::clean::clean;

/// Returns true for a number, `true`, `false` or `null`.
pub(super) fn is_word(text: &str) -> bool {
    matches!(text, "true" | "false" | "null") || is_number(text)
}

/// Returns true for a number by the JSON grammar, of any size.
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

/// Position of a text, which decides what it could be mistaken for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ScalarPosition {
    /// Rest of a line.
    Line,
    /// Between commas, in brackets or braces.
    Between,
    /// Cell of a table row, which ends with its line.
    Cell,
    /// Before a colon, or between the commas of a heading.
    Name,
}

/// Returns the sanitized text, in quotes if it needs them.
pub(super) fn text_at(text: &str, place: ScalarPosition) -> Cow<'_, str> {
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

/// Returns true if the quoted text would need escapes. Such a text is better shown as a block.
pub(super) fn needs_escapes(text: &str, place: ScalarPosition) -> bool {
    text.contains(['"', '\\']) && needs_quotes(text, place)
}

/// Returns the text without control sequences or invisible characters.
pub(super) fn safe(text: &str) -> Cow<'_, str> {
    let plain = text.bytes().all(|byte| matches!(byte, b'\n' | b'\t' | 0x20..=0x7e));
    if plain { Cow::Borrowed(text) } else { Cow::Owned(clean(text.as_bytes()).text) }
}

fn needs_quotes(text: &str, place: ScalarPosition) -> bool {
    let Some(first) = text.chars().next() else { return true };
    let edges = text.starts_with(char::is_whitespace) || text.ends_with(char::is_whitespace);
    // The beginning of a list, a block, a quote or a note of the preview.
    let misleading = matches!(first, '[' | '{' | '"' | '|' | '(')
        || text.starts_with("- ")
        || text.starts_with("...")
        || (first == '-' && text.len() == 1);
    let breaks = match place {
        ScalarPosition::Line => text.contains('\n'),
        ScalarPosition::Between => text.contains(['\n', '\t', ',', ']', '}']) || text.contains(": "),
        ScalarPosition::Cell => text.contains(['\n', '\t', ',']),
        ScalarPosition::Name => text.contains(['\n', '\t', ',', ':', '[', ']', '{', '}', '"', ' ']),
    };
    edges || misleading || breaks || (place != ScalarPosition::Name && is_word(text))
}
