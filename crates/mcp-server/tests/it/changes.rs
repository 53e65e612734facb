//! Settings that change while clients are connected.

use std::time::Duration;

use engine::{Mode, Policy};
use expect_test::expect;
use serde_json::{Value, json};

use crate::client::{Client, Era, in_both, later};
use crate::test_server::TestServer;

fn names(list: &Value) -> Vec<&str> {
    list["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

/// Another policy, and one tool less.
fn other() -> Policy {
    Policy { mode: Mode::ReadOnly, commands: vec!["other".to_owned()], ..Policy::cautious() }
}

#[tokio::test]
async fn clients_are_told_of_another_list_and_calls_run_under_it() {
    let told = in_both(async |era| {
        let mut all = String::new();
        let server = TestServer::new();
        let mut client = Client::open(&server, era).await;
        if era == Era::New {
            let filter = json!({ "notifications": { "toolsListChanged": true } });
            client.begin("subscriptions/listen", filter).await;
            assert_eq!(client.read().await["method"], "notifications/subscriptions/acknowledged");
        }
        let before = client.request("tools/list", json!({})).await;
        assert!(names(&before).contains(&"test_leave"));
        client.call("test_look", json!({ "text": "before" })).await;

        *server.next_policy.lock().unwrap() = Some(other());
        later(Duration::from_secs(3)).await;
        let told = client.read().await;
        assert_eq!(told["method"], "notifications/tools/list_changed", "{told}");
        let after = client.request("tools/list", json!({})).await;
        assert!(!names(&after).contains(&"test_leave"));
        let refused = client.call("test_note", json!({ "text": "a" })).await;
        assert_eq!(refused["isError"], true);
        assert_eq!((server.effects(), server.asked_at_fallback()), (Vec::new(), 0));
        client.leave().await;
        all.push_str(&server.record().await);
        all
    })
    .await;
    expect![[r#"
        calls of tester 1
        - test.look ok (allowed: mode ask, read-only)
        calls of tester 1
        - test.note policy_blocked
    "#]]
    .assert_eq(&told);
}

#[tokio::test]
async fn a_call_after_a_change_runs_under_it_though_nobody_listens() {
    let server = TestServer::new();
    let mut client = Client::open(&server, Era::New).await;
    client.call("test_look", json!({ "text": "before" })).await;
    // The very next call runs under the change.
    *server.next_policy.lock().unwrap() = Some(other());
    let refused = client.call("test_note", json!({ "text": "a" })).await;
    assert_eq!(refused["isError"], true, "{refused}");
    assert!(client.heard.is_empty());
    client.leave().await;
    expect![[r#"
        calls of tester 1
        - test.look ok (allowed: mode ask, read-only)
        calls of tester 1
        - test.note policy_blocked
    "#]]
    .assert_eq(&server.record().await);
}

#[tokio::test]
async fn a_call_that_waits_for_its_answer_keeps_the_rules_that_it_was_asked_under() {
    let server = TestServer::new();
    let mut client = Client::open(&server, Era::New).await;
    let args = json!({ "text": "a" });
    let asked = client.call("test_note", args.clone()).await;
    *server.next_policy.lock().unwrap() = Some(other());
    later(Duration::from_secs(1)).await;
    let yes = crate::client::yes("once");
    let result = client.second_round("test_note", args, &asked["requestState"], yes).await;
    assert_eq!(result["isError"], false, "{result}");
    assert_eq!(server.effects(), ["a"]);
    client.leave().await;
    expect![[r#"
        calls of tester 1
        - test.note ok (mode ask: approved (client))
    "#]]
    .assert_eq(&server.record().await);
}

#[tokio::test]
async fn a_change_that_clients_cannot_see_is_not_told() {
    let server = TestServer::new();
    let mut client = Client::open(&server, Era::Old).await;
    // A rule about some paths leaves every tool in the list.
    let rules = serde_json::from_value(json!([{ "effect": "deny", "paths": ["Private/**"] }])).unwrap();
    *server.next_policy.lock().unwrap() = Some(Policy { rules, ..Policy::cautious() });
    later(Duration::from_secs(3)).await;
    client.call("test_look", json!({ "text": "a" })).await;
    assert_eq!(client.heard, Vec::<Value>::new());
    // The mode that only reads takes tools out of it.
    *server.next_policy.lock().unwrap() = Some(Policy { mode: Mode::ReadOnly, ..Policy::cautious() });
    later(Duration::from_secs(3)).await;
    let refused = client.call("test_note", json!({ "text": "a" })).await;
    assert_eq!(refused["isError"], true, "{refused}");
    assert_eq!(client.heard.len(), 1, "{:?}", client.heard);
}

#[tokio::test]
async fn where_no_gate_can_be_made_any_more_nothing_new_is_begun() {
    let server = TestServer::new();
    let mut client = Client::open(&server, Era::New).await;
    client.call("test_look", json!({ "text": "before" })).await;
    let unusable = serde_json::from_value(json!([{ "effect": "deny", "paths": ["["] }]));
    let rules = unusable.unwrap_or_else(|error| panic!("{error}"));
    *server.next_policy.lock().unwrap() = Some(Policy { rules, ..Policy::cautious() });
    later(Duration::from_secs(1)).await;
    let error = client.call("test_look", json!({ "text": "after" })).await;
    assert_eq!(error["isError"], true, "{error}");
    assert_eq!(error["_meta"]["tollgate/error"]["kind"], "setup_required", "{error}");
    client.leave().await;
    expect![[r#"
        calls of tester 1
        - test.look ok (allowed: mode ask, read-only)
    "#]]
    .assert_eq(&server.record().await);
}
