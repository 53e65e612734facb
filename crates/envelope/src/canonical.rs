//! Canonical JSON (RFC 8785), written straight into a buffer and hashed.
//!
//! The hash must not depend on the order in which a map keeps its keys, which depends on the crates of a
//! build. So keys are sorted here, by UTF-16 code units as the RFC requires.

use std::cell::RefCell;

use serde_json::{Map, Number, Value};

use crate::Hash;

/// Returns the hash of a value, which any other implementation of RFC 8785 and BLAKE3 can reproduce if it keeps integers
/// beyond 2^53 exact.
pub fn canonical_hash(value: &Value) -> Hash {
    hash_written(|text| write_value(value, text))
}

/// Returns [`canonical_hash`] of the object with these entries.
pub fn canonical_object_hash(entries: &Map<String, Value>) -> Hash {
    hash_written(|text| write_object(entries, text))
}

fn hash_written(write: impl FnOnce(&mut Vec<u8>)) -> Hash {
    // One buffer per thread: arguments are hashed for every call.
    thread_local!(static TEXT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) });
    let mut text = TEXT.take();
    text.clear();
    write(&mut text);
    let hash = Hash::of(&text);
    if text.capacity() <= MAX_KEPT_BUFFER {
        TEXT.set(text);
    }
    hash
}

/// Larger buffers, grown by one huge value, are freed.
const MAX_KEPT_BUFFER: usize = 1 << 20;

/// Returns the unique byte string that RFC 8785 defines for a value, with integers beyond 2^53 kept exact.
pub fn canonical_bytes(value: &Value) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    write_value(value, &mut out);
    out
}

fn write_value(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(number) => write_number(number, out),
        Value::String(text) => write_string(text, out),
        Value::Array(items) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_value(item, out);
            }
            out.push(b']');
        }
        Value::Object(map) => write_object(map, out),
    }
}

fn write_object(map: &Map<String, Value>, out: &mut Vec<u8>) {
    // Arguments rarely have many keys; few keys are sorted without an allocation.
    const FEW: usize = 16;
    static NULL: Value = Value::Null;
    let entries = map.iter().map(|(key, value)| (key.as_str(), value));
    if map.len() <= FEW {
        let mut few = [("", &NULL); FEW];
        for (slot, entry) in few.iter_mut().zip(entries) {
            *slot = entry;
        }
        write_entries(&mut few[..map.len()], out);
    } else {
        write_entries(&mut entries.collect::<Vec<_>>(), out);
    }
}

fn write_entries(entries: &mut [(&str, &Value)], out: &mut Vec<u8>) {
    if !entries.is_sorted_by(|a, b| utf16_order(a.0, b.0).is_le()) {
        entries.sort_unstable_by(|a, b| utf16_order(a.0, b.0));
    }
    out.push(b'{');
    for (index, (key, value)) in entries.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_string(key, out);
        out.push(b':');
        write_value(value, out);
    }
    out.push(b'}');
}

/// Byte order and UTF-16 order differ only where a character above U+FFFF meets one at U+E000 or above.
fn utf16_order(a: &str, b: &str) -> std::cmp::Ordering {
    if a.is_ascii() && b.is_ascii() { a.cmp(b) } else { a.encode_utf16().cmp(b.encode_utf16()) }
}

fn write_number(number: &Number, out: &mut Vec<u8>) {
    // ECMAScript has doubles only, so the RFC prints an integer beyond 2^53 as the nearest double. We
    // keep such integers exact: two different arguments must never share a hash.
    let mut digits = itoa::Buffer::new();
    if let Some(int) = number.as_i64() {
        out.extend_from_slice(digits.format(int).as_bytes());
    } else if let Some(int) = number.as_u64() {
        out.extend_from_slice(digits.format(int).as_bytes());
    } else if let Some(float) = number.as_f64() {
        out.extend_from_slice(ryu_js::Buffer::new().format(float).as_bytes());
    }
}

