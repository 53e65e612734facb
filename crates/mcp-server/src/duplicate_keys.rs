//! Finds duplicate keys in the objects of a JSON message.
//!
//! Parsers disagree on duplicate keys: one uses the first value and another the last, so a client may show its user
//! `no` while this server reads `once`. Such a message is rejected as a whole.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Number of keys that are compared one by one; further keys go into a set.
const FEW: usize = 16;
/// Characters of a key that an error message shows.
const SHOWN: usize = 40;

/// Returns the first duplicate key of any object, escaped for display. Returns `None` also for invalid JSON, which
/// the message parser reports.
pub(super) fn find_duplicate_key(message: &[u8]) -> Option<String> {
    let mut found = None;
    let mut reader = serde_json::Deserializer::from_slice(message);
    let read = DuplicateKeyScan { found: &mut found }.deserialize(&mut reader);
    // An error means a duplicate key or invalid JSON.
    let _stopped = read.is_err();
    found
}

struct DuplicateKeyScan<'a> {
    found: &'a mut Option<String>,
}

impl<'de> DeserializeSeed<'de> for DuplicateKeyScan<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for DuplicateKeyScan<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(DuplicateKeyScan { found: &mut *self.found })?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let mut keys = ObjectKeys::default();
        while let Some(ObjectKey(key)) = fields.next_key()? {
            if keys.has(&key) {
                *self.found = Some(key.chars().take(SHOWN).flat_map(char::escape_debug).collect());
                return Err(A::Error::custom("duplicate key"));
            }
            keys.add(key);
            fields.next_value_seed(DuplicateKeyScan { found: &mut *self.found })?;
        }
        Ok(())
    }
}

/// The keys of one object. Most objects have few.
#[derive(Default)]
struct ObjectKeys<'a> {
    few: Vec<Cow<'a, str>>,
    many: HashSet<Cow<'a, str>>,
}

impl<'a> ObjectKeys<'a> {
    fn has(&self, key: &str) -> bool {
        self.few.iter().any(|other| other == key) || self.many.contains(key)
    }

    fn add(&mut self, key: Cow<'a, str>) {
        if self.few.len() < FEW {
            self.few.push(key);
        } else {
            self.many.insert(key);
        }
    }
}

/// A key, borrowed from the message unless it contains escapes.
struct ObjectKey<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for ObjectKey<'de> {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<ObjectKey<'de>, D::Error> {
        struct ObjectKeyVisitor;
        impl<'de> Visitor<'de> for ObjectKeyVisitor {
            type Value = ObjectKey<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_borrowed_str<E>(self, key: &'de str) -> Result<ObjectKey<'de>, E> {
                Ok(ObjectKey(Cow::Borrowed(key)))
            }

            fn visit_str<E>(self, key: &str) -> Result<ObjectKey<'de>, E> {
                Ok(ObjectKey(Cow::Owned(key.to_owned())))
            }
        }
        reader.deserialize_str(ObjectKeyVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::find_duplicate_key;

    #[test]
    fn a_key_that_stands_twice_is_found_however_it_is_spelled_and_wherever_it_is() {
        let many: String = (0..40).map(|number| format!("\"k{number}\":0,")).collect();
        let cases = [
            (r#"{"a":1,"b":{"a":2}}"#.to_owned(), None),
            (r#"[{"a":1},{"a":2}]"#.to_owned(), None),
            (r#"{"a":1,"a":1}"#.to_owned(), Some("a")),
            (r#"{"x":[1,{"y":{"decision":"no","d\u0065cision":"once"}}]}"#.to_owned(), Some("decision")),
            (format!("{{{many}\"k39\":1}}"), Some("k39")),
            (format!("{{{many}\"k3\":1}}"), Some("k3")),
            ("{\"a\\u001b\":1,\"a\\u001b\":1}".to_owned(), Some("a\\u{1b}")),
            (r#"{"a":1,"#.to_owned(), None),
            ("not json".to_owned(), None),
        ];
        for (message, expected) in cases {
            assert_eq!(find_duplicate_key(message.as_bytes()).as_deref(), expected, "{message}");
        }
    }
}
