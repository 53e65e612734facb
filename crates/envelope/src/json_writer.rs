//! A value as one line of JSON, for records: every call writes several, and they are mostly names and texts.
//!
//! The bytes are those that `serde_json` writes, except that text stays on its line for every reader (see
//! [`json_text`]), and that JSON which is text already (a `RawValue`) is refused: it may have line breaks. What
//! `serde_json` writes one byte at a time is written here eight at a time.

use std::fmt::{self, Display};

use serde::ser::{
    Error as _, Impossible, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant,
    SerializeTuple, SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use serde_json::Error;

use crate::json_text::{json_plain, json_text};

/// Appends a value. What was appended of a value that is not JSON is left there. The names of its fields are those of
/// types of ours, and need no escape.
pub fn write_json(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) -> Result<(), Error> {
    value.serialize(Writer(out))
}

struct Writer<'a>(&'a mut Vec<u8>);

/// A list or an object that was begun.
struct Open<'a> {
    out: &'a mut Vec<u8>,
    /// Nothing is in it yet.
    empty: bool,
    end: &'static [u8],
}

/// What `serde_json` calls a text that is JSON already. Only its own writer may put that in.
const RAW: &str = "$serde_json::private::RawValue";

impl<'a> Writer<'a> {
    fn text(self, text: &str) {
        push_text(self.0, text);
    }

    fn open(self, begin: &[u8], end: &'static [u8]) -> Open<'a> {
        self.0.extend_from_slice(begin);
        Open { out: self.0, empty: true, end }
    }

    /// The name of a variant and what stands before its content.
    fn variant(&mut self, name: &str) {
        self.0.push(b'{');
        push_text(self.0, name);
        self.0.push(b':');
    }
}

fn push_text(out: &mut Vec<u8>, text: &str) {
    out.reserve(text.len() + 3);
    out.push(b'"');
    // Names are short, and nearly no text of a record needs an escape.
    if json_plain(text.as_bytes()) == text.len() {
        out.extend_from_slice(text.as_bytes());
    } else {
        json_text(text, |bytes| out.extend_from_slice(bytes));
    }
    out.push(b'"');
}

fn push_number(out: &mut Vec<u8>, number: impl itoa::Integer) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

impl Open<'_> {
    fn next(&mut self) {
        if !std::mem::replace(&mut self.empty, false) {
            self.out.push(b',');
        }
    }

    fn value(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        value.serialize(Writer(self.out))
    }

    fn element(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        self.next();
        self.value(value)
    }

    fn field(&mut self, name: &'static str, value: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        self.name(name);
        self.value(value)
    }

    /// Once for all types: a record has some fifty fields, and code that runs once for each of them is code that the
    /// processor has to fetch first.
    #[inline(never)]
    fn name(&mut self, name: &'static str) {
        debug_assert!(
            json_plain(name.as_bytes()) == name.len(),
            "a field whose name needs an escape: {name:?}"
        );
        self.out.reserve(name.len() + 4);
        // `next` and the quote, in one write.
        self.out.extend_from_slice(if std::mem::replace(&mut self.empty, false) { b"\"" } else { b",\"" });
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
    }

    fn close(self) {
        self.out.extend_from_slice(self.end);
    }
}

macro_rules! numbers {
    ($($name:ident: $kind:ty),*) => {
        $(fn $name(self, number: $kind) -> Result<(), Error> {
            push_number(self.0, number);
            Ok(())
        })*
    };
}

