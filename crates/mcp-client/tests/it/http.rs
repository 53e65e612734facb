//! Remote servers: responses are bounded while they are read, and redirects are not followed.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::Arc;

use expect_test::expect;
use mcp_client::{ListedTools, ServerParts, ServerResources, ServerSettings, UpstreamServer};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// Behaviour of the server when it is asked for its tools.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Good,
    /// Answers `server/discover`, which it does not know, with an empty result.
    EmptyDiscovery,
    EndlessBody,
    EndlessEvent,
    Redirect,
    Forbidden,
    EndlessPages,
}

/// Starts a server that completes the handshake and then behaves as `way` says.
async fn start(way: Way) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, way));
        }
    });
    format!("http://{address}/mcp")
}

async fn serve(stream: TcpStream, way: Way) {
    let mut stream = BufReader::new(stream);
    while let Some((head, body)) = request(&mut stream).await {
        let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
        let answer =
            |result: Value| json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}).to_string();
        let written = match asked["method"].as_str() {
            _ if !head.contains("Bearer sesame") => {
                "HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n".to_owned()
            }
            Some("initialize") => with_length(&answer(json!({
                "protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"},
            }))),
            Some("server/discover") if way == Way::EmptyDiscovery => with_length(&answer(json!({}))),
            Some("tools/list") => match way {
                Way::Good | Way::EmptyDiscovery => {
                    with_length(&answer(json!({"tools": [{"name": "t", "inputSchema": {"type": "object"}}]})))
                }
                Way::EndlessPages => with_length(&answer(json!({"tools": [], "nextCursor": "more"}))),
                Way::Redirect => {
                    "HTTP/1.1 307 Temporary Redirect\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n"
                        .to_owned()
                }
                Way::Forbidden => "HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n".to_owned(),
                Way::EndlessBody | Way::EndlessEvent => return flood(stream, way).await,
            },
            Some(method) if method.starts_with("notifications/") => {
                "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n".to_owned()
            }
            Some(_) => "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n".to_owned(),
            None => "HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n".to_owned(),
        };
        if stream.get_mut().write_all(written.as_bytes()).await.is_err() {
            return;
        }
    }
}

fn with_length(body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Sends data without end.
async fn flood(mut stream: BufReader<TcpStream>, way: Way) {
    let (kind, begin) = match way == Way::EndlessEvent {
        true => ("text/event-stream", "data: \""),
        false => ("application/json", "\""),
    };
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n{begin}");
    let mut written = stream.get_mut().write_all(head.as_bytes()).await;
    while written.is_ok() {
        written = stream.get_mut().write_all(&[b'x'; 65536]).await;
    }
}

async fn request(stream: &mut BufReader<TcpStream>) -> Option<(String, Vec<u8>)> {
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line == "\r\n" {
            break;
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some((head, body))
}

fn server(url: String, token: Option<&str>) -> Arc<UpstreamServer> {
    let settings = ServerSettings {
        url: Some(url),
        max_output_bytes: NonZeroU64::new(1_000).unwrap(),
        ..ServerSettings::default()
    };
    let body = ServerResources { token: token.map(str::to_owned), ..ServerResources::default() };
    let root = PathBuf::from("/nowhere");
    UpstreamServer::new(ServerParts {
        name: "web".to_owned(),
        settings,
        resources: body,
        root,
        approved: None,
    })
}

/// Returns the names of its tools, or the failure as text.
async fn offered(way: Way) -> String {
    match server(start(way).await, Some("sesame")).list_tools().await {
        Ok(ListedTools { tools, .. }) => {
            tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>().join(" ")
        }
        Err(fault) => format!("{}: {}", fault.failure, fault.message),
    }
}

#[tokio::test]
async fn tools_are_listed_with_the_token() {
    assert_eq!(offered(Way::Good).await, "t");
    let refused = server(start(Way::Good).await, None).list_tools().await.unwrap_err();
    expect!["the server `web` does not answer: it answers with 401 Unauthorized"].assert_eq(&refused.message);
}

#[tokio::test]
async fn a_server_that_answers_discovery_with_nothing_is_initialized() {
    assert_eq!(offered(Way::EmptyDiscovery).await, "t");
}

#[tokio::test]
async fn what_has_no_end_is_cut() {
    expect!["dependency_unavailable: the server `web` does not answer: its tools cannot be listed: its answer is longer than 1050576 bytes"]
        .assert_eq(&offered(Way::EndlessBody).await);
    expect!["dependency_unavailable: the server `web` does not answer: its list of tools is too long: more than 1000 tools or 64 pages"]
        .assert_eq(&offered(Way::EndlessPages).await);
    let event = offered(Way::EndlessEvent).await;
    assert!(event.starts_with("dependency_unavailable: "), "{event}");
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_a_refusal_is_told() {
    expect!["dependency_unavailable: the server `web` does not answer: its tools cannot be listed: it answers with 307 Temporary Redirect"]
        .assert_eq(&offered(Way::Redirect).await);
    expect!["dependency_unavailable: the server `web` does not answer: its tools cannot be listed: it answers with 403 Forbidden"]
        .assert_eq(&offered(Way::Forbidden).await);
}
