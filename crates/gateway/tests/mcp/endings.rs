//! However a call ends, it ends once on record: cancelled while asked or while running, or left behind.

use std::time::Duration;

use expect_test::expect;
use serde_json::{Value, json};

use crate::client::{Client, Era, frozen, in_both, later, text};
use crate::house::House;

fn note(what: &str) -> Value {
    json!({ "name": "test_note", "arguments": { "text": what } })
}

#[tokio::test]
async fn a_call_that_is_cancelled_while_its_question_is_open_is_cancelled() {
    let house = House::new();
    let mut client = Client::open(&house, Era::Old).await;
    let id = client.begin("tools/call", note("a")).await;
    client.asked().await;
    client.cancel(id).await;
    // Something that is answered afterwards: the cancelled call gets no answer.
    client.call("test_look", json!({ "text": "x" })).await;
    client.leave().await;
    assert_eq!((house.deeds(), house.asked_at_desk()), (Vec::new(), 0));
    expect![[r#"
        calls of tester 1
        - test.note canceled
        - test.look ok (allowed: mode ask, read-only)
    "#]]
    .assert_eq(&house.record().await);
}

#[tokio::test]
async fn a_call_that_is_cancelled_while_it_runs_is_cancelled() {
    let told = in_both(async |era| {
        let mut all = String::new();
        let house = House::new();
        let mut client = Client::open(&house, era).await;
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
        all.push_str(&house.record().await);
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
        let house = House::new();
        let mut client = Client::open(&house, era).await;
        let id = client.begin("tools/call", note("a")).await;
        match era {
            Era::Old => drop(client.asked().await),
            Era::New => drop(client.end(id).await),
        }
        house.face.runs().stop();
        client.leave().await;
        assert_eq!(house.deeds(), Vec::<String>::new());
        all.push_str(&house.record().await);
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
    // Without a stop of the server: the end of the input alone is enough.
    let house = House::new();
    let mut client = Client::open(&house, Era::Old).await;
    client.begin("tools/call", note("a")).await;
    client.asked().await;
    frozen(client.leave()).await;

    let mut client = Client::open(&house, Era::New).await;
    client.begin("subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } })).await;
    client.read().await;
    frozen(client.leave()).await;
}

#[tokio::test]
async fn when_too_many_calls_wait_the_next_is_told_so_and_ends() {
    let house = House::new();
    let mut client = Client::open(&house, Era::New).await;
    for number in 0..16 {
        // Another name is not another client.
        client.rename(format!("tester {}", number % 4).leak());
        let asked = client.request("tools/call", note(&number.to_string())).await;
        assert_eq!(asked["resultType"], "input_required");
    }
    client.rename("one more tester");
    let refused = client.request("tools/call", note("one more")).await;
    expect![[r#"
        test.note failed (policy_blocked): mode ask needs a yes to Note one more, and nobody can be asked: too many calls wait for an answer already; answer those first, or have several changes approved at once with plan_run
        Next: tell the person what you want to do and why; when they agree, make the same call again"#]]
    .assert_eq(text(&refused));
    // Those that nobody answered make room when their time is over.
    later(Duration::from_secs(601)).await;
    let asked = client.request("tools/call", note("later")).await;
    assert_eq!(asked["resultType"], "input_required");
    house.face.runs().stop();
    client.leave().await;
    let record = house.record().await;
    assert_eq!(record.matches("test.note policy_blocked").count(), 17, "{record}");
    assert_eq!(record.matches("test.note canceled").count(), 1, "{record}");
}