/// Copies runs that need no escape whole; only `"`, `\` and control characters below U+0020 are escaped.
fn write_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    while let Some(plain) = first_escape(rest) {
        out.extend_from_slice(&rest[..plain]);
        let byte = rest[plain];
        rest = &rest[plain + 1..];
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            0x08 => out.extend_from_slice(b"\\b"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            0x0c => out.extend_from_slice(b"\\f"),
            b'\r' => out.extend_from_slice(b"\\r"),
            other => {
                const DIGITS: &[u8; 16] = b"0123456789abcdef";
                out.extend_from_slice(b"\\u00");
                out.push(DIGITS[usize::from(other >> 4)]);
                out.push(DIGITS[usize::from(other & 15)]);
            }
        }
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

/// Returns the position of the first byte that needs an escape.
fn first_escape(bytes: &[u8]) -> Option<usize> {
    let special = |byte: &u8| (*byte < 0x20) | (*byte == b'"') | (*byte == b'\\');
    // Without a branch per byte, so that the compiler vectorizes the loop.
    let clean = |chunk: &&[u8]| !chunk.iter().fold(false, |found, byte| found | special(byte));
    let skipped = 32 * bytes.chunks_exact(32).take_while(clean).count();
    bytes[skipped..].iter().position(special).map(|at| skipped + at)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Strategy, any, prop, prop_oneof, proptest};
    use serde_json::{Value, json};

    use super::{canonical_bytes, canonical_hash};

    #[track_caller]
    fn check(input: &str, expected: &str) {
        let value: Value = serde_json::from_str(input).unwrap();
        assert_eq!(String::from_utf8(canonical_bytes(&value)).unwrap(), expected);
    }

    /// The three worked examples in the text of RFC 8785 (sections 3.2.2 to 3.2.4).
    #[test]
    fn the_examples_of_rfc_8785_come_out_byte_for_byte() {
        check(
            r#"{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],
                "string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
                "literals":[null,true,false]}"#,
            "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\
             \"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}",
        );
        check(
            r#"{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh",
                "1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}"#,
            "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\
             \"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}",
        );
    }

    /// The number samples of RFC 8785 appendix B, given by their IEEE 754 bits.
    #[test]
    fn numbers_print_as_ecmascript_prints_them() {
        for (bits, text) in [
            (0x0000_0000_0000_0000_u64, "0"),
            (0x8000_0000_0000_0000, "0"),
            (0x0000_0000_0000_0001, "5e-324"),
            (0x8000_0000_0000_0001, "-5e-324"),
            (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"),
            (0x4430_0000_0000_0000, "295147905179352830000"),
            (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
            (0x44b5_2d02_c7e1_4af6, "1e+23"),
            (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
            (0x444b_1ae4_d6e2_ef50, "1e+21"),
            (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
            (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
            (0x41b3_de43_5555_5554, "333333333.33333325"),
            (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
            (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
        ] {
            let value = json!(f64::from_bits(bits));
            assert_eq!(String::from_utf8(canonical_bytes(&value)).unwrap(), text, "{bits:x}");
        }
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            proptest::prelude::Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((any::<String>(), inner), 0..24)
                    .prop_map(|entries| Value::Object(entries.into_iter().collect())),
            ]
        })
    }

    fn reversed(value: &Value) -> Value {
        match value {
            Value::Object(map) => {
                Value::Object(map.iter().rev().map(|(k, v)| (k.clone(), reversed(v))).collect())
            }
            Value::Array(items) => Value::Array(items.iter().map(reversed).collect()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
        }
    }

    proptest! {
        // Conformance: envelope 3.2
        #[test]
        fn a_value_read_back_from_its_canonical_text_has_the_same_hash(value in any_json()) {
            let text = canonical_bytes(&value);
            let read: Value = serde_json::from_slice(&text).unwrap();
            assert_eq!(canonical_bytes(&read), text);
        }

        // Conformance: envelope 3.2
        //     Its arguments are fully resolved and carry a stable hash.
        //     In: plan/machine/call_draft.rs, envelope/canonical.rs
        #[test]
        fn key_order_does_not_matter(value in any_json()) {
            assert_eq!(canonical_hash(&value), canonical_hash(&reversed(&value)));
        }
    }
}
