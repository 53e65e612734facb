//! Whole answers, from a request to its events.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use backend::scripted::{Script, ScriptedModel};
use backend::{
    BackendError, BackendErrorKind, BoxFuture, Capabilities, FinishReason, ModelInfo, ModelTurn, NativeCall,
    TextModel, TurnEvent, TurnStream,
};
use bytes::Bytes;
use engine::ManualClock;
use expect_test::expect;
use futures_core::Stream;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::sync::oneshot;
use tokio::time::Instant;
use toolkit::CompiledSchema;

use super::{
    AnswerSettings, CallOutcome, Responder, ResponderParts, ServerCall, ServerResult, Toolbox, ToolboxRun,
    event_channel,
};
use crate::error::ApiError;
use crate::event::EventFraming;
use crate::item::{ConversationItem, ItemContent};
use crate::store::{ResponseStore, StoreLimits};
use crate::tools::{OfferedTool, ToolKind};
use http_edge::metrics::Metrics;

fn parts(model: Arc<dyn TextModel>) -> ResponderParts {
    let drawn = AtomicU32::new(0);
    ResponderParts {
        model,
        store: Arc::new(ResponseStore::in_memory(StoreLimits::default())),
        metrics: Arc::new(Metrics::new()),
        clock: Arc::new(ManualClock::at("2026-01-02T03:04:05Z".parse().unwrap())),
        unique: Arc::new(move || format!("u{}", drawn.fetch_add(1, Ordering::SeqCst) + 1)),
        settings: AnswerSettings::default(),
        toolbox: None,
    }
}

fn scripted(script: &str) -> Responder {
    let script = Script::parse(script).unwrap();
    Responder::new(parts(Arc::new(ScriptedModel::new("a test", script))))
}

/// The object of an answer that was not streamed, or its error.
async fn whole(responder: &Responder, body: Value) -> Result<Value, ApiError> {
    let request = responder.parse_value(body)?;
    let prepared = responder.prepare(request, None).await?;
    let answered = responder.write(prepared, EventFraming::Nothing, None, None).await.unwrap();
    match answered.error {
        Some(error) => Err(error),
        None => Ok(answered.response.object()),
    }
}

/// The events of a streamed answer.
async fn streamed(responder: &Responder, body: Value) -> Result<Vec<Value>, ApiError> {
    let request = responder.parse_value(body)?;
    let prepared = responder.prepare(request, None).await?;
    let (out, reader) = event_channel();
    let (answered, events) =
        tokio::join!(responder.write(prepared, EventFraming::Lines, out, None), read(reader));
    assert!(answered.is_some());
    Ok(events)
}

async fn read(mut reader: mpsc::Receiver<Bytes>) -> Vec<Value> {
    let mut events = Vec::new();
    while let Some(bytes) = reader.recv().await {
        for line in std::str::from_utf8(&bytes).unwrap().lines().filter(|line| !line.is_empty()) {
            events.push(serde_json::from_str(line).unwrap());
        }
    }
    events
}

/// An answer in few words: each item on a line, and how it ended.
fn told(answer: &Result<Value, ApiError>) -> String {
    let object = match answer {
        Ok(object) => object,
        Err(error) => return format!("{} {}: {}\n", error.status, error.code, error.message),
    };
    let mut text = String::new();
    for item in object["output"].as_array().unwrap() {
        text += &match item["type"].as_str().unwrap() {
            "message" => format!("says {}\n", item["content"][0]["text"]),
            "function_call" => format!("calls {} {}\n", item["name"].as_str().unwrap(), item["arguments"]),
            other => format!("{other}\n"),
        };
    }
    text + object["status"].as_str().unwrap() + "\n"
}

fn weather(strict: bool) -> Value {
    json!({ "type": "function", "name": "weather", "strict": strict, "parameters": {
        "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"],
        "additionalProperties": false,
    }})
}