impl<'a> Serializer for Writer<'a> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Open<'a>;
    type SerializeTuple = Open<'a>;
    type SerializeTupleStruct = Open<'a>;
    type SerializeTupleVariant = Open<'a>;
    type SerializeMap = Open<'a>;
    type SerializeStruct = Open<'a>;
    type SerializeStructVariant = Open<'a>;

    numbers!(
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_i128: i128,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_u128: u128
    );

    fn serialize_bool(self, value: bool) -> Result<(), Error> {
        self.0.extend_from_slice(if value { b"true" } else { b"false" });
        Ok(())
    }

    // The shortest spelling of a fraction is an art of its own.
    fn serialize_f32(self, number: f32) -> Result<(), Error> {
        serde_json::to_writer(self.0, &number)
    }

    fn serialize_f64(self, number: f64) -> Result<(), Error> {
        serde_json::to_writer(self.0, &number)
    }

    fn serialize_char(self, value: char) -> Result<(), Error> {
        self.text(value.encode_utf8(&mut [0; 4]));
        Ok(())
    }

    fn serialize_str(self, text: &str) -> Result<(), Error> {
        self.text(text);
        Ok(())
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<(), Error> {
        let mut list = self.open(b"[", b"]");
        for byte in bytes {
            list.element(byte)?;
        }
        list.close();
        Ok(())
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.0.extend_from_slice(b"null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Error> {
        self.text(variant);
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        mut self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        self.variant(variant);
        value.serialize(Writer(self.0))?;
        self.0.push(b'}');
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Open<'a>, Error> {
        Ok(self.open(b"[", b"]"))
    }

    fn serialize_tuple(self, _: usize) -> Result<Open<'a>, Error> {
        Ok(self.open(b"[", b"]"))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Open<'a>, Error> {
        Ok(self.open(b"[", b"]"))
    }

    fn serialize_tuple_variant(
        mut self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Open<'a>, Error> {
        self.variant(variant);
        Ok(self.open(b"[", b"]}"))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Open<'a>, Error> {
        Ok(self.open(b"{", b"}"))
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Open<'a>, Error> {
        if name == RAW {
            return Err(Error::custom("a record holds values, not JSON that was written elsewhere"));
        }
        Ok(self.open(b"{", b"}"))
    }

    fn serialize_struct_variant(
        mut self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Open<'a>, Error> {
        self.variant(variant);
        Ok(self.open(b"{", b"}}"))
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<(), Error> {
        struct Inside<'a>(&'a mut Vec<u8>);
        impl fmt::Write for Inside<'_> {
            fn write_str(&mut self, piece: &str) -> fmt::Result {
                json_text(piece, |bytes| self.0.extend_from_slice(bytes));
                Ok(())
            }
        }
        self.0.push(b'"');
        fmt::write(&mut Inside(self.0), format_args!("{value}")).map_err(Error::custom)?;
        self.0.push(b'"');
        Ok(())
    }
}

macro_rules! lists {
    ($($kind:ident: $element:ident),*) => {
        $(impl $kind for Open<'_> {
            type Ok = ();
            type Error = Error;

            fn $element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
                self.element(value)
            }

            fn end(self) -> Result<(), Error> {
                self.close();
                Ok(())
            }
        })*
    };
}

lists!(
    SerializeSeq: serialize_element,
    SerializeTuple: serialize_element,
    SerializeTupleStruct: serialize_field,
    SerializeTupleVariant: serialize_field
);

macro_rules! structs {
    ($($kind:ident),*) => {
        $(impl $kind for Open<'_> {
            type Ok = ();
            type Error = Error;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), Error> {
                self.field(name, value)
            }

            fn end(self) -> Result<(), Error> {
                self.close();
                Ok(())
            }
        })*
    };
}

structs!(SerializeStruct, SerializeStructVariant);

impl SerializeMap for Open<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.next();
        key.serialize(Key(self.out))?;
        self.out.push(b':');
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.value(value)
    }

    fn end(self) -> Result<(), Error> {
        self.close();
        Ok(())
    }
}

/// A key, which JSON knows as a text only.
struct Key<'a>(&'a mut Vec<u8>);

fn no_key<T>() -> Result<T, Error> {
    Err(Error::custom("key must be a string"))
}

fn quoted(out: &mut Vec<u8>, number: &impl Serialize, is_finite: bool) -> Result<(), Error> {
    if !is_finite {
        return Err(Error::custom("float key must be finite (got NaN or +/-inf)"));
    }
    out.push(b'"');
    serde_json::to_writer(&mut *out, number)?;
    out.push(b'"');
    Ok(())
}

macro_rules! quoted {
    ($($name:ident: $kind:ty),*) => {
        $(fn $name(self, number: $kind) -> Result<(), Error> {
            self.0.push(b'"');
            push_number(self.0, number);
            self.0.push(b'"');
            Ok(())
        })*
    };
}

