//! The JSON of blocks, against a reader that was written by others.

use proptest::prelude::{
    Just, ProptestConfig, Strategy, prop, prop_assert, prop_assert_eq, prop_oneof, proptest,
};
use sentinel::FoundCall;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::reading::{Said, read, scanner};

/// The call that a block with this object makes, if it makes one.
fn call(object: &str) -> Option<FoundCall> {
    let said = read(scanner(), [format!("<tool_call>{object}</tool_call>").as_str()]);
    match said.as_slice() {
        [Said::Call { call, .. }] => Some(call.clone()),
        _ => None,
    }
}

/// Whether a text is an object, whatever its keys and the size of its numbers.
pub(crate) fn is_object(text: &str) -> bool {
    let trimmed = text.trim_start_matches([' ', '\t', '\r', '\n']);
    trimmed.starts_with('{') && serde_json::from_str::<&RawValue>(text).is_ok() && pairs_are_whole(text)
}

/// Whether every string can be decoded; the reader of raw values does not look at surrogates.
fn pairs_are_whole(text: &str) -> bool {
    match serde_json::from_str::<Value>(text) {
        Ok(_) => true,
        Err(error) => error.to_string().contains("number out of range"),
    }
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        Just(json!(true)),
        Just(json!(-1.5e-7)),
        Just(json!(0)),
        ".{0,6}".prop_map(Value::from),
        Just(json!("a\"\\\n\t</tool_call><tool_call>{}\u{1}🙂")),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec(("[a-c\"é]{0,2}", inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn object() -> impl Strategy<Value = Value> {
    prop::collection::vec(("[a-d]", value()), 0..4)
        .prop_map(|members| Value::Object(members.into_iter().collect::<Map<String, Value>>()))
}

/// Bytes that matter to JSON, in any order.
const MARKS: [&str; 36] = [
    "{", "}", "[", "]", "\"", "\"", "\"a\"", ":", ",", " ", "\n", "\\", "\\\\", "\\\"", "\\u", "00e9",
    "d83d", "\\ude00", "0", "1", "-", "+", ".", "e", "E5", "true", "false", "nul", "null", "tru", "a", "é",
    "\u{1}", "\"a\":", "\"b\":1", "{\"c\":[",
];

fn json_like() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&MARKS[..]), 0..12)
        .prop_map(|marks| format!("{{{}}}", marks.concat()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    // Conformance: proxy 4.3
    //     `arguments` is a string that holds a JSON object. *Differs*: an object in its place is taken as it is
    //     written, and counted, since models write it and it can mean nothing else.
    //     In: sentinel/call_block.rs
    // Conformance: proxy 5.2
    //     One canonical shape of a call: the name and the text of its arguments, as the model wrote it unless it was
    //     repaired.
    //     In: sentinel/text_segment.rs
    #[test]
    fn every_object_comes_back_as_it_was_given(arguments in object()) {
        let compact = arguments.to_string();
        let as_text = call(&json!({ "name": "f", "arguments": compact }).to_string()).unwrap();
        prop_assert_eq!((&as_text.arguments, as_text.repaired, as_text.as_object), (&compact, false, false));
        let pretty = serde_json::to_string_pretty(&arguments).unwrap();
        let as_object = call(&format!("{{\"arguments\":{pretty},\"name\":\"f\"}}")).unwrap();
        prop_assert_eq!((&as_object.arguments, as_object.repaired, as_object.as_object), (&pretty, false, true));
    }

    // Conformance: proxy 10.2
    //     Inside a block it reads JSON, so a close tag in a string ends nothing.
    //     In: sentinel/json/lexer.rs
    #[test]
    fn what_is_json_is_decided_as_others_do(text in json_like()) {
        let made = call(&format!("{{\"name\":\"f\",\"arguments\":{text}}}"));
        let unrepaired = made.as_ref().is_some_and(|call| !call.repaired);
        prop_assert_eq!(unrepaired, is_object(&text), "{}", text);
        if let Some(call) = made {
            prop_assert!(is_object(&call.arguments), "{} became {}", text, call.arguments);
        }
    }

    // Conformance: proxy 4.3
    #[test]
    fn the_text_of_arguments_is_read_as_the_block_is(text in json_like(), wrapped in prop::bool::ANY) {
        let text = if wrapped { format!(" [ {text} ,]") } else { text };
        let made = call(&json!({ "name": "f", "arguments": text }).to_string());
        let unrepaired = made.as_ref().is_some_and(|call| !call.repaired);
        prop_assert_eq!(unrepaired, is_object(&text), "{}", text);
        if let Some(call) = made {
            prop_assert!(is_object(&call.arguments), "{} became {}", text, call.arguments);
            let as_object = super::grammar::call(&format!("{{\"name\":\"f\",\"arguments\":{text}}}"));
            prop_assert!(wrapped || as_object.is_some_and(|other| other.arguments == call.arguments));
        }
    }

    // Conformance: proxy 1.8
    #[test]
    fn a_bracket_is_dropped_only_when_there_is_one_way_to_do_it(
        arguments in object(),
        at in 0.0..1.0_f64,
        bracket in prop::sample::select(&["}", "]"][..]),
        name_first in prop::bool::ANY,
    ) {
        let object = if name_first {
            json!({ "name": "f", "arguments": arguments })
        } else {
            json!({ "arguments": arguments, "name": "f" })
        };
        let mut text = object.to_string();
        text.insert_str(text.floor_char_boundary((at * (text.len() + 1) as f64) as usize), bracket);
        if let Some(call) = call(&text) {
            let value: Value = serde_json::from_str(&call.arguments).unwrap();
            for (ways, whole) in without_one_bracket(&text) {
                prop_assert_eq!(whole.get("arguments"), Some(&value), "{} may also be {}", text, ways);
            }
        }
    }
}

/// Every object that is left when one closing bracket is taken away, unless the text is an object as it is.
fn without_one_bracket(text: &str) -> Vec<(String, Value)> {
    if is_object(text) {
        return Vec::new();
    }
    text.match_indices(['}', ']'])
        .map(|(at, bracket)| format!("{}{}", &text[..at], &text[at + bracket.len()..]))
        .filter(|rest| is_object(rest))
        .map(|rest| (rest.clone(), serde_json::from_str(&rest).unwrap()))
        .collect()
}

// Conformance: proxy 10.4
#[test]
fn nesting_is_bounded_and_never_overflows_the_stack() {
    let nested = |depth: usize| {
        let (open, close) = ("[".repeat(depth), "]".repeat(depth));
        (
            format!(r#"{{"name":"f","arguments":{{"a":{open}{close}}}}}"#),
            format!(r#"{{"name":"f","arguments":"{{\"a\":{open}{close}}}"}}"#),
        )
    };
    let made = |depth: usize| {
        let (as_object, as_text) = nested(depth);
        (call(&as_object).is_some(), call(&as_text).is_some())
    };
    assert_eq!(made(125), (true, true));
    assert_eq!(made(126), (false, true));
    assert_eq!(made(127), (false, false));
    assert_eq!(made(400_000), (false, false));
}
