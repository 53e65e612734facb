//! A JSON parser that refuses duplicate keys: parsers disagree about which of two counts, so the checked arguments
//! could differ from the executed ones.

use std::fmt;

use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Parses a value. Fails with the reason if it is malformed or has a duplicate key.
pub(super) fn parse(text: &str) -> Result<Value, String> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let read = UniqueKeyVisitor.deserialize(&mut reader);
    read.and_then(|value| reader.end().map(|()| value)).map_err(|error| error.to_string())
}

struct UniqueKeyVisitor;

impl<'de> DeserializeSeed<'de> for UniqueKeyVisitor {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for UniqueKeyVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number is out of range"))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = items.next_element_seed(UniqueKeyVisitor)? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            if map.contains_key(&key) {
                return Err(A::Error::custom(format_args!("`{key}` is there twice")));
            }
            map.insert(key, members.next_value_seed(UniqueKeyVisitor)?);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::parse;

    #[test]
    fn a_key_that_is_there_twice_is_refused_at_any_depth() {
        let said: Vec<String> = [
            r#"{"a":[true,null,-1,1.5,"x"],"b":{"a":18446744073709551615}}"#,
            r#"{"a":1,"a":1}"#,
            r#"{"a":[{"b":1,"\u0062":2}]}"#,
            r#"{"a":1e999}"#,
            "{} x",
        ]
        .into_iter()
        .map(|text| match parse(text) {
            Ok(value) => value.to_string(),
            Err(reason) => reason,
        })
        .collect();
        expect![[r#"
            {"a":[true,null,-1,1.5,"x"],"b":{"a":18446744073709551615}}
            `a` is there twice at line 1 column 10
            `b` is there twice at line 1 column 21
            number out of range at line 1 column 10
            trailing characters at line 1 column 4"#]]
        .assert_eq(&said.join("\n"));
    }
}
