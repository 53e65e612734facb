//! The events of a client for a text of the model.

use responses::emitter::AnswerEmitter;
use responses::event::EventFraming;
use responses::request::Request;
use serde_json::Value;

/// The events of an answer of one message.
const EVENTS: [&str; 9] = [
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.content_part.added",
    "response.output_text.delta",
    "response.output_text.done",
    "response.content_part.done",
    "response.output_item.done",
    "response.completed",
];

/// The text arrives whole, in exactly the events that any text arrives in.
pub(crate) fn check(request: &Request, text: &str, whose: &str) {
    let mut emitter = AnswerEmitter::new(request, "1", 0, EventFraming::Stream);
    emitter.text(text);
    let mut bytes = emitter.take().to_vec();
    bytes.extend_from_slice(&emitter.complete(None, 0).last_events());
    let events = read(std::str::from_utf8(&bytes).unwrap());

    let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
    let (last, before) = names.split_last().unwrap();
    assert_eq!((before, *last), (EVENTS.as_slice(), ""), "{whose}");
    assert_eq!(events.last().unwrap().1, "[DONE]", "{whose}");
    for (number, (name, data)) in events.iter().enumerate().take(EVENTS.len()) {
        let data: Value = serde_json::from_str(data).unwrap();
        assert_eq!(
            (data["type"].as_str(), data["sequence_number"].as_u64()),
            (Some(name.as_str()), Some(number as u64))
        );
        if name == "response.output_text.delta" {
            assert_eq!(data["delta"], text, "{whose}");
        }
        if name == "response.completed" {
            assert_eq!(data["response"]["output"][0]["content"][0]["text"], text, "{whose}");
            assert_eq!(data["response"]["output"].as_array().unwrap().len(), 1, "{whose}");
        }
    }
}

/// Reads a stream of events as the standard says: lines end with CR, LF or both, an empty line ends an event.
fn read(stream: &str) -> Vec<(String, String)> {
    let mut events = Vec::new();
    let (mut name, mut data): (String, Vec<&str>) = (String::new(), Vec::new());
    let unified = stream.replace("\r\n", "\n").replace('\r', "\n");
    for line in unified.split('\n') {
        if line.is_empty() {
            if !data.is_empty() {
                events.push((std::mem::take(&mut name), data.join("\n")));
                data.clear();
            }
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => name = value.to_owned(),
            "data" => data.push(value),
            "" => {}
            other => panic!("the stream has a field {other:?}"),
        }
    }
    events
}
