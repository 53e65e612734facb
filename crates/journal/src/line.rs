//! One record as one line: the envelope's JSON with its place in the chain spliced in before the last `}`.
//!
//! There is exactly one spelling of a line, and reading one accepts no other. Otherwise a byte could be
//! changed in the chain itself without anybody noticing.

use envelope::Hash;

use crate::kind::{ChainHead, Kind, Seq};

const DOMAIN: &[u8] = b"tollgate journal line";
const BEFORE_SEQ: &[u8] = b",\"chain\":{\"seq\":";
const BEFORE_PREV: &[u8] = b",\"prev\":\"";
const BEFORE_HASH: &[u8] = b"\",\"hash\":\"";
const AFTER_HASH: &[u8] = b"\"}}";

/// No record is longer than this; a reader can refuse a longer line instead of running out of memory.
pub(crate) const MAX_LINE: usize = 64 << 20;

/// The longest chain text: four fixed parts, two hashes and a number of twenty digits.
pub(crate) const MAX_CHAIN: usize = 64 + 2 * Hash::TEXT_LEN + 20;

/// The hash of one record. `body` is the envelope's JSON without its last `}`.
fn link_hash(prev: &Hash, seq: Seq, kind: Kind, body: &[u8]) -> Hash {
    let parts: [&[u8]; 6] = [DOMAIN, prev.as_bytes(), &seq.to_le_bytes(), &[kind.byte()], body, b"}"];
    Hash::of_parts(&parts)
}

/// Appends the line of a record, newline included, and returns the new head of the chain.
///
/// `body` is one JSON object without raw line breaks, as [`escape_line_breaks`] leaves it.
pub(crate) fn write_line(head: &ChainHead, kind: Kind, body: &[u8], out: &mut Vec<u8>) -> ChainHead {
    let open = body.strip_suffix(b"}").unwrap_or(body);
    let seq = head.seq + 1;
    let hash = link_hash(&head.hash, seq, kind, open);
    out.reserve(open.len() + MAX_CHAIN);
    out.extend_from_slice(open);
    out.extend_from_slice(BEFORE_SEQ);
    write_number(seq, out);
    out.extend_from_slice(BEFORE_PREV);
    head.hash.write_to(out);
    out.extend_from_slice(BEFORE_HASH);
    hash.write_to(out);
    out.extend_from_slice(AFTER_HASH);
    out.push(b'\n');
    ChainHead { seq, hash }
}

fn write_number(mut number: u64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// What a line says about its place in the chain. Says nothing yet about whether that is true.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Link {
    pub seq: Seq,
    pub prev: Hash,
    pub hash: Hash,
    /// Where the chain begins, which is where the envelope's last `}` was.
    body_len: usize,
}

impl Link {
    /// Reads the chain off the end of a line (without its newline).
    pub(crate) fn read(line: &[u8]) -> Option<Link> {
        let rest = line.strip_suffix(AFTER_HASH)?;
        let (rest, hash) = split_hash(rest)?;
        let rest = rest.strip_suffix(BEFORE_HASH)?;
        let (rest, prev) = split_hash(rest)?;
        let rest = rest.strip_suffix(BEFORE_PREV)?;
        let digits = rest.iter().rev().take_while(|b| b.is_ascii_digit()).count();
        let (rest, number) = rest.split_at(rest.len() - digits);
        let seq = read_number(number)?;
        let body = rest.strip_suffix(BEFORE_SEQ)?;
        Some(Link { seq, prev, hash, body_len: body.len() })
    }

    /// Whether the line is, to the last bit, what the chain says was written.
    pub(crate) fn holds(&self, kind: Kind, line: &[u8]) -> bool {
        line.get(..self.body_len).is_some_and(|body| link_hash(&self.prev, self.seq, kind, body) == self.hash)
    }

    pub(crate) fn head(&self) -> ChainHead {
        ChainHead { seq: self.seq, hash: self.hash }
    }
}

fn split_hash(text: &[u8]) -> Option<(&[u8], Hash)> {
    let (rest, hash) = text.split_at_checked(text.len().checked_sub(Hash::TEXT_LEN)?)?;
    let digits = hash.strip_prefix(b"b3:")?;
    // Two hashes a line: going through text and the general parser would cost as much as hashing the line.
    let mut bytes = [0; 32];
    let mut wrong = 0;
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let (high, low) = (DIGIT[usize::from(pair[0])], DIGIT[usize::from(pair[1])]);
        wrong |= high | low;
        *byte = (high << 4) | (low & 15);
    }
    (wrong < 16).then(|| (rest, Hash::from_bytes(bytes)))
}

/// The value of a lower-case hex digit; 255 for every other byte. Upper case would be a second spelling.
const DIGIT: [u8; 256] = {
    let mut table = [255; 256];
    let mut value = 0;
    while value < 16 {
        table[b"0123456789abcdef"[value] as usize] = value as u8;
        value += 1;
    }
    table
};

