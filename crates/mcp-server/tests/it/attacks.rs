//! Forged, swapped, repeated and late answers. None of them has an effect.

use std::time::Duration;

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::client::{Client, Era, later, text, yes};
use crate::test_server::TestServer;

fn note(what: &str) -> Value {
    json!({ "text": what })
}

/// Starts a call that waits for its second round; returns its state.
async fn parked(client: &mut Client) -> Value {
    let asked = client.call("test_note", note("a")).await;
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    asked["requestState"].clone()
}

/// Attacks the state of a waiting call; returns the outcome, and checks that the genuine answer still works.
async fn attack(how: impl AsyncFnOnce(&TestServer, &mut Client, Value) -> Value, expect: Expect) {
    let server = TestServer::new();
    let mut client = Client::open(&server, Era::New).await;
    let state = parked(&mut client).await;
    let result = how(&server, &mut client, state.clone()).await;
    assert_eq!(result["isError"], true, "{result}");
    assert_eq!(server.effects(), Vec::<String>::new());
    let honest = client.second_round("test_note", note("a"), &state, yes("once")).await;
    assert_eq!(text(&honest).lines().next(), Some("Noted a"), "{honest}");
    assert_eq!(server.effects(), ["a"]);
    expect.assert_eq(text(&result));
    client.leave().await;
    let record = server.record().await;
    assert_eq!(record.matches("test.note ok").count(), 1, "{record}");
}

