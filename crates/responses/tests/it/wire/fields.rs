//! Every event has the fields that clients with generated types require, and no others.

use std::collections::BTreeSet;

use responses::error::ApiError;
use responses::event::{EventFraming, ResponseEventType, error_event};
use responses::object::IncompleteReason;
use serde_json::Value;

use crate::wire::frames::events;
use crate::wire::playing::{Ending, Said, asking, call, play, text};

/// The fields of an event besides `type` and `sequence_number`.
fn required(kind: ResponseEventType) -> &'static [&'static str] {
    match kind {
        ResponseEventType::Created
        | ResponseEventType::InProgress
        | ResponseEventType::Completed
        | ResponseEventType::Incomplete
        | ResponseEventType::Failed => &["response"],
        ResponseEventType::ItemAdded | ResponseEventType::ItemDone => &["output_index", "item"],
        ResponseEventType::PartAdded | ResponseEventType::PartDone => {
            &["item_id", "output_index", "content_index", "part"]
        }
        ResponseEventType::TextDelta => &["item_id", "output_index", "content_index", "delta", "logprobs"],
        ResponseEventType::TextDone => &["item_id", "output_index", "content_index", "text", "logprobs"],
        ResponseEventType::RefusalDelta => &["item_id", "output_index", "content_index", "delta"],
        ResponseEventType::RefusalDone => &["item_id", "output_index", "content_index", "refusal"],
        ResponseEventType::ArgumentsDelta | ResponseEventType::InputDelta => {
            &["item_id", "output_index", "delta"]
        }
        ResponseEventType::ArgumentsDone => &["item_id", "output_index", "name", "arguments"],
        ResponseEventType::InputDone => &["item_id", "output_index", "input"],
        ResponseEventType::SummaryPartAdded | ResponseEventType::SummaryPartDone => {
            &["item_id", "output_index", "summary_index", "part"]
        }
        ResponseEventType::SummaryTextDelta => &["item_id", "output_index", "summary_index", "delta"],
        ResponseEventType::SummaryTextDone => &["item_id", "output_index", "summary_index", "text"],
        ResponseEventType::Error => &["status", "code", "message", "param", "error"],
    }
}

/// The fields of an item besides `type`, `id` and `status`.
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

// Conformance: proxy 1.4
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
        Ending::Incomplete(IncompleteReason::MaxOutputTokens),
        Ending::Fail(ApiError::server(502, "backend_died", "gone")),
    ];
    let mut all = Vec::new();
    for ending in endings {
        all.extend(events(&play(asking(), EventFraming::Stream, &said, ending).0));
    }
    let mut data: Vec<Value> = all.into_iter().map(|event| event.data).collect();
    let error = ApiError::invalid("model", "missing_required_parameter", "gone");
    data.push(serde_json::from_slice(&error_event(EventFraming::Lines, &error)).unwrap());

    for event in &data {
        let name = event["type"].as_str().unwrap();
        let kind = *ResponseEventType::ALL.iter().find(|kind| kind.as_str() == name).unwrap();
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
