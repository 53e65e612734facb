//! The line format of a record: the envelope's JSON with its chain fields inserted before the last `}`.
//!
//! A line has exactly one spelling, and the parser accepts no other. Otherwise a byte of the chain fields
//! could be changed without detection.

use envelope::Hash;

use crate::log_kind::{ChainHead, LogKind, Seq};

const DOMAIN: &[u8] = b"tollgate journal line";
const BEFORE_SEQ: &[u8] = b",\"chain\":{\"seq\":";
const BEFORE_PREV: &[u8] = b",\"prev\":\"";
const BEFORE_HASH: &[u8] = b"\",\"hash\":\"";
const AFTER_HASH: &[u8] = b"\"}}";

/// Maximum length of a record; a reader refuses longer lines instead of running out of memory.
pub(crate) const MAX_LINE: usize = 64 << 20;

/// Maximum length of the chain fields: four fixed parts, two hashes and a number of twenty digits.
pub(crate) const MAX_CHAIN: usize = 64 + 2 * Hash::TEXT_LEN + 20;

/// Returns the hash of one record. `body` is the envelope's JSON without its last `}`.
fn link_hash(prev: &Hash, seq: Seq, kind: LogKind, body: &[u8]) -> Hash {
    let parts: [&[u8]; 6] = [DOMAIN, prev.as_bytes(), &seq.to_le_bytes(), &[kind.byte()], body, b"}"];
    Hash::of_parts(&parts)
}

/// Appends the line of a record, including the newline, and returns the new head of the chain.
///
/// `body` is one JSON object without raw line breaks, as [`crate::record_serializer`] writes it.
pub(crate) fn write_line(head: &ChainHead, kind: LogKind, body: &[u8], out: &mut Vec<u8>) -> ChainHead {
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

/// The chain fields of a line, not verified yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChainLink {
    pub seq: Seq,
    pub prev: Hash,
    pub hash: Hash,
    /// Offset of the chain fields, where the envelope's last `}` was.
    body_len: usize,
}

impl ChainLink {
    /// Parses the chain fields at the end of a line (without its newline).
    pub(crate) fn read(line: &[u8]) -> Option<ChainLink> {
        let rest = line.strip_suffix(AFTER_HASH)?;
        let (rest, hash) = split_hash(rest)?;
        let rest = rest.strip_suffix(BEFORE_HASH)?;
        let (rest, prev) = split_hash(rest)?;
        let rest = rest.strip_suffix(BEFORE_PREV)?;
        let digits = rest.iter().rev().take_while(|b| b.is_ascii_digit()).count();
        let (rest, number) = rest.split_at(rest.len() - digits);
        let seq = read_number(number)?;
        let body = rest.strip_suffix(BEFORE_SEQ)?;
        Some(ChainLink { seq, prev, hash, body_len: body.len() })
    }

    /// Whether the line is exactly the one that its hash was computed from.
    pub(crate) fn is_valid(&self, kind: LogKind, line: &[u8]) -> bool {
        line.get(..self.body_len).is_some_and(|body| link_hash(&self.prev, self.seq, kind, body) == self.hash)
    }

    pub(crate) fn head(&self) -> ChainHead {
        ChainHead { seq: self.seq, hash: self.hash }
    }
}

fn split_hash(text: &[u8]) -> Option<(&[u8], Hash)> {
    let (rest, hash) = text.split_at_checked(text.len().checked_sub(Hash::TEXT_LEN)?)?;
    let digits = hash.strip_prefix(b"b3:")?;
    // Two hashes a line: a general parser would cost as much as hashing the line.
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

/// Parses a number in its only spelling: digits without a leading zero.
fn read_number(digits: &[u8]) -> Option<u64> {
    if digits.first().is_none_or(|first| *first == b'0') {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use envelope::Hash;
    use expect_test::expect;
    use proptest::prelude::{any, proptest};

    use super::{ChainHead, ChainLink, write_line};
    use crate::log_kind::LogKind;
    use crate::record_serializer::serialize_record;

    fn genesis() -> ChainHead {
        ChainHead { seq: 0, hash: Hash::of(b"genesis") }
    }

    // Conformance: envelope 9.3
    //     Calls, results and events are one JSON object a line, in three files.
    //     In: journal/line.rs
    #[test]
    fn a_line_is_the_envelope_and_its_place_in_the_chain() {
        let mut out = Vec::new();
        let head = write_line(&genesis(), LogKind::Call, br#"{"a":1}"#, &mut out);
        expect![[r#"
            {"a":1,"chain":{"seq":1,"prev":"b3:df840a304e772ef4cdfb23293d8adadde8d43567bde4b0190c3d954f696f0b0a","hash":"b3:d2dde5d3ea72f0e4d72573f4e382acab082d442360c672dcc5a1cbaa6a72fd4b"}}
        "#]]
        .assert_eq(&String::from_utf8(out.clone()).unwrap());
        let link = ChainLink::read(&out[..out.len() - 1]).unwrap();
        assert_eq!(link.head(), head);
        assert!(link.is_valid(LogKind::Call, &out));
        assert!(!link.is_valid(LogKind::Event, &out));
    }

    #[test]
    fn any_change_of_one_byte_breaks_a_line() {
        let mut line = Vec::new();
        write_line(&ChainHead { seq: 41, ..genesis() }, LogKind::Event, br#"{"type":"x"}"#, &mut line);
        line.pop();
        for at in 0..line.len() {
            for change in [1, 2, 0x20, 0x80] {
                let mut bad = line.clone();
                bad[at] ^= change;
                let found = ChainLink::read(&bad).is_none_or(|link| !link.is_valid(LogKind::Event, &bad));
                assert!(found, "byte {at} changed by {change:#x} went unnoticed");
            }
        }
    }

    proptest! {
        #[test]
        fn any_text_survives_the_line(text in any::<String>(), seq in 0..u64::MAX) {
            let mut body = Vec::new();
            serialize_record(&mut body, &serde_json::json!({ "text": text })).unwrap();
            let mut line = Vec::new();
            write_line(&ChainHead { seq, ..genesis() }, LogKind::Result, &body, &mut line);
            assert_eq!(line.iter().filter(|b| **b == b'\n').count(), 1);
            line.pop();
            let link = ChainLink::read(&line).unwrap();
            assert_eq!(link.seq, seq + 1);
            assert!(link.is_valid(LogKind::Result, &line));
            let value: serde_json::Value = serde_json::from_slice(&line).unwrap();
            assert_eq!(value["text"], text);
        }

        #[test]
        fn no_bytes_make_the_reader_panic(bytes in any::<Vec<u8>>()) {
            if let Some(link) = ChainLink::read(&bytes) {
                link.is_valid(LogKind::Call, &bytes);
            }
        }
    }
}
