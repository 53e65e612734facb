//! A client that writes and reads lines of JSON, of either era.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::TestVault;

/// Nothing that is waited for takes as long, on however busy a machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(50);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProtocolEra {
    Old,
    New,
}

pub(crate) struct McpPipe {
    era: ProtocolEra,
    process: Child,
    to: Option<ChildStdin>,
    from: Receiver<Value>,
    next: u64,
    /// Requests and notifications of the server.
    pub(crate) heard: Vec<Value>,
}

impl McpPipe {
    pub(crate) fn open(sandbox: &TestVault, era: ProtocolEra, args: &[&str]) -> McpPipe {
        let mut process = sandbox
            // It answers faster than a user can read, so its refusal goes to the queue, where no one answers.
            .command(&[&["mcp", "--wait", "0"], args].concat())
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (told, from) = channel();
        let output = BufReader::new(process.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in output.lines() {
                let Ok(line) = line else { return };
                if told.send(serde_json::from_str(&line).unwrap()).is_err() {
                    return;
                }
            }
        });
        let to = process.stdin.take();
        let mut pipe = McpPipe { era, process, to, from, next: 0, heard: Vec::new() };
        if era == ProtocolEra::Old {
            let hello = json!({
                "protocolVersion": "2025-06-18",
                "capabilities": { "elicitation": {} },
                "clientInfo": { "name": "scripted", "version": "1" },
            });
            pipe.request("initialize", hello);
            pipe.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        }
        pipe
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.to.as_mut().unwrap().write_all(format!("{message}\n").as_bytes()).unwrap();
    }

    fn begin(&mut self, method: &str, mut params: Value) -> u64 {
        self.next += 1;
        if self.era == ProtocolEra::New {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": { "name": "scripted", "version": "1" },
                "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {} } },
            });
        }
        let id = self.next;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    fn end(&mut self, id: u64, answer: Option<&Value>) -> Value {
        loop {
            let message = self.from.recv_timeout(PATIENCE).unwrap();
            if message["id"] == id && message.get("method").is_none() {
                return message.get("result").unwrap_or(&message["error"]).clone();
            }
            if let (Some(answer), true) = (answer, message["method"] == "elicitation/create") {
                self.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": answer }));
            }
            self.heard.push(message);
        }
    }

    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        self.end(id, None)
    }

    /// Calls a tool, and answers whatever is asked with `answer`. Returns the question, if there was one, and the
    /// result.
    pub(crate) fn call(&mut self, tool: &str, args: &Value, answer: &Value) -> (Option<String>, Value) {
        let params = json!({ "name": tool, "arguments": args });
        let before = self.heard.len();
        let id = self.begin("tools/call", params.clone());
        let first = self.end(id, Some(answer));
        if first["resultType"] != "input_required" {
            let asked = self.heard[before..].iter().find(|message| message["method"] == "elicitation/create");
            let text = asked.map(|asked| asked["params"]["message"].as_str().unwrap().to_owned());
            return (text, first);
        }
        let question = first["inputRequests"]["approval"]["params"]["message"].as_str().unwrap().to_owned();
        let mut second = params;
        second["requestState"] = first["requestState"].clone();
        second["inputResponses"] = json!({ "approval": answer });
        (Some(question), self.request("tools/call", second))
    }

    /// Calls a tool and answers each question with `answer`, which gets the number of earlier answers and the
    /// question. Returns the questions and the result.
    pub(crate) fn call_answering(
        &mut self,
        tool: &str,
        args: &Value,
        mut answer: impl FnMut(usize, &str) -> Value,
    ) -> (Vec<String>, Value) {
        let mut asked = Vec::new();
        let params = json!({ "name": tool, "arguments": args });
        let mut id = self.begin("tools/call", params.clone());
        loop {
            let message = self.from.recv_timeout(PATIENCE).unwrap();
            if message["method"] == "elicitation/create" {
                let text = message["params"]["message"].as_str().unwrap().to_owned();
                let said = answer(asked.len(), &text);
                asked.push(text);
                self.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": said }));
            } else if message["id"] == id && message["result"]["resultType"] == "input_required" {
                let result = &message["result"];
                let text =
                    result["inputRequests"]["approval"]["params"]["message"].as_str().unwrap().to_owned();
                let said = answer(asked.len(), &text);
                asked.push(text);
                let mut next = params.clone();
                next["requestState"] = result["requestState"].clone();
                next["inputResponses"] = json!({ "approval": said });
                id = self.begin("tools/call", next);
            } else if message["id"] == id {
                return (asked, message.get("result").unwrap_or(&message["error"]).clone());
            }
        }
    }

    /// Closes its side; the server must end well by itself.
    pub(crate) fn leave(mut self) {
        drop(self.to.take());
        let status = self.process.wait().unwrap();
        assert!(status.success(), "{status}");
    }
}

impl Drop for McpPipe {
    /// A test that failed leaves no server behind.
    fn drop(&mut self) {
        let _gone = self.process.kill();
        let _ended = self.process.wait();
    }
}

pub(crate) fn yes() -> Value {
    json!({ "action": "accept", "content": { "decision": "once" } })
}

pub(crate) fn no() -> Value {
    json!({ "action": "decline" })
}

/// The text of a result for a model.
pub(crate) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {result}"))
}
