//! JSON parser that rejects ambiguous input.
//!
//! Readers disagree on which of two duplicate keys counts, and a number with too many digits loses some. Then
//! the value that was checked or confirmed could differ from the value that is used. The caller decides how
//! to handle such input with a [`StrictJsonHandler`]; the parser is the same for all.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

/// Handles input that a lenient reader would change silently. The callbacks also report the position in the
/// text, for handlers that need it.
pub trait StrictJsonHandler {
    /// The parser enters the value of this key.
    fn enter_key(&mut self, _key: &str) {}

    /// The parser enters this item of a list.
    fn enter_item(&mut self, _index: usize) {}

    /// The parser leaves the key or item that it entered last.
    fn leave(&mut self) {}

    /// The key that was just entered is a duplicate. The first one counts, unless an error stops the parser.
    fn duplicate_key(&mut self, key: &str) -> Result<(), String>;

    /// The current number does not fit into 64 bits.
    fn inexact_number(&mut self) {}
}

/// Parses exactly one value. The reader limits the nesting depth.
pub fn parse_strict<'de, R: serde_json::de::Read<'de>>(
    mut reader: serde_json::Deserializer<R>,
    strictness: &mut impl StrictJsonHandler,
) -> Result<Value, serde_json::Error> {
    let value = StrictValue(strictness).deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

/// Integers from here on do not fit into 64 bits; the reader turns them into floats.
const BEYOND_64_BITS: f64 = 9_223_372_036_854_775_808.0;

/// Parses one value inside of another deserializer.
struct StrictValue<'s, S>(&'s mut S);

impl<'de, S: StrictJsonHandler> DeserializeSeed<'de> for StrictValue<'_, S> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de, S: StrictJsonHandler> Visitor<'de> for StrictValue<'_, S> {
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
        if value.abs() >= BEYOND_64_BITS {
            self.0.inexact_number();
        }
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
        loop {
            self.0.enter_item(list.len());
            let item = items.next_element_seed(StrictValue(&mut *self.0))?;
            self.0.leave();
            let Some(item) = item else { return Ok(Value::Array(list)) };
            list.push(item);
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let entry = map.entry(key);
            self.0.enter_key(entry.key());
            match entry {
                Entry::Vacant(free) => {
                    free.insert(entries.next_value_seed(StrictValue(&mut *self.0))?);
                }
                Entry::Occupied(taken) => {
                    self.0.duplicate_key(taken.key()).map_err(A::Error::custom)?;
                    entries.next_value_seed(StrictValue(&mut *self.0))?;
                }
            }
            self.0.leave();
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::{Value, json};

    use super::{StrictJsonHandler, parse_strict};

    /// Records every callback with its position, and continues.
    #[derive(Default)]
    struct RecordingHandler {
        place: Vec<String>,
        told: Vec<String>,
    }

    impl StrictJsonHandler for RecordingHandler {
        fn enter_key(&mut self, key: &str) {
            self.place.push(key.to_owned());
        }

        fn enter_item(&mut self, index: usize) {
            self.place.push(index.to_string());
        }

        fn leave(&mut self) {
            self.place.pop();
        }

        fn duplicate_key(&mut self, key: &str) -> Result<(), String> {
            self.told.push(format!("{key} twice at {}", self.place.join("/")));
            if key == "stop" { Err("stopped".to_owned()) } else { Ok(()) }
        }

        fn inexact_number(&mut self) {
            self.told.push(format!("inexact at {}", self.place.join("/")));
        }
    }

    fn read(text: &str) -> (Result<Value, String>, Vec<String>) {
        let mut told = RecordingHandler::default();
        let read = parse_strict(serde_json::Deserializer::from_str(text), &mut told);
        (read.map_err(|error| error.to_string()), told.told)
    }

    #[test]
    fn what_has_one_reading_is_read_as_any_reader_does() {
        let text = r#" {"a":[1,-2,3.5,true,null,"x\n\u2028",18446744073709551615],"b":{"c":{}}} "#;
        assert_eq!(read(text), (Ok(serde_json::from_str(text).unwrap()), Vec::new()));
    }

    #[test]
    fn what_has_two_is_told_with_its_place_and_the_first_one_counts() {
        let (value, told) = read(r#"{"a":[0,{"b":1,"b":{"c":36893488147419103232}}],"d":1,"a":2}"#);
        assert_eq!(value, Ok(json!({ "a": [0, { "b": 1 }], "d": 1 })));
        assert_eq!(told, ["b twice at a/1/b", "inexact at a/1/b/c", "a twice at a"]);
    }

    #[test]
    fn a_reading_can_be_stopped_at_its_place() {
        expect!["stopped at line 1 column 16"].assert_eq(&read(r#"{"stop":1,"stop":2}"#).0.unwrap_err());
        expect!["trailing characters at line 1 column 4"].assert_eq(&read("{} {}").0.unwrap_err());
        expect!["recursion limit exceeded at line 1 column 128"]
            .assert_eq(&read(&"[".repeat(1_000)).0.unwrap_err());
    }
}