impl Serializer for Key<'_> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Impossible<(), Error>;
    type SerializeTuple = Impossible<(), Error>;
    type SerializeTupleStruct = Impossible<(), Error>;
    type SerializeTupleVariant = Impossible<(), Error>;
    type SerializeMap = Impossible<(), Error>;
    type SerializeStruct = Impossible<(), Error>;
    type SerializeStructVariant = Impossible<(), Error>;

    quoted!(
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_i128: i128,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_u128: u128
    );

    fn serialize_bool(self, value: bool) -> Result<(), Error> {
        push_text(self.0, if value { "true" } else { "false" });
        Ok(())
    }

    fn serialize_f32(self, number: f32) -> Result<(), Error> {
        quoted(self.0, &number, number.is_finite())
    }

    fn serialize_f64(self, number: f64) -> Result<(), Error> {
        quoted(self.0, &number, number.is_finite())
    }

    fn serialize_char(self, value: char) -> Result<(), Error> {
        push_text(self.0, value.encode_utf8(&mut [0; 4]));
        Ok(())
    }

    fn serialize_str(self, text: &str) -> Result<(), Error> {
        push_text(self.0, text);
        Ok(())
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<(), Error> {
        no_key()
    }

    fn serialize_none(self) -> Result<(), Error> {
        no_key()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, key: &T) -> Result<(), Error> {
        key.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        no_key()
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Error> {
        no_key()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Error> {
        push_text(self.0, variant);
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, key: &T) -> Result<(), Error> {
        key.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), Error> {
        no_key()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, Error> {
        no_key()
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, Error> {
        no_key()
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeTupleStruct, Error> {
        no_key()
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Error> {
        no_key()
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, Error> {
        no_key()
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeStruct, Error> {
        no_key()
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Error> {
        no_key()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::{BoxedStrategy, Just, Strategy, any, prop, prop_assert_eq, prop_oneof, proptest};
    use serde::{Serialize, Serializer};
    use serde_json::value::RawValue;
    use serde_json::{Value, json};

    use super::write_json;

    fn written(value: &impl Serialize) -> Result<String, String> {
        let mut out = Vec::new();
        write_json(&mut out, value).map_err(|error| error.to_string())?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[track_caller]
    fn same(value: &impl Serialize) {
        assert_eq!(written(value), serde_json::to_string(value).map_err(|error| error.to_string()));
    }

    #[derive(Serialize)]
    struct Empty {}

    #[derive(Serialize)]
    struct Unit;

    #[derive(Serialize)]
    struct Wrapped(u8);

    #[derive(Serialize)]
    struct Pair(i8, char);

    #[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
    enum Kind {
        Plain,
        New(u16),
        Two(u32, u64),
        Named { a: bool, b: Option<u8> },
    }

    #[derive(Serialize)]
    struct Everything<'a> {
        #[serde(rename = "a name")]
        odd_text: &'a str,
        kinds: Vec<Kind>,
        numbers: (i16, i32, i64, i128, u128, f32, f64),
        no_numbers: [f64; 2],
        pair: Pair,
        wrapped: Wrapped,
        nothing: (Unit, (), Option<u8>, Empty, [u8; 0]),
        #[serde(flatten)]
        more: BTreeMap<String, Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        left_out: Option<u8>,
        time: jiff::Timestamp,
    }

    #[test]
    fn every_kind_of_value_is_written_as_it_always_was() {
        same(&Everything {
            odd_text: "a\u{7f}\"\\\u{1}é🦀",
            kinds: vec![Kind::Plain, Kind::New(1), Kind::Two(2, u64::MAX), Kind::Named { a: true, b: None }],
            numbers: (-1, i32::MIN, i64::MIN, i128::MIN, u128::MAX, 0.1, 1e300),
            no_numbers: [f64::NAN, f64::INFINITY],
            pair: Pair(-1, '"'),
            wrapped: Wrapped(7),
            nothing: (Unit, (), None, Empty {}, []),
            more: BTreeMap::from([("x".to_owned(), json!({ "y": [1, -2, 3.5, null, true, "z"] }))]),
            left_out: None,
            time: jiff::Timestamp::UNIX_EPOCH,
        });
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
        same(&BTreeMap::from([(Kind::Plain, 1)]));
        same(&BTreeMap::from([(Kind::New(1), 1)]));
        same(&BTreeMap::from([((), 1)]));
        same(&BTreeMap::from([(vec![1], 1)]));
        for number in [0.1, -2.0, 1e300, f64::NAN, f64::INFINITY] {
            same(&FractionAsKey(number));
        }
    }

    #[test]
    fn text_stays_on_its_line() {
        assert_eq!(written(&"a\u{85}\u{2028}\u{2029}b").unwrap(), r#""a\u0085\u2028\u2029b""#);
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
            "[ -~\u{7f}é\u{a0}—🦀\n\t\u{1}\"\\\\]{0,20}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map("[a-z\"\n]{0,5}", inner, 0..6)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
        .boxed()
    }

    proptest! {
        #[test]
        fn any_value_is_written_as_it_always_was(value in values()) {
            prop_assert_eq!(written(&value).unwrap(), serde_json::to_string(&value).unwrap());
        }
    }
}
