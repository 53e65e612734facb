//! JSON text that stays on one line, whoever reads the line.
//!
//! JSON escapes line feeds, carriage returns and all other control characters below a space. Readers of event
//! streams that cut lines at every Unicode line break (as Python's `splitlines` does) would still be misled by three
//! characters that JSON lets through: U+0085, U+2028 and U+2029. They are escaped as well.

use std::io;

use bytes::{BufMut, BytesMut};
use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

/// So many bytes are looked at together.
const STEP: usize = 16;

const HEX: &[u8; 16] = b"0123456789abcdef";

/// What a byte asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Care {
    /// Goes out as it is.
    Plain,
    /// Has an escape.
    Escape,
    /// Begins one of the line breaks, or something harmless.
    MaybeBreak,
}

const CARE: [Care; 256] = {
    let mut table = [Care::Plain; 256];
    let mut byte = 0;
    while byte < 0x20 {
        table[byte] = Care::Escape;
        byte += 1;
    }
    table[b'"' as usize] = Care::Escape;
    table[b'\\' as usize] = Care::Escape;
    table[0xC2] = Care::MaybeBreak;
    table[0xE2] = Care::MaybeBreak;
    table
};

/// Appends a text as the inside of a JSON string, without the quotes.
pub(super) fn push_text(out: &mut BytesMut, text: &str) {
    let bytes = text.as_bytes();
    let mut written = 0;
    let mut index = 0;
    while index < bytes.len() {
        index += plain_steps(&bytes[index..]);
        // The next step has something in it: it is looked at byte by byte.
        let until = (index + STEP).min(bytes.len());
        while index < until {
            let byte = bytes[index];
            match CARE[usize::from(byte)] {
                Care::Plain => index += 1,
                Care::Escape => {
                    out.put_slice(&bytes[written..index]);
                    push_escape(out, byte);
                    index += 1;
                    written = index;
                }
                Care::MaybeBreak => match line_break(&bytes[index..]) {
                    Some((escape, length)) => {
                        out.put_slice(&bytes[written..index]);
                        out.put_slice(escape);
                        index += length;
                        written = index;
                    }
                    None => index += 1,
                },
            }
        }
    }
    out.put_slice(&bytes[written..]);
}

/// How many bytes at the front go out as they are, in whole steps; there may be more.
fn plain_steps(bytes: &[u8]) -> usize {
    let (steps, _rest) = bytes.as_chunks::<STEP>();
    // No exit inside of a step: it compiles to a handful of wide instructions.
    let plain = |step: &&[u8; STEP]| {
        !step
            .iter()
            .fold(false, |care, byte| care | (*byte < 0x20) | matches!(*byte, b'"' | b'\\' | 0xC2 | 0xE2))
    };
    steps.iter().take_while(plain).count() * STEP
}

fn push_escape(out: &mut BytesMut, byte: u8) {
    let short = match byte {
        b'"' => b'"',
        b'\\' => b'\\',
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0C => b'f',
        control => {
            let digits = [HEX[usize::from(control >> 4)], HEX[usize::from(control & 0xF)]];
            out.put_slice(b"\\u00");
            out.put_slice(&digits);
            return;
        }
    };
    out.put_slice(&[b'\\', short]);
}

/// The escape of the line break that the bytes begin with, and how long the break is.
fn line_break(bytes: &[u8]) -> Option<(&'static [u8], usize)> {
    match bytes {
        [0xC2, 0x85, ..] => Some((b"\\u0085", 2)),
        [0xE2, 0x80, 0xA8, ..] => Some((b"\\u2028", 3)),
        [0xE2, 0x80, 0xA9, ..] => Some((b"\\u2029", 3)),
        _ => None,
    }
}

/// Appends a value as JSON on one line.
pub(in crate::responses) fn push_json(out: &mut BytesMut, value: &impl Serialize) {
    let mut serializer = Serializer::with_formatter(out.writer(), OneLine);
    // Writing to memory cannot fail, and nothing that is written here has keys that are not texts.
    if value.serialize(&mut serializer).is_err() {
        debug_assert!(false, "a value that is not JSON");
    }
}

/// Compact JSON without line breaks of any kind.
struct OneLine;

impl Formatter for OneLine {
    /// Called with what needs no escape in JSON.
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let bytes = fragment.as_bytes();
        let mut written = 0;
        for index in memchr::memchr2_iter(0xC2, 0xE2, bytes) {
            if let Some((escape, length)) = line_break(&bytes[index..]) {
                writer.write_all(&bytes[written..index])?;
                writer.write_all(escape)?;
                written = index + length;
            }
        }
        writer.write_all(&bytes[written..])
    }
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;
    use proptest::prelude::{any, proptest};

    use super::{push_json, push_text};

    fn both(text: &str) -> (String, String) {
        let (mut by_hand, mut by_serde) = (BytesMut::from("\""), BytesMut::new());
        push_text(&mut by_hand, text);
        by_hand.extend_from_slice(b"\"");
        push_json(&mut by_serde, &text);
        (String::from_utf8(by_hand.to_vec()).unwrap(), String::from_utf8(by_serde.to_vec()).unwrap())
    }

    #[test]
    fn every_line_break_is_escaped_and_nothing_else_is_touched() {
        let (by_hand, by_serde) =
            both("a\"\\\n\r\t\u{8}\u{c}\u{b}\u{1f}\u{7f}\u{85}\u{a0}\u{2028}—\u{2029}é€🦀");
        assert_eq!(
            by_hand,
            "\"a\\\"\\\\\\n\\r\\t\\b\\f\\u000b\\u001f\u{7f}\\u0085\u{a0}\\u2028—\\u2029é€🦀\""
        );
        assert_eq!(by_hand, by_serde);
    }

    proptest! {
        #[test]
        fn any_text_reads_back_and_stays_on_one_line(text in any::<String>()) {
            let (by_hand, by_serde) = both(&text);
            assert_eq!(by_hand, by_serde);
            assert_eq!(serde_json::from_str::<String>(&by_hand).unwrap(), text);
            let breaks = ['\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}'];
            assert!(!by_hand.contains(breaks), "{by_hand}");
        }
    }
}
