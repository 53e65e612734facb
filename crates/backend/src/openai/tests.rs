//! Both wires as data in and data out, and over real sockets.

use std::io::{Read, Write};
use std::net::TcpListener;

use expect_test::expect;
use serde_json::json;

use super::chat_parser::ChatParser;
use super::pending_events::PendingEvents;
use super::responses_parser::ResponsesParser;
use super::{OpenAi, OpenAiSettings, Wire, request_body};
use crate::{
    HistoryEntry, MessagePart, MessageRole, ModelTurn, OutputSchema, ReasoningSettings, SamplingSettings,
    TextModel, TurnEvent,
};

fn turn() -> ModelTurn {
    let text =
        |role, text: &str| HistoryEntry::Message { role, parts: vec![MessagePart::Text(text.to_owned())] };
    ModelTurn {
        model: "m".to_owned(),
        instructions: "Be brief.".to_owned(),
        history: vec![
            text(MessageRole::Developer, "In German."),
            text(MessageRole::User, "Hello"),
            text(MessageRole::Assistant, "Hallo"),
            HistoryEntry::Message {
                role: MessageRole::User,
                parts: vec![
                    MessagePart::Text("And this?".to_owned()),
                    MessagePart::Image { url: "data:image/png;base64,AA==".to_owned(), detail: None },
                ],
            },
        ],
        tools: Vec::new(),
        reasoning: ReasoningSettings { effort: Some("low".to_owned()), summary: None },
        verbosity: Some("low".to_owned()),
        sampling: SamplingSettings { temperature: Some(0.5), top_p: None, max_output_tokens: Some(100) },
        output_schema: Some(OutputSchema {
            name: "s".to_owned(),
            schema: json!({ "type": "object" }),
            strict: true,
        }),
    }
}

