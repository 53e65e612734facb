//! The one event that there are many of, read without a general reader.
//!
//! A stream is a hundred deltas and a handful of other events, and a delta has the same flat shape whoever sends it.
//! What is not exactly of that shape is left to the general reader, so nothing is decided here that it would decide
//! otherwise: a nested value, a key twice, a number that is no plain index, white space, a control character.

use std::borrow::Cow;

use memchr::{memchr, memchr2};

/// An event with a `delta`, as far as anybody needs it.
#[derive(Debug, PartialEq, Eq, Default)]
pub(super) struct Flat<'a> {
    pub(super) kind: &'a str,
    pub(super) delta: Cow<'a, str>,
    pub(super) output_index: Option<u64>,
    pub(super) summary_index: Option<u32>,
    pub(super) content_index: Option<u32>,
}

/// Reads an event that is an object of texts, indexes and empty lists, and has a `type` and a `delta`.
pub(super) fn read(data: &[u8]) -> Option<Flat<'_>> {
    // One pass over everything instead of a look at every byte of every string. No exit: it compiles to wide steps.
    if data.iter().fold(false, |found, byte| found | (*byte < b' ')) {
        return None;
    }
    let mut text = Rest(std::str::from_utf8(data).ok()?);
    let mut flat = Flat::default();
    let (mut kind, mut delta) = (None, None);
    text.take("{")?;
    loop {
        let (key, plain) = text.string()?;
        text.take(":")?;
        match key {
            _ if !plain => return None,
            "type" => first(&mut kind, text.string().filter(|(_, plain)| *plain)?.0)?,
            "delta" => first(&mut delta, text.string()?)?,
            "output_index" => first(&mut flat.output_index, text.index()?)?,
            "summary_index" => first(&mut flat.summary_index, text.index()?.try_into().ok()?)?,
            "content_index" => first(&mut flat.content_index, text.index()?.try_into().ok()?)?,
            // They mean something to the general reader.
            "item" | "response" | "error" | "message" => return None,
            _ => text.skip()?,
        }
        if text.take(",").is_none() {
            break;
        }
    }
    text.take("}")?;
    if !text.0.is_empty() {
        return None;
    }
    flat.kind = kind?;
    let (delta, plain) = delta?;
    flat.delta = if plain { Cow::Borrowed(delta) } else { Cow::Owned(unescaped(delta)?) };
    Some(flat)
}

/// A field may come once.
fn first<T>(slot: &mut Option<T>, value: T) -> Option<()> {
    match slot.replace(value) {
        None => Some(()),
        Some(_) => None,
    }
}

/// What the inside of a JSON string stands for, which has neither quotes of its own nor control characters; nothing if an
/// escape in it is none.
pub(super) fn unescaped(inside: &str) -> Option<String> {
    let mut text = String::with_capacity(inside.len());
    let mut rest = inside;
    while let Some(at) = memchr(b'\\', rest.as_bytes()) {
        text.push_str(&rest[..at]);
        text.push(match rest.as_bytes().get(at + 1)? {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            // Numbers, which can come in pairs, are left to the reader that knows them.
            _ => return serde_json::from_str(&format!("\"{inside}\"")).ok(),
        });
        rest = &rest[at + 2..];
    }
    text.push_str(rest);
    Some(text)
}

