//! A fake model server that gives the same answer in every response format.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use anyhow::Context;
use serde_json::{Value, json};

/// The form of the request, and the way the model answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AnswerForm {
    pub(super) streamed: bool,
    /// The input of the model; part of its request.
    pub(super) said: &'static str,
}

const SHORT: &str = "in short";
const AT_ONCE: &str = "all at once";
const PIECE_BY_PIECE: &str = "piece by piece";

pub(super) const FORMS: [AnswerForm; 4] = [
    AnswerForm { streamed: false, said: SHORT },
    AnswerForm { streamed: false, said: AT_ONCE },
    AnswerForm { streamed: true, said: PIECE_BY_PIECE },
    AnswerForm { streamed: true, said: AT_ONCE },
];

/// Number of words before the call, in a long and in a short answer.
const WORDS: usize = 90;
const FEW: usize = 3;
const CALL: &str =
    r#"<tool_call>{"name":"get_weather","arguments":"{\"city\":\"Oslo\",\"unit\":\"celsius\"}"}</tool_call>"#;

/// Starts the server on a thread for the lifetime of this process.
pub(super) fn start() -> anyhow::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").context("no port for the model's server")?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            // A closed connection is not an error.
            std::thread::spawn(move || serve(socket).is_ok());
        }
    });
    Ok(address)
}

fn serve(mut socket: TcpStream) -> anyhow::Result<()> {
    socket.set_nodelay(true)?;
    let mut reader = BufReader::new(socket.try_clone()?);
    loop {
        let (path, body) = request(&mut reader)?;
        let words = if body.contains(SHORT) { FEW } else { WORDS };
        let events = if path.contains("chat") { chat(words) } else { responses(words) };
        let chunks = events.iter().map(|event| format!("{:x}\r\n{event}\r\n", event.len()));
        socket.write_all(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
        )?;
        if body.contains(PIECE_BY_PIECE) {
            for chunk in chunks {
                socket.write_all(chunk.as_bytes())?;
            }
        } else {
            socket.write_all(chunks.collect::<String>().as_bytes())?;
        }
        socket.write_all(b"0\r\n\r\n")?;
    }
}

/// The path and the body of the next request.
fn request(reader: &mut BufReader<TcpStream>) -> anyhow::Result<(String, String)> {
    let mut path = String::new();
    reader.read_line(&mut path)?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        anyhow::ensure!(reader.read_line(&mut line)? > 0, "hung up");
        if line == "\r\n" {
            break;
        }
        if let Some(said) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = said.trim().parse()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok((path, String::from_utf8(body)?))
}

/// The model's text, a few characters at a time.
fn pieces(words: usize) -> Vec<String> {
    let call = CALL.as_bytes().chunks(12).map(|piece| String::from_utf8_lossy(piece).into_owned());
    (0..words).map(|number| format!("some words {number} ")).chain(call).collect()
}

fn responses(words: usize) -> Vec<String> {
    let pieces = pieces(words);
    let text = pieces.concat();
    let response = |status: &str| json!({ "id": "r", "object": "response", "status": status, "model": "m", "output": [], "usage": { "input_tokens": 10, "output_tokens": 100, "total_tokens": 110 } });
    let at = json!({ "item_id": "m", "output_index": 0, "content_index": 0 });
    let with = |name: &str, value: Value| {
        let mut fields = at.clone();
        fields[name] = value;
        fields
    };
    let item = |text: &str| json!({ "output_index": 0, "item": { "type": "message", "id": "m", "role": "assistant", "content": [{ "type": "output_text", "text": text, "annotations": [] }] } });
    let mut events = vec![
        ("response.created", json!({ "response": response("in_progress") })),
        ("response.in_progress", json!({ "response": response("in_progress") })),
        ("response.output_item.added", item("")),
        ("response.content_part.added", with("part", json!({ "type": "output_text", "text": "" }))),
    ];
    events.extend(pieces.iter().map(|piece| ("response.output_text.delta", with("delta", json!(piece)))));
    events.extend([
        ("response.output_text.done", with("text", json!(text))),
        ("response.content_part.done", with("part", json!({ "type": "output_text", "text": text }))),
        ("response.output_item.done", item(&text)),
        ("response.completed", json!({ "response": response("completed") })),
    ]);
    let numbered = events.into_iter().enumerate().map(|(number, (kind, mut event))| {
        event["type"] = json!(kind);
        event["sequence_number"] = json!(number);
        format!("event: {kind}\ndata: {event}\n\n")
    });
    numbered.collect()
}

fn chat(words: usize) -> Vec<String> {
    let event = |choices: Value, usage: Value| {
        let event = json!({ "id": "c", "object": "chat.completion.chunk", "model": "m", "choices": choices, "usage": usage });
        format!("data: {event}\n\n")
    };
    let said = |piece: &String| event(json!([{ "index": 0, "delta": { "content": piece } }]), Value::Null);
    let mut events: Vec<String> = pieces(words).iter().map(said).collect();
    events.push(event(json!([{ "index": 0, "delta": {}, "finish_reason": "stop" }]), Value::Null));
    events.push(event(
        json!([]),
        json!({ "prompt_tokens": 10, "completion_tokens": 100, "total_tokens": 110 }),
    ));
    events.push("data: [DONE]\n\n".to_owned());
    events
}
