//! Notifications over HTTP: on the stream of a session, and on a subscription of a stateless client.

use std::time::Duration;

use engine::Policy;
use serde_json::json;
use tokio::io::AsyncWriteExt;

use crate::client::later;
use crate::http_client::{begin, hear, modern, serve};
use crate::http_rounds::session;
use crate::test_server::TestServer;

fn one_tool_less() -> Policy {
    Policy { commands: vec!["other".to_owned()], ..Policy::cautious() }
}

#[tokio::test]
async fn clients_over_http_are_told_of_another_list_and_a_server_that_stops_does_not_wait_for_them() {
    let server = TestServer::new();
    let mut http_server = serve(&server).await;
    let (headers, body) =
        modern("tester", "subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } }));
    let mut listening = begin(&http_server, &headers, &body).await;
    let mut heard = String::new();
    hear(&mut listening, &mut heard, Some("notifications/subscriptions/acknowledged")).await;

    let headers = session(&http_server).await;
    let mut stream = http_server.connect().await;
    stream.write_all(http_server.request("GET /mcp", &headers, "").as_bytes()).await.unwrap();
    let mut told = crate::http_test_server::read_until(&mut stream, "\r\n\r\n").await;
    assert!(told.starts_with("HTTP/1.1 200"), "{told}");

    *server.next_policy.lock().unwrap() = Some(one_tool_less());
    later(Duration::from_secs(3)).await;
    hear(&mut listening, &mut heard, Some("notifications/tools/list_changed")).await;
    hear(&mut stream, &mut told, Some("notifications/tools/list_changed")).await;

    // Waiting for the stream timeout would take longer than any test may take.
    server.mcp_server.runs().stop();
    http_server.ask_to_stop();
    http_server.stop().await;
}
