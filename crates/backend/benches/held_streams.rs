//! Memory of one stream that is open and idle: the client of this crate and, beside it, hyper's connection alone.
//!
//! The server is a process of its own, so that its memory is not counted. Each measurement runs in a fresh process: a
//! process that had another load would reuse that load's memory. Run with `cargo bench -p backend --bench
//! held_streams`.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark prints, starts processes and stops at the first surprise"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};

use backend::openai::{OpenAi, OpenAiSettings};
use backend::{
    HistoryEntry, MessagePart, MessageRole, ModelTurn, ReasoningSettings, SamplingSettings, TextModel,
};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;

const STREAMS: usize = 1_000;
const DELTA: &str = "data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"Hi\"}\n\n";

fn main() {
    let program = std::env::current_exe().unwrap();
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["server"] => serve(),
        [client @ ("backend" | "hyper"), address] => println!("{:.1}", measure(client, address)),
        _ => {
            let mut server = Command::new(&program).arg("server").stdout(Stdio::piped()).spawn().unwrap();
            let mut address = String::new();
            BufReader::new(server.stdout.take().unwrap()).read_line(&mut address).unwrap();
            for client in ["backend", "hyper", "backend", "hyper"] {
                let output = Command::new(&program).args([client, address.trim()]).output().unwrap();
                let kib = String::from_utf8(output.stdout).unwrap();
                println!("{client:<7} {:>6} KiB a stream, {STREAMS} streams", kib.trim());
            }
            server.kill().unwrap();
            server.wait().unwrap();
        }
    }
}

/// Answers every request with one delta and then says nothing.
fn serve() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("{}", listener.local_addr().unwrap());
    for socket in listener.incoming() {
        let mut socket = socket.unwrap();
        std::thread::Builder::new()
            .stack_size(64 * 1024)
            .spawn(move || {
                let mut asked = Vec::new();
                let mut buffer = [0; 4096];
                while !asked.ends_with(b"}") {
                    let count = socket.read(&mut buffer).unwrap();
                    asked.extend_from_slice(&buffer[..count]);
                }
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
                let chunk = format!("{head}{:x}\r\n{DELTA}\r\n", DELTA.len());
                socket.write_all(chunk.as_bytes()).unwrap();
                // Until the client closes the connection, with or without a reset.
                let _closed = socket.read(&mut buffer);
            })
            .unwrap();
    }
}

/// Returns the KiB of resident memory that each of many open streams adds.
fn measure(client: &str, address: &str) -> f64 {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        // Whatever is made once is made before.
        let model = OpenAi::new(OpenAiSettings::new(format!("http://{address}/v1"))).unwrap();
        let mut held: Vec<Box<dyn Send>> = Vec::with_capacity(STREAMS + 1);
        held.push(open(client, &model, address).await);
        let before = resident_kib();
        for _ in 0..STREAMS {
            held.push(open(client, &model, address).await);
        }
        (resident_kib() - before) / STREAMS as f64
    })
}

/// Opens a stream, as a task that waits for its next event does, and reads its first event.
async fn open(client: &str, model: &OpenAi, address: &str) -> Box<dyn Send> {
    let (begun, has_begun) = tokio::sync::oneshot::channel();
    let reader = if client == "backend" {
        let mut stream = model.start(turn()).await.unwrap();
        tokio::spawn(async move {
            stream.next().await.unwrap().unwrap();
            begun.send(()).unwrap();
            stream.next().await;
        })
    } else {
        let socket = tokio::net::TcpStream::connect(address).await.unwrap();
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(socket)).await.unwrap();
        tokio::spawn(connection);
        let request = http::Request::post("/v1/responses")
            .header("host", address)
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from_static(b"{\"model\":\"m\"}")))
            .unwrap();
        let mut body = sender.send_request(request).await.unwrap().into_body();
        tokio::spawn(async move {
            body.frame().await.unwrap().unwrap();
            begun.send(()).unwrap();
            body.frame().await;
            // A pool would keep it for the next request.
            drop(sender);
        })
    };
    has_begun.await.unwrap();
    Box::new(reader)
}

fn turn() -> ModelTurn {
    ModelTurn {
        model: "m".to_owned(),
        instructions: String::new(),
        history: vec![HistoryEntry::Message {
            role: MessageRole::User,
            parts: vec![MessagePart::Text("Hello".to_owned())],
        }],
        tools: Vec::new(),
        reasoning: ReasoningSettings::default(),
        verbosity: None,
        sampling: SamplingSettings::default(),
        output_schema: None,
    }
}

fn resident_kib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
