//! Minimal clients: they write a call, wait for the answer and check it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use crate::cores;

/// Text that every answer contains.
const ANSWER: &str = "Found 10 of notes";

pub(crate) trait Client {
    fn call(&mut self, id: u64);

    /// Microseconds a call, over `calls` of them one after the other.
    fn time(&mut self, first: u64, calls: u64) -> f64 {
        let start = Instant::now();
        for id in first..first + calls {
            self.call(id);
        }
        start.elapsed().as_secs_f64() * 1e6 / calls as f64
    }
}

fn start(kind: &str, on: &[usize], token: Option<&Path>) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["serve", kind, &cores::list(on)]).args(token).stdin(Stdio::piped()).stdout(Stdio::piped());
    command.spawn().unwrap()
}

/// Client on pipes with an `initialize` handshake.
pub(crate) struct Pipes {
    server: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: String,
}

impl Pipes {
    pub(crate) fn to(kind: &str, on: &[usize]) -> Pipes {
        let mut server = start(kind, on, None);
        let (input, output) = (server.stdin.take().unwrap(), server.stdout.take().unwrap());
        let mut pipes = Pipes { server, input, output: BufReader::new(output), line: String::new() };
        let hello = json!({
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "bench", "version": "1" },
        });
        pipes.send(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello }));
        pipes.receive();
        pipes.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        pipes
    }

    fn send(&mut self, message: &Value) {
        let mut text = message.to_string();
        text.push('\n');
        self.input.write_all(text.as_bytes()).unwrap();
    }

    fn receive(&mut self) {
        self.line.clear();
        self.output.read_line(&mut self.line).unwrap();
    }
}

impl Client for Pipes {
    fn call(&mut self, id: u64) {
        self.send(&request(id, json!({})));
        self.receive();
        assert!(self.line.contains(ANSWER), "{}", self.line);
    }
}

impl Drop for Pipes {
    fn drop(&mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
    }
}

/// Stateless client on one persistent connection.
pub(crate) struct Http {
    server: Child,
    stream: BufReader<TcpStream>,
    head: String,
    body: Vec<u8>,
}

impl Http {
    pub(crate) fn to(kind: &str, on: &[usize], token_file: &Path) -> Http {
        let mut server = start(kind, on, Some(token_file));
        let mut port = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut port).unwrap();
        let port: u16 = port.trim().parse().unwrap();
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        stream.set_nodelay(true).unwrap();
        let token = std::fs::read_to_string(token_file).unwrap_or_default();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
             MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: bench_look\r\n",
            token.trim()
        );
        Http { server, stream: BufReader::new(stream), head, body: Vec::new() }
    }

    /// Reads one answer with a content length or in chunks.
    fn receive(&mut self) {
        let mut line = String::new();
        let mut length = None;
        self.body.clear();
        loop {
            line.clear();
            self.stream.read_line(&mut line).unwrap();
            let line = line.trim_end().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(given) = line.strip_prefix("content-length:") {
                length = Some(given.trim().parse::<usize>().unwrap());
            }
        }
        match length {
            Some(length) => self.take(length),
            None => loop {
                line.clear();
                self.stream.read_line(&mut line).unwrap();
                let size = usize::from_str_radix(line.trim(), 16).unwrap();
                self.take(size);
                self.stream.read_line(&mut line).unwrap();
                if size == 0 {
                    break;
                }
            },
        }
    }

    fn take(&mut self, length: usize) {
        let start = self.body.len();
        self.body.resize(start + length, 0);
        self.stream.read_exact(&mut self.body[start..]).unwrap();
    }
}

impl Client for Http {
    fn call(&mut self, id: u64) {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "bench", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let body = request(id, meta).to_string();
        let message = format!("{}Content-Length: {}\r\n\r\n{body}", self.head, body.len());
        self.stream.get_mut().write_all(message.as_bytes()).unwrap();
        self.receive();
        let text = std::str::from_utf8(&self.body).unwrap();
        assert!(text.contains(ANSWER), "{text}");
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
    }
}

fn request(id: u64, meta: Value) -> Value {
    let arguments = json!({ "query": "notes", "limit": 10 });
    let params = json!({ "name": "bench_look", "arguments": arguments, "_meta": meta });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}
