//! `/mcp` behind the edge: which requests are accepted, and which are rejected before the server sees them.

use std::sync::Arc;

use expect_test::expect;
use http_edge::BODY_LIMIT;
use serde_json::json;

use crate::cells::{Matrix, wrong_cells};
use crate::http_client::{ACCEPT, begin, modern, parsed, post, serve, to_close};
use crate::test_server::TestServer;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_ten_thousand_combinations_only_the_intended_ones_reach_the_face() {
    let server = TestServer::new();
    let http_server = serve(&server).await;
    let (headers, body) = modern("tester", "tools/list", json!({}));
    let start = format!("POST /mcp HTTP/1.1\r\n{headers}");
    let matrix = Arc::new(Matrix::of(http_server.address.port(), &http_server.token, &start, &body));
    assert_eq!(matrix.cells(), 10_530);
    assert_eq!(wrong_cells(http_server.address, matrix, 1).await, Vec::<String>::new());
    http_server.stop().await;
}

#[tokio::test]
async fn every_method_of_the_path_stands_behind_the_guard() {
    let server = TestServer::new();
    let http_server = serve(&server).await;
    let port = http_server.address.port();
    let matrix = Matrix::new(port, &http_server.token);
    let upgrade = "Connection: Upgrade, close\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                   Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let stream = "Accept: text/event-stream\r\nMcp-Session-Id: none\r\nConnection: close\r\n";
    let mut wrong = Vec::new();
    for (line, extra) in [
        ("GET /mcp", stream),
        ("DELETE /mcp", stream),
        ("GET /mcp", upgrade),
        ("HEAD /mcp", stream),
        ("PUT /mcp", stream),
        ("OPTIONS /mcp", stream),
        ("GET /mcp/", stream),
        ("GET /mcp/../mcp", stream),
        ("GET //mcp", stream),
    ] {
        let good = (format!("127.0.0.1:{port}"), format!("Authorization: Bearer {}", http_server.token));
        let hosts = matrix.hosts.iter().map(|host| (host.clone(), (None, 200), (Some(good.1.clone()), 200)));
        let origins = matrix
            .origins
            .iter()
            .map(|origin| ((Some(good.0.clone()), 200), origin.clone(), (Some(good.1.clone()), 200)));
        let credentials =
            matrix.credentials.iter().map(|given| ((Some(good.0.clone()), 200), (None, 200), given.clone()));
        for (host, origin, given) in hosts.chain(origins).chain(credentials) {
            let refused = [host.1, origin.1, given.1].into_iter().find(|status| *status != 200);
            let mut request = format!("{line} HTTP/1.1\r\n{extra}");
            for (name, choice) in [("Host: ", &host), ("Origin: ", &origin), ("", &given)] {
                if let Some(value) = &choice.0 {
                    request.push_str(&format!("{name}{value}\r\n"));
                }
            }
            let status = parsed(&http_server.exchange(request + "\r\n").await).status;
            let is_right = match refused {
                Some(expected) => status == expected,
                // No session, method or path of that name: an error, but never a stream or an upgrade.
                // Ending a session that does not exist is not an error.
                None if line.starts_with("DELETE") => status == 204,
                None => (400..500).contains(&status) && status != 401 && status != 403,
            };
            if !is_right {
                wrong.push(format!("{line} {host:?} {origin:?} {given:?}: {status}"));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    http_server.stop().await;
}

#[tokio::test]
async fn a_body_that_is_too_long_is_refused_with_and_without_a_length() {
    let server = TestServer::new();
    let http_server = serve(&server).await;
    let (headers, _) = modern("tester", "tools/list", json!({}));
    let announced = format!(
        "Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n{headers}",
        BODY_LIMIT + 1
    );
    assert_eq!(
        parsed(&http_server.exchange(http_server.request("POST /mcp", &announced, "")).await).status,
        413
    );
    let chunked = format!(
        "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n{headers}"
    );
    let chunk = format!("{:x}\r\n{}\r\n", 1 << 20, "x".repeat(1 << 20));
    let body = chunk.repeat(BODY_LIMIT / (1 << 20) + 1) + "0\r\n\r\n";
    let mut socket = http_server.connect().await;
    // The server may close the connection before it has read everything.
    let _stopped = tokio::io::AsyncWriteExt::write_all(
        &mut socket,
        http_server.request("POST /mcp", &chunked, &body).as_bytes(),
    )
    .await;
    assert_eq!(to_close(socket).await.status, 413);
    http_server.stop().await;
}

#[tokio::test]
async fn headers_that_say_something_else_than_the_body_are_refused() {
    let server = TestServer::new();
    let http_server = serve(&server).await;
    let (headers, body) =
        modern("tester", "tools/call", json!({ "name": "test_note", "arguments": { "text": "a" } }));
    let mut told = String::new();
    for (from, to) in [
        ("Mcp-Method: tools/call\r\n", "Mcp-Method: tools/list\r\n"),
        ("Mcp-Method: tools/call\r\n", ""),
        ("Mcp-Name: test_note\r\n", "Mcp-Name: test_look\r\n"),
        ("Mcp-Name: test_note\r\n", ""),
        ("MCP-Protocol-Version: 2026-07-28\r\n", "MCP-Protocol-Version: 2025-06-18\r\n"),
        ("MCP-Protocol-Version: 2026-07-28\r\n", "MCP-Protocol-Version: 1999-01-01\r\n"),
    ] {
        let answer = post(&http_server, &headers.replace(from, to), &body).await;
        let code = answer.messages.first().map(|message| message["error"]["code"].clone());
        told += &format!("{:?}: {} {}\n", to, answer.status, code.unwrap_or_default());
    }
    expect![[r#"
        "Mcp-Method: tools/list\r\n": 400 -32020
        "": 400 -32020
        "Mcp-Name: test_look\r\n": 400 -32020
        "": 400 -32020
        "MCP-Protocol-Version: 2025-06-18\r\n": 400 -32020
        "MCP-Protocol-Version: 1999-01-01\r\n": 400 -32020
    "#]]
    .assert_eq(&told);
    assert_eq!((server.effects(), server.asked_at_fallback()), (Vec::new(), 0));
    http_server.stop().await;
    assert_eq!(server.record().await, "");
}

#[tokio::test]
async fn a_request_without_a_version_that_opens_no_session_is_refused() {
    let server = TestServer::new();
    let http_server = serve(&server).await;
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} }).to_string();
    let answer = to_close(begin(&http_server, &format!("{ACCEPT}Connection: close\r\n"), &body).await).await;
    assert!((400..500).contains(&answer.status), "{} {:?}", answer.status, answer.messages);
    http_server.stop().await;
}
