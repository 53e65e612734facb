//! Text as JSON that stays on one line, whoever reads the line.
//!
//! JSON escapes line feeds, carriage returns and all other control characters below a space. Readers of event
//! streams that cut lines at every Unicode line break (as Python's `splitlines` does) would still be misled by three
//! characters that JSON lets through: U+0085, U+2028 and U+2029. They are escaped as well.
//!
//! By hand, because an answer and a prompt are mostly text: what needs no escape is found eight bytes at a time.

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Calls `put` with the pieces of a text as the inside of a JSON string, without the quotes.
pub fn json_text(text: &str, mut put: impl FnMut(&[u8])) {
    let bytes = text.as_bytes();
    let mut written = 0;
    let mut index = 0;
    loop {
        index += json_plain(&bytes[index..]);
        let Some(&byte) = bytes.get(index) else { break };
        let length = if let Some((escape, length)) = line_break(&bytes[index..]) {
            put(&bytes[written..index]);
            put(escape);
            length
        } else if byte < 0x80 {
            put(&bytes[written..index]);
            escape(byte, &mut put);
            1
        } else {
            // Begins like a line break, and is none.
            index += 1;
            continue;
        };
        index += length;
        written = index;
    }
    put(&bytes[written..]);
}

/// How many bytes at the front need no look: all up to a control character, a quote, a backslash, or a byte that line
/// breaks begin with.
pub fn json_plain(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        if let Some(at) = careful(*word) {
            return index * 8 + at;
        }
    }
    if rest.is_empty() {
        return bytes.len();
    }
    // Spaces need no look.
    let mut last = [b' '; 8];
    last[..rest.len()].copy_from_slice(rest);
    match careful(last) {
        Some(at) => bytes.len() - rest.len() + at,
        None => bytes.len(),
    }
}

/// Where in eight bytes the first is that needs a look.
fn careful(word: [u8; 8]) -> Option<usize> {
    const fn all(byte: u8) -> u64 {
        u64::from_le_bytes([byte; 8])
    }
    // Sets the high bit of the first byte that is zero, and none before it.
    let zero = |word: u64| word.wrapping_sub(all(0x01)) & !word;
    let word = u64::from_le_bytes(word);
    let control = word.wrapping_sub(all(0x20)) & !word;
    let quote = zero(word ^ all(b'"'));
    let backslash = zero(word ^ all(b'\\'));
    // 0xC2 and 0xE2 differ in one bit.
    let lead = zero((word & all(!0x20)) ^ all(0xC2));
    let found = (control | quote | backslash | lead) & all(0x80);
    (found != 0).then(|| found.trailing_zeros() as usize / 8)
}

fn escape(byte: u8, put: &mut impl FnMut(&[u8])) {
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
            put(b"\\u00");
            put(&digits);
            return;
        }
    };
    put(&[b'\\', short]);
}

/// The escape of the line break that the bytes begin with, and how long the break is. Of those that JSON lets through.
pub fn line_break(bytes: &[u8]) -> Option<(&'static [u8], usize)> {
    match bytes {
        [0xC2, 0x85, ..] => Some((b"\\u0085", 2)),
        [0xE2, 0x80, 0xA8, ..] => Some((b"\\u2028", 3)),
        [0xE2, 0x80, 0xA9, ..] => Some((b"\\u2029", 3)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop, prop_assert, prop_assert_eq, proptest};

    use super::{json_plain, json_text};

    fn written(text: &str) -> String {
        let mut out = b"\"".to_vec();
        json_text(text, |bytes| out.extend_from_slice(bytes));
        out.push(b'"');
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_line_break_is_escaped_and_nothing_else_is_touched() {
        assert_eq!(
            written("a\"\\\n\r\t\u{8}\u{c}\u{b}\u{1f}\u{7f}\u{85}\u{a0}\u{2028}—\u{2029}é€🦀"),
            "\"a\\\"\\\\\\n\\r\\t\\b\\f\\u000b\\u001f\u{7f}\\u0085\u{a0}\\u2028—\\u2029é€🦀\""
        );
    }

    proptest! {
        #[test]
        fn what_is_plain_is_all_up_to_the_first_that_is_not(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let care = |byte: &u8| *byte < 0x20 || matches!(*byte, b'"' | b'\\' | 0xC2 | 0xE2);
            prop_assert_eq!(json_plain(&bytes), bytes.iter().position(care).unwrap_or(bytes.len()));
        }

        #[test]
        fn any_text_reads_back_and_stays_on_one_line(text in any::<String>()) {
            let written = written(&text);
            prop_assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text);
            let breaks = ['\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}'];
            prop_assert!(!written.contains(breaks), "{}", written);
        }
    }
}
