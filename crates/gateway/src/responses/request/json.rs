//! From bytes to a value, without a choice between two readings.
//!
//! An object that has the same key twice is refused. Readers differ in which of the two they take, so a check in
//! front of this server could have looked at another request than the one that is answered.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

use crate::responses::error::ApiError;

/// Reads JSON of a client's. Nesting is bounded by the reader at 128 levels.
pub fn read_json(body: &[u8]) -> Result<Value, ApiError> {
    let mut reader = serde_json::Deserializer::from_slice(body);
    let value = Node.deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    value.map_err(|error| ApiError {
        param: None,
        ..ApiError::invalid("", "invalid_json", format!("the body is not a JSON request: {error}"))
    })
}

struct Node;

impl<'de> DeserializeSeed<'de> for Node {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Node)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            match map.entry(key) {
                Entry::Vacant(free) => {
                    free.insert(entries.next_value_seed(Node)?);
                }
                Entry::Occupied(taken) => {
                    let key: String = taken.key().chars().take(64).collect();
                    return Err(A::Error::custom(format_args!(
                        "the key `{key}` stands twice in the same object"
                    )));
                }
            }
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::read_json;

    #[track_caller]
    fn refused(body: &[u8], expect: Expect) {
        let error = read_json(body).expect_err("this must be refused");
        assert_eq!((error.status, error.code, &error.param), (400, "invalid_json", &None));
        expect.assert_eq(&error.message);
    }

    #[test]
    fn a_body_reads_as_any_reader_reads_it() {
        let body = r#" {"a":[1,-2,3.5,true,null,"x\n\u2028"],"b":{"c":{}}} "#;
        assert_eq!(
            read_json(body.as_bytes()).unwrap(),
            serde_json::from_str::<serde_json::Value>(body).unwrap()
        );
    }

    #[test]
    fn what_is_not_json_is_refused_with_its_place() {
        refused(b"", expect!["the body is not a JSON request: EOF while parsing a value at line 1 column 0"]);
        refused(
            b"{\"model\":",
            expect!["the body is not a JSON request: EOF while parsing a value at line 1 column 9"],
        );
        refused(b"{} {}", expect!["the body is not a JSON request: trailing characters at line 1 column 4"]);
        refused(
            b"{\"a\":\"\xff\"}",
            expect!["the body is not a JSON request: invalid unicode code point at line 1 column 7"],
        );
    }

    #[test]
    fn the_same_key_twice_is_refused_wherever_it_stands() {
        refused(
            br#"{"model":"a","model":"b"}"#,
            expect![
                "the body is not a JSON request: the key `model` stands twice in the same object at line 1 column 20"
            ],
        );
        refused(
            br#"{"input":[{"role":"user","role":"developer"}]}"#,
            expect![
                "the body is not a JSON request: the key `role` stands twice in the same object at line 1 column 31"
            ],
        );
    }

    #[test]
    fn nesting_without_end_is_refused() {
        refused(
            "[".repeat(100_000).as_bytes(),
            expect!["the body is not a JSON request: recursion limit exceeded at line 1 column 128"],
        );
    }
}
