//! Recorded turns, and turns that are made up to be odd.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::{TurnEnding, TurnTracker};
use crate::codex::notification::notice;
use crate::codex::protocol::RpcMessage;
use crate::codex::tool_aliases::ToolAliases;
use crate::{NativeTool, TurnEvent};

fn tool(name: &str) -> NativeTool {
    NativeTool { name: name.to_owned(), description: String::new(), parameters: json!({}) }
}

/// Events and the end, one a line.
fn followed(mut progress: TurnTracker, lines: &str) -> String {
    let mut shown = Vec::new();
    for line in lines.lines() {
        let frame: RpcMessage<'_> = serde_json::from_str(line).unwrap();
        let (method, params) = (frame.method.unwrap(), frame.params.unwrap());
        let Some((_, notice)) = notice(&method, params).unwrap() else { continue };
        let end = progress.take(notice, &mut |event: TurnEvent| shown.push(format!("{event:?}")));
        if let Some(TurnEnding { outcome, still_running }) = end {
            let running = if still_running { ", still running" } else { "" };
            shown.push(match outcome {
                Ok(finish) => format!("{finish:?}{running}"),
                Err(error) => format!("error {}: {error}{running}", error.kind),
            });
            break;
        }
    }
    shown.join("\n")
}

#[track_caller]
fn check(lines: &str, expect: Expect) {
    let tools = [tool("get_weather"), tool("lights")];
    let progress = TurnTracker::new(true, ToolAliases::of(&tools).unwrap(), 0);
    expect.assert_eq(&followed(progress, lines));
}

