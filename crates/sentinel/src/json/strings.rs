//! Strings in JSON: scanning and unescaping.

use std::borrow::Cow;

use crate::short_text::{self, bytes_below, bytes_equal};

/// Returns the number of bytes up to a quote, a backslash or a control character.
pub(super) fn plain_prefix_len(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(eight) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let stops = stop_bytes(u64::from_le_bytes(*eight));
        if stops != 0 {
            return at + (stops.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)).unwrap_or(rest.len())
}

/// Whether a short text has none of those bytes; `None` for a longer one.
#[inline]
pub(super) fn is_plain(piece: &[u8]) -> Option<bool> {
    short_text::any_word(piece, |word| stop_bytes(word) != 0).map(|found| !found)
}

/// Marks the bytes of a word that end such a prefix. The lowest mark is correct.
#[inline]
fn stop_bytes(word: u64) -> u64 {
    bytes_equal(word, b'"') | bytes_equal(word, b'\\') | bytes_below(word, 0x20)
}

/// Returns the text of a valid string. Raw line breaks and tabs are kept.
pub(crate) fn unescape(written: &str) -> Cow<'_, str> {
    let Some(first) = memchr::memchr(b'\\', written.as_bytes()) else { return Cow::Borrowed(written) };
    let mut text = String::with_capacity(written.len());
    let mut at = 0;
    let mut next = Some(first);
    while let Some(ahead) = next {
        text.push_str(&written[at..at + ahead]);
        at += ahead;
        at += escape(&written[at..], &mut text);
        next = memchr::memchr(b'\\', &written.as_bytes()[at..]);
    }
    text.push_str(&written[at..]);
    Cow::Owned(text)
}

/// Appends the character of the escape at the start, and returns the length of the escape.
fn escape(written: &str, text: &mut String) -> usize {
    let meant = match written.as_bytes().get(1) {
        Some(b'n') => '\n',
        Some(b't') => '\t',
        Some(b'r') => '\r',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'u') => return unicode(written, text),
        Some(itself) => char::from(*itself),
        None => '\\',
    };
    text.push(meant);
    2.min(written.len())
}

fn unicode(written: &str, text: &mut String) -> usize {
    let unit = |at: usize| u16::from_str_radix(written.get(at..at + 4).unwrap_or_default(), 16);
    let units = [unit(2), unit(8)];
    let first = units[0].clone().unwrap_or(0xFFFD);
    let is_pair = matches!(first, 0xD800..=0xDBFF);
    let units = units.into_iter().take(if is_pair { 2 } else { 1 });
    text.extend(
        char::decode_utf16(units.map(|unit| unit.unwrap_or(0xFFFD))).map(|c| c.unwrap_or('\u{FFFD}')),
    );
    if is_pair { 12 } else { 6 }
}
