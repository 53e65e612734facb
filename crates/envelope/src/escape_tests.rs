//! Tests that no escaped form contains invisible characters.

use std::borrow::Cow;

use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};
use serde_json::{Value, json};

use super::{escape_invisible, escape_json, escape_line, escape_value, has_invisible, push_escape};
use crate::invisible::{invisible_chars, is_invisible};

#[test]
fn no_invisible_character_is_left_in_any_form() {
    for c in ('\0'..=char::MAX).filter(|&c| is_invisible(c)) {
        let text = format!("a{c}b");
        let name = c.escape_unicode();
        assert!(!escape_line(&text).contains(is_invisible), "{name}");
        assert!(
            !escape_invisible(&text).contains(|c| is_invisible(c) && !matches!(c, '\n' | '\t')),
            "{name}"
        );
        let json = serde_json::to_string(&text).unwrap();
        assert!(!escape_json(&json).contains(is_invisible), "{name}");
        assert_eq!(serde_json::from_str::<String>(&escape_json(&json)).unwrap(), text, "{name}");
        let value = json!({ "list": [text] });
        assert!(!escape_json(&escape_value(&value).to_string()).contains(is_invisible), "{name}");
    }
}

#[test]
fn a_character_is_spelled_out_as_rust_does_it() {
    for c in ['\0', '\u{f}', '\u{10}', '\u{7f}', '\u{202e}', '\u{e0001}', char::MAX] {
        let mut text = String::new();
        push_escape(&mut text, c);
        assert_eq!(text, c.escape_unicode().to_string());
    }
}

#[test]
fn lines_stay_lines_or_become_one() {
    assert_eq!(escape_invisible("two\n\tlines\r"), "two\n\tlines\\r");
    assert_eq!(escape_line("a\u{1b}[2J\nok\tfake\u{202e}\r"), "a\\u{1b}[2J\\nok\\tfake\\u{202e}\\r");
    assert_eq!(escape_line("👨\u{200d}👩 ⚠\u{fe0f}"), "👨\u{200d}👩 ⚠\u{fe0f}");
}

#[test]
fn json_for_programs_keeps_the_characters_in_escapes_of_json() {
    let json = "{\n  \"a\": \"\u{9b}2J\u{7f}\u{2028}é\u{e0041}\"\n}";
    assert_eq!(escape_json(json), "{\n  \"a\": \"\\u009b2J\\u007f\\u2028é\\udb40\\udc41\"\n}");
}

#[test]
fn values_are_spelled_out_for_readers_and_no_member_hides_behind_another() {
    let value = json!({ "a\u{200b}": "x\u{ad}\r\n", "a\\u{200b}": ["\u{e0041}", 1], "b": null });
    let shown = json!({ "a\\u{200b}": "x\\u{ad}\r\n", "a\\u{200b} (2)": ["\\u{e0041}", 1], "b": null });
    assert_eq!(*escape_value(&value), shown);
}

#[test]
fn a_plain_value_is_not_copied() {
    let value = json!({ "path": "Übersicht/猫 👨‍👩‍👧.md", "list": [1, true, null, "a\r\n\tb"] });
    assert!(matches!(escape_value(&value), Cow::Borrowed(_)));
}

proptest! {
    #[test]
    fn to_escape_twice_changes_nothing_more(text in any::<String>()) {
        let once = escape_invisible(&text).into_owned();
        prop_assert!(!has_invisible(&once));
        prop_assert_eq!(escape_invisible(&once), once.as_str());
        prop_assert_eq!(invisible_chars(&escape_line(&text)).count(), 0);
        let value = escape_value(&Value::String(text)).into_owned();
        prop_assert!(matches!(escape_value(&value), Cow::Borrowed(_)));
    }

    #[test]
    fn escaped_json_means_the_same(text in any::<String>()) {
        let json = serde_json::to_string_pretty(&[&text]).unwrap();
        let escaped = escape_json(&json).into_owned();
        prop_assert_eq!(serde_json::from_str::<Vec<String>>(&escaped).unwrap(), vec![text]);
        prop_assert!(invisible_chars(&escaped).all(|(_, c)| c == '\n'), "{:?}", escaped);
    }
}
