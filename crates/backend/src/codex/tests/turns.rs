//! One turn from its start to its end.

use std::time::Duration;

use expect_test::expect;
use serde_json::json;

use super::fake::{Fake, FakeReaction, FakeRequest};
use super::{TWO_MESSAGES, all_events, beginning, codex, settle, turn};
use crate::codex::ToolMode;
use crate::{NativeTool, OutputSchema, TextModel, TurnEvent};

/// Every turn says the recorded one.
fn speaks(asked: FakeRequest<'_>) -> FakeReaction {
    if asked.method == "turn/start" {
        FakeReaction::Say(TWO_MESSAGES.to_owned())
    } else {
        FakeReaction::AsUsual
    }
}

/// Every turn says its beginning and stops there.
fn stops(asked: FakeRequest<'_>) -> FakeReaction {
    if asked.method == "turn/start" { FakeReaction::Say(beginning()) } else { FakeReaction::AsUsual }
}

#[tokio::test(start_paused = true)]
async fn a_turn_is_a_thread_with_the_history_injected() {
    let fake = Fake::new(speaks);
    let codex = codex(&fake, |_| {});
    let mut asked = turn("hello");
    asked.reasoning.effort = Some("low".to_owned());
    asked.reasoning.summary = Some("auto".to_owned());
    asked.output_schema =
        Some(OutputSchema { name: "city".to_owned(), schema: json!({"type": "object"}), strict: true });
    expect![[r#"
        Text("first ")
        Text("message")
        NextMessage
        Text("second ")
        Text("message")
        Usage(TokenUsage { input_tokens: 11, cached_input_tokens: 3, output_tokens: 7, reasoning_tokens: 2 })
        Done(Stop)"#]]
    .assert_eq(&all_events(codex.start(asked).await.unwrap()).await);
    expect![[r#"
        1 initialize {}
        1 initialized null
        1 config/read {"includeLayers":false}
        1 thread/start {"ephemeral":true,"approvalPolicy":"never","sandbox":"read-only","environments":[],"baseInstructions":"You are plain.","experimentalRawEvents":true,"model":"fake-model"}
        1 thread/inject_items {"threadId":"thread 1 of 1","items":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hello"}]}]}
        1 turn/start {"effort":"low","summary":"auto","outputSchema":{"type":"object"},"threadId":"thread 1 of 1","input":[]}"#]].assert_eq(&fake.received());
}

#[tokio::test(start_paused = true)]
async fn a_loose_schema_stands_in_the_instructions() {
    let fake = Fake::new(speaks);
    let codex = codex(&fake, |_| {});
    let mut asked = turn("hello");
    asked.output_schema =
        Some(OutputSchema { name: "city".to_owned(), schema: json!({"type": "object"}), strict: false });
    all_events(codex.start(asked).await.unwrap()).await;
    expect![[r#"1 thread/start {"ephemeral":true,"approvalPolicy":"never","sandbox":"read-only","environments":[],"baseInstructions":"You are plain.\n\nAnswer with one JSON value and nothing else. It must match this JSON Schema, named `city`:\n{\"type\":\"object\"}","experimentalRawEvents":true,"model":"fake-model"}"#]].assert_eq(fake.received_by_turns().lines().next().unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_dropped_stream_interrupts_its_turn() {
    let fake = Fake::new(stops);
    let codex = codex(&fake, |_| {});
    let mut stream = codex.start(turn("hello")).await.unwrap();
    assert_eq!(stream.next().await, Some(Ok(TurnEvent::Text("first ".to_owned()))));
    drop(stream);
    settle().await;
    expect![[r#"1 turn/interrupt {"threadId":"thread 1 of 1","turnId":"turn of thread 1 of 1"}"#]]
        .assert_eq(fake.received_by_turns().lines().last().unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_start_that_is_given_up_interrupts_its_turn_as_well() {
    let fake =
        Fake::new(
            |asked| if asked.method == "turn/start" { FakeReaction::Late } else { FakeReaction::AsUsual },
        );
    let codex = codex(&fake, |_| {});
    // The turn has been asked for when whoever asked goes, and its id is not known yet.
    assert!(tokio::time::timeout(Duration::from_secs(1), codex.start(turn("hello"))).await.is_err());
    assert!(fake.received().ends_with("\"input\":[]}"), "{}", fake.received());
    tokio::time::sleep(Duration::from_secs(2)).await;
    expect![[r#"1 turn/interrupt {"threadId":"thread 1 of 1","turnId":"turn of thread 1 of 1"}"#]]
        .assert_eq(fake.received_by_turns().lines().last().unwrap());
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_that_is_never_answered_retires_the_process() {
    let fake = Fake::new(|asked| match asked.method {
        "turn/start" => FakeReaction::Say(beginning()),
        "turn/interrupt" => FakeReaction::Ignore,
        _ => FakeReaction::AsUsual,
    });
    let codex = codex(&fake, |settings| settings.pool.processes = 1.try_into().unwrap());
    drop(codex.start(turn("one")).await.unwrap());
    tokio::time::sleep(Duration::from_secs(3)).await;
    drop(codex.start(turn("two")).await.unwrap());
    settle().await;
    expect![[r#"
        1 thread/start {"ephemeral":true,"approvalPolicy":"never","sandbox":"read-only","environments":[],"baseInstructions":"You are plain.","experimentalRawEvents":true,"model":"fake-model"}
        1 thread/inject_items {"threadId":"thread 1 of 1","items":[{"type":"message","role":"user","content":[{"type":"input_text","text":"one"}]}]}
        1 turn/start {"threadId":"thread 1 of 1","input":[]}
        1 turn/interrupt {"threadId":"thread 1 of 1","turnId":"turn of thread 1 of 1"}
        1 end of input
        2 thread/start {"ephemeral":true,"approvalPolicy":"never","sandbox":"read-only","environments":[],"baseInstructions":"You are plain.","experimentalRawEvents":true,"model":"fake-model"}
        2 thread/inject_items {"threadId":"thread 1 of 2","items":[{"type":"message","role":"user","content":[{"type":"input_text","text":"two"}]}]}
        2 turn/start {"threadId":"thread 1 of 2","input":[]}
        2 turn/interrupt {"threadId":"thread 1 of 2","turnId":"turn of thread 1 of 2"}"#]].assert_eq(&fake.received_by_turns());
}

#[tokio::test(start_paused = true)]
async fn a_silent_model_is_given_up() {
    let fake = Fake::new(|_| FakeReaction::AsUsual);
    let codex_1 = codex(&fake, |_| {});
    expect!["error timeout: the model was silent for 600s"]
        .assert_eq(&all_events(codex_1.start(turn("hello")).await.unwrap()).await);
    let fake = Fake::new(stops);
    let codex_2 = codex(&fake, |_| {});
    expect![[r#"
        Text("first ")
        Text("message")
        error timeout: the model was silent for 300s"#]]
    .assert_eq(&all_events(codex_2.start(turn("hello")).await.unwrap()).await);
    settle().await;
    expect![[r#"1 turn/interrupt {"threadId":"thread 1 of 1","turnId":"turn of thread 1 of 1"}"#]]
        .assert_eq(fake.received_by_turns().lines().last().unwrap());
}

#[tokio::test(start_paused = true)]
async fn an_overloaded_server_is_asked_again_and_not_for_ever() {
    let fake = Fake::new(|asked| match (asked.method, asked.count) {
        ("thread/start", 1..=3) => FakeReaction::Refuse(-32001),
        _ => speaks(asked),
    });
    let codex_1 = codex(&fake, |_| {});
    assert!(all_events(codex_1.start(turn("hello")).await.unwrap()).await.ends_with("Done(Stop)"));

    let fake =
        Fake::new(
            |asked| if asked.method == "thread/start" { FakeReaction::Refuse(-32001) } else { speaks(asked) },
        );
    let codex_2 = codex(&fake, |_| {});
    let refused = codex_2.start(turn("hello")).await.err().unwrap();
    expect!["overloaded: the codex app-server has too much to do; try again later"]
        .assert_eq(&format!("{}: {refused}", refused.kind));
    assert_eq!(fake.received().matches("thread/start").count(), 6);
}

#[tokio::test(start_paused = true)]
async fn garbage_between_lines_disturbs_nobody() {
    let garbage = "not json\n\u{1}\u{2}\n[1,2]\n{\"id\":99,\"result\":{}}\n{\"method\":\"item/agentMessage/delta\",\"params\":{}}\n{}\n";
    let lines: String = TWO_MESSAGES.lines().map(|line| format!("{garbage}{line}\n")).collect();
    let fake = Fake::new(move |asked| {
        if asked.method == "turn/start" { FakeReaction::Say(lines.clone()) } else { FakeReaction::AsUsual }
    });
    let codex = codex(&fake, |_| {});
    expect![[r#"
        Text("first ")
        Text("message")
        NextMessage
        Text("second ")
        Text("message")
        Usage(TokenUsage { input_tokens: 11, cached_input_tokens: 3, output_tokens: 7, reasoning_tokens: 2 })
        Done(Stop)"#]]
    .assert_eq(&all_events(codex.start(turn("hello")).await.unwrap()).await);
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_loses_its_turn_and_no_other_waits_for_it() {
    let flood: String = {
        let mut lines: Vec<String> = beginning().lines().take(6).map(str::to_owned).collect();
        let delta = lines.pop().unwrap();
        lines.extend(std::iter::repeat_n(delta, 100));
        lines.iter().map(|line| format!("{line}\n")).collect()
    };
    let fake = Fake::new(move |asked| match (asked.method, asked.count) {
        ("turn/start", 1) => FakeReaction::Say(flood.clone()),
        _ => speaks(asked),
    });
    let codex = codex(&fake, |settings| {
        settings.pool.processes = 1.try_into().unwrap();
        settings.pool.waiting_bytes = 2048;
    });
    let slow = codex.start(turn("slow")).await.unwrap();
    settle().await;
    expect![[r#"1 turn/interrupt {"threadId":"thread 1 of 1","turnId":"turn of thread 1 of 1"}"#]]
        .assert_eq(fake.received_by_turns().lines().last().unwrap());
    assert!(all_events(codex.start(turn("quick")).await.unwrap()).await.ends_with("Done(Stop)"));
    let all_events = all_events(slow).await;
    assert!(all_events.lines().count() < 35, "{all_events}");
    expect!["error overloaded: the answer is read more slowly than the model writes it: more than 2 KiB are waiting"].assert_eq(all_events.lines().last().unwrap());
    settle().await;
    expect![[r#"
        1 thread/start {"ephemeral":true,"approvalPolicy":"never","sandbox":"read-only","environments":[],"baseInstructions":"You are plain.","experimentalRawEvents":true,"model":"fake-model"}
        1 thread/inject_items {"threadId":"thread 1 of 1","items":[{"type":"message","role":"user","content":[{"type":"input_text","text":"slow"}]}]}
        1 turn/start {"threadId":"thread 1 of 1","input":[]}
        1 turn/interrupt {"threadId":"thread 1 of 1","turnId":"turn of thread 1 of 1"}
        1 thread/start {"ephemeral":true,"approvalPolicy":"never","sandbox":"read-only","environments":[],"baseInstructions":"You are plain.","experimentalRawEvents":true,"model":"fake-model"}
        1 thread/inject_items {"threadId":"thread 2 of 1","items":[{"type":"message","role":"user","content":[{"type":"input_text","text":"quick"}]}]}
        1 turn/start {"threadId":"thread 2 of 1","input":[]}"#]].assert_eq(&fake.received_by_turns());
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_ended_unread_is_not_interrupted() {
    let fake = Fake::new(speaks);
    let codex = codex(&fake, |_| {});
    let unread = codex.start(turn("hello")).await.unwrap();
    settle().await;
    drop(unread);
    settle().await;
    assert!(!fake.received().contains("turn/interrupt"), "{}", fake.received());
}

#[tokio::test(start_paused = true)]
async fn requests_that_nobody_serves_are_refused() {
    let ask = |id: &str, method: &str| {
        let params = json!({"threadId": "thread-1", "turnId": "turn-1", "callId": "unknown"});
        format!("{}\n", json!({"id": id, "method": method, "params": params}))
    };
    let lines = [
        ask("a", "item/commandExecution/requestApproval"),
        ask("b", "item/tool/call"),
        "{\"id\":7,\"method\":\"currentTime/read\"}\n".to_owned(),
        TWO_MESSAGES.to_owned(),
    ]
    .concat();
    let fake = Fake::new(move |asked| {
        if asked.method == "turn/start" { FakeReaction::Say(lines.clone()) } else { FakeReaction::AsUsual }
    });
    let codex = codex(&fake, |_| {});
    assert!(all_events(codex.start(turn("hello")).await.unwrap()).await.ends_with("Done(Stop)"));
    settle().await;
    expect![[r#"
        1 thread/start {"ephemeral":true,"approvalPolicy":"never","sandbox":"read-only","environments":[],"baseInstructions":"You are plain.","experimentalRawEvents":true,"model":"fake-model"}
        1 thread/inject_items {"threadId":"thread 1 of 1","items":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hello"}]}]}
        1 turn/start {"threadId":"thread 1 of 1","input":[]}
        1 answer -32601
        1 answer -32601
        1 answer -32601"#]].assert_eq(&fake.received_by_turns());
}

#[tokio::test(start_paused = true)]
async fn native_calls_are_held_reported_and_interrupted() {
    let recorded = include_str!("../transcripts/two_calls.jsonl");
    let fake = Fake::new(move |asked| {
        if asked.method == "turn/start" {
            FakeReaction::Say(recorded.to_owned())
        } else {
            FakeReaction::AsUsual
        }
    });
    let codex = codex(&fake, |settings| settings.tools = ToolMode::Auto);
    let mut asked = turn("weather?");
    let tool = |name: &str| NativeTool {
        name: name.to_owned(),
        description: "Does it.".to_owned(),
        parameters: json!({"type": "object"}),
    };
    asked.tools = vec![tool("get_weather"), tool("lights"), tool("exec_command")];
    expect![[r#"
        Call(NativeCall { call_id: "call_resp_fake_83_0", name: "get_weather", arguments: "{\"location\": \"Paris\"}" })
        Call(NativeCall { call_id: "call_resp_fake_83_1", name: "lights", arguments: "{\"location\": \"Paris\"}" })
        Usage(TokenUsage { input_tokens: 11, cached_input_tokens: 3, output_tokens: 7, reasoning_tokens: 2 })
        Done(Stop)"#]].assert_eq(&all_events(codex.start(asked).await.unwrap()).await);
    settle().await;
    expect![[r#"
        1 thread/start {"ephemeral":true,"approvalPolicy":"never","sandbox":"read-only","environments":[],"baseInstructions":"","experimentalRawEvents":true,"dynamicTools":[{"type":"function","name":"probe","description":"","inputSchema":{"type":"object","properties":{}}}]}
        1 thread/start {"ephemeral":true,"approvalPolicy":"never","sandbox":"read-only","environments":[],"baseInstructions":"You are plain.","experimentalRawEvents":true,"model":"fake-model","dynamicTools":[{"type":"function","name":"get_weather","description":"Does it.","inputSchema":{"type":"object"}},{"type":"function","name":"lights","description":"Does it.","inputSchema":{"type":"object"}},{"type":"function","name":"client_exec_command","description":"Does it.","inputSchema":{"type":"object"}}]}
        1 thread/inject_items {"threadId":"thread 2 of 1","items":[{"type":"message","role":"user","content":[{"type":"input_text","text":"weather?"}]}]}
        1 turn/start {"threadId":"thread 2 of 1","input":[]}
        1 turn/interrupt {"threadId":"thread 2 of 1","turnId":"turn of thread 2 of 1"}"#]].assert_eq(&fake.received_by_turns());
}

#[tokio::test(start_paused = true)]
async fn without_native_tools_a_turn_with_tools_is_refused_and_the_others_go_on() {
    let fake = Fake::new(|asked| match (asked.method, asked.params.get("dynamicTools")) {
        ("thread/start", Some(_)) => FakeReaction::Refuse(-32600),
        _ => speaks(asked),
    });
    let codex = codex(&fake, |settings| settings.tools = ToolMode::Auto);
    assert!(!codex.capabilities().await.unwrap().native_tools);
    let mut asked = turn("weather?");
    asked.tools =
        vec![NativeTool { name: "a".to_owned(), description: String::new(), parameters: json!({}) }];
    let refused = codex.start(asked).await.err().unwrap();
    expect!["bad_request: this codex takes no tools; they must be described in the instructions"]
        .assert_eq(&format!("{}: {refused}", refused.kind));
    assert!(all_events(codex.start(turn("hello")).await.unwrap()).await.ends_with("Done(Stop)"));
}
