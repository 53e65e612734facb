//! Every event has the fields that clients with generated types require, and no others.

use std::collections::BTreeSet;

use gateway::responses::error::ApiError;
use gateway::responses::event::{EventType, Framing, error_event};
use gateway::responses::object::Reason;
use serde_json::Value;

use crate::frames::events;
use crate::playing::{Ending, Said, asking, call, play, text};

/// What an event has besides `type` and `sequence_number`.
fn required(kind: EventType) -> &'static [&'static str] {
    match kind {
        EventType::Created
        | EventType::InProgress
        | EventType::Completed
        | EventType::Incomplete
        | EventType::Failed => &["response"],
        EventType::ItemAdded | EventType::ItemDone => &["output_index", "item"],
        EventType::PartAdded | EventType::PartDone => &["item_id", "output_index", "content_index", "part"],
        EventType::TextDelta => &["item_id", "output_index", "content_index", "delta", "logprobs"],
        EventType::TextDone => &["item_id", "output_index", "content_index", "text", "logprobs"],
        EventType::RefusalDelta => &["item_id", "output_index", "content_index", "delta"],
        EventType::RefusalDone => &["item_id", "output_index", "content_index", "refusal"],
        EventType::ArgumentsDelta | EventType::InputDelta => &["item_id", "output_index", "delta"],
        EventType::ArgumentsDone => &["item_id", "output_index", "name", "arguments"],
        EventType::InputDone => &["item_id", "output_index", "input"],
        EventType::SummaryPartAdded | EventType::SummaryPartDone => {
            &["item_id", "output_index", "summary_index", "part"]
        }
        EventType::SummaryTextDelta => &["item_id", "output_index", "summary_index", "delta"],
        EventType::SummaryTextDone => &["item_id", "output_index", "summary_index", "text"],
        EventType::Error => &["status", "code", "message", "param", "error"],
    }
}

/// What an item has besides `type`, `id` and `status`.
fn of_item(kind: &str) -> &'static [&'static str] {
    match kind {
        "message" => &["role", "content"],
        "function_call" => &["call_id", "name", "arguments"],
        "custom_tool_call" => &["call_id", "name", "input"],
        "reasoning" => &["summary"],
        other => panic!("an item of type {other}"),
    }
}

fn of_part(kind: &str) -> &'static [&'static str] {
    match kind {
        "output_text" => &["text", "annotations", "logprobs"],
        "refusal" => &["refusal"],
        "summary_text" => &["text"],
        other => panic!("a part of type {other}"),
    }
}

#[track_caller]
fn has_exactly(value: &Value, fields: &[&[&str]]) {
    let keys: BTreeSet<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    let wanted: BTreeSet<&str> = fields.iter().copied().flatten().copied().collect();
    assert_eq!(keys, wanted, "{value}");
}

fn check_item(item: &Value) {
    let kind = item["type"].as_str().unwrap();
    has_exactly(item, &[&["type", "id", "status"], of_item(kind)]);
    for list in ["content", "summary"] {
        for part in item[list].as_array().into_iter().flatten() {
            check_part(part);
        }
    }
}

fn check_part(part: &Value) {
    has_exactly(part, &[&["type"], of_part(part["type"].as_str().unwrap())]);
}

#[test]
fn every_event_has_its_required_fields_and_no_others() {
    let said = [
        Said::Reasoning(0, "Hm.".to_owned()),
        text("a"),
        Said::Refusal("No.".to_owned()),
        call(0, "{}"),
        call(1, "x"),
    ];
    let endings = [
        Ending::Complete,
        Ending::Incomplete(Reason::MaxOutputTokens),
        Ending::Fail(ApiError::server(502, "backend_died", "gone")),
    ];
    let mut all = Vec::new();
    for ending in endings {
        all.extend(events(&play(asking(), Framing::Stream, &said, ending).0));
    }
    let mut data: Vec<Value> = all.into_iter().map(|event| event.data).collect();
    let error = ApiError::invalid("model", "missing_required_parameter", "gone");
    data.push(serde_json::from_slice(&error_event(Framing::Lines, &error)).unwrap());

    for event in &data {
        let name = event["type"].as_str().unwrap();
        let kind = *EventType::ALL.iter().find(|kind| kind.as_str() == name).unwrap();
        has_exactly(event, &[&["type", "sequence_number"], required(kind)]);
        if let Some(item) = event.get("item") {
            check_item(item);
        }
        if let Some(part) = event.get("part") {
            check_part(part);
        }
        for item in event["response"]["output"].as_array().into_iter().flatten() {
            check_item(item);
        }
    }
}
