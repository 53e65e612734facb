//! What must hold for any answer, whatever the model writes.

use std::collections::HashMap;

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
use responses::error::ApiError;
use responses::event::{EventFraming, ResponseEventType};
use responses::object::IncompleteReason;
use responses::request;
use serde_json::Value;

use crate::wire::frames::{Event, events, of};
use crate::wire::playing::{Ending, Said, asking, play};

/// Texts that try to break out: of a frame, of a line, of a JSON string.
fn nasty() -> impl Strategy<Value = String> {
    let scraps = prop_oneof![
        Just("\n\ndata: [DONE]\n\n".to_owned()),
        Just("\r\nevent: error\r\ndata: {}\r\n\r\n".to_owned()),
        Just("\u{2028}\u{2029}\u{85}\u{feff}\u{0}".to_owned()),
        Just("\"},\"sequence_number\":0,\"x\":{\"".to_owned()),
        Just("\\".to_owned()),
        Just(" \n".to_owned()),
        any::<String>(),
    ];
    vec(scraps, 0..4).prop_map(|scraps| scraps.concat())
}

fn said() -> impl Strategy<Value = Said> {
    prop_oneof![
        4 => nasty().prop_map(Said::Text),
        1 => Just(Said::NextMessage),
        1 => nasty().prop_map(Said::Refusal),
        2 => (0_u32..3, nasty()).prop_map(|(part, text)| Said::Reasoning(part, text)),
        1 => nasty().prop_map(Said::Sealed),
        2 => (0_usize..3, nasty()).prop_map(|(tool, arguments)| Said::Call(tool, arguments)),
        1 => Just(Said::KeepAlive),
    ]
}

fn ending() -> impl Strategy<Value = Ending> {
    prop_oneof![
        Just(Ending::Complete),
        Just(Ending::Incomplete(IncompleteReason::ContentFilter)),
        nasty().prop_map(|message| Ending::Fail(ApiError::server(502, "backend_died", message))),
    ]
}

/// Returns the concatenated deltas of each part, by the fields of its position.
fn sums(events: &[Event], delta: ResponseEventType) -> HashMap<String, String> {
    let mut sums: HashMap<String, String> = HashMap::new();
    for event in of(events, delta) {
        sums.entry(place(event)).or_default().push_str(event["delta"].as_str().unwrap());
    }
    sums
}

fn place(event: &Value) -> String {
    format!(
        "{} {} {} {}",
        event["item_id"], event["output_index"], event["content_index"], event["summary_index"]
    )
}

/// Every delta is in the text that closes its part, and nothing else is.
fn check_sums(events: &[Event]) {
    for (delta, done, field) in [
        (ResponseEventType::TextDelta, ResponseEventType::TextDone, "text"),
        (ResponseEventType::RefusalDelta, ResponseEventType::RefusalDone, "refusal"),
        (ResponseEventType::ArgumentsDelta, ResponseEventType::ArgumentsDone, "arguments"),
        (ResponseEventType::InputDelta, ResponseEventType::InputDone, "input"),
        (ResponseEventType::SummaryTextDelta, ResponseEventType::SummaryTextDone, "text"),
    ] {
        let mut sums = sums(events, delta);
        for event in of(events, done) {
            let sum = sums.remove(&place(event));
            assert_eq!(sum.as_deref(), event[field].as_str(), "{event}");
        }
        assert!(sums.is_empty(), "{delta:?} without an end: {sums:?}");
    }
}

