//! What clients and watchers are told besides the answer itself, and answers that are ended or kept.

use serde_json::{Value, json};

use crate::serve::server::ServeProcess;
use crate::serve::wire::{DONE, RawResponse, kinds};
use crate::support::TestVault;

/// Longer than any test: the answer ends in another way.
fn endless_model() -> Vec<Value> {
    vec![json!({ "text": ["One. ", "Two."], "delay_ms": 600_000 })]
}

fn brief_model() -> Vec<Value> {
    vec![
        json!({ "match": { "last_contains": "And then?", "any_contains": "blue" }, "text": "Then it was blue." }),
        json!({
            "match": { "last_contains": "weather" },
            "text": ["<tool_call>{\"name\":\"get_weather\",\"arguments\":\"{}\"}</tool_call>"],
            "usage": { "input_tokens": 7, "output_tokens": 5 },
        }),
        json!({ "text": "The sky is blue.", "usage": { "input_tokens": 3, "output_tokens": 4 } }),
    ]
}

fn ask(server: &ServeProcess, request: &Value) -> RawResponse {
    RawResponse::of(server.send("POST /v1/responses", &request.to_string()))
}

#[test]
fn the_metrics_count_what_happened() {
    let sandbox = TestVault::new();
    let server = ServeProcess::scripted(&sandbox, &brief_model(), &[]);
    let weather = json!({ "type": "function", "name": "get_weather", "parameters": { "type": "object" } });
    let asked = json!({ "model": "scripted", "input": "What is the weather?", "tools": [weather] });
    assert_eq!(ask(&server, &asked).json()["output"][0]["name"], "get_weather");
    assert_eq!(ask(&server, &json!({ "model": "scripted", "input": "Hello" })).status, 200);
    assert_eq!(ask(&server, &json!({ "model": "scripted" })).status, 400);

    let series = [
        "tollgate_model_output_total{kind=\"call\"}",
        "tollgate_turns_total{kind=\"completed\"}",
        "tollgate_tokens_total{kind=\"input\"}",
        "tollgate_tokens_total{kind=\"output\"}",
        "tollgate_http_requests_total{method=\"POST\",route=\"/v1/responses\",status=\"200\"}",
        "tollgate_http_requests_total{method=\"POST\",route=\"/v1/responses\",status=\"400\"}",
    ];
    assert_eq!(series.map(|series| server.counted(series)), [1, 2, 10, 9, 2, 1]);
}

#[test]
fn a_wish_that_the_model_cannot_grant_is_named_in_the_head() {
    let sandbox = TestVault::new();
    let server = ServeProcess::scripted(&sandbox, &brief_model(), &[]);
    let warm = RawResponse::of(server.stream("Hello", json!({ "temperature": 0.5 })));
    assert_eq!((warm.status, warm.header("x-tollgate-ignored")), (200, Some("temperature")));
    let whole = ask(&server, &json!({ "model": "scripted", "input": "Hello", "temperature": 0.5 }));
    assert_eq!(whole.header("x-tollgate-ignored"), Some("temperature"));
    let plain = RawResponse::of(server.stream("Hello", json!({})));
    assert_eq!((plain.status, plain.header("x-tollgate-ignored")), (200, None));
}

#[test]
fn an_answer_that_is_cancelled_ends_as_incomplete() {
    let sandbox = TestVault::new();
    let server = ServeProcess::scripted(&sandbox, &endless_model(), &[]);
    let mut stream = RawResponse::of(server.stream("Go on", json!({})));
    let id = stream.until("response.in_progress").data["response"]["id"].as_str().unwrap().to_owned();
    let cancel = server.send(&format!("POST /v1/responses/{id}/cancel"), "");
    let events = stream.rest();
    assert_eq!(kinds(&events), ["response.incomplete", DONE]);
    let ended = &events[0].data["response"];
    assert_eq!(ended["incomplete_details"], json!({ "reason": "cancelled" }));
    let cancelled = RawResponse::of(cancel);
    assert_eq!(cancelled.status, 200);
    let cancelled = cancelled.json();
    assert_eq!((&cancelled["id"], &cancelled["status"]), (&json!(id), &json!("incomplete")));
}

#[test]
fn a_client_that_goes_away_interrupts_its_turn() {
    let sandbox = TestVault::new();
    let server = ServeProcess::scripted(&sandbox, &endless_model(), &[]);
    let mut stream = RawResponse::of(server.stream("Go on", json!({})));
    stream.until("response.in_progress");
    drop(stream);
    server.until_logged("interrupted: the client went away");
    assert_eq!(server.counted("tollgate_turns_total{kind=\"interrupted\"}"), 1);
}

#[test]
fn kept_answers_survive_a_restart() {
    let sandbox = TestVault::new();
    let folder = sandbox.path("kept");
    let keep = ["--keep", folder.to_str().unwrap()];
    let server = ServeProcess::scripted(&sandbox, &brief_model(), &keep);
    let answer = ask(&server, &json!({ "model": "scripted", "input": "How is the sky?" })).json();
    let path = format!("/v1/responses/{}", answer["id"].as_str().unwrap());
    server.terminate();
    assert!(server.ended().success());

    let server = ServeProcess::scripted(&sandbox, &brief_model(), &keep);
    let kept = server.get(&path);
    assert_eq!(kept.status, 200);
    assert_eq!(kept.json(), answer);
    let more = json!({ "model": "scripted", "input": "And then?", "previous_response_id": answer["id"] });
    assert_eq!(ask(&server, &more).json()["output"][0]["content"][0]["text"], "Then it was blue.");
}

#[test]
fn without_a_folder_answers_are_gone_after_a_restart() {
    let sandbox = TestVault::new();
    let server = ServeProcess::scripted(&sandbox, &brief_model(), &[]);
    let answer = ask(&server, &json!({ "model": "scripted", "input": "How is the sky?" })).json();
    let path = format!("/v1/responses/{}", answer["id"].as_str().unwrap());
    assert_eq!(server.get(&path).json(), answer);
    drop(server);
    let missing = ServeProcess::scripted(&sandbox, &brief_model(), &[]).get(&path);
    assert_eq!(missing.status, 404);
    assert_eq!(missing.json()["error"]["code"], "response_not_found");
}
