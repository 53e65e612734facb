//! Serializes records as JSON that stays on one line for every reader.
//!
//! The bytes are the ones that `serde_json` writes, with four more characters escaped. DEL is a control character,
//! and U+0085, U+2028 and U+2029 are line breaks to some readers (Python's `splitlines`, for example). JSON lets all
//! four through. They occur only inside strings, so the meaning stays.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

/// Appends the JSON of `record` to `out`.
///
/// Fails if a key is not text, or if the record contains a `RawValue`, which could have line breaks. `out` then keeps
/// the part that was written before the failure.
pub(crate) fn serialize_record(out: &mut Vec<u8>, record: &impl Serialize) -> serde_json::Result<()> {
    record.serialize(&mut Serializer::with_formatter(out, RecordFormatter))
}

/// The compact format of `serde_json`, with the additional escapes.
struct RecordFormatter;

impl Formatter for RecordFormatter {
    fn write_string_fragment<W: Write + ?Sized>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let bytes = fragment.as_bytes();
        let mut written = 0;
        // Almost no record has any of the three lead bytes, so usually only this search runs.
        for at in memchr::memchr3_iter(0x7f, 0xc2, 0xe2, bytes) {
            let (escape, width): (&[u8], usize) = match &bytes[at..] {
                [0x7f, ..] => (b"\\u007f", 1),
                [0xc2, 0x85, ..] => (b"\\u0085", 2),
                [0xe2, 0x80, 0xa8, ..] => (b"\\u2028", 3),
                [0xe2, 0x80, 0xa9, ..] => (b"\\u2029", 3),
                _ => continue,
            };
            writer.write_all(&bytes[written..at])?;
            writer.write_all(escape)?;
            written = at + width;
        }
        writer.write_all(&bytes[written..])
    }

    fn write_raw_fragment<W: Write + ?Sized>(&mut self, _: &mut W, _: &str) -> io::Result<()> {
        Err(io::Error::other("a record contains values, not JSON text that was written elsewhere"))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::{
        BoxedStrategy, Just, Strategy, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest,
    };
    use serde::{Serialize, Serializer};
    use serde_json::value::RawValue;
    use serde_json::{Value, json};

    use super::serialize_record;

    fn written(value: &impl Serialize) -> Result<String, String> {
        let mut out = Vec::new();
        serialize_record(&mut out, value).map_err(|error| error.to_string())?;
        Ok(String::from_utf8(out).unwrap())
    }

    /// The same bytes as `serde_json`, apart from the escapes.
    #[track_caller]
    fn same(value: &impl Serialize) {
        let plain = serde_json::to_string(value).map_err(|error| error.to_string());
        assert_eq!(written(value), plain.map(|json| escaped(&json)));
    }

    fn escaped(json: &str) -> String {
        ['\u{7f}', '\u{85}', '\u{2028}', '\u{2029}']
            .into_iter()
            .fold(json.to_owned(), |json, c| json.replace(c, &format!("\\u{:04x}", u32::from(c))))
    }

    #[derive(Serialize)]
    struct EmptyStruct {}

    #[derive(Serialize)]
    struct UnitStruct;

    #[derive(Serialize)]
    struct WrappedNumber(u8);

    #[derive(Serialize)]
    struct NumberPair(i8, char);

    #[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
    enum VariantSample {
        Plain,
        New(u16),
        Two(u32, u64),
        Named { a: bool, b: Option<u8> },
    }

    #[derive(Serialize)]
    struct EveryType<'a> {
        #[serde(rename = "a name")]
        odd_text: &'a str,
        kinds: Vec<VariantSample>,
        numbers: (i16, i32, i64, i128, u128, f32, f64),
        no_numbers: [f64; 2],
        pair: NumberPair,
        wrapped: WrappedNumber,
        nothing: (UnitStruct, (), Option<u8>, EmptyStruct, [u8; 0]),
        #[serde(flatten)]
        more: BTreeMap<String, Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        left_out: Option<u8>,
        time: envelope::Timestamp,
    }

    #[test]
    fn every_kind_of_value_is_written_as_it_always_was() {
        let value = EveryType {
            odd_text: "a\u{7f}\"\\\u{1}é🦀",
            kinds: vec![
                VariantSample::Plain,
                VariantSample::New(1),
                VariantSample::Two(2, u64::MAX),
                VariantSample::Named { a: true, b: None },
            ],
            numbers: (-1, i32::MIN, i64::MIN, i128::MIN, u128::MAX, 0.1, 1e300),
            no_numbers: [f64::NAN, f64::INFINITY],
            pair: NumberPair(-1, '"'),
            wrapped: WrappedNumber(7),
            nothing: (UnitStruct, (), None, EmptyStruct {}, []),
            more: BTreeMap::from([("x".to_owned(), json!({ "y": [1, -2, 3.5, null, true, "z"] }))]),
            left_out: None,
            time: envelope::Timestamp::UNIX_EPOCH,
        };
        same(&value);
        assert!(
            written(&value).unwrap().starts_with(r#"{"a name":"a\u007f\"\\\u0001é🦀","kinds":["Plain","#)
        );
    }

    /// `BTreeMap` takes no key that is not ordered.
    struct FractionAsKey(f64);

    impl Serialize for FractionAsKey {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_map([(self.0, 1)])
        }
    }

    #[test]
    fn keys_are_texts_or_refused() {
        same(&BTreeMap::from([(1, 'a'), (-2, 'b')]));
        same(&BTreeMap::from([(true, 1)]));
        same(&BTreeMap::from([('"', 1)]));
        same(&BTreeMap::from([(VariantSample::Plain, 1)]));
        same(&BTreeMap::from([(VariantSample::New(1), 1)]));
        same(&BTreeMap::from([((), 1)]));
        same(&BTreeMap::from([(vec![1], 1)]));
        for number in [0.1, -2.0, 1e300, f64::NAN, f64::INFINITY] {
            same(&FractionAsKey(number));
        }
        written(&BTreeMap::from([((), 1)])).unwrap_err();
    }

    #[test]
    fn text_stays_on_its_line() {
        assert_eq!(written(&"a\u{85}\u{2028}\u{2029}b").unwrap(), r#""a\u0085\u2028\u2029b""#);
        let text = format!("{}x\u{7f}y\u{85}z\u{2028}w\u{2029}“é", "-".repeat(300));
        let json = written(&BTreeMap::from([("a\u{2028}", &text)])).unwrap();
        assert!(json.starts_with("{\"a\\u2028\":\"-"));
        assert!(json.ends_with("x\\u007fy\\u0085z\\u2028w\\u2029“é\"}"));
        let read: BTreeMap<String, String> = serde_json::from_str(&json).unwrap();
        assert_eq!(read["a\u{2028}"], text);
    }

    #[test]
    fn json_that_was_written_elsewhere_is_refused() {
        let raw = RawValue::from_string("[1,\n2]".to_owned()).unwrap();
        written(&raw).unwrap_err();
        written(&vec![&raw]).unwrap_err();
    }

    fn values() -> BoxedStrategy<Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            "[ -~\u{7f}é\u{a0}\u{85}\u{2028}—🦀\n\t\u{1}\"\\\\]{0,20}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map("[a-z\"\n\u{2029}]{0,5}", inner, 0..6)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
        .boxed()
    }

    proptest! {
        #[test]
        fn any_value_is_written_as_it_always_was(value in values()) {
            let json = written(&value).unwrap();
            prop_assert_eq!(&json, &escaped(&serde_json::to_string(&value).unwrap()));
        }

        #[test]
        fn any_text_reads_back_and_stays_on_one_line(text in any::<String>()) {
            let json = written(&text).unwrap();
            prop_assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
            let breaks = ['\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}'];
            prop_assert!(!json.contains(breaks), "{}", json);
        }
    }
}
