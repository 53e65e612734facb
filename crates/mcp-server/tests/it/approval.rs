//! Approvals by a client: approval, refusal and timeout, and their records. For sessions and stateless clients.

use std::sync::atomic::Ordering;
use std::time::Duration;

use engine::{ApprovalPolicy, ApprovalSource};
use expect_test::expect;
use serde_json::{Value, json};

use crate::client::{Client, Era, in_both, later, text, yes};
use crate::test_server::TestServer;

const ERAS: [Era; 2] = [Era::Old, Era::New];

fn note(what: &str) -> Value {
    json!({ "text": what })
}

#[tokio::test]
async fn a_yes_of_the_client_makes_one_call_and_the_record_says_whose_it_was() {
    let told = in_both(async |era| {
        let server = TestServer::with(|options| options.forecast = Some("+ a\n".to_owned()));
        let mut client = Client::open(&server, era).await;
        let (question, result) = client.call_and_answer("test_note", note("a"), yes("once")).await;
        assert_eq!(server.effects(), ["a"]);
        client.leave().await;
        format!(
            "{}\n--\n{}\n--\n{}",
            question["message"].as_str().unwrap(),
            text(&result),
            server.record().await
        )
    })
    .await;
    expect![[r#"
        Changes 1 note: a.md.
        Read all 6 lines below.
        + a
        Call: Note a
        Preview hash: b3:4697a436045104a294985b59468146a516dc6e54fa350ffccc91f4929f1d2e63
        Why you are asked: mode ask
        Tool: test.note
        Input: {"text":"a"}
        --
        Noted a
        --
        calls of tester 1
        - test.note ok (mode ask: approved (client))
    "#]]
    .assert_eq(&told);
}

#[tokio::test]
async fn a_yes_for_the_session_is_asked_for_once() {
    let told = in_both(async |era| {
        let server = TestServer::new();
        let mut client = Client::open(&server, era).await;
        client.call_and_answer("test_note", note("a"), yes("session")).await;
        let second = client.call("test_note", note("b")).await;
        assert_eq!(second["isError"], false, "{second}");
        assert_eq!(server.effects(), ["a", "b"]);
        client.leave().await;
        server.record().await
    })
    .await;
    expect![[r#"
        calls of tester 1
        - test.note ok (mode ask: approved and remembered (client))
        - test.note ok (mode ask: a remembered approval)
    "#]]
    .assert_eq(&told);
}

#[tokio::test]
async fn a_yes_for_the_session_of_one_connection_is_none_for_another() {
    for era in ERAS {
        let server = TestServer::new();
        let mut first = Client::open(&server, era).await;
        first.call_and_answer("test_note", note("a"), yes("session")).await;
        let mut second = Client::open(&server, era).await;
        let decline = json!({ "action": "decline" });
        let (_, result) = second.call_and_answer("test_note", note("b"), decline).await;
        assert_eq!(result["isError"], true);
        assert_eq!(server.effects(), ["a"]);
    }
}

#[tokio::test]
async fn only_a_yes_in_so_many_words_is_one() {
    let told = in_both(async |era| {
        let server = TestServer::new();
        let mut client = Client::open(&server, era).await;
        let mut told = String::new();
        for answer in [
            json!({ "action": "decline" }),
            json!({ "action": "cancel" }),
            json!({ "action": "accept" }),
            yes("no"),
            yes("yes"),
        ] {
            let (_, result) = client.call_and_answer("test_note", note("a"), answer.clone()).await;
            assert_eq!(result["isError"], true, "{result}");
            assert!(result.get("structuredContent").is_none());
            told += &format!("{answer}\n  {}\n", text(&result).replace('\n', "\n  "));
        }
        assert_eq!((server.effects(), server.asked_at_fallback()), (Vec::new(), 0));
        client.leave().await;
        told + &server.record().await
    })
    .await;
    expect![[r#"
        {"action":"decline"}
          test.note failed (approval_rejected): the user declined Note a: declined in the client
          Next: do not send the same call again unless the user asks for it
        {"action":"cancel"}
          test.note failed (policy_blocked): mode ask needs an approval of Note a, and no one is available to approve it: the client closed the question without an answer
          Next: explain to the user what you want to do and why; when they agree, make the same call again
        {"action":"accept"}
          test.note failed (approval_rejected): the user declined Note a: declined in the client
          Next: do not send the same call again unless the user asks for it
        {"action":"accept","content":{"decision":"no"}}
          test.note failed (approval_rejected): the user declined Note a: declined in the client
          Next: do not send the same call again unless the user asks for it
        {"action":"accept","content":{"decision":"yes"}}
          test.note failed (approval_rejected): the user declined Note a: declined in the client
          Next: do not send the same call again unless the user asks for it
        calls of tester 1
        - test.note approval_rejected
        - test.note policy_blocked
        - test.note approval_rejected
        - test.note approval_rejected
        - test.note approval_rejected
    "#]]
    .assert_eq(&told);
}

#[tokio::test]
async fn a_client_that_cannot_ask_leaves_it_to_the_desk() {
    for era in ERAS {
        for cannot in [json!({}), json!({ "elicitation": { "url": {} } })] {
            let server = TestServer::new();
            server.fallback.says_yes.store(true, Ordering::Relaxed);
            let mut client = Client::open_with(&server, era, cannot).await;
            let result = client.call("test_note", note("a")).await;
            assert_eq!(result["isError"], false, "{result}");
            assert_eq!((server.effects(), server.asked_at_fallback()), (vec!["a".to_owned()], 1));
            client.leave().await;
            let record = server.record().await;
            assert!(record.contains("(approve)"), "{record}");
        }
    }
}

#[tokio::test]
async fn where_nobody_is_at_the_desk_nothing_is_done() {
    for era in ERAS {
        let server = TestServer::new();
        let mut client = Client::open_with(&server, era, json!({})).await;
        let result = client.call("test_note", note("a")).await;
        assert_eq!(result["isError"], true, "{result}");
        assert_eq!((server.effects(), server.asked_at_fallback()), (Vec::new(), 1));
    }
}

#[tokio::test]
async fn a_policy_that_wants_a_person_does_not_take_the_word_of_a_client() {
    for era in ERAS {
        let server = TestServer::with(|options| {
            options.policy.approval =
                ApprovalPolicy { writes: ApprovalSource::Person, ..ApprovalPolicy::default() };
        });
        let mut client = Client::open(&server, era).await;
        let result = client.call("test_note", note("a")).await;
        assert_eq!(result["isError"], true, "{result}");
        assert_eq!((server.effects(), server.asked_at_fallback()), (Vec::new(), 1));
        assert!(client.heard.iter().all(|message| message["method"] != "elicitation/create"));
    }
}

#[tokio::test]
async fn a_question_that_no_dialog_shows_in_full_goes_to_the_desk() {
    for era in ERAS {
        let server = TestServer::new();
        let mut client = Client::open(&server, era).await;
        let result = client.call("test_note", note(&"long ".repeat(8_000))).await;
        assert_eq!(result["isError"], true, "{result}");
        assert_eq!(server.asked_at_fallback(), 1);
    }
}

#[tokio::test]
async fn with_a_yes_in_advance_nobody_is_asked() {
    for era in ERAS {
        let server = TestServer::with(|options| options.settings.ask_approval = false);
        server.fallback.says_yes.store(true, Ordering::Relaxed);
        let mut client = Client::open(&server, era).await;
        let result = client.call("test_note", note("a")).await;
        assert_eq!(result["isError"], false, "{result}");
        assert_eq!(server.effects(), ["a"]);
    }
}

#[tokio::test]
async fn silence_is_a_no_and_not_a_matter_for_the_desk() {
    let server = TestServer::new();
    let mut client = Client::open(&server, Era::Old).await;
    let id = client.begin("tools/call", json!({ "name": "test_note", "arguments": note("a") })).await;
    client.asked().await;
    later(Duration::from_secs(601)).await;
    let result = client.end(id).await;
    expect![[r#"
        test.note failed (policy_blocked): mode ask needs an approval of Note a, and no one is available to approve it: no answer came in time
        Next: explain to the user what you want to do and why; when they agree, make the same call again"#]]
    .assert_eq(text(&result));
    assert_eq!((server.effects(), server.asked_at_fallback()), (Vec::new(), 0));
}

#[tokio::test]
async fn a_client_that_answers_with_an_error_could_not_ask() {
    let server = TestServer::new();
    let mut client = Client::open(&server, Era::Old).await;
    let id = client.begin("tools/call", json!({ "name": "test_note", "arguments": note("a") })).await;
    let asked = client.asked().await;
    let error = json!({ "code": -32601, "message": "what is elicitation?" });
    client.send(json!({ "jsonrpc": "2.0", "id": asked["id"], "error": error })).await;
    let result = client.end(id).await;
    assert_eq!(result["isError"], true);
    assert_eq!((server.effects(), server.asked_at_fallback()), (Vec::new(), 1));
}

#[tokio::test]
async fn a_no_that_nobody_can_have_read_is_not_shown_and_the_question_goes_to_the_desk() {
    let told = in_both(async |era| {
        let mut all = String::new();
        for answer in [json!({ "action": "decline" }), json!({ "action": "cancel" }), yes("no")] {
            let server = TestServer::new();
            let mut client = Client::open(&server, era).await;
            client.reads = Duration::ZERO;
            let (_, result) = client.call_and_answer("test_note", note("a"), answer.clone()).await;
            assert_eq!((server.effects(), server.asked_at_fallback()), (Vec::new(), 1), "{answer}");
            all = text(&result).to_owned();
            // The fallback approver can still approve the same call.
            server.fallback.says_yes.store(true, Ordering::Relaxed);
            let (_, result) = client.call_and_answer("test_note", note("b"), answer).await;
            assert_eq!(result["isError"], false, "{result}");
            assert_eq!(server.effects(), ["b"]);
            client.leave().await;
            let record = server.record().await;
            assert!(record.contains("policy_blocked") && record.contains("approved (approve)"), "{record}");
        }
        all
    })
    .await;
    expect![[r#"
        test.note failed (policy_blocked): mode ask needs an approval of Note a, and no one is available to approve it: the client answered faster than a person can read, so the question was not shown there; no one answers in its place"#]]
    .assert_eq(told.lines().next().unwrap());
}

#[tokio::test]
async fn a_yes_of_a_client_whose_word_counts_may_come_at_once() {
    for era in ERAS {
        let server = TestServer::new();
        let mut client = Client::open(&server, era).await;
        client.reads = Duration::ZERO;
        let (_, result) = client.call_and_answer("test_note", note("a"), yes("once")).await;
        assert_eq!(result["isError"], false, "{result}");
        assert_eq!((server.effects(), server.asked_at_fallback()), (vec!["a".to_owned()], 0));
    }
}

#[tokio::test]
async fn an_answer_with_a_doubled_key_is_no_answer() {
    let doubled = r#"{"action":"accept","content":{"decision":"no","decision":"once"}}"#;
    let server = TestServer::new();
    let mut client = Client::open(&server, Era::Old).await;
    let id = client.begin("tools/call", json!({ "name": "test_note", "arguments": note("a") })).await;
    let asked = client.asked().await;
    client.send_text(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":{doubled}}}"#, asked["id"])).await;
    let result = client.end(id).await;
    assert_eq!(result["isError"], true, "{result}");
    assert_eq!((server.effects(), server.asked_at_fallback()), (Vec::new(), 1));

    let mut client = Client::open(&server, Era::New).await;
    let asked = client.call("test_note", note("b")).await;
    let params = json!({
        "_meta": Client::meta("tester", &json!({ "elicitation": { "form": {} } })),
        "name": "test_note",
        "arguments": note("b"),
        "requestState": asked["requestState"],
        "inputResponses": { "approval": yes("once") },
    });
    let message = json!({ "jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": params }).to_string();
    let twice = message.replace(r#"{"decision":"once"}"#, r#"{"decision":"no","decision":"once"}"#);
    assert_ne!(twice, message);
    client.send_text(&twice).await;
    let refused = client.end(77).await;
    assert!(refused["code"].is_i64(), "{refused}");
    assert_eq!(server.effects(), Vec::<String>::new());
    client.send_text(&message).await;
    assert_eq!(client.end(77).await["isError"], false);
    assert_eq!(server.effects(), ["b"]);
}
