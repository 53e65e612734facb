//! A model's server that a test controls, one request after the other, and that can die.
//!
//! It is a listener and its connections. When they are dropped the system closes the sockets, as it does for a process
//! that was killed: that is all that the other side can see of a death.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

use serde_json::{Value, json};

use crate::serve::wire::{PATIENCE, line};

pub(crate) struct FakeUpstream {
    listener: TcpListener,
}

/// The framing of a body, which decides what a broken one looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyFraming {
    Chunked,
    /// The end of the connection is the end of the body, so a broken one looks whole.
    UntilClosed,
}

/// An answer that is being given.
pub(crate) struct UpstreamTurn {
    socket: TcpStream,
    framing: BodyFraming,
}

impl FakeUpstream {
    /// On this port; on a free one for 0.
    pub(crate) fn listen(port: u16) -> FakeUpstream {
        FakeUpstream { listener: TcpListener::bind(("127.0.0.1", port)).unwrap() }
    }

    pub(crate) fn port(&self) -> u16 {
        self.listener.local_addr().unwrap().port()
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port())
    }

    /// Takes the next request for an answer and begins one. Any other request is answered with 404.
    pub(crate) fn begin(&self, framing: BodyFraming, said: &str) -> UpstreamTurn {
        loop {
            let (mut socket, _) = self.listener.accept().unwrap();
            socket.set_read_timeout(Some(PATIENCE)).unwrap();
            if !read_request(&socket).starts_with("POST /v1/responses ") {
                let refused = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
                socket.write_all(refused.as_bytes()).unwrap();
                continue;
            }
            let length = match framing {
                BodyFraming::Chunked => "transfer-encoding: chunked\r\n",
                BodyFraming::UntilClosed => "",
            };
            let head = format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n{length}\r\n");
            socket.write_all(head.as_bytes()).unwrap();
            let mut turn = UpstreamTurn { socket, framing };
            let response =
                json!({ "id": "resp_1", "object": "response", "status": "in_progress", "output": [] });
            turn.event(json!({ "type": "response.created", "response": response }));
            let item = message("in_progress", json!([]));
            turn.event(json!({ "type": "response.output_item.added", "output_index": 0, "item": item }));
            turn.say(said);
            return turn;
        }
    }
}

impl UpstreamTurn {
    pub(crate) fn say(&mut self, delta: &str) {
        self.event(json!({
            "type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "content_index": 0,
            "delta": delta,
        }));
    }

    /// Ends the answer, which was this text.
    pub(crate) fn complete(mut self, text: &str) {
        let item = message("completed", json!([{ "type": "output_text", "text": text, "annotations": [] }]));
        self.event(json!({ "type": "response.output_item.done", "output_index": 0, "item": item }));
        let usage = json!({
            "input_tokens": 3, "input_tokens_details": { "cached_tokens": 0 },
            "output_tokens": 2, "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": 5,
        });
        let response = json!({
            "id": "resp_1", "object": "response", "status": "completed", "output": [item], "usage": usage,
        });
        self.event(json!({ "type": "response.completed", "response": response }));
        if self.framing == BodyFraming::Chunked {
            self.socket.write_all(b"0\r\n\r\n").unwrap();
        }
    }

    fn event(&mut self, data: Value) {
        let text = format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap());
        let text = match self.framing {
            BodyFraming::Chunked => format!("{:x}\r\n{text}\r\n", text.len()),
            BodyFraming::UntilClosed => text,
        };
        self.socket.write_all(text.as_bytes()).unwrap();
    }
}

fn message(status: &str, content: Value) -> Value {
    json!({ "type": "message", "id": "msg_1", "role": "assistant", "status": status, "content": content })
}

/// Reads a request to its end; returns its first line.
fn read_request(socket: &TcpStream) -> String {
    let mut reader = BufReader::new(socket);
    let first = line(&mut reader);
    let mut length = 0;
    loop {
        let header = line(&mut reader).to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(told) = header.strip_prefix("content-length: ") {
            length = told.parse().unwrap();
        }
    }
    reader.by_ref().take(length).read_to_end(&mut Vec::new()).unwrap();
    assert!(reader.buffer().is_empty(), "{:?}", reader.fill_buf());
    first
}
