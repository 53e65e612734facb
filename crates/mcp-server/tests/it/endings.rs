//! Every call ends exactly once in the journal: cancelled during a question or while running, or abandoned.

use std::time::Duration;

use expect_test::expect;
use serde_json::{Value, json};

use crate::client::{Client, Era, frozen, in_both, later, text};
use crate::test_server::TestServer;

fn note(what: &str) -> Value {
    json!({ "name": "test_note", "arguments": { "text": what } })
}

#[tokio::test]
async fn a_call_that_is_cancelled_while_its_question_is_open_is_cancelled() {
    let server = TestServer::new();
    let mut client = Client::open(&server, Era::Old).await;
    let id = client.begin("tools/call", note("a")).await;
    client.asked().await;
    client.cancel(id).await;
    // A later request is answered; the cancelled call gets no answer.
    client.call("test_look", json!({ "text": "x" })).await;
    client.leave().await;
    assert_eq!((server.effects(), server.asked_at_fallback()), (Vec::new(), 0));
    expect![[r#"
        calls of tester 1
        - test.note canceled
        - test.look ok (allowed: mode ask, read-only)
    "#]]
    .assert_eq(&server.record().await);
}

#[tokio::test]
async fn a_call_that_is_cancelled_while_it_runs_is_cancelled() {
    let told = in_both(async |era| {
        let mut all = String::new();
        let server = TestServer::new();
        let mut client = Client::open(&server, era).await;
        let params = json!({
            "name": "test_wait", "arguments": { "text": "" }, "_meta": { "progressToken": "p" },
        });
        let id = client.begin("tools/call", params).await;
        while client.heard.iter().filter(|heard| heard["method"] == "notifications/progress").count() < 3 {
            let message = client.read().await;
            client.heard.push(message);
        }
        client.cancel(id).await;
        client.call("test_look", json!({ "text": "x" })).await;
        client.leave().await;
        all.push_str(&server.record().await);
        all
    })
    .await;
    expect![[r#"
        calls of tester 1
        - test.wait canceled (allowed: mode ask, read-only)
        - test.look ok (allowed: mode ask, read-only)
    "#]]
    .assert_eq(&told);
}

#[tokio::test]
async fn a_client_that_leaves_while_it_is_asked_leaves_a_record_that_is_closed() {
    let told = in_both(async |era| {
        let mut all = String::new();
        let server = TestServer::new();
        let mut client = Client::open(&server, era).await;
        let id = client.begin("tools/call", note("a")).await;
        match era {
            Era::Old => drop(client.asked().await),
            Era::New => drop(client.end(id).await),
        }
        server.mcp_server.runs().stop();
        client.leave().await;
        assert_eq!(server.effects(), Vec::<String>::new());
        all.push_str(&server.record().await);
        all
    })
    .await;
    expect![[r#"
        calls of tester 1
        - test.note canceled
    "#]]
    .assert_eq(&told);
}

#[tokio::test]
async fn a_client_that_leaves_makes_no_one_wait_for_its_answer_nor_for_its_listening() {
    // The end of the input is enough; the server is not stopped.
    let server = TestServer::new();
    let mut client = Client::open(&server, Era::Old).await;
    client.begin("tools/call", note("a")).await;
    client.asked().await;
    frozen(client.leave()).await;

    let mut client = Client::open(&server, Era::New).await;
    client.begin("subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } })).await;
    client.read().await;
    frozen(client.leave()).await;
}

#[tokio::test]
async fn when_too_many_calls_wait_the_next_is_told_so_and_ends() {
    let server = TestServer::new();
    let mut client = Client::open(&server, Era::New).await;
    for number in 0..16 {
        // Another name does not make it another client.
        client.rename(format!("tester {}", number % 4).leak());
        let asked = client.request("tools/call", note(&number.to_string())).await;
        assert_eq!(asked["resultType"], "input_required");
    }
    client.rename("one more tester");
    let refused = client.request("tools/call", note("one more")).await;
    expect![[r#"
        test.note failed (policy_blocked): mode ask needs an approval of Note one more, and no one is available to approve it: too many calls are waiting for an answer; answer those first, or have several changes approved at once with plan_run
        Next: explain to the user what you want to do and why; when they agree, make the same call again"#]]
    .assert_eq(text(&refused));
    // Unanswered questions make room after their timeout.
    later(Duration::from_secs(601)).await;
    let asked = client.request("tools/call", note("later")).await;
    assert_eq!(asked["resultType"], "input_required");
    server.mcp_server.runs().stop();
    client.leave().await;
    let record = server.record().await;
    assert_eq!(record.matches("test.note policy_blocked").count(), 17, "{record}");
    assert_eq!(record.matches("test.note canceled").count(), 1, "{record}");
}
