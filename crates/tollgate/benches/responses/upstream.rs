//! A model's server that answers every request with the same bytes.
//!
//! As a model makes them, each event is sent on its own: one right after the other, or one every 5 ms. A client can also
//! have all of them in one piece, which no model does but which shows what is left when nothing has to be waited for.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::chat;

/// Between two events of a paced answer.
pub(crate) const PACE: Duration = Duration::from_millis(5);
/// Between two events of an answer that is only held open.
const SLOW: Duration = Duration::from_secs(5);
/// What a client says to be answered at that pace.
pub(crate) const PACED: &str = "paced please";
pub(crate) const HELD: &str = "held please";
/// What a client says to have the whole stream at once.
pub(crate) const BURST: &str = "at once please";
/// What it says to have only the end of it, at once.
pub(crate) const SHORT: &str = "be brief please";
const DELTAS: usize = 100;
const PROSE_DELTAS: usize = 91;
/// A few words and the call.
const SHORT_DELTAS: usize = 12;

struct AnswerScript {
    long: LoadAnswer,
    short: LoadAnswer,
    /// The events of the long one as `/chat/completions` has them.
    chat: Vec<Vec<u8>>,
}

/// One answer in all its forms.
struct LoadAnswer {
    /// Each event as a chunk of a chunked body.
    events: Vec<Vec<u8>>,
    /// All of them in one piece.
    burst: Vec<u8>,
    object: Vec<u8>,
}

/// Starts it on a thread of its own.
pub(crate) fn start() -> SocketAddr {
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            tell.send(listener.local_addr().unwrap()).unwrap();
            let answers = Arc::new(answers());
            loop {
                let (socket, _) = listener.accept().await.unwrap();
                socket.set_nodelay(true).unwrap();
                tokio::spawn(serve(socket, answers.clone()));
            }
        });
    });
    told.recv().unwrap()
}

async fn serve(mut socket: TcpStream, answers: Arc<AnswerScript>) -> Option<()> {
    let mut buffer = Vec::new();
    loop {
        let (head, body) = request(&mut socket, &mut buffer).await?;
        let body = String::from_utf8_lossy(&body).into_owned();
        let short = body.contains(SHORT);
        let answer = if short { &answers.short } else { &answers.long };
        if !body.contains("\"stream\":true") {
            socket.write_all(&answer.object).await.ok()?;
            continue;
        }
        if short || body.contains(BURST) {
            socket.write_all(&answer.burst).await.ok()?;
            continue;
        }
        let pause = match () {
            () if body.contains(PACED) => Some(PACE),
            () if body.contains(HELD) => Some(SLOW),
            () => None,
        };
        let chat = head.starts_with("post /v1/chat/completions ");
        socket.write_all(HEAD).await.ok()?;
        for event in if chat { &answers.chat } else { &answer.events } {
            socket.write_all(event).await.ok()?;
            if let Some(pause) = pause {
                tokio::time::sleep(pause).await;
            }
        }
        socket.write_all(b"0\r\n\r\n").await.ok()?;
    }
}

const HEAD: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

/// The next request: its head in lower case, and its body.
async fn request(socket: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<(String, Vec<u8>)> {
    loop {
        if let Some(at) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&buffer[..at]).to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.map_or(0, |length| length.trim().parse().unwrap());
            if buffer.len() >= at + 4 + length {
                let body = buffer[at + 4..at + 4 + length].to_vec();
                buffer.drain(..at + 4 + length);
                return Some((head, body));
            }
        }
        let mut some = vec![0; 16 * 1024];
        match socket.read(&mut some).await {
            Ok(0) | Err(_) => return None,
            Ok(got) => buffer.extend_from_slice(&some[..got]),
        }
    }
}

/// The texts of the deltas: prose, then a call in pieces.
fn deltas() -> Vec<String> {
    let call = r#"<tool_call>{"name":"get_weather","arguments":"{\"city\":\"Oslo\",\"unit\":\"celsius\"}"}</tool_call>"#;
    let pieces = call.as_bytes().chunks(12).map(|piece| String::from_utf8_lossy(piece).into_owned());
    let deltas: Vec<String> = prose().chain(pieces).collect();
    assert_eq!(deltas.len(), DELTAS);
    deltas
}

/// The text before the call, as its deltas have it.
pub(crate) fn prose() -> impl Iterator<Item = String> {
    (0..PROSE_DELTAS).map(|number| format!("some words {number} "))
}

fn answers() -> AnswerScript {
    let deltas = deltas();
    AnswerScript {
        long: answer(&deltas),
        short: answer(&deltas[DELTAS - SHORT_DELTAS..]),
        chat: chat::frames(&deltas),
    }
}

fn answer(deltas: &[String]) -> LoadAnswer {
    let text = deltas.concat();
    let response = |status: &str| json!({ "id": "resp_1", "object": "response", "created_at": 1, "status": status, "model": "m", "output": [], "usage": { "input_tokens": 10, "output_tokens": 100, "total_tokens": 110 } });
    let part = json!({ "type": "output_text", "text": "", "annotations": [] });
    let item = |status: &str, text: &str| json!({ "type": "message", "id": "msg_1", "status": status, "role": "assistant", "content": if text.is_empty() { json!([]) } else { json!([{ "type": "output_text", "text": text, "annotations": [] }]) } });
    let mut events = vec![
        ("response.created", json!({ "response": response("in_progress") })),
        ("response.in_progress", json!({ "response": response("in_progress") })),
        ("response.output_item.added", json!({ "output_index": 0, "item": item("in_progress", "") })),
        (
            "response.content_part.added",
            json!({ "item_id": "msg_1", "output_index": 0, "content_index": 0, "part": part }),
        ),
    ];
    for delta in deltas {
        let delta = json!({ "item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": delta, "logprobs": [] });
        events.push(("response.output_text.delta", delta));
    }
    events.push((
        "response.output_text.done",
        json!({ "item_id": "msg_1", "output_index": 0, "content_index": 0, "text": text, "logprobs": [] }),
    ));
    events.push((
        "response.content_part.done",
        json!({ "item_id": "msg_1", "output_index": 0, "content_index": 0, "part": part }),
    ));
    events
        .push(("response.output_item.done", json!({ "output_index": 0, "item": item("completed", &text) })));
    events.push(("response.completed", json!({ "response": response("completed") })));
    let mut frames: Vec<Vec<u8>> = Vec::new();
    for (number, (kind, mut payload)) in events.into_iter().enumerate() {
        payload["type"] = json!(kind);
        payload["sequence_number"] = json!(number);
        frames.push(chunk(&format!("event: {kind}\ndata: {payload}\n\n")));
    }
    frames.push(chunk("data: [DONE]\n\n"));
    let mut whole = response("completed");
    whole["output"] = json!([item("completed", &text)]);
    let whole = whole.to_string();
    let object = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{whole}",
        whole.len()
    );
    let burst = [HEAD, &frames.concat(), b"0\r\n\r\n"].concat();
    LoadAnswer { events: frames, burst, object: object.into_bytes() }
}

pub(crate) fn chunk(text: &str) -> Vec<u8> {
    format!("{:x}\r\n{text}\r\n", text.len()).into_bytes()
}