#[test]
fn a_turn_is_asked_through_either_wire() {
    let text = |body: bytes::Bytes| String::from_utf8(body.to_vec()).unwrap();
    expect![[r#"{"model":"m","stream":true,"store":false,"input":[{"type":"message","role":"developer","content":[{"type":"input_text","text":"In German."}]},{"type":"message","role":"user","content":[{"type":"input_text","text":"Hello"}]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hallo"}]},{"type":"message","role":"user","content":[{"type":"input_text","text":"And this?"},{"type":"input_image","image_url":"data:image/png;base64,AA==","detail":"auto"}]}],"instructions":"Be brief.","reasoning":{"effort":"low"},"include":["reasoning.encrypted_content"],"temperature":0.5,"max_output_tokens":100,"text":{"format":{"type":"json_schema","name":"s","schema":{"type":"object"},"strict":true},"verbosity":"low"}}"#]].assert_eq(&text(request_body::responses(&turn()).unwrap()));
    expect![[r#"{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"system","content":"Be brief."},{"role":"system","content":"In German."},{"role":"user","content":"Hello"},{"role":"assistant","content":"Hallo"},{"role":"user","content":[{"type":"text","text":"And this?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA==","detail":"auto"}}]}],"reasoning_effort":"low","verbosity":"low","temperature":0.5,"max_tokens":100,"response_format":{"type":"json_schema","json_schema":{"name":"s","schema":{"type":"object"},"strict":true}}}"#]].assert_eq(&text(request_body::chat(&turn()).unwrap()));
}

#[test]
fn a_turn_is_asked_alike_after_any_other() {
    let other = || ModelTurn { instructions: "Be \"long\".".to_owned(), ..turn() };
    for body in [request_body::responses, request_body::chat] {
        let first = (body(&turn()).unwrap(), body(&other()).unwrap());
        for (turn, first) in
            [(turn(), &first.0), (other(), &first.1), (other(), &first.1), (turn(), &first.0)]
        {
            assert_eq!(body(&turn).unwrap(), first);
        }
        let written: serde_json::Value = serde_json::from_slice(&first.1).unwrap();
        let instructions = written.get("instructions").unwrap_or(&written["messages"][0]["content"]);
        assert_eq!(instructions, "Be \"long\".");
    }
}

fn events_of(wire: Wire, data: &[&str]) -> String {
    let mut events = PendingEvents::default();
    let (mut as_responses, mut as_chat) = (ResponsesParser::default(), ChatParser::default());
    for line in data {
        let over = match wire {
            Wire::Responses => as_responses.parse(line.as_bytes(), &mut events),
            Wire::Chat => as_chat.parse(line.as_bytes(), &mut events),
        };
        if over {
            break;
        }
    }
    std::iter::from_fn(|| events.take()).map(|event| format!("{event:?}\n")).collect()
}

#[test]
fn calls_that_the_server_found_in_the_text_of_its_model_are_passed_on() {
    expect![[r#"
        Ok(Text("So:"))
        Ok(Call(NativeCall { call_id: "a", name: "get", arguments: "{\"n\":1}" }))
        Ok(Call(NativeCall { call_id: "", name: "put", arguments: "" }))
        Ok(Done(Stop))
    "#]]
    .assert_eq(&events_of(
        Wire::Chat,
        &[
            r#"{"choices":[{"delta":{"content":"So:","tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"get","arguments":""}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"n\":"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}},{"index":1,"function":{"name":"put"}}]}}]}"#,
            r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
            "[DONE]",
        ],
    ));
    expect![[r#"
        Ok(Call(NativeCall { call_id: "c", name: "get", arguments: "{}" }))
    "#]]
    .assert_eq(&events_of(
        Wire::Responses,
        &[
            r#"{"type":"response.output_item.added","item":{"type":"function_call","name":"get","arguments":""}}"#,
            r#"{"type":"response.output_item.done","item":{"type":"function_call","call_id":"c","name":"get","arguments":"{}"}}"#,
        ],
    ));
    let endless = format!(
        r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":0,"function":{{"arguments":"{}"}}}}]}}}}]}}"#,
        "x".repeat(5 << 20)
    );
    assert!(events_of(Wire::Chat, &[&endless]).contains("a call that is too long"));
}

#[test]
fn the_events_of_responses_become_a_turn() {
    expect![[r#"
        Ok(Reasoning { part: 1, text: "Hm." })
        Ok(SealedReasoning("x"))
        Ok(Text("Hi ä"))
        Ok(NextMessage)
        Ok(Text("there"))
        Ok(Usage(TokenUsage { input_tokens: 5, cached_input_tokens: 3, output_tokens: 2, reasoning_tokens: 0 }))
        Ok(Done(Stop))
    "#]].assert_eq(&events_of(
        Wire::Responses,
        &[
            r#"{"type":"response.created","response":{"id":"r"}}"#,
            r#"{"type":"response.reasoning_summary_text.delta","summary_index":1,"delta":"Hm."}"#,
            r#"{"type":"response.output_item.done","item":{"type":"reasoning","encrypted_content":"x"}}"#,
            r#"{"type":"response.output_text.delta","output_index":1,"delta":"Hi \u00e4"}"#,
            r#"{"type":"response.output_text.delta","output_index":2,"delta":"there"}"#,
            r#"{"type":"response.completed","response":{"usage":{"input_tokens":5,"output_tokens":2,"input_tokens_details":{"cached_tokens":3}}}}"#,
        ],
    ));
    expect![[r#"
        Err(BackendError { kind: RateLimited, message: "the model's server failed in the middle of its answer: slow down", retry_after: None })
    "#]].assert_eq(&events_of(
        Wire::Responses,
        &[r#"{"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded","message":"slow\ndown"}}}"#],
    ));
}

#[test]
fn counts_that_are_null_cost_no_answer() {
    let usage = r#"{"type":"response.completed","response":{"incomplete_details":null,"usage":{"input_tokens":null,"output_tokens":null,"input_tokens_details":{"cached_tokens":null},"output_tokens_details":null}}}"#;
    expect![[r#"
        Ok(Usage(TokenUsage { input_tokens: 0, cached_input_tokens: 0, output_tokens: 0, reasoning_tokens: 0 }))
        Ok(Done(Stop))
    "#]]
    .assert_eq(&events_of(Wire::Responses, &[usage]));
    expect![[r#"
        Ok(Usage(TokenUsage { input_tokens: 0, cached_input_tokens: 0, output_tokens: 2, reasoning_tokens: 0 }))
        Ok(Done(Length))
    "#]]
    .assert_eq(&events_of(
        Wire::Chat,
        &[
            r#"{"choices":[{"delta":null,"finish_reason":"length"}]}"#,
            r#"{"choices":null,"usage":{"prompt_tokens":null,"completion_tokens":2}}"#,
            "[DONE]",
        ],
    ));
}

#[test]
fn thoughts_that_are_shown_are_reasoning_like_their_summaries() {
    expect![[r#"
        Ok(Reasoning { part: 0, text: "Hm" })
        Ok(Reasoning { part: 2, text: "Ah" })
    "#]]
    .assert_eq(&events_of(
        Wire::Responses,
        &[
            r#"{"type":"response.reasoning_text.delta","delta":"Hm"}"#,
            r#"{"type":"response.reasoning_text.delta","content_index":2,"delta":"Ah"}"#,
        ],
    ));
}

#[test]
fn a_key_that_is_refused_in_the_middle_is_told_in_our_words() {
    expect![[r#"
        Err(BackendError { kind: Unauthorized, message: "the model's server refused its key in the middle of its answer; look at the key that tollgate was started with, and at its permissions", retry_after: None })
    "#]]
    .assert_eq(&events_of(Wire::Chat, &[r#"{"error":{"code":"invalid_api_key","message":"Incorrect key: sk-s***"}}"#]));
}

#[test]
fn the_chunks_of_chat_become_a_turn() {
    expect![[r#"
        Ok(Reasoning { part: 0, text: "Hm." })
        Ok(Text("Hi"))
        Ok(Usage(TokenUsage { input_tokens: 5, cached_input_tokens: 0, output_tokens: 2, reasoning_tokens: 0 }))
        Ok(Done(Length))
    "#]].assert_eq(&events_of(
        Wire::Chat,
        &[
            r#"{"choices":[{"delta":{"role":"assistant","content":""}}]}"#,
            r#"{"choices":[{"delta":{"reasoning_content":"Hm."}}]}"#,
            r#"{"choices":[{"delta":{"content":"Hi"},"finish_reason":null}]}"#,
            r#"{"choices":[{"delta":{},"finish_reason":"length"}]}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":null}}}"#,
            "[DONE]",
        ],
    ));
    expect![[r#"
        Err(BackendError { kind: Upstream, message: "the model's server failed in the middle of its answer", retry_after: None })
    "#]]
    .assert_eq(&events_of(Wire::Chat, &[r#"{"error":{"message":"see http://10.0.0.1/x"}}"#]));
    expect![[r#"
        Err(BackendError { kind: Protocol, message: "the model's server sent a chunk in an unknown form", retry_after: None })
    "#]]
    .assert_eq(&events_of(Wire::Chat, &["nonsense"]));
}

/// Answers one connection with these bytes and gives what was asked.
fn server(answer: &'static str) -> (String, std::thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let asked = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut asked = Vec::new();
        let mut some = [0; 4096];
        while !asked.ends_with(b"}") && !asked.ends_with(b"\r\n\r\n") {
            let got = socket.read(&mut some).unwrap();
            asked.extend_from_slice(&some[..got]);
        }
        socket.write_all(answer.as_bytes()).unwrap();
        String::from_utf8(asked).unwrap()
    });
    (url, asked)
}

async fn answered(url: String, wire: Wire) -> Vec<String> {
    let settings = OpenAiSettings { wire, key: Some("sk-secret".to_owned()), ..OpenAiSettings::new(url) };
    let model = OpenAi::new(settings).unwrap();
    let mut stream = match model.start(turn()).await {
        Ok(stream) => stream,
        Err(error) => return vec![format!("{:?} {error}", error.kind)],
    };
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        events.push(match event {
            Ok(TurnEvent::Text(text)) => text,
            Ok(event) => format!("{event:?}"),
            Err(error) => format!("{:?} {error}", error.kind),
        });
    }
    events
}

#[tokio::test]
async fn a_real_connection_is_asked_and_read() {
    let (url, asked) = server(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\n",
    );
    assert_eq!(
        answered(url, Wire::Chat).await,
        ["Hi", "Done(Stop)"],
        "a server that hangs up after its last word"
    );
    let asked = asked.join().unwrap();
    assert!(asked.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{asked}");
    assert!(asked.contains("authorization: Bearer sk-secret\r\n"), "{asked}");
}

#[tokio::test]
async fn what_goes_wrong_is_told_without_the_address_or_the_key() {
    let (url, _asked) = server(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"Hi\"}\n\n",
    );
    assert_eq!(answered(url, Wire::Responses).await, ["Hi", "Died the model's server broke off its answer"]);
    let (url, _asked) = server(
        "HTTP/1.1 401 Unauthorized\r\nconnection: close\r\n\r\n{\"error\":{\"message\":\"bad key sk-s***ret\",\"code\":\"invalid\"}}",
    );
    assert_eq!(
        answered(url, Wire::Responses).await,
        [
            "Unauthorized the model's server answered 401; look at the key that tollgate was started with, and at its permissions"
        ]
    );
    let (url, _asked) = server(
        "HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n{\"error\":\"header `Bearer sk-secret` is odd\"}",
    );
    assert_eq!(
        answered(url, Wire::Chat).await,
        ["BadRequest the model's server answered 400: header `Bearer [key]` is odd"]
    );
    let (url, _asked) = server(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\ndata: {\"error\":{\"message\":\"lost sk-secret\"}}\n\n",
    );
    assert_eq!(
        answered(url, Wire::Chat).await,
        ["Upstream the model's server failed in the middle of its answer: lost [key]"]
    );
    let gone = answered("http://127.0.0.1:9/v1".to_owned(), Wire::Chat).await;
    assert!(gone[0].starts_with("Unavailable the model's server cannot be reached"), "{gone:?}");
}

#[test]
fn an_address_that_is_none_is_refused() {
    for address in ["nonsense", "ftp://x/v1", "http:///v1"] {
        assert!(OpenAi::new(OpenAiSettings::new(address)).is_err(), "{address}");
    }
}

/// Answers `answers[n]` requests on its nth connection and then hangs up, which it says; in the end, gives how many
/// connections there were.
fn keeping_server(
    answers: &'static [usize],
) -> (String, std::sync::mpsc::Receiver<()>, std::thread::JoinHandle<usize>) {
    const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n\
        5b\r\ndata: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"Hi\",\"padding\":\"...\"}\n\n\r\n\
        33\r\ndata: {\"type\":\"response.completed\",\"response\":{}}\n\n\r\n0\r\n\r\n";
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let (tell, hung_up) = std::sync::mpsc::channel();
    let served = std::thread::spawn(move || {
        for times in answers {
            let (mut socket, _) = listener.accept().unwrap();
            for _ in 0..*times {
                let mut asked = Vec::new();
                let mut some = [0; 4096];
                while !asked.ends_with(b"}") {
                    let got = socket.read(&mut some).unwrap();
                    asked.extend_from_slice(&some[..got]);
                }
                socket.write_all(ANSWER).unwrap();
            }
            drop(socket);
            tell.send(()).unwrap();
        }
        answers.len()
    });
    (url, hung_up, served)
}

#[tokio::test]
async fn a_connection_is_used_again_until_the_server_hangs_up() {
    let (url, hung_up, served) = keeping_server(&[2, 1]);
    let model = OpenAi::new(OpenAiSettings::new(url)).unwrap();
    for number in 0..3 {
        if number == 2 {
            hung_up.recv().unwrap();
        }
        let mut stream = model.start(turn()).await.unwrap();
        assert_eq!(stream.next().await, Some(Ok(TurnEvent::Text("Hi".to_owned()))));
        assert_eq!(stream.next().await, Some(Ok(TurnEvent::Done(crate::FinishReason::Stop))));
    }
    assert_eq!(served.join().unwrap(), 2);
}