fn asking(more: Value) -> Value {
    let mut body = json!({ "model": "m", "input": "What is the weather?", "tools": [weather(true)] });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

const OSLO: &str =
    r#"<tool_call>{\"name\":\"weather\",\"arguments\":\"{\\\"city\\\":\\\"Oslo\\\"}\"}</tool_call>"#;
const ROME: &str =
    r#"<tool_call>{\"name\":\"weather\",\"arguments\":\"{\\\"city\\\":\\\"Rome\\\"}\"}</tool_call>"#;
const WRONG: &str =
    r#"<tool_call>{\"name\":\"weather\",\"arguments\":\"{\\\"town\\\":\\\"Oslo\\\"}\"}</tool_call>"#;
/// Stands in every second try, and in no first one.
const AGAIN: &str = "Your last answer was not taken";

// Conformance: proxy 13.5
//     2, streaming: a call that is complete becomes its events, with `call_id` in the item only.
//     In: responses/answer/turn_loop.rs
// Conformance: proxy 3.3
// Conformance: proxy 6.2
//     A block is held until its close tag, and none of it is forwarded as text when it is a call.
//     In: responses/answer/turn_reader.rs
// Conformance: proxy 7.1
//     The same parser and the same answer; only where its events go differs.
//     In: responses/router/create.rs
// Conformance: proxy 7.2
//     A call is taken out of the text and is an item of `output`.
//     In: responses/emitter/mod.rs
// Conformance: proxy 9.1
#[tokio::test]
async fn calls_and_text_come_out_alike_streamed_and_not() {
    let responder = scripted(&format!(r#"{{"text": ["Let me ", "look. ", "{OSLO}{ROME}", "Soon."]}}"#));
    let object = whole(&responder, asking(json!({}))).await;
    expect![[r#"
        says "Let me look. "
        calls weather "{\"city\":\"Oslo\"}"
        calls weather "{\"city\":\"Rome\"}"
        says "Soon."
        completed
    "#]]
    .assert_eq(&told(&object));
    let events = streamed(&responder, asking(json!({ "stream": true }))).await.unwrap();
    let last = events.last().unwrap();
    assert_eq!(last["type"], "response.completed");
    let (mut one, mut other) =
        (object.unwrap()["output"].to_string(), last["response"]["output"].to_string());
    one = one.replace("_u1_", "_");
    other = other.replace("_u2_", "_");
    assert_eq!(one, other);
}

// Conformance: proxy 1.10
//     D5, strict: a call that is not JSON or does not fit is never made. Our error policy: the model is asked once
//     more with the reason; then the answer fails with one error object, as `response.failed` in a stream and as an
//     HTTP error with the same code otherwise.
//     In: responses/answer/writer.rs
#[tokio::test]
async fn a_strict_call_that_does_not_fit_is_asked_for_once_more_and_never_made() {
    let responder = scripted(&format!(
        r#"{{"match": {{"last_contains": "{AGAIN}"}}, "text": "{OSLO}"}}
{{"text": "Sure. {ROME}{WRONG}"}}"#
    ));
    expect![[r#"
        says "Sure. "
        calls weather "{\"city\":\"Rome\"}"
        calls weather "{\"city\":\"Oslo\"}"
        completed
    "#]]
    .assert_eq(&told(&whole(&responder, asking(json!({}))).await));
    let stubborn = scripted(&format!(r#"{{"text": "{WRONG}"}}"#));
    expect![[r#"
        502 invalid_function_call: the model called `weather` in a way that its schema does not allow, twice: the arguments: `city` is missing (and 1 more)
    "#]]
    .assert_eq(&told(&whole(&stubborn, asking(json!({}))).await));
    let events = streamed(&stubborn, asking(json!({ "stream": true }))).await.unwrap();
    let last = events.last().unwrap();
    assert_eq!(
        (&last["type"], &last["response"]["error"]["code"]),
        (&json!("response.failed"), &json!("invalid_function_call"))
    );
}

#[tokio::test]
async fn a_model_that_repeats_a_call_when_asked_again_makes_it_once() {
    let responder = scripted(&format!(
        r#"{{"match": {{"last_contains": "{AGAIN}"}}, "text": "{ROME}{OSLO}"}}
{{"text": "{ROME}{WRONG}"}}"#
    ));
    expect![[r#"
        calls weather "{\"city\":\"Rome\"}"
        calls weather "{\"city\":\"Oslo\"}"
        completed
    "#]]
    .assert_eq(&told(&whole(&responder, asking(json!({}))).await));
}

// Conformance: proxy 1.9
//     D5a: arguments that do not fit the schema are counted and logged, and the call is made.
//     In: responses/answer/turn_reader.rs
#[tokio::test]
async fn a_call_of_a_tool_that_is_not_strict_is_made_although_it_does_not_fit() {
    let responder = scripted(&format!(r#"{{"text": "{WRONG}"}}"#));
    let lenient = json!({ "tools": [weather(false)] });
    expect![[r#"
        calls weather "{\"town\":\"Oslo\"}"
        completed
    "#]]
    .assert_eq(&told(&whole(&responder, asking(lenient)).await));
}

// Conformance: proxy 12.5
//     It is also enforced: what is not allowed makes no call, a call that is missing is asked for once more, and one
//     call ends the turn when calls may not be parallel.
//     In: responses/answer/turn_reader.rs, responses/answer/writer.rs
// Conformance: proxy 4.2
#[tokio::test]
async fn what_tool_choice_says_is_enforced() {
    let calling = scripted(&format!(r#"{{"text": "Hm. {OSLO}"}}"#));
    let none = whole(&calling, asking(json!({ "tool_choice": "none", "tools": [weather(false)] }))).await;
    assert!(told(&none).starts_with("says \"Hm. <tool_call>{"), "{}", told(&none));
    let one = whole(
        &scripted(&format!(r#"{{"text": "{OSLO}{ROME}After."}}"#)),
        asking(json!({ "parallel_tool_calls": false })),
    )
    .await;
    expect![[r#"
        calls weather "{\"city\":\"Oslo\"}"
        completed
    "#]]
    .assert_eq(&told(&one));
    let required = json!({ "tool_choice": "required" });
    let lazy = scripted(&format!(
        r#"{{"match": {{"last_contains": "{AGAIN}"}}, "text": "{OSLO}"}}
{{"text": "I would rather not."}}"#
    ));
    expect![[r#"
        says "I would rather not."
        calls weather "{\"city\":\"Oslo\"}"
        completed
    "#]]
    .assert_eq(&told(&whole(&lazy, asking(required.clone())).await));
    let never = scripted(r#"{"text": "No."}"#);
    expect![[r#"
        502 function_call_missing: a tool call is required and the model made none, even when it was asked again
    "#]]
    .assert_eq(&told(&whole(&never, asking(required)).await));
}

// Conformance: proxy 16.6
//     Structured output is checked before it is sent, with one more try.
//     In: responses/answer/structured_output.rs
#[tokio::test]
async fn structured_output_is_held_back_until_it_has_its_shape() {
    let format = json!({ "text": { "format": { "type": "json_schema", "name": "n", "strict": true, "schema": {
        "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"],
    }}}});
    let mends = scripted(&format!(
        r#"{{"match": {{"last_contains": "{AGAIN}"}}, "text": ["```json\n{{\"n\":", " 2}}\n```"]}}
{{"text": ["{{\"n\": ", "\"two\"}}"]}}"#
    ));
    expect![[r#"
        says "{\"n\": 2}"
        completed
    "#]]
    .assert_eq(&told(&whole(&mends, asking(format.clone())).await));
    let never = scripted(r#"{"text": "two"}"#);
    let failed = told(&whole(&never, asking(format)).await);
    assert!(failed.starts_with("502 invalid_output_format: "), "{failed}");
}

// Conformance: proxy 15.2
// Conformance: proxy 8.4
//     `previous_response_id` and `item_reference` find what was said, or say that it is not kept.
//     In: responses/answer/resolve.rs, responses/store/mod.rs
#[tokio::test]
async fn an_answer_can_be_continued_by_its_id_and_by_references_to_its_items() {
    let responder = scripted(&format!(
        r#"{{"match": {{"last_contains": "17 degrees"}}, "text": "Mild."}}
{{"match": {{"last_contains": "and now"}}, "text": "Still mild."}}
{{"text": "{OSLO}"}}"#
    ));
    let first = whole(&responder, asking(json!({}))).await.unwrap();
    let call = first["output"][0]["call_id"].clone();
    let output = json!({ "type": "function_call_output", "call_id": call, "output": "17 degrees" });
    let second = json!({ "previous_response_id": first["id"], "input": [output] });
    let second = whole(&responder, asking(second)).await.unwrap();
    assert_eq!(second["output"][0]["content"][0]["text"], "Mild.");
    let third = json!({ "input": [
        { "role": "user", "content": "weather?" },
        { "type": "item_reference", "id": second["output"][0]["id"] },
        { "role": "user", "content": "and now?" },
    ]});
    assert_eq!(told(&whole(&responder, asking(third)).await), "says \"Still mild.\"\ncompleted\n");
    let unknown = whole(&responder, asking(json!({ "previous_response_id": "resp_nope" }))).await;
    assert_eq!(unknown.unwrap_err().status, 404);
    let unkept = whole(&responder, asking(json!({ "store": false }))).await.unwrap();
    let lost = whole(&responder, asking(json!({ "previous_response_id": unkept["id"] }))).await;
    assert_eq!(lost.unwrap_err().code, "previous_response_not_found");
}

#[tokio::test]
async fn a_model_that_says_too_much_or_is_cut_off_leaves_an_incomplete_answer() {
    let long = scripted(r#"{"text": "word ", "repeat": 1000}"#);
    let cut = whole(&long, asking(json!({ "max_output_tokens": 16 }))).await.unwrap();
    assert_eq!(
        (&cut["status"], &cut["incomplete_details"]["reason"]),
        (&json!("incomplete"), &json!("max_output_tokens"))
    );
    let filtered = scripted(r#"{"text": "Well,", "finish": "content_filter"}"#);
    let filtered = whole(&filtered, asking(json!({}))).await.unwrap();
    assert_eq!(filtered["incomplete_details"]["reason"], "content_filter");
}

#[tokio::test]
async fn nothing_that_was_said_is_lost_when_an_answer_is_cut() {
    let shape = json!({ "max_output_tokens": 2, "text": { "format": { "type": "json_object" } } });
    let long = scripted(r#"{"text": ["{\"a\": [", "1, 2, 3, 4, 5, 6"]}"#);
    assert_eq!(
        told(&whole(&long, asking(shape)).await),
        "says \"{\\\"a\\\": [1, 2, 3, 4, 5, 6\"\nincomplete\n"
    );
    let cut = scripted(r#"{"text": "Well. <tool_call>{\"name\":\"wea", "finish": "length"}"#);
    let told = told(&whole(&cut, asking(json!({}))).await);
    assert_eq!(told, "says \"Well. <tool_call>{\\\"name\\\":\\\"wea\"\nincomplete\n", "not asked again");
}

#[tokio::test]
async fn the_last_message_is_the_one_that_has_to_have_a_shape() {
    let done = TurnEvent::Done(FinishReason::Stop);
    let text = |text: &str| TurnEvent::Text(text.to_owned());
    let (responder, _) =
        native(vec![vec![text("Looking."), TurnEvent::NextMessage, text("{\"a\":1}"), done]]);
    let format = json!({ "text": { "format": { "type": "json_object" } } });
    expect![[r#"
        says "Looking."
        says "{\"a\":1}"
        completed
    "#]]
    .assert_eq(&told(&whole(&responder, asking(format)).await));
}

#[tokio::test]
async fn a_call_is_the_same_however_it_is_written() {
    let spaced =
        r#"<tool_call>{\"name\":\"weather\",\"arguments\":\"{ \\\"city\\\" : \\\"Rome\\\" }\"}</tool_call>"#;
    let responder = scripted(&format!(
        r#"{{"match": {{"last_contains": "{AGAIN}"}}, "text": "{spaced}{OSLO}"}}
{{"text": "Look. {ROME}{WRONG}"}}"#
    ));
    expect![[r#"
        says "Look. "
        calls weather "{\"city\":\"Rome\"}"
        calls weather "{\"city\":\"Oslo\"}"
        completed
    "#]]
    .assert_eq(&told(&whole(&responder, asking(json!({}))).await));
}

#[tokio::test]
async fn how_much_to_say_is_named_as_ignored_where_the_model_cannot_be_told() {
    let responder = scripted(r#"{"text": "Hi."}"#);
    let request = responder.parse_value(asking(json!({ "text": { "verbosity": "low" } }))).unwrap();
    let prepared = responder.prepare(request, None).await.unwrap();
    assert_eq!(prepared.ignored(), ["text.verbosity"]);
    assert_eq!(prepared.request.verbosity, None, "the answer repeats what is in effect");
}

// Conformance: proxy 16.5
#[tokio::test]
async fn a_backend_that_fails_fails_the_answer_with_one_error() {
    let dies = scripted(r#"{"text": "Well,", "error": {"kind": "died", "message": "it is gone"}}"#);
    assert_eq!(told(&whole(&dies, asking(json!({}))).await), "502 backend_died: it is gone\n");
    let events = streamed(&dies, asking(json!({ "stream": true }))).await.unwrap();
    let failed: Vec<&Value> = events.iter().filter(|event| event["type"] == "response.failed").collect();
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0]["response"]["error"], json!({ "code": "backend_died", "message": "it is gone" }));
}

/// Says a word, then nothing until it is killed.
struct Mortal(Mutex<Option<oneshot::Receiver<()>>>);

struct LastWords {
    word: Option<String>,
    killed: Option<oneshot::Receiver<()>>,
}

impl Stream for LastWords {
    type Item = Result<TurnEvent, BackendError>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        if let Some(word) = self.word.take() {
            return std::task::Poll::Ready(Some(Ok(TurnEvent::Text(word))));
        }
        let Some(killed) = &mut self.killed else { return std::task::Poll::Ready(None) };
        let told = std::task::ready!(std::pin::Pin::new(killed).poll(cx));
        assert_eq!(told, Ok(()));
        self.killed = None;
        std::task::Poll::Ready(Some(Err(BackendError::new(BackendErrorKind::Died, "it is gone"))))
    }
}

impl TextModel for Mortal {
    fn describe(&self) -> String {
        "mortal".to_owned()
    }

    fn capabilities(&self) -> BoxFuture<'_, Result<Capabilities, BackendError>> {
        Box::pin(async { Ok(NATIVE) })
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, BackendError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn start(&self, _turn: ModelTurn) -> BoxFuture<'_, Result<TurnStream, BackendError>> {
        let killed = self.0.lock().unwrap().take();
        Box::pin(async move { Ok(TurnStream::new(LastWords { word: Some("Well,".to_owned()), killed })) })
    }

    fn shut_down(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

/// The paused clock advances only when every task is idle, so this holds on a busy machine: between the death and the
/// last event no timer is awaited.
#[tokio::test(start_paused = true)]
async fn a_client_is_told_in_the_moment_in_which_the_model_dies() {
    let (kill, killed) = oneshot::channel();
    let responder = Responder::new(parts(Arc::new(Mortal(Mutex::new(Some(killed))))));
    let request = responder.parse_value(asking(json!({ "stream": true }))).unwrap();
    let prepared = responder.prepare(request, None).await.unwrap();
    let (out, reader) = event_channel();
    let listening = async { (read(reader).await, Instant::now()) };
    let killing = async {
        tokio::time::sleep(Duration::from_secs(7)).await;
        kill.send(()).unwrap();
        Instant::now()
    };
    let (_, (events, told), died) =
        tokio::join!(responder.write(prepared, EventFraming::Lines, out, None), listening, killing);
    assert_eq!(events.last().unwrap()["type"], "response.failed");
    assert_eq!(told - died, Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_silent_model_is_waited_for_with_signs_of_life_and_then_given_up() {
    let mut parts = parts(Arc::new(ScriptedModel::new(
        "a test",
        Script::parse(r#"{"text": "late", "delay_ms": 40000}"#).unwrap(),
    )));
    parts.settings.silence_limit = Duration::from_secs(100);
    let patient = Responder::new(parts);
    let request = patient.parse_value(asking(json!({ "stream": true }))).unwrap();
    let prepared = patient.prepare(request, None).await.unwrap();
    let (out, mut reader) = event_channel();
    let (_, seen) = tokio::join!(patient.write(prepared, EventFraming::Stream, out, None), async {
        let mut seen = String::new();
        while let Some(bytes) = reader.recv().await {
            seen += std::str::from_utf8(&bytes).unwrap();
        }
        seen
    });
    assert_eq!(seen.matches(": keep-alive\n\n").count(), 3, "{seen}");
    assert!(seen.contains("response.completed"));
    let never = Responder::new(super::tests::parts(Arc::new(ScriptedModel::new(
        "a test",
        Script::parse(r#"{"text": "never", "delay_ms": 99999999}"#).unwrap(),
    ))));
    let failed = told(&whole(&never, asking(json!({}))).await);
    assert!(failed.starts_with("504 backend_timeout: the model said nothing for too long"), "{failed}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_can_be_cancelled_from_outside() {
    let responder = scripted(r#"{"text": ["Well,", " never"], "delay_ms": 60000}"#);
    let request = responder.parse_value(asking(json!({}))).unwrap();
    let prepared = responder.prepare(request, None).await.unwrap();
    let id = prepared.id();
    let (answered, cancelled) =
        tokio::join!(responder.write(prepared, EventFraming::Nothing, None, None), async {
            tokio::time::sleep(Duration::from_secs(70)).await;
            responder.cancel(&id).await
        });
    let object: Value = serde_json::from_str(&cancelled.unwrap()).unwrap();
    assert_eq!(object["incomplete_details"]["reason"], "cancelled");
    assert_eq!(object["output"][0]["content"][0]["text"], "Well,");
    assert_eq!(answered.unwrap().response.object(), object);
    assert_eq!(responder.cancel(&id).await.unwrap_err().code, "response_not_running");
    assert_eq!(responder.cancel("resp_no").await.unwrap_err().status, 404);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stops_ends_its_answers_with_a_last_event_and_begins_no_others() {
    let responder = scripted(r#"{"text": ["Well,", " never"], "delay_ms": 60000}"#);
    let request = responder.parse_value(asking(json!({ "stream": true }))).unwrap();
    let prepared = responder.prepare(request, None).await.unwrap();
    let (out, mut events) = event_channel();
    let read = async {
        let mut all = Vec::new();
        while let Some(bytes) = events.recv().await {
            all.extend_from_slice(&bytes);
        }
        String::from_utf8(all).unwrap()
    };
    let (answered, read, ()) =
        tokio::join!(responder.write(prepared, EventFraming::Stream, out, None), read, async {
            tokio::time::sleep(Duration::from_secs(70)).await;
            responder.stop_answers();
        });
    let object = answered.unwrap().response.object();
    assert_eq!(object["incomplete_details"]["reason"], "server_stopping");
    assert_eq!(object["output"][0]["content"][0]["text"], "Well,");
    assert!(read.contains("event: response.incomplete\n") && read.ends_with("data: [DONE]\n\n"), "{read}");
    let request = responder.parse_value(asking(json!({}))).unwrap();
    assert_eq!(responder.prepare(request, None).await.err().unwrap().code, "server_stopping");
}

#[tokio::test]
async fn an_answer_that_cannot_be_stored_says_so() {
    let script = Script::parse(&json!({ "text": "x".repeat(2_000) }).to_string()).unwrap();
    let mut parts = parts(Arc::new(ScriptedModel::new("a test", script)));
    parts.store = Arc::new(ResponseStore::in_memory(StoreLimits { responses: 10, bytes: 1_000 }));
    let responder = Responder::new(parts);
    let object = whole(&responder, asking(json!({ "store": true }))).await.unwrap();
    assert_eq!((&object["status"], &object["store"]), (&json!("completed"), &json!(false)));
    assert!(responder.store().get(object["id"].as_str().unwrap()).is_none());
}

/// Tells when its turn is dropped before its end.
struct Endless(Arc<AtomicU32>);

struct EndlessStream(Arc<AtomicU32>);

impl Drop for EndlessStream {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Stream for EndlessStream {
    type Item = Result<TurnEvent, BackendError>;

    fn poll_next(
        self: std::pin::Pin<&mut Self>,
        _cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        std::task::Poll::Ready(Some(Ok(TurnEvent::Text("more ".to_owned()))))
    }
}

impl TextModel for Endless {
    fn describe(&self) -> String {
        "endless".to_owned()
    }

    fn capabilities(&self) -> BoxFuture<'_, Result<Capabilities, BackendError>> {
        Box::pin(async { Ok(NATIVE) })
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, BackendError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn start(&self, _turn: ModelTurn) -> BoxFuture<'_, Result<TurnStream, BackendError>> {
        let dropped = self.0.clone();
        Box::pin(async move { Ok(TurnStream::new(EndlessStream(dropped))) })
    }

    fn shut_down(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

// Conformance: proxy 16.4
//     A client that goes away takes its answer with it; a slow one holds back only its own.
//     In: responses/answer/event_stream.rs
#[tokio::test]
async fn an_answer_never_runs_ahead_of_its_reader_and_ends_with_it() {
    let dropped = Arc::new(AtomicU32::new(0));
    let responder = Responder::new(parts(Arc::new(Endless(dropped.clone()))));
    let request = responder.parse_value(asking(json!({ "stream": true }))).unwrap();
    let prepared = responder.prepare(request, None).await.unwrap();
    let (out, mut reader) = event_channel();
    let mut answer = Box::pin(responder.write(prepared, EventFraming::Stream, out, None));
    for _ in 0..3 {
        tokio::select! {
            biased;
            _ended = &mut answer => panic!("it has no end"),
            bytes = reader.recv() => assert!(bytes.is_some_and(|bytes| bytes.len() < 64 * 1024)),
        }
    }
    assert_eq!(dropped.load(Ordering::SeqCst), 0);
    drop(reader);
    assert!(answer.await.is_none());
    assert_eq!(dropped.load(Ordering::SeqCst), 1);
}

const NATIVE: Capabilities = Capabilities {
    native_tools: true,
    images: true,
    sampling: false,
    output_schema: false,
    reasoning: false,
    verbosity: false,
};

/// Answers its turns in order, through native tools.
struct Native {
    turns: Mutex<VecDeque<Vec<TurnEvent>>>,
    asked: Mutex<Vec<ModelTurn>>,
    capabilities: Capabilities,
}

struct Played(VecDeque<TurnEvent>);

impl Stream for Played {
    type Item = Result<TurnEvent, BackendError>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        _cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        std::task::Poll::Ready(self.0.pop_front().map(Ok))
    }
}

impl TextModel for Native {
    fn describe(&self) -> String {
        "native".to_owned()
    }

    fn capabilities(&self) -> BoxFuture<'_, Result<Capabilities, BackendError>> {
        let capabilities = self.capabilities;
        Box::pin(async move { Ok(capabilities) })
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, BackendError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn start(&self, turn: ModelTurn) -> BoxFuture<'_, Result<TurnStream, BackendError>> {
        self.asked.lock().unwrap().push(turn);
        let events = self.turns.lock().unwrap().pop_front().unwrap();
        Box::pin(async move { Ok(TurnStream::new(Played(events.into()))) })
    }

    fn shut_down(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

fn native(turns: Vec<Vec<TurnEvent>>) -> (Responder, Arc<Native>) {
    playing(NATIVE, turns)
}

/// A model with these abilities that answers with these events.
fn playing(capabilities: Capabilities, turns: Vec<Vec<TurnEvent>>) -> (Responder, Arc<Native>) {
    let model = Arc::new(Native { turns: Mutex::new(turns.into()), asked: Mutex::default(), capabilities });
    (Responder::new(parts(model.clone())), model)
}

fn native_call(arguments: &str) -> TurnEvent {
    TurnEvent::Call(NativeCall {
        call_id: "c".to_owned(),
        name: "weather".to_owned(),
        arguments: arguments.to_owned(),
    })
}

// Conformance: proxy 12.5
// Conformance: proxy 13.10
#[tokio::test]
async fn native_calls_are_held_to_the_same_rules_and_text_is_only_text() {
    let text = TurnEvent::Text(r#"<tool_call>{"name":"weather","arguments":"{}"}</tool_call>"#.to_owned());
    let done = || TurnEvent::Done(FinishReason::Stop);
    let (responder, model) = native(vec![
        vec![text, native_call("{\"town\":1}"), native_call("{\"city\":\"Rome\"}"), done()],
        vec![native_call("{\"city\":\"Oslo\"}"), done()],
    ]);
    expect![[r#"
        says "<tool_call>{\"name\":\"weather\",\"arguments\":\"{}\"}</tool_call>"
        calls weather "{\"city\":\"Oslo\"}"
        completed
    "#]]
    .assert_eq(&told(&whole(&responder, asking(json!({}))).await));
    let asked = model.asked.lock().unwrap();
    assert_eq!(asked[0].tools.len(), 1);
    assert!(asked[1].history.len() > asked[0].history.len(), "the model is told what was wrong");
}

/// A server that knows the format of its model finds the calls itself, also if it was told of no tools.
#[tokio::test]
async fn calls_that_the_server_of_a_text_model_found_are_held_to_the_rules_of_text() {
    let text_model = Capabilities { native_tools: false, ..NATIVE };
    let done = || TurnEvent::Done(FinishReason::Stop);
    let (responder, _) = playing(
        text_model,
        vec![
            vec![TurnEvent::Text("So: `".to_owned()), native_call("{\"town\":1}"), done()],
            vec![native_call("{\"city\":\"Oslo\"}"), done()],
        ],
    );
    expect![[r#"
        says "So: `"
        calls weather "{\"city\":\"Oslo\"}"
        completed
    "#]]
    .assert_eq(&told(&whole(&responder, asking(json!({}))).await));
    let (responder, _) = playing(text_model, vec![vec![native_call("{}"), done()]]);
    let without_tools = asking(json!({ "tools": [] }));
    expect![[r#"
        says "<tool_call>{\"name\":\"weather\",\"arguments\":\"{}\"}</tool_call>"
        completed
    "#]]
    .assert_eq(&told(&whole(&responder, without_tools).await));
}

#[tokio::test]
async fn a_tool_is_called_by_the_name_of_the_client_and_by_its_last_part() {
    let tool = |name: &str| json!({ "type": "function", "name": name, "parameters": { "type": "object" } });
    let tools = json!([tool("weather.get"), tool("notes.get"), tool("notes.put")]);
    for (written, called) in [
        ("weather.get", "calls weather.get \"{}\"\ncompleted\n"),
        ("weather_get", "calls weather.get \"{}\"\ncompleted\n"),
        ("put", "calls notes.put \"{}\"\ncompleted\n"),
        // Two tools could be meant.
        ("get", "says \"<tool_call>{\\\"name\\\":\\\"get\\\"}</tool_call>\"\ncompleted\n"),
    ] {
        let block = format!("<tool_call>{{\"name\":\"{written}\"}}</tool_call>");
        let responder = scripted(&json!({ "text": block }).to_string());
        let answer = whole(&responder, asking(json!({ "tools": tools }))).await;
        assert_eq!(told(&answer), called, "{written}");
    }
}

#[tokio::test]
async fn thoughts_that_a_model_writes_into_its_text_are_reasoning_and_make_no_call() {
    let text = format!("<think>I could call {}</think>\n\nNo.", OSLO.replace("\\\"", "\""));
    let responder = scripted(&json!({ "text": text }).to_string());
    expect![[r#"
        reasoning
        says "\n\nNo."
        completed
    "#]]
    .assert_eq(&told(&whole(&responder, asking(json!({}))).await));
}

/// Two tools that say what they were called with.
#[derive(Default)]
struct Echo {
    called: Arc<Mutex<Vec<String>>>,
    closed: Arc<AtomicU32>,
}

impl Toolbox for Echo {
    fn tools(&self, _names: Option<&[String]>) -> Result<Vec<OfferedTool>, ApiError> {
        let parameters = json!({ "type": "object" });
        Ok(vec![OfferedTool {
            name: "note".to_owned(),
            own_name: "note".to_owned(),
            namespace: None,
            description: "Read a note.".to_owned(),
            schema: Arc::new(CompiledSchema::compile(&parameters).unwrap()),
            parameters,
            strict: false,
            kind: ToolKind::Function,
        }])
    }

    fn open(
        &self,
        goal: &str,
        _model: &str,
        _client: Option<&envelope::ClientId>,
        _session: Option<&envelope::SessionId>,
    ) -> Result<Arc<dyn ToolboxRun>, ApiError> {
        self.called.lock().unwrap().push(format!("opened: {goal}"));
        Ok(Arc::new(EchoRun { called: self.called.clone(), closed: self.closed.clone() }))
    }
}

struct EchoRun {
    called: Arc<Mutex<Vec<String>>>,
    closed: Arc<AtomicU32>,
}

impl ToolboxRun for EchoRun {
    fn run_id(&self) -> String {
        "run-1".to_owned()
    }

    fn call(&self, call: ServerCall) -> BoxFuture<'static, ServerResult> {
        self.called.lock().unwrap().push(format!("{} {}", call.name, Value::Object(call.arguments)));
        let receipt = "the note says: buy milk".to_owned();
        // A call with these arguments is denied.
        let is_denied = self.called.lock().unwrap().last().is_some_and(|call| call.contains("secret"));
        Box::pin(async move {
            ServerResult {
                ok: !is_denied,
                receipt,
                status: "ok",
                is_denied,
                has_changes: !is_denied,
                outcome: None,
            }
        })
    }

    fn close(&self, reason: Option<String>) -> BoxFuture<'static, ()> {
        self.closed.fetch_add(1, Ordering::SeqCst);
        self.called.lock().unwrap().extend(reason.map(|reason| format!("closed: {reason}")));
        Box::pin(async {})
    }
}

// Conformance: proxy 16.9
//     Tollgate's own tools are run here when a request asks for them, within bounds; clients that did not ask see no
//     extension events.
//     In: responses/answer/server_tools.rs, responses/engine_tools.rs
#[tokio::test]
async fn tools_of_the_server_are_run_here_and_the_model_goes_on_with_what_they_said() {
    let script = r#"{"match": {"last_contains": "buy milk"}, "text": "You need milk."}
{"text": "Let me see. <tool_call>{\"name\":\"note\",\"arguments\":\"{\\\"path\\\":\\\"a.md\\\"}\"}</tool_call>"}"#;
    let toolbox = Arc::new(Echo::default());
    let mut parts = parts(Arc::new(ScriptedModel::new("a test", Script::parse(script).unwrap())));
    parts.toolbox = Some(toolbox.clone());
    let responder = Responder::new(parts);
    let body = json!({ "model": "m", "stream": true, "input": "What do I need?", "tools": [{ "type": "tollgate", "events": true }] });
    let events = streamed(&responder, body).await.unwrap();
    let types: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(types.iter().filter(|kind| kind.starts_with("tollgate")).count(), 2, "{types:?}");
    let last = events.last().unwrap()["response"].clone();
    assert_eq!(told(&Ok(last.clone())), "says \"Let me see. \"\nsays \"You need milk.\"\ncompleted\n");
    assert_eq!(*toolbox.called.lock().unwrap(), ["opened: What do I need?", "note {\"path\":\"a.md\"}"]);
    assert_eq!(toolbox.closed.load(Ordering::SeqCst), 1);
    let kept = responder.store().conversation(last["id"].as_str().unwrap()).unwrap();
    assert_eq!(kept.len(), 5, "what was asked, said, called, answered and said: {kept:?}");
    let plain = json!({ "model": "m", "input": "What do I need?" });
    let unasked = told(&whole(&responder, plain).await);
    assert!(unasked.contains("<tool_call>"), "tools that nobody asked for are not there: {unasked}");
}

// Conformance: proxy 16.9
#[tokio::test]
async fn a_model_that_only_uses_tools_is_stopped() {
    let script = r#"{"text": "<tool_call>{\"name\":\"note\",\"arguments\":\"{}\"}</tool_call>"}"#;
    let mut parts = parts(Arc::new(ScriptedModel::new("a test", Script::parse(script).unwrap())));
    let toolbox = Arc::new(Echo::default());
    parts.toolbox = Some(toolbox.clone());
    parts.settings.max_turns = 3;
    let responder = Responder::new(parts);
    let body = json!({ "model": "m", "input": "Go", "tools": [{ "type": "tollgate" }] });
    let answer = whole(&responder, body).await.unwrap();
    assert_eq!(
        (&answer["status"], &answer["incomplete_details"]["reason"]),
        (&json!("incomplete"), &json!("max_turns"))
    );
    let text = answer["output"].as_array().unwrap().last().unwrap()["content"][0]["text"].as_str().unwrap();
    assert_eq!(text.matches("\n- the note says: buy milk").count(), 3, "{text}");
    assert!(text.contains("`previous_response_id`") && text.contains("`tollgate undo --session s"), "{text}");
    let said = toolbox.called.lock().unwrap().pop();
    assert_eq!(said.as_deref(), Some("closed: the model used tools in every turn of the answer"));

    // The answer can be continued, and its runs belong to the same session.
    let first = answer["id"].as_str().unwrap();
    let on = json!({ "model": "m", "input": "Go on", "previous_response_id": first, "tools": [{ "type": "tollgate" }] });
    let next = whole(&responder, on).await.unwrap();
    let session = |id: &Value| responder.store().get(id.as_str().unwrap()).unwrap().session.clone().unwrap();
    assert_eq!(session(&next["id"]), session(&answer["id"]));
}

#[tokio::test]
async fn a_denied_call_holds_back_the_later_calls_of_its_turn() {
    let script = r#"{"match": {"last_contains": "not run"}, "text": "I see."}
{"text": "<tool_call>{\"name\":\"note\",\"arguments\":{\"path\":\"a.md\"}}</tool_call><tool_call>{\"name\":\"note\",\"arguments\":{\"path\":\"secret\"}}</tool_call><tool_call>{\"name\":\"note\",\"arguments\":{\"path\":\"b.md\"}}</tool_call>"}"#;
    let mut parts = parts(Arc::new(ScriptedModel::new("a test", Script::parse(script).unwrap())));
    let toolbox = Arc::new(Echo::default());
    parts.toolbox = Some(toolbox.clone());
    let responder = Responder::new(parts);
    let body = json!({ "model": "m", "input": "Go", "tools": [{ "type": "tollgate" }] });
    let answer = whole(&responder, body).await.unwrap();
    assert_eq!(answer["status"], "completed", "{answer}");
    let called = toolbox.called.lock().unwrap();
    assert_eq!(called[1..], ["note {\"path\":\"a.md\"}", "note {\"path\":\"secret\"}"]);
}

#[tokio::test]
async fn what_the_backend_cannot_honour_is_named_and_not_repeated_as_if_it_were() {
    let responder = scripted(r#"{"text": "Hi."}"#);
    let request = responder.parse_value(asking(json!({ "temperature": 0.1 }))).unwrap();
    let prepared = responder.prepare(request, None).await.unwrap();
    assert!(prepared.ignored().iter().any(|name| name == "temperature"));
    let answered = responder.write(prepared, EventFraming::Nothing, None, None).await.unwrap();
    assert_eq!(answered.response.object()["temperature"], 1.0);
}

/// A run whose commands print long texts, each with its number in it.
struct LongOutputs(AtomicU32);

impl ToolboxRun for LongOutputs {
    fn run_id(&self) -> String {
        "run-1".to_owned()
    }

    fn call(&self, _call: ServerCall) -> BoxFuture<'static, ServerResult> {
        let number = self.0.fetch_add(1, Ordering::SeqCst) + 1;
        let printed = format!("output {number} says: {}", "many words ".repeat(400));
        let canonical = envelope::CanonicalResult {
            tool_name: "ExecCommand".to_owned(),
            status: envelope::CanonicalStatus::Success,
            summary_text: format!("command {number} exited with status 0"),
            result: Some(json!({
                "disposition": "completed", "exit_status": 0, "stdout_preview": printed, "stderr_preview": null,
                "truncated": false,
            })),
            error: None,
        };
        let outcome = Some(Box::new(CallOutcome { family: envelope::ReceiptFamily::Command, canonical }));
        let receipt = format!("Process exited with code 0\nstdout:\n{printed}");
        Box::pin(async move {
            ServerResult { ok: true, receipt, status: "ok", is_denied: false, has_changes: false, outcome }
        })
    }

    fn close(&self, _reason: Option<String>) -> BoxFuture<'static, ()> {
        Box::pin(async {})
    }
}

/// The tool of [`Echo`], with [`LongOutputs`].
#[derive(Default)]
struct LongEcho(Echo);

impl Toolbox for LongEcho {
    fn tools(&self, names: Option<&[String]>) -> Result<Vec<OfferedTool>, ApiError> {
        self.0.tools(names)
    }

    fn open(
        &self,
        _goal: &str,
        _model: &str,
        _client: Option<&envelope::ClientId>,
        _session: Option<&envelope::SessionId>,
    ) -> Result<Arc<dyn ToolboxRun>, ApiError> {
        Ok(Arc::new(LongOutputs(AtomicU32::new(0))))
    }
}

/// Returns the outputs that the model got in its last turn, by their lengths, and the calls.
async fn outputs_of_five_calls(tool_history_tokens: usize) -> (Vec<String>, usize) {
    let script = r#"{"match": {"last_contains": "output 5 says"}, "text": "Done."}
{"text": "<tool_call>{\"name\":\"note\",\"arguments\":\"{\\\"cmd\\\":\\\"make all\\\"}\"}</tool_call>"}"#;
    let mut parts = parts(Arc::new(ScriptedModel::new("a test", Script::parse(script).unwrap())));
    parts.toolbox = Some(Arc::new(LongEcho::default()));
    parts.settings.tool_history_tokens = tool_history_tokens;
    let responder = Responder::new(parts);
    let body = json!({ "model": "m", "input": "Go", "tools": [{ "type": "tollgate" }] });
    let answer = whole(&responder, body).await.unwrap();
    let kept = responder.store().conversation(answer["id"].as_str().unwrap()).unwrap();
    let calls = kept.iter().filter(|item| format!("{item:?}").contains("make all")).count();
    let outputs = kept.iter().filter_map(|item| {
        let ConversationItem::FunctionCallOutput { output, .. } = item else { return None };
        let [ItemContent::Text(text)] = output.as_slice() else { return None };
        Some(text.clone())
    });
    (outputs.collect(), calls)
}

#[tokio::test]
async fn outputs_of_older_calls_become_shorter_once_all_exceed_their_budget() {
    let (whole, _) = outputs_of_five_calls(100_000).await;
    assert!(whole.len() == 5 && whole.iter().all(|output| output.len() > 4_000), "{whole:?}");
    let (shown, calls) = outputs_of_five_calls(2_500).await;
    assert_eq!(shown[3..], whole[3..], "the last two turns stay as they are");
    for (number, output) in shown[..3].iter().enumerate() {
        assert!(output.len() < 1_500, "{output}");
        assert!(output.contains(&format!("command {} exited with status 0", number + 1)), "{output}");
    }
    assert!(calls >= 5, "every command that was run is still named");
}
