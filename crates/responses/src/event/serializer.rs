//! JSON on one line, for readers that know more line breaks than JSON does.

use std::io;

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

/// Line breaks that JSON allows in strings and that some readers of event streams know.
const LINE_BREAKS: [char; 3] = ['\u{85}', '\u{2028}', '\u{2029}'];

/// Appends a value as JSON on one line.
pub(super) fn write_json(out: &mut Vec<u8>, value: &impl Serialize) {
    let mut serializer = Serializer::with_formatter(out, LineFormatter);
    // Writing to memory cannot fail, and all keys are texts.
    if value.serialize(&mut serializer).is_err() {
        debug_assert!(false, "a value that is not JSON");
    }
}

/// Returns a value as JSON on one line.
pub(crate) fn json_line(value: &impl Serialize) -> String {
    let mut out = Vec::new();
    write_json(&mut out, value);
    // JSON is text.
    String::from_utf8(out).unwrap_or_default()
}

/// Compact JSON without line breaks of any kind.
struct LineFormatter;

impl Formatter for LineFormatter {
    /// Called with the parts of a string that need no escape in JSON.
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(LINE_BREAKS) {
            let (before, from) = rest.split_at(at);
            writer.write_all(before.as_bytes())?;
            let mut chars = from.chars();
            if let Some(line_break) = chars.next() {
                write!(writer, "\\u{:04x}", u32::from(line_break))?;
            }
            rest = chars.as_str();
        }
        writer.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::json_line;

    #[test]
    fn every_line_break_is_escaped_and_nothing_else_is_touched() {
        assert_eq!(
            json_line(&"a\"\\\n\r\t\u{8}\u{c}\u{b}\u{1f}\u{7f}\u{85}\u{a0}\u{2028}—\u{2029}é€🦀"),
            "\"a\\\"\\\\\\n\\r\\t\\b\\f\\u000b\\u001f\u{7f}\\u0085\u{a0}\\u2028—\\u2029é€🦀\""
        );
    }

    proptest! {
        #[test]
        fn any_text_reads_back_and_stays_on_one_line(text in any::<String>()) {
            let line = json_line(&text);
            assert_eq!(serde_json::from_str::<String>(&line).unwrap(), text);
            let breaks = ['\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}'];
            assert!(!line.contains(breaks), "{line}");
        }
    }
}