#[tokio::test]
async fn a_state_with_a_flipped_byte_opens_nothing() {
    attack(
        async |_, client, state| {
            let mut last = Value::Null;
            let state = state.as_str().unwrap();
            for at in [0, 1, state.len() / 2, state.len() - 1] {
                let mut bytes = state.as_bytes().to_vec();
                bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
                let flipped = json!(String::from_utf8(bytes).unwrap());
                last = client.second_round("test_note", note("a"), &flipped, yes("once")).await;
                assert_eq!(last["isError"], true, "{at}: {last}");
            }
            last
        },
        expect![[r#"
            this state was not made for this call: the tool, its arguments or the client differ from the question
            repeat the call without a state; nothing was done"#]],
    )
    .await;
}

#[tokio::test]
async fn a_state_of_garbage_opens_nothing() {
    attack(
        async |_, client, _| {
            let mut last = Value::Null;
            for garbage in ["", "rs1.", "nonce-0", "\u{0}", "rs1.bm9uY2UtMA.AAAA", &"x".repeat(100_000)] {
                last = client.second_round("test_note", note("a"), &json!(garbage), yes("once")).await;
                assert_eq!(last["isError"], true, "{garbage:.20}: {last}");
            }
            last
        },
        expect![[r#"
            this state was not made for this call: the tool, its arguments or the client differ from the question
            repeat the call without a state; nothing was done"#]],
    )
    .await;
}

#[tokio::test]
async fn arguments_swapped_after_the_question_are_not_those_that_were_asked_about() {
    attack(
        async |_, client, state| client.second_round("test_note", note("b"), &state, yes("once")).await,
        expect![[r#"
            this state was not made for this call: the tool, its arguments or the client differ from the question
            repeat the call without a state; nothing was done"#]],
    )
    .await;
}

#[tokio::test]
async fn arguments_that_were_not_there_before_are_not_those_that_were_asked_about() {
    attack(
        async |_, client, state| {
            let more = json!({ "text": "a", "more": null });
            client.second_round("test_note", more, &state, yes("once")).await
        },
        expect![[r#"
            this state was not made for this call: the tool, its arguments or the client differ from the question
            repeat the call without a state; nothing was done"#]],
    )
    .await;
}

#[tokio::test]
async fn another_tool_cannot_use_the_answer() {
    attack(
        async |_, client, state| client.second_round("test_look", note("a"), &state, yes("once")).await,
        expect![[r#"
            this state was not made for this call: the tool, its arguments or the client differ from the question
            repeat the call without a state; nothing was done"#]],
    )
    .await;
}

#[tokio::test]
async fn another_client_cannot_use_the_answer() {
    attack(
        async |_, client, state| {
            client.rename("somebody else");
            let result = client.second_round("test_note", note("a"), &state, yes("once")).await;
            client.rename("tester");
            result
        },
        expect![[r#"
            this state was not made for this call: the tool, its arguments or the client differ from the question
            repeat the call without a state; nothing was done"#]],
    )
    .await;
}

#[tokio::test]
async fn the_state_of_another_process_opens_nothing() {
    attack(
        async |_, client, _| {
            let other = TestServer::with(|options| options.key = [8; 32]);
            let mut elsewhere = Client::open(&other, Era::New).await;
            let state = parked(&mut elsewhere).await;
            let result = client.second_round("test_note", note("a"), &state, yes("once")).await;
            elsewhere.leave().await;
            other.mcp_server.runs().stop();
            result
        },
        expect![[r#"
            this state was not made for this call: the tool, its arguments or the client differ from the question
            repeat the call without a state; nothing was done"#]],
    )
    .await;
}

#[tokio::test]
async fn an_answer_without_a_state_is_no_answer() {
    let server = TestServer::new();
    let mut client = Client::open(&server, Era::New).await;
    let params = json!({
        "name": "test_note",
        "arguments": note("a"),
        "inputResponses": { "approval": yes("once") },
    });
    let asked = client.request("tools/call", params).await;
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    assert_eq!(server.effects(), Vec::<String>::new());
}

#[tokio::test]
async fn an_answer_works_once() {
    let server = TestServer::new();
    let mut client = Client::open(&server, Era::New).await;
    let state = parked(&mut client).await;
    client.second_round("test_note", note("a"), &state, yes("once")).await;
    let again = client.second_round("test_note", note("a"), &state, yes("once")).await;
    expect![[r#"
        no call is waiting for this answer: it was already given, came too late, or the server was restarted
        the call may have been made: check before making it again, without a state"#]]
    .assert_eq(text(&again));
    assert_eq!(server.effects(), ["a"]);
    client.leave().await;
    expect![[r#"
        calls of tester 1
        - test.note ok (mode ask: approved (client))
    "#]]
    .assert_eq(&server.record().await);
}

#[tokio::test]
async fn a_no_cannot_be_turned_into_a_yes_afterwards() {
    let server = TestServer::new();
    let mut client = Client::open(&server, Era::New).await;
    let state = parked(&mut client).await;
    later(Duration::from_secs(2)).await;
    client.second_round("test_note", note("a"), &state, json!({ "action": "decline" })).await;
    let again = client.second_round("test_note", note("a"), &state, yes("once")).await;
    assert_eq!(again["isError"], true);
    assert_eq!(server.effects(), Vec::<String>::new());
    client.leave().await;
    expect![[r#"
        calls of tester 1
        - test.note approval_rejected
    "#]]
    .assert_eq(&server.record().await);
}

#[tokio::test]
async fn a_yes_that_comes_too_late_is_none() {
    let server = TestServer::new();
    let mut client = Client::open(&server, Era::New).await;
    let state = parked(&mut client).await;
    later(Duration::from_secs(601)).await;
    let late = client.second_round("test_note", note("a"), &state, yes("once")).await;
    expect![[r#"
        the question has expired
        repeat the call without a state; nothing was done"#]]
    .assert_eq(text(&late));
    assert_eq!(server.effects(), Vec::<String>::new());
    client.leave().await;
    expect![[r#"
        calls of tester 1
        - test.note policy_blocked
    "#]]
    .assert_eq(&server.record().await);
}

#[tokio::test]
async fn an_answer_to_a_question_that_was_not_asked_falls_to_the_desk() {
    // The second round does not answer the only open question.
    let server = TestServer::new();
    let mut client = Client::open(&server, Era::New).await;
    let state = parked(&mut client).await;
    let params = json!({
        "name": "test_note",
        "arguments": note("a"),
        "requestState": state,
        "inputResponses": { "another": yes("once") },
    });
    let result = client.request("tools/call", params).await;
    assert_eq!(result["isError"], true, "{result}");
    assert_eq!((server.effects(), server.asked_at_fallback()), (Vec::new(), 1));
}