/// A number in its only spelling: digits without a leading zero.
fn read_number(digits: &[u8]) -> Option<u64> {
    if digits.first().is_none_or(|first| *first == b'0') {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Escapes the characters that JSON leaves raw but some readers take for the end of a line or act on:
/// DEL, U+0085, U+2028 and U+2029. In JSON they can only stand inside a string, so the meaning stays.
pub(crate) fn escape_line_breaks(body: &mut Vec<u8>) {
    // Almost no record has any of the three lead bytes, so the search usually is all that happens.
    let Some(first) = memchr::memchr3(0x7f, 0xc2, 0xe2, body) else { return };
    let mut out = Vec::with_capacity(body.len() + 64);
    out.extend_from_slice(&body[..first]);
    let mut rest = &body[first..];
    while let Some(byte) = rest.first() {
        let (escape, width): (&[u8], usize) = match rest {
            [0x7f, ..] => (b"\\u007f", 1),
            [0xc2, 0x85, ..] => (b"\\u0085", 2),
            [0xe2, 0x80, 0xa8, ..] => (b"\\u2028", 3),
            [0xe2, 0x80, 0xa9, ..] => (b"\\u2029", 3),
            _ => (std::slice::from_ref(byte), 1),
        };
        out.extend_from_slice(escape);
        rest = &rest[width..];
    }
    *body = out;
}

#[cfg(test)]
mod tests {
    use envelope::Hash;
    use expect_test::expect;
    use proptest::prelude::{any, proptest};

    use super::{ChainHead, Link, escape_line_breaks, write_line};
    use crate::kind::Kind;

    fn genesis() -> ChainHead {
        ChainHead { seq: 0, hash: Hash::of(b"genesis") }
    }

    #[test]
    fn a_line_is_the_envelope_and_its_place_in_the_chain() {
        let mut out = Vec::new();
        let head = write_line(&genesis(), Kind::Call, br#"{"a":1}"#, &mut out);
        expect![[r#"
            {"a":1,"chain":{"seq":1,"prev":"b3:df840a304e772ef4cdfb23293d8adadde8d43567bde4b0190c3d954f696f0b0a","hash":"b3:d2dde5d3ea72f0e4d72573f4e382acab082d442360c672dcc5a1cbaa6a72fd4b"}}
        "#]]
        .assert_eq(&String::from_utf8(out.clone()).unwrap());
        let link = Link::read(&out[..out.len() - 1]).unwrap();
        assert_eq!(link.head(), head);
        assert!(link.holds(Kind::Call, &out));
        assert!(!link.holds(Kind::Event, &out));
    }

    #[test]
    fn any_change_of_one_byte_breaks_a_line() {
        let mut line = Vec::new();
        write_line(&ChainHead { seq: 41, ..genesis() }, Kind::Event, br#"{"type":"x"}"#, &mut line);
        line.pop();
        for at in 0..line.len() {
            for change in [1, 2, 0x20, 0x80] {
                let mut bad = line.clone();
                bad[at] ^= change;
                let found = Link::read(&bad).is_none_or(|link| !link.holds(Kind::Event, &bad));
                assert!(found, "byte {at} changed by {change:#x} went unnoticed");
            }
        }
    }

    #[test]
    fn line_breaks_of_other_readers_are_escaped() {
        let mut body =
            format!("{{\"a\":\"{}x\u{7f}y\u{85}z\u{2028}w\u{2029}“é\"}}", "-".repeat(300)).into_bytes();
        let before: serde_json::Value = serde_json::from_slice(&body).unwrap();
        escape_line_breaks(&mut body);
        let text = String::from_utf8(body).unwrap();
        assert!(text.ends_with("x\\u007fy\\u0085z\\u2028w\\u2029“é\"}"));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), before);
    }

    proptest! {
        #[test]
        fn any_text_survives_the_line(text in any::<String>(), seq in 0..u64::MAX) {
            let mut body = serde_json::to_vec(&serde_json::json!({ "text": text })).unwrap();
            escape_line_breaks(&mut body);
            let mut line = Vec::new();
            write_line(&ChainHead { seq, ..genesis() }, Kind::Result, &body, &mut line);
            assert_eq!(line.iter().filter(|b| **b == b'\n').count(), 1);
            line.pop();
            let link = Link::read(&line).unwrap();
            assert_eq!(link.seq, seq + 1);
            assert!(link.holds(Kind::Result, &line));
            let value: serde_json::Value = serde_json::from_slice(&line).unwrap();
            assert_eq!(value["text"], text);
        }

        #[test]
        fn no_bytes_make_the_reader_panic(bytes in any::<Vec<u8>>()) {
            if let Some(link) = Link::read(&bytes) {
                link.holds(Kind::Call, &bytes);
            }
        }
    }
}
