//! A client that exchanges lines of JSON, with a session or stateless.

use std::time::Duration;

use mcp_server::serve_stdio;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};
use tokio::task::JoinHandle;

use crate::test_server::TestServer;

/// Typical time to answer a short question.
const READS: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// Opens a session with `initialize`; is asked on the connection.
    Old,
    /// Stateless; is asked in a second round.
    New,
}

pub(crate) struct Client {
    era: Era,
    name: &'static str,
    capabilities: Value,
    to: WriteHalf<DuplexStream>,
    from: Lines<BufReader<ReadHalf<DuplexStream>>>,
    next: u64,
    /// Messages other than answers.
    pub(crate) heard: Vec<Value>,
    server: JoinHandle<Result<(), String>>,
    /// Time that the user takes for a question.
    pub(crate) reads: Duration,
}

impl Client {
    /// Creates a client that supports elicitation.
    pub(crate) async fn open(server: &TestServer, era: Era) -> Client {
        Client::open_with(server, era, json!({ "elicitation": { "form": {} } })).await
    }

    pub(crate) async fn open_with(server: &TestServer, era: Era, capabilities: Value) -> Client {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (input, output) = tokio::io::split(theirs);
        let handler = server.handler();
        let server = tokio::spawn(async move {
            let served = serve_stdio(handler.clone(), input, output, std::future::pending()).await;
            handler.end().await;
            served
        });
        let (from, to) = tokio::io::split(ours);
        let from = BufReader::new(from).lines();
        let mut client = Client {
            era,
            name: "tester",
            capabilities,
            to,
            from,
            next: 0,
            heard: Vec::new(),
            server,
            reads: READS,
        };
        if era == Era::Old {
            let hello = json!({
                "protocolVersion": "2025-06-18",
                "capabilities": client.capabilities,
                "clientInfo": { "name": client.name, "version": "1" },
            });
            client.request("initialize", hello).await;
            client.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        }
        client
    }

    /// Metadata of every stateless request.
    pub(crate) fn meta(name: &str, capabilities: &Value) -> Value {
        json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": name, "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        })
    }

    /// Changes the reported client name.
    pub(crate) fn rename(&mut self, name: &'static str) {
        self.name = name;
    }

    pub(crate) async fn send(&mut self, message: Value) {
        self.send_text(&message.to_string()).await;
    }

    /// Sends a line unchanged.
    pub(crate) async fn send_text(&mut self, line: &str) {
        self.to.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    /// Reads the next message.
    pub(crate) async fn read(&mut self) -> Value {
        let line = self.from.next_line().await.unwrap().expect("the server has closed");
        serde_json::from_str(&line).unwrap()
    }

    /// Sends a request; returns its id.
    pub(crate) async fn begin(&mut self, method: &str, mut params: Value) -> u64 {
        self.next += 1;
        if self.era == Era::New {
            let meta = params["_meta"].take();
            params["_meta"] = Client::meta(self.name, &self.capabilities);
            if let Some(more) = meta.as_object() {
                params["_meta"].as_object_mut().unwrap().extend(more.clone());
            }
        }
        self.send(json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params })).await;
        self.next
    }

    /// Reads until the answer to a request; stores the other messages.
    pub(crate) async fn end(&mut self, id: u64) -> Value {
        loop {
            let message = self.read().await;
            if message["id"] == id && message.get("method").is_none() {
                return message.get("result").unwrap_or(&message["error"]).clone();
            }
            self.heard.push(message);
        }
    }

    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params).await;
        self.end(id).await
    }

    pub(crate) async fn call(&mut self, tool: &str, args: Value) -> Value {
        self.request("tools/call", json!({ "name": tool, "arguments": args })).await
    }

    /// Calls a tool and answers the question. Returns the question and the result.
    pub(crate) async fn call_and_answer(&mut self, tool: &str, args: Value, answer: Value) -> (Value, Value) {
        match self.era {
            Era::Old => {
                let id = self.begin("tools/call", json!({ "name": tool, "arguments": args })).await;
                let asked = self.asked().await;
                later(self.reads).await;
                self.send(json!({ "jsonrpc": "2.0", "id": asked["id"], "result": answer })).await;
                (asked["params"].clone(), self.end(id).await)
            }
            Era::New => {
                let asked = self.call(tool, args.clone()).await;
                let question = asked["inputRequests"]["approval"]["params"].clone();
                let state = asked["requestState"].clone();
                later(self.reads).await;
                (question, self.second_round(tool, args, &state, answer).await)
            }
        }
    }

    pub(crate) async fn second_round(
        &mut self,
        tool: &str,
        args: Value,
        state: &Value,
        answer: Value,
    ) -> Value {
        let params = json!({
            "name": tool,
            "arguments": args,
            "requestState": state,
            "inputResponses": { "approval": answer },
        });
        self.request("tools/call", params).await
    }

    /// Reads the next question of the server.
    pub(crate) async fn asked(&mut self) -> Value {
        loop {
            let message = self.read().await;
            if message["method"] == "elicitation/create" {
                return message;
            }
            self.heard.push(message);
        }
    }

    pub(crate) async fn cancel(&mut self, id: u64) {
        let params = json!({ "requestId": id });
        self.send(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params })).await;
    }

    /// Closes the input and waits for the server to end.
    pub(crate) async fn leave(self) {
        let Client { to, from, server, .. } = self;
        drop((to, from));
        server.await.unwrap().unwrap();
    }
}

/// Runs the test with both kinds of clients; their output must be equal.
pub(crate) async fn in_both(check: impl AsyncFn(Era) -> String) -> String {
    let old = check(Era::Old).await;
    assert_eq!(check(Era::New).await, old);
    old
}

pub(crate) fn yes(decision: &str) -> Value {
    json!({ "action": "accept", "content": { "decision": decision } })
}

/// Returns the text of a result.
pub(crate) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {result}"))
}

/// Runs the future while the clock is paused, even if all tasks are idle: no timer fires.
pub(crate) async fn frozen<T>(work: impl Future<Output = T>) -> T {
    tokio::time::pause();
    // The clock stays paused only while a task blocks: an idle runtime would advance to its next timer.
    let (release, released) = std::sync::mpsc::channel::<()>();
    let blocking = tokio::task::spawn_blocking(move || released.recv());
    let done = work.await;
    drop(release);
    let _released = blocking.await.unwrap();
    tokio::time::resume();
    done
}

/// Advances the clock for all tasks.
pub(crate) async fn later(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}