/// What is not read yet.
struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
    fn take(&mut self, word: &str) -> Option<()> {
        self.0 = self.0.strip_prefix(word)?;
        Some(())
    }

    /// The inside of a string, and whether it stands for itself.
    fn string(&mut self) -> Option<(&'a str, bool)> {
        let inside = self.0.strip_prefix('"')?;
        let mut plain = true;
        let mut at = 0;
        loop {
            at += memchr2(b'"', b'\\', inside.as_bytes().get(at..)?)?;
            if inside.as_bytes().get(at) == Some(&b'"') {
                break;
            }
            plain = false;
            at += 2;
        }
        let (inside, rest) = (inside.get(..at)?, inside.get(at + 1..)?);
        self.0 = rest;
        Some((inside, plain))
    }

    /// A number without sign, fraction and exponent.
    fn index(&mut self) -> Option<u64> {
        let digits = self.0.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = self.0.split_at(digits);
        if digits > 1 && number.starts_with('0') {
            return None;
        }
        self.0 = rest;
        number.parse().ok()
    }

    /// A value that nobody needs.
    fn skip(&mut self) -> Option<()> {
        match self.0.as_bytes().first()? {
            b'"' => {
                // What an escape means is not looked at, so there must be none.
                let (_, plain) = self.string()?;
                plain.then_some(())
            }
            b'0'..=b'9' => self.index().map(|_| ()),
            b'[' => self.take("[]"),
            b'n' => self.take("null"),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use proptest::prelude::{Just, Strategy, any, prop, prop_assert_eq, prop_oneof, proptest};
    use serde_json::{Value, json};

    use super::{Flat, read, unescaped};

    #[test]
    fn a_delta_is_read_whatever_the_order_of_its_fields() {
        let data = r#"{"type":"response.output_text.delta","sequence_number":7,"item_id":"msg_1","output_index":1,"content_index":0,"delta":"a \"b\" \u00e9\n","logprobs":[]}"#;
        let expected = Flat {
            kind: "response.output_text.delta",
            delta: Cow::Borrowed("a \"b\" \u{e9}\n"),
            output_index: Some(1),
            summary_index: None,
            content_index: Some(0),
        };
        assert_eq!(read(data.as_bytes()), Some(expected));
        let data = r#"{"delta":"plain","summary_index":2,"obfuscation":null,"type":"t"}"#;
        assert_eq!(
            read(data.as_bytes()),
            Some(Flat {
                kind: "t",
                delta: Cow::Borrowed("plain"),
                summary_index: Some(2),
                ..Flat::default()
            })
        );
    }

    #[test]
    fn what_has_another_shape_is_left_to_the_general_reader() {
        for data in [
            "",
            "{}",
            "[]",
            r#"{"type":"t"}"#,
            r#"{"delta":"d"}"#,
            r#"{"type":"t","delta":"d"} "#,
            r#"{"type":"t", "delta":"d"}"#,
            r#"{"type":"t","delta":"d",}"#,
            r#"{"type":"t","delta":"d""#,
            r#"{"type":"t","delta":"d\"}"#,
            r#"{"type":"t","delta":"d\x"}"#,
            r#"{"type":"t","delta":"\ud800"}"#,
            r#"{"type":"t","delta":null}"#,
            r#"{"type":"t","delta":"d","delta":"e"}"#,
            r#"{"type":"t","delta":"d","type":"t"}"#,
            r#"{"type":"t","delta":"d","output_index":01}"#,
            r#"{"type":"t","delta":"d","output_index":-1}"#,
            r#"{"type":"t","delta":"d","output_index":1.0}"#,
            r#"{"type":"t","delta":"d","summary_index":4294967296}"#,
            r#"{"type":"t","delta":"d","logprobs":[{}]}"#,
            r#"{"type":"t","delta":"d","x":{}}"#,
            r#"{"type":"t","delta":"d","x":"\q"}"#,
            r#"{"type":"t","delta":"d","error":null}"#,
            "{\"type\":\"t\",\"delta\":\"a\tb\"}",
            r#"{"ty\u0070e":"t","delta":"d"}"#,
        ] {
            assert_eq!(read(data.as_bytes()), None, "{data}");
        }
        assert_eq!(read(b"{\"type\":\"t\",\"delta\":\"\xff\"}"), None);
    }

    /// Objects that are nearly, or exactly, deltas.
    fn events() -> impl Strategy<Value = String> {
        let key = prop_oneof![
            Just("type"),
            Just("delta"),
            Just("output_index"),
            Just("summary_index"),
            Just("logprobs"),
            Just("x")
        ];
        let value = prop_oneof![
            any::<String>().prop_map(|text| json!(text).to_string()),
            (0_u64..99).prop_map(|number| number.to_string()),
            Just("[]".to_owned()),
            Just("null".to_owned()),
            Just("1e3".to_owned()),
            Just(r#""\u0041\/""#.to_owned()),
        ];
        prop::collection::vec((key, value), 0..7).prop_map(|fields| {
            let fields: Vec<String> =
                fields.into_iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
            format!("{{{}}}", fields.join(","))
        })
    }

    proptest! {
        #[test]
        fn an_escape_means_what_it_means_to_any_reader(inside in r#"(\\["\\/bfnrtuxé]|u00e9|\\u00e9|\\ud83d\\ude00|\\ud83d|[a-zé ])*\\?"#) {
            let quoted = format!("\"{inside}\"");
            prop_assert_eq!(unescaped(&inside), serde_json::from_str::<String>(&quoted).ok());
        }

        #[test]
        fn what_is_read_is_what_the_general_reader_reads(data in events()) {
            if let Some(flat) = read(data.as_bytes()) {
                let value: Value = serde_json::from_str(&data).unwrap();
                prop_assert_eq!(Some(flat.kind), value["type"].as_str());
                prop_assert_eq!(Some(&*flat.delta), value["delta"].as_str());
                prop_assert_eq!(flat.output_index, value["output_index"].as_u64());
                prop_assert_eq!(flat.summary_index.map(u64::from), value["summary_index"].as_u64());
            }
        }

        #[test]
        fn whatever_arrives_does_no_harm(data in "[{}\\[\\]\":,a-z0-9\\\\]{0,40}") {
            if read(data.as_bytes()).is_some() {
                serde_json::from_str::<Value>(&data).unwrap();
            }
        }
    }
}
