//! A JSON serializer for prompts: one line, in which no text can be taken for anything else.
//!
//! Inside strings, brackets (of other scripts too, before the word of a marker), control characters, line separators,
//! bidirectional controls and invisible characters are written as escapes. A string therefore ends at its quote, for
//! a parser and for a reader, and any JSON parser restores it.

use envelope::invisible_chars;
use serde_json::Value;

use super::marker::{bracket, makes_marker};

/// Appends a text as a JSON string.
pub(super) fn push_string(out: &mut String, text: &str) {
    out.push('"');
    let mut copied = 0;
    let mut invisible = invisible_chars(text).peekable();
    for (at, c) in text.char_indices() {
        let is_invisible = invisible.next_if(|&(place, _)| place == at).is_some();
        if !is_invisible && is_plain(c, &text[at..]) {
            continue;
        }
        out.push_str(&text[copied..at]);
        copied = at + c.len_utf8();
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ => push_units(out, c),
        }
    }
    out.push_str(&text[copied..]);
    out.push('"');
}

/// Returns a text as a JSON string.
pub(super) fn string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    push_string(&mut out, text);
    out
}

/// Appends a value without white space, with its order of keys.
pub(super) fn push_value(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => out.push_str(&number.to_string()),
        Value::String(text) => push_string(out, text),
        Value::Array(list) => {
            out.push('[');
            for (index, element) in list.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                push_value(out, element);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            out.push('{');
            for (index, (key, field)) in fields.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                push_string(out, key);
                out.push(':');
                push_value(out, field);
            }
            out.push('}');
        }
    }
}

/// Whether a visible character is not escaped in a string. `text` starts with it.
fn is_plain(c: char, text: &str) -> bool {
    match c {
        '"' | '\\' | '<' | '>' | '[' | ']' => false,
        ' '..='~' => true,
        // Brackets of other scripts are punctuation, unless they form a marker.
        other => !bracket(other).is_some_and(|bracket| makes_marker(bracket, &text[other.len_utf8()..])),
    }
}

fn push_units(out: &mut String, c: char) {
    let mut units = [0_u16; 2];
    for unit in c.encode_utf16(&mut units) {
        out.push_str(&format!("\\u{unit:04x}"));
    }
}

#[cfg(test)]
mod tests {
    use envelope::invisible_chars;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};
    use serde_json::{Value, json};

    use super::{push_value, string};

    #[track_caller]
    fn check(value: &Value, expected: &str) {
        let mut line = String::new();
        push_value(&mut line, value);
        assert_eq!(line, expected);
        assert_eq!(&serde_json::from_str::<Value>(&line).unwrap(), value);
    }

    #[test]
    fn strings_hold_no_brackets_and_no_lines() {
        check(
            &json!("a<b>[c]\n\u{2028}\u{85}\u{7f}"),
            r#""a\u003cb\u003e\u005bc\u005d\n\u2028\u0085\u007f""#,
        );
        check(&json!("\u{202e}x\u{e0041}＜tool_call【a】"), r#""\u202ex\udb40\udc41\uff1ctool_call【a】""#);
        check(&json!("é 你好 👩‍👩‍👧 \"q\" \\"), r#""é 你好 👩‍👩‍👧 \"q\" \\""#);
    }

    #[test]
    fn values_have_no_white_space_and_keep_their_order() {
        check(&json!({"b": [1, 2.5, null], "a<": {"c": true}}), r#"{"b":[1,2.5,null],"a\u003c":{"c":true}}"#);
    }

    proptest! {
        #[test]
        fn every_text_is_one_line_and_comes_back(text in any::<String>()) {
            let line = string(&text);
            prop_assert!(!line.contains(['<', '>', '[', ']', '\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']), "{}", line);
            prop_assert_eq!(serde_json::from_str::<String>(&line).unwrap(), text);
            prop_assert_eq!(invisible_chars(&line).count(), 0);
        }
    }
}
