//! From bytes to a value, without a choice between two readings.
//!
//! An object that has the same key twice is refused. Readers differ in which of the two they take, so a check in
//! front of this server could have looked at another request than the one that is answered.

use std::fmt;

use envelope::{StrictValue, Strictness, read_strictly};
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::responses::error::ApiError;

/// As much of a key as an error has room for.
const KEY_CHARS: usize = 64;

/// Reads JSON of a client's. Nesting is bounded by the reader at 128 levels.
pub fn read_json(body: &[u8]) -> Result<Value, ApiError> {
    let value = read_strictly(serde_json::Deserializer::from_slice(body), &mut Refusing);
    value.map_err(|error| ApiError {
        param: None,
        ..ApiError::invalid("", "invalid_json", format!("the body is not a JSON request: {error}"))
    })
}

/// A request whose `tools` are still text.
pub(super) struct Outline<'b> {
    pub(super) rest: Map<String, Value>,
    pub(super) tools: &'b str,
}

/// Reads everything of a body but its `tools`. Nothing for a body that has none, or in which anything is wrong: such a body
/// is to be read as a whole.
pub(super) fn outline(body: &[u8]) -> Option<Outline<'_>> {
    let mut reader = serde_json::Deserializer::from_slice(body);
    let outline = reader.deserialize_map(Outliner).ok()?;
    reader.end().ok()?;
    outline
}

/// Room for so many is made at once.
const USUAL_FIELDS: usize = 8;

struct Outliner;

impl<'de> Visitor<'de> for Outliner {
    type Value = Option<Outline<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a request")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut tools: Option<&RawValue> = None;
        let mut rest = Map::with_capacity(USUAL_FIELDS);
        while let Some(key) = entries.next_key::<String>()? {
            let twice = if key == "tools" {
                tools.replace(entries.next_value()?).is_some()
            } else {
                rest.insert(key, entries.next_value_seed(StrictValue(&mut Refusing))?).is_some()
            };
            if twice {
                return Err(A::Error::custom("a key stands twice"));
            }
        }
        Ok(tools.map(|tools| Outline { rest, tools: tools.get() }))
    }
}

/// Reads no further than to the first key that stands twice.
struct Refusing;

impl Strictness for Refusing {
    fn doubled_key(&mut self, key: &str) -> Result<(), String> {
        let key: String = key.chars().take(KEY_CHARS).collect();
        Err(format!("the key `{key}` stands twice in the same object"))
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
