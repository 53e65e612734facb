//! News over HTTP: on the stream of a session, and on one that a client of the newer era listens to.

use std::time::Duration;

use engine::Policy;
use serde_json::json;
use tokio::io::AsyncWriteExt;

use crate::client::later;
use crate::house::House;
use crate::http_client::{begin, hear, modern, serve};
use crate::http_rounds::session;

fn one_tool_less() -> Policy {
    Policy { commands: vec!["other".to_owned()], ..Policy::cautious() }
}

#[tokio::test]
async fn clients_over_http_are_told_of_another_list_and_a_server_that_stops_does_not_wait_for_them() {
    let house = House::new();
    let mut rig = serve(&house).await;
    let (headers, body) =
        modern("tester", "subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } }));
    let mut listening = begin(&rig, &headers, &body).await;
    let mut heard = String::new();
    hear(&mut listening, &mut heard, Some("notifications/subscriptions/acknowledged")).await;

    let headers = session(&rig).await;
    let mut stream = rig.connect().await;
    stream.write_all(rig.request("GET /mcp", &headers, "").as_bytes()).await.unwrap();
    let mut told = crate::rig::read_until(&mut stream, "\r\n\r\n").await;
    assert!(told.starts_with("HTTP/1.1 200"), "{told}");

    *house.next_policy.lock().unwrap() = Some(one_tool_less());
    later(Duration::from_secs(3)).await;
    hear(&mut listening, &mut heard, Some("notifications/tools/list_changed")).await;
    hear(&mut stream, &mut told, Some("notifications/tools/list_changed")).await;

    // The test would take the whole time that streams are given, which is longer than any test may take.
    house.face.runs().stop();
    rig.ask_to_stop();
    rig.stop().await;
}