/// Notifications of a turn that has begun.
fn turn(notices: &[(&str, Value)]) -> String {
    let mut lines = vec![json!({
        "method": "turn/started",
        "params": {"threadId": "thread-1", "turn": {"id": "turn-1"}},
    })];
    for (method, params) in notices {
        let mut params = params.clone();
        params["threadId"] = json!("thread-1");
        if params.get("turnId").is_none() {
            params["turnId"] = json!("turn-1");
        }
        lines.push(json!({"method": method, "params": params}));
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn delta(item: &str, text: &str) -> (&'static str, Value) {
    ("item/agentMessage/delta", json!({"itemId": item, "delta": text}))
}

fn completed() -> (&'static str, Value) {
    ("turn/completed", json!({"turn": {"id": "turn-1", "status": "completed"}}))
}

#[test]
fn two_messages_are_kept_apart() {
    check(
        include_str!("../transcripts/two_messages.jsonl"),
        expect![[r#"
        Text("first ")
        Text("message")
        NextMessage
        Text("second ")
        Text("message")
        Usage(TokenUsage { input_tokens: 11, cached_input_tokens: 3, output_tokens: 7, reasoning_tokens: 2 })
        Stop"#]],
    );
}

#[test]
fn reasoning_comes_in_parts() {
    check(
        include_str!("../transcripts/reasoning.jsonl"),
        expect![[r#"
        Reasoning { part: 0, text: "**Thinking** " }
        Reasoning { part: 0, text: "about " }
        Reasoning { part: 0, text: "it" }
        Reasoning { part: 1, text: "second " }
        Reasoning { part: 1, text: "part" }
        Text("After ")
        Text("thought.")
        Usage(TokenUsage { input_tokens: 11, cached_input_tokens: 3, output_tokens: 7, reasoning_tokens: 2 })
        Stop"#]],
    );
}

#[test]
fn a_message_that_is_never_completed_is_a_refusal() {
    check(
        include_str!("../transcripts/refusal.jsonl"),
        expect![[r#"
        Usage(TokenUsage { input_tokens: 11, cached_input_tokens: 3, output_tokens: 7, reasoning_tokens: 2 })
        Refusal("The model refused to answer. Its words are lost: codex does not hand them on.")
        Stop"#]],
    );
}

#[test]
fn an_empty_message_is_no_refusal() {
    let message = json!({"item": {"type": "agentMessage", "id": "m", "text": ""}});
    let lines = turn(&[("item/started", message.clone()), ("item/completed", message), completed()]);
    check(&lines, expect!["Stop"]);
}

#[test]
fn a_limit_of_tokens_is_an_end_and_no_error() {
    check(
        include_str!("../transcripts/incomplete.jsonl"),
        expect![[r#"
        Text("cut off ")
        Usage(TokenUsage { input_tokens: 11, cached_input_tokens: 3, output_tokens: 7, reasoning_tokens: 2 })
        Length"#]],
    );
}

#[test]
fn failures_end_the_turn_with_their_kind() {
    check(
        include_str!("../transcripts/cut.jsonl"),
        expect![[r#"
        Text("some text ")
        error upstream: stream disconnected before completion: Transport error: network error: error decoding response body"#]],
    );
    check(
        include_str!("../transcripts/unauthorized.jsonl"),
        expect![
            "error unauthorized: the model's service does not accept codex's credentials (HTTP status 401)"
        ],
    );
}

#[test]
fn calls_come_in_the_order_of_the_model_and_end_the_turn() {
    check(
        include_str!("../transcripts/two_calls.jsonl"),
        expect![[r#"
        Call(NativeCall { call_id: "call_resp_fake_83_0", name: "get_weather", arguments: "{\"location\": \"Paris\"}" })
        Call(NativeCall { call_id: "call_resp_fake_83_1", name: "lights", arguments: "{\"location\": \"Paris\"}" })
        Usage(TokenUsage { input_tokens: 11, cached_input_tokens: 3, output_tokens: 7, reasoning_tokens: 2 })
        Stop, still running"#]],
    );
}

#[test]
fn a_call_without_tools_is_left_to_codex() {
    let progress = TurnTracker::new(false, ToolAliases::default(), 0);
    expect![[r#"
        Usage(TokenUsage { input_tokens: 11, cached_input_tokens: 3, output_tokens: 7, reasoning_tokens: 2 })
        error upstream: codex interrupted the turn"#]]
    .assert_eq(&followed(progress, include_str!("../transcripts/two_calls.jsonl")));
}

#[test]
fn a_call_comes_back_under_the_name_that_the_client_gave() {
    let item = |name: &str| json!({"item": {"type": "function_call", "call_id": "c", "name": name, "arguments": "{}"}});
    let lines = turn(&[
        ("rawResponseItem/completed", item("client_exec_command")),
        ("rawResponse/completed", json!({"usage": null})),
    ]);
    let progress = TurnTracker::new(true, ToolAliases::of(&[tool("exec_command")]).unwrap(), 0);
    expect![[r#"
        Call(NativeCall { call_id: "c", name: "exec_command", arguments: "{}" })
        Stop, still running"#]]
    .assert_eq(&followed(progress, &lines));
}

#[test]
fn what_comes_without_deltas_is_said_whole() {
    let lines = turn(&[
        ("item/completed", json!({"item": {"type": "reasoning", "id": "r", "summary": ["a", "b"]}})),
        ("item/completed", json!({"item": {"type": "reasoning", "id": "s", "summary": ["c"]}})),
        ("item/started", json!({"item": {"type": "agentMessage", "id": "m", "text": "whole"}})),
        ("item/completed", json!({"item": {"type": "agentMessage", "id": "m", "text": "whole"}})),
        delta("n", ""),
        delta("n", "more"),
        completed(),
    ]);
    check(
        &lines,
        expect![[r#"
        Reasoning { part: 0, text: "a" }
        Reasoning { part: 1, text: "b" }
        Reasoning { part: 2, text: "c" }
        Text("whole")
        NextMessage
        Text("more")
        Stop"#]],
    );
}

#[test]
fn a_second_attempt_after_text_would_repeat_it_and_ends_the_turn() {
    let again = ("error", json!({"error": {"message": "Reconnecting... 1/5"}, "willRetry": true}));
    let lines = turn(&[again.clone(), delta("m", "some text"), again, completed()]);
    check(
        &lines,
        expect![[r#"
        Text("some text")
        error upstream: the connection to the model's service broke in the middle of the answer, still running"#]],
    );
}

#[test]
fn an_image_that_codex_leaves_out_ends_the_turn() {
    let echo =
        |kind: &str| json!({"turnId": "injected", "item": {"type": "message", "content": [{"type": kind}]}});
    let started = ("item/started", json!({"item": {"type": "agentMessage", "id": "m", "text": ""}}));
    for (echoed, expect) in [
        (
            "input_image",
            expect![[r#"
        Text("a cat")
        Stop"#]],
        ),
        (
            "input_text",
            expect![
                "error bad_request: 1 of 1 images cannot be decoded; codex takes PNG, JPEG, GIF and WebP, still running"
            ],
        ),
    ] {
        let lines = turn(&[
            ("rawResponseItem/completed", echo(echoed)),
            started.clone(),
            delta("m", "a cat"),
            completed(),
        ]);
        expect.assert_eq(&followed(TurnTracker::new(false, ToolAliases::default(), 1), &lines));
    }
}

#[test]
fn a_turn_that_someone_else_interrupts_is_an_error() {
    let interrupted = ("turn/completed", json!({"turn": {"id": "turn-1", "status": "interrupted"}}));
    check(
        &turn(&[delta("m", "a"), interrupted]),
        expect![[r#"
        Text("a")
        error upstream: codex interrupted the turn"#]],
    );
    check(
        &turn(&[("turn/completed", json!({"turn": {"id": "turn-1", "status": "new"}}))]),
        expect!["error upstream: the turn failed, and codex does not say why"],
    );
}
