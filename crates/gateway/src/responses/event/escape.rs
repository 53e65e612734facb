//! Values as JSON on one line, and text inside of them: see [`envelope::json_text`] for what that takes.

use std::io;

use bytes::{BufMut, BytesMut};
use envelope::{json_text, line_break};
use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

/// Appends a text as the inside of a JSON string, without the quotes.
pub(super) fn push_text(out: &mut BytesMut, text: &str) {
    json_text(text, |bytes| out.put_slice(bytes));
}

/// Appends a value as JSON on one line.
pub(in crate::responses) fn push_json(out: &mut BytesMut, value: &impl Serialize) {
    let mut serializer = Serializer::with_formatter(out.writer(), OneLine);
    // Writing to memory cannot fail, and nothing that is written here has keys that are not texts.
    if value.serialize(&mut serializer).is_err() {
        debug_assert!(false, "a value that is not JSON");
    }
}

/// A value as JSON on one line.
pub(in crate::responses) fn json_line(value: &impl Serialize) -> String {
    let mut out = BytesMut::new();
    push_json(&mut out, value);
    // JSON is text.
    String::from_utf8(out.into()).unwrap_or_default()
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