/// Items come one after the other, each opened and closed once, and the last event repeats them.
fn check_items(events: &[Event]) {
    let mut open: Option<(u64, String)> = None;
    let mut closed: Vec<Value> = Vec::new();
    for event in events {
        let item = &event.data["item"];
        if event.name == ResponseEventType::ItemAdded.as_str() {
            assert_eq!(open, None, "one item at a time");
            let index = event.data["output_index"].as_u64().unwrap();
            assert_eq!(index as usize, closed.len());
            assert_eq!(item["status"], "in_progress");
            open = Some((index, item["id"].as_str().unwrap().to_owned()));
        } else if event.name == ResponseEventType::ItemDone.as_str() {
            let (index, id) = open.take().expect("only what is open can be closed");
            assert_eq!((&event.data["output_index"], &item["id"]), (&Value::from(index), &Value::from(id)));
            closed.push(item.clone());
        } else if let Some(id) = event.data.get("item_id") {
            let (index, open) = open.as_ref().expect("content is inside of an item");
            assert_eq!(
                (id, &event.data["output_index"]),
                (&Value::from(open.as_str()), &Value::from(*index))
            );
        }
    }
    assert_eq!(open, None);
    let last = &events.last().unwrap().data["response"];
    assert_eq!(last["output"], Value::Array(closed));
    for item in last["output"].as_array().unwrap().iter().filter(|item| item["type"] == "message") {
        let content = item["content"].as_array().unwrap();
        assert!(!content.is_empty(), "an empty message: {item}");
    }
}

/// The client gets the whole text of the model. White space is not compared: some of it belongs to no message.
fn check_nothing_is_lost(events: &[Event], said: &[Said]) {
    let of_words = |text: &str| text.split_whitespace().collect::<String>();
    let spoken: String = said
        .iter()
        .filter_map(|one| match one {
            Said::Text(text) => Some(of_words(text)),
            Said::NextMessage
            | Said::Refusal(_)
            | Said::Reasoning(..)
            | Said::Sealed(_)
            | Said::Call(..)
            | Said::KeepAlive => None,
        })
        .collect();
    let heard: String = of(events, ResponseEventType::TextDelta)
        .iter()
        .map(|event| of_words(event["delta"].as_str().unwrap()))
        .collect();
    assert_eq!(heard, spoken);
}

proptest! {
    // Conformance: proxy 3.4
    //     Streamed: events in the right order, ended by `response.completed`. An answer that fails or is cut ends
    //     with `response.failed` or `response.incomplete` instead; `[DONE]` follows.
    //     In: responses/emitter/mod.rs
    // Conformance: proxy 6.4
    //     One `sequence_number` counter for all events of a stream, without gaps.
    //     In: responses/event/encoder.rs
    // Conformance: proxy 7.1
    #[test]
    fn no_answer_breaks_the_stream(said in vec(said(), 0..12), ending in ending()) {
        let request = asking();
        let (bytes, ended) = play(request, EventFraming::Stream, &said, ending.clone());
        let events = events(&bytes);
        check_sums(&events);
        check_items(&events);
        check_nothing_is_lost(&events, &said);
        // The first two events open the response and only the last one ends it.
        let names: Vec<&str> = events.iter().map(|event| event.name.as_str()).collect();
        assert_eq!(names[..2], ["response.created", "response.in_progress"]);
        let terminal = ["response.completed", "response.incomplete", "response.failed", "error"];
        assert_eq!(names.iter().position(|name| terminal.contains(name)), Some(names.len() - 1));
        // Not streaming gives the same answer.
        let (nothing, alone) = play(request, EventFraming::Nothing, &said, ending);
        assert!(nothing.is_empty());
        assert_eq!(alone.object(), ended.object());
        assert_eq!(events.last().unwrap().data["response"], ended.object());
    }

    #[test]
    fn a_delta_cut_in_any_way_adds_up_to_the_same_text(text in nasty(), cuts in vec(any::<proptest::sample::Index>(), 0..6)) {
        let mut places: Vec<usize> = cuts.iter().map(|cut| text.floor_char_boundary(cut.index(text.len() + 1))).collect();
        places.extend([0, text.len()]);
        places.sort_unstable();
        let pieces: Vec<Said> =
            places.windows(2).map(|pair| Said::Text(text[pair[0]..pair[1]].to_owned())).collect();
        let whole = play(asking(), EventFraming::Nothing, &[Said::Text(text)], Ending::Complete).1;
        let cut = play(asking(), EventFraming::Nothing, &pieces, Ending::Complete).1;
        assert_eq!(whole.output, cut.output);
    }

    #[test]
    fn any_bytes_are_a_request_or_an_error_that_names_its_status(bytes in vec(any::<u8>(), 0..200)) {
        if let Err(error) = request::parse(&bytes, &request::SchemaCache::default()) {
            assert_eq!(error.status, 400);
        }
    }
}
