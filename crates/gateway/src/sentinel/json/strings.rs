//! Strings in JSON: where they may end, and what they say.

use std::borrow::Cow;

use crate::sentinel::short::{self, below, same};

/// How many bytes may be stepped over inside a string: up to a quote, a backslash or a control character.
pub(super) fn plain_stretch(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(eight) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let stops = stops(u64::from_le_bytes(*eight));
        if stops != 0 {
            return at + (stops.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)).unwrap_or(rest.len())
}

/// Whether all of a short piece may be stepped over. A long piece is not looked at.
#[inline]
pub(super) fn is_plain(piece: &[u8]) -> Option<bool> {
    short::any(piece, |word| stops(word) != 0).map(|found| !found)
}

/// Marks the bytes of a word that end a stretch. The lowest mark is right.
#[inline]
fn stops(word: u64) -> u64 {
    same(word, b'"') | same(word, b'\\') | below(word, 0x20)
}

/// What a string says. It must have been read without a fault; line breaks and tabs stand for themselves.
pub(in crate::sentinel) fn decoded(written: &str) -> Cow<'_, str> {
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

/// Adds what the escape at the front means, and says how long it is.
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
