//! Reads an event stream back, as strictly as the strictest client.

use std::fmt::Write as _;

use responses::event::ResponseEventType;
use serde_json::{Value, json};

/// One event: its name, and its payload.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) data: Value,
}

/// The line breaks of every reader that we know of, but for the one that ends our lines.
const BREAKS: [char; 9] =
    ['\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}'];

/// All events of a whole stream. Stops at the first byte that is not as it should be.
#[track_caller]
pub(crate) fn events(stream: &[u8]) -> Vec<Event> {
    let text = std::str::from_utf8(stream).expect("a stream is UTF-8");
    assert!(!text.contains(BREAKS), "a line break that some readers know: {text:?}");
    let text = text.strip_suffix("data: [DONE]\n\n").expect("a stream ends with [DONE]");
    let text = text.replace(": keep-alive\n\n", "");
    let frames: Vec<Event> = text.split_terminator("\n\n").map(event).collect();
    for (index, event) in frames.iter().enumerate() {
        assert_eq!(event.data["sequence_number"], json!(index), "numbers have no gaps: {event:?}");
    }
    frames
}

#[track_caller]
fn event(frame: &str) -> Event {
    let mut lines = frame.split('\n');
    let (Some(first), Some(second), None) = (lines.next(), lines.next(), lines.next()) else {
        panic!("an event has two lines: {frame:?}");
    };
    let name = first.strip_prefix("event: ").expect("the first line is the name");
    let data = second.strip_prefix("data: ").expect("the second line is the payload");
    let data: Value = serde_json::from_str(data).expect("a payload is JSON");
    assert_eq!(data["type"], name, "the name is the type");
    Event { name: name.to_owned(), data }
}

/// A stream in a form that a person can compare: a line for each event, with a response cut to what changes in it.
#[track_caller]
pub(crate) fn shown(stream: &[u8]) -> String {
    let mut shown = String::new();
    for Event { name, data } in events(stream) {
        let Value::Object(mut fields) = data else { panic!("a payload is an object") };
        fields.shift_remove("type");
        fields.shift_remove("sequence_number");
        if let Some(response) = fields.get_mut("response") {
            *response = cut(response);
        }
        writeln!(shown, "{name} {}", Value::Object(fields)).unwrap();
    }
    shown
}

fn cut(response: &Value) -> Value {
    let items = response["output"].as_array().expect("a response has an output");
    let output: Vec<String> = items
        .iter()
        .map(|item| format!("{} {}", item["id"].as_str().unwrap(), item["status"].as_str().unwrap()))
        .collect();
    let mut kept = json!({ "id": response["id"], "status": response["status"], "output": output });
    for field in ["error", "incomplete_details", "usage"] {
        if !response[field].is_null() {
            kept[field] = response[field].clone();
        }
    }
    kept
}

/// The events of one type.
pub(crate) fn of(events: &[Event], kind: ResponseEventType) -> Vec<&Value> {
    events.iter().filter(|event| event.name == kind.as_str()).map(|event| &event.data).collect()
}
