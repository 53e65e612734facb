//! Progress notifications: increasing numbers, and a keep-alive message every few seconds during a call or a
//! question.

use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{Client, Era, later};
use crate::test_server::TestServer;

fn numbers(heard: &[Value]) -> Vec<f64> {
    let told = heard.iter().filter(|message| message["method"] == "notifications/progress");
    told.map(|message| message["params"]["progress"].as_f64().unwrap()).collect()
}

async fn hear(client: &mut Client, count: usize) {
    while numbers(&client.heard).len() < count {
        let message = client.read().await;
        client.heard.push(message);
    }
}

#[tokio::test]
async fn progress_only_grows_and_goes_on_while_nothing_is_heard_of_the_tool() {
    for era in [Era::Old, Era::New] {
        let server = TestServer::new();
        let mut client = Client::open(&server, era).await;
        let params = json!({
            "name": "test_wait", "arguments": { "text": "" }, "_meta": { "progressToken": 7 },
        });
        let id = client.begin("tools/call", params).await;
        hear(&mut client, 3).await;
        for more in 4..6 {
            later(Duration::from_secs(10)).await;
            hear(&mut client, more).await;
        }
        let numbers = numbers(&client.heard);
        assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
        let totals = client.heard.iter().filter_map(|message| message["params"]["total"].as_f64());
        assert!(totals.zip(&numbers).all(|(total, done)| total >= *done));
        client.cancel(id).await;
        client.leave().await;
    }
}

#[tokio::test]
async fn a_client_that_waits_for_its_person_hears_that_the_call_is_alive() {
    let server = TestServer::new();
    let mut client = Client::open(&server, Era::Old).await;
    let params = json!({
        "name": "test_note", "arguments": { "text": "a" }, "_meta": { "progressToken": "p" },
    });
    let id = client.begin("tools/call", params).await;
    let asked = client.asked().await;
    later(Duration::from_secs(10)).await;
    hear(&mut client, 1).await;
    let answer = crate::client::yes("once");
    client.send(json!({ "jsonrpc": "2.0", "id": asked["id"], "result": answer })).await;
    assert_eq!(client.end(id).await["isError"], false);
}

#[tokio::test]
async fn who_gives_no_token_is_told_nothing() {
    let server = TestServer::new();
    let mut client = Client::open(&server, Era::New).await;
    let id = client.begin("tools/call", json!({ "name": "test_wait", "arguments": { "text": "" } })).await;
    client.call("test_look", json!({ "text": "x" })).await;
    later(Duration::from_secs(10)).await;
    client.call("test_look", json!({ "text": "x" })).await;
    assert_eq!(client.heard, Vec::<Value>::new());
    client.cancel(id).await;
    client.leave().await;
}
