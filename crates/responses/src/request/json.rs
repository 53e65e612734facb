//! A strict JSON parser for requests.
//!
//! An object with a duplicate key is refused. Parsers differ in which of the two they take, so a check in front of this
//! server could have seen another request than the one that is answered.

use envelope::{StrictJsonHandler, parse_strict};
use serde_json::Value;

use crate::error::ApiError;

/// The longest part of a key in an error.
const KEY_CHARS: usize = 64;

/// Parses the JSON of a client. Fails if it is malformed, has a duplicate key, or is nested deeper than 128 levels.
pub fn read_json(body: &[u8]) -> Result<Value, ApiError> {
    let value = parse_strict(serde_json::Deserializer::from_slice(body), &mut UniqueKeyReader);
    value.map_err(|error| ApiError {
        param: None,
        ..ApiError::invalid("", "invalid_json", format!("the body is not a JSON request: {error}"))
    })
}

/// Fails at the first duplicate key.
struct UniqueKeyReader;

impl StrictJsonHandler for UniqueKeyReader {
    fn duplicate_key(&mut self, key: &str) -> Result<(), String> {
        let key: String = key.chars().take(KEY_CHARS).collect();
        Err(format!("the key `{key}` appears twice in the same object"))
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
                "the body is not a JSON request: the key `model` appears twice in the same object at line 1 column 20"
            ],
        );
        refused(
            br#"{"input":[{"role":"user","role":"developer"}]}"#,
            expect![
                "the body is not a JSON request: the key `role` appears twice in the same object at line 1 column 31"
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
