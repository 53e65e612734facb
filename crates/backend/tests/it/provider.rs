//! A model's service for tests: takes Responses requests on loopback and answers as a script says.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// One piece of an answer.
pub(crate) enum Piece {
    Event(Value),
    /// Nothing more until the other side hangs up.
    Hang,
    /// Instead of everything else: a status and a body.
    Refuse(u16, &'static str),
}

type Script = dyn Fn(&Value) -> Vec<Piece> + Send + Sync;

/// Knows what it was asked.
pub(crate) struct Provider {
    pub(crate) port: u16,
    asked: Arc<Mutex<Vec<Value>>>,
    hung_up: Arc<Notify>,
}

impl Provider {
    pub(crate) async fn start(script: impl Fn(&Value) -> Vec<Piece> + Send + Sync + 'static) -> Provider {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let script: Arc<Script> = Arc::new(script);
        let hung_up = Arc::new(Notify::new());
        let provider = Provider { port, asked: Arc::clone(&asked), hung_up: Arc::clone(&hung_up) };
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                // One that hangs up in the middle is a client that was interrupted.
                tokio::spawn(serve(
                    connection,
                    Arc::clone(&script),
                    Arc::clone(&asked),
                    Arc::clone(&hung_up),
                ));
            }
        });
        provider
    }

    /// Waits until a client has closed the connection during a response.
    pub(crate) async fn hung_up(&self) {
        self.hung_up.notified().await;
    }

    /// The bodies of all requests so far.
    pub(crate) fn asked(&self) -> Vec<Value> {
        self.asked.lock().unwrap().clone()
    }

    /// Returns the input of the model, one line an item, without ids.
    pub(crate) fn shown(&self) -> String {
        let asked = self.asked();
        let Some(last) = asked.last() else { return "nothing was asked".to_owned() };
        let mut lines = vec![format!("tools: {}", last["tools"])];
        for item in last["input"].as_array().unwrap() {
            let mut item = item.clone();
            item.as_object_mut().unwrap().shift_remove("id");
            lines.push(item.to_string());
        }
        lines.join("\n")
    }
}

async fn serve(
    connection: TcpStream,
    script: Arc<Script>,
    asked: Arc<Mutex<Vec<Value>>>,
    hung_up: Arc<Notify>,
) -> std::io::Result<()> {
    let mut connection = BufReader::new(connection);
    let mut length = 0_usize;
    loop {
        let mut line = String::new();
        if connection.read_line(&mut line).await? == 0 {
            return Ok(());
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(0);
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    connection.read_exact(&mut body).await?;
    let Ok(body) = serde_json::from_slice::<Value>(&body) else {
        return connection.get_mut().write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n").await;
    };
    let answer = script(&body);
    asked.lock().unwrap().push(body);
    let connection = connection.get_mut();
    if let Some(Piece::Refuse(status, body)) = answer.first() {
        let head = format!("HTTP/1.1 {status} No\r\ncontent-type: application/json\r\nconnection: close\r\n");
        let rest = format!("content-length: {}\r\n\r\n{body}", body.len());
        return connection.write_all(format!("{head}{rest}").as_bytes()).await;
    }
    connection
        .write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
        .await?;
    for piece in answer {
        match piece {
            Piece::Event(event) => {
                let kind = event["type"].as_str().unwrap();
                connection.write_all(format!("event: {kind}\ndata: {event}\n\n").as_bytes()).await?;
            }
            Piece::Hang => {
                let ended = connection.read_to_end(&mut Vec::new()).await;
                hung_up.notify_one();
                ended?;
            }
            Piece::Refuse(..) => {}
        }
    }
    connection.shutdown().await
}

fn event(kind: &str, mut members: Value) -> Piece {
    members["type"] = json!(kind);
    Piece::Event(members)
}

fn message(id: &str, text: &str) -> Value {
    let content = json!([{"type": "output_text", "text": text, "annotations": []}]);
    json!({"type": "message", "id": id, "role": "assistant", "status": "completed", "content": content})
}

/// A message that is being written, word by word.
pub(crate) fn words(id: &str, words: &[&str]) -> Vec<Piece> {
    let item = message(id, "");
    let mut pieces = vec![event("response.output_item.added", json!({"output_index": 0, "item": item}))];
    for word in words {
        let delta = json!({"item_id": id, "output_index": 0, "content_index": 0, "delta": word});
        pieces.push(event("response.output_text.delta", delta));
    }
    pieces
}

/// A whole message.
pub(crate) fn said(id: &str, parts: &[&str]) -> Vec<Piece> {
    let mut pieces = words(id, parts);
    let item = message(id, &parts.concat());
    pieces.push(event("response.output_item.done", json!({"output_index": 0, "item": item})));
    pieces
}

pub(crate) fn item(item: &Value) -> Piece {
    event("response.output_item.done", json!({"output_index": 0, "item": item}))
}

pub(crate) fn call(call_id: &str, name: &str, arguments: &str) -> Piece {
    item(&json!({
        "type": "function_call", "id": format!("fc_{call_id}"), "call_id": call_id,
        "name": name, "arguments": arguments, "status": "completed",
    }))
}

/// A whole answer around its pieces.
pub(crate) fn answer(parts: Vec<Vec<Piece>>) -> Vec<Piece> {
    let mut pieces = vec![event("response.created", json!({"response": {"id": "resp_1"}}))];
    pieces.extend(parts.into_iter().flatten());
    pieces.push(completed());
    pieces
}

pub(crate) fn completed() -> Piece {
    let usage = json!({
        "input_tokens": 11, "input_tokens_details": {"cached_tokens": 3},
        "output_tokens": 7, "output_tokens_details": {"reasoning_tokens": 2}, "total_tokens": 18,
    });
    event(
        "response.completed",
        json!({"response": {"id": "resp_1", "status": "completed", "output": [], "usage": usage}}),
    )
}
