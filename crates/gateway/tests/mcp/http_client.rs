//! A client over HTTP: raw requests, and answers as messages.

use std::time::Duration;

use axum::Router;
use gateway::edge::EdgeSettings;
use gateway::mcp::mount;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::client::Client;
use crate::house::House;
use crate::rig::{Rig, read_to_close};

pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) messages: Vec<Value>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    /// The result or the error of the one response.
    #[track_caller]
    pub(crate) fn result(&self) -> &Value {
        let last = self.messages.last().unwrap_or_else(|| panic!("{} {}", self.status, self.head));
        last.get("result").unwrap_or(&last["error"])
    }
}

/// A face behind the edge. Time may pass for the face without ending connections.
pub(crate) async fn serve(house: &House) -> Rig {
    serve_with(house, |_| {}).await
}

/// The same with other settings of the edge.
pub(crate) async fn serve_with(house: &House, change: impl FnOnce(&mut EdgeSettings)) -> Rig {
    let router = mount(Router::new(), &house.face);
    Rig::start(router, |settings| {
        change(settings);
        let day = Duration::from_secs(24 * 3600);
        settings.origins.push(crate::cells::PAGE.to_owned());
        let limits = &mut settings.limits;
        (limits.first_byte, limits.head, limits.body) = (day, day, day);
        (limits.idle, limits.write_stall) = (day, day);
    })
    .await
}

/// A request of the newer era.
pub(crate) fn modern(name: &str, method: &str, mut params: Value) -> (String, String) {
    let capabilities = json!({ "elicitation": { "form": {} } });
    params["_meta"] = Client::meta(name, &capabilities);
    let tool = params["name"].as_str().map(|tool| format!("Mcp-Name: {tool}\r\n")).unwrap_or_default();
    let headers = format!("{ACCEPT}MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{tool}");
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    (headers, body.to_string())
}

pub(crate) const ACCEPT: &str = "Accept: application/json, text/event-stream\r\n";

pub(crate) async fn post(rig: &Rig, headers: &str, body: &str) -> Answer {
    let headers = format!("{headers}Connection: close\r\n");
    parsed(&rig.exchange(rig.post("/mcp", &headers, body)).await)
}

/// One request of the newer era and its answer.
pub(crate) async fn ask(rig: &Rig, name: &str, method: &str, params: Value) -> Value {
    let (headers, body) = modern(name, method, params);
    let answer = post(rig, &headers, &body).await;
    assert_eq!(answer.status, 200, "{:?}", answer.messages);
    answer.result().clone()
}

/// The same with the token of another client than the default one.
pub(crate) async fn ask_as(rig: &Rig, token: &str, name: &str, method: &str, params: Value) -> Value {
    let (headers, body) = modern(name, method, params);
    let answer = post_as(rig, token, &headers, &body).await;
    assert_eq!(answer.status, 200, "{:?}", answer.messages);
    answer.result().clone()
}

pub(crate) async fn post_as(rig: &Rig, token: &str, headers: &str, body: &str) -> Answer {
    let request = rig.post("/mcp", &format!("{headers}Connection: close\r\n"), body);
    parsed(&rig.exchange(request.replace(&rig.token, token)).await)
}

pub(crate) async fn begin(rig: &Rig, headers: &str, body: &str) -> TcpStream {
    let mut socket = rig.connect().await;
    socket.write_all(rig.post("/mcp", headers, body).as_bytes()).await.unwrap();
    socket
}

/// Reads a stream until a message with this method, or an answer where none is named.
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

/// Every whole message of a stream of events. Each is a line of its own, in whatever chunks it comes.
fn messages(stream: &str) -> Vec<Value> {
    let lines = stream.lines().filter_map(|line| line.strip_prefix("data:"));
    lines.filter_map(|data| serde_json::from_str(data.trim()).ok()).collect()
}

pub(crate) async fn to_close(mut socket: TcpStream) -> Answer {
    parsed(&read_to_close(&mut socket).await)
}
