//! An HTTP client: raw requests, and responses as messages.

use std::time::Duration;

use axum::Router;
use http_edge::EdgeSettings;
use mcp_server::mount;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::client::Client;
use crate::http_test_server::{HttpTestServer, read_to_close};
use crate::test_server::TestServer;

pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) messages: Vec<Value>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    /// Returns the result or the error of a single response.
    #[track_caller]
    pub(crate) fn result(&self) -> &Value {
        let last = self.messages.last().unwrap_or_else(|| panic!("{} {}", self.status, self.head));
        last.get("result").unwrap_or(&last["error"])
    }
}

/// Starts a server behind the edge. Its clock can be advanced without closing connections.
pub(crate) async fn serve(server: &TestServer) -> HttpTestServer {
    serve_with(server, |_| {}).await
}

/// Starts a server with other settings of the edge.
pub(crate) async fn serve_with(
    server: &TestServer,
    change: impl FnOnce(&mut EdgeSettings),
) -> HttpTestServer {
    let router = mount(Router::new(), &server.mcp_server);
    HttpTestServer::start(router, |settings| {
        change(settings);
        let day = Duration::from_secs(24 * 3600);
        settings.origins.push(crate::cells::PAGE.to_owned());
        let limits = &mut settings.limits;
        (limits.first_byte, limits.head, limits.body) = (day, day, day);
        (limits.idle, limits.write_stall) = (day, day);
    })
    .await
}

/// Builds a stateless request.
pub(crate) fn modern(name: &str, method: &str, mut params: Value) -> (String, String) {
    let capabilities = json!({ "elicitation": { "form": {} } });
    params["_meta"] = Client::meta(name, &capabilities);
    let tool = params["name"].as_str().map(|tool| format!("Mcp-Name: {tool}\r\n")).unwrap_or_default();
    let headers = format!("{ACCEPT}MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{tool}");
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    (headers, body.to_string())
}

pub(crate) const ACCEPT: &str = "Accept: application/json, text/event-stream\r\n";

pub(crate) async fn post(http_server: &HttpTestServer, headers: &str, body: &str) -> Answer {
    let headers = format!("{headers}Connection: close\r\n");
    parsed(&http_server.exchange(http_server.post("/mcp", &headers, body)).await)
}

/// Sends a stateless request and returns its answer.
pub(crate) async fn ask(http_server: &HttpTestServer, name: &str, method: &str, params: Value) -> Value {
    let (headers, body) = modern(name, method, params);
    let answer = post(http_server, &headers, &body).await;
    assert_eq!(answer.status, 200, "{:?}", answer.messages);
    answer.result().clone()
}

/// Sends a stateless request with the token of another client.
pub(crate) async fn ask_as(
    http_server: &HttpTestServer,
    token: &str,
    name: &str,
    method: &str,
    params: Value,
) -> Value {
    let (headers, body) = modern(name, method, params);
    let answer = post_as(http_server, token, &headers, &body).await;
    assert_eq!(answer.status, 200, "{:?}", answer.messages);
    answer.result().clone()
}

pub(crate) async fn post_as(http_server: &HttpTestServer, token: &str, headers: &str, body: &str) -> Answer {
    let request = http_server.post("/mcp", &format!("{headers}Connection: close\r\n"), body);
    parsed(&http_server.exchange(request.replace(&http_server.token, token)).await)
}

pub(crate) async fn begin(http_server: &HttpTestServer, headers: &str, body: &str) -> TcpStream {
    let mut socket = http_server.connect().await;
    socket.write_all(http_server.post("/mcp", headers, body).as_bytes()).await.unwrap();
    socket
}

/// Reads a stream until a message with this method, or until an answer if no method is given.
pub(crate) async fn hear(socket: &mut TcpStream, read: &mut String, method: Option<&str>) -> Value {
    loop {
        let wanted = messages(read).into_iter().find(|message| match method {
            Some(method) => message["method"] == method,
            None => message.get("method").is_none(),
        });
        if let Some(message) = wanted {
            return message;
        }
        let mut more = [0; 4096];
        let count = socket.read(&mut more).await.unwrap();
        assert!(count > 0, "closed: {read}");
        read.push_str(std::str::from_utf8(&more[..count]).unwrap());
    }
}

pub(crate) fn parsed(answer: &str) -> Answer {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((answer, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let head = head.to_ascii_lowercase();
    let messages = match serde_json::from_str(body) {
        Ok(message) => vec![message],
        Err(_) => messages(body),
    };
    Answer { status, head, messages }
}

/// Returns every complete message of an event stream. Each is one line, however it is chunked.
fn messages(stream: &str) -> Vec<Value> {
    let lines = stream.lines().filter_map(|line| line.strip_prefix("data:"));
    lines.filter_map(|data| serde_json::from_str(data.trim()).ok()).collect()
}

pub(crate) async fn to_close(mut socket: TcpStream) -> Answer {
    parsed(&read_to_close(&mut socket).await)
}
