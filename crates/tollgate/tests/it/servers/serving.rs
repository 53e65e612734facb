//! A `tollgate serve` with sessions of the older era, whose calls need no approval.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::TestVault;

/// Killed when the test ends.
pub(crate) struct PeerServer {
    process: Child,
    address: String,
    token: String,
}

impl PeerServer {
    pub(crate) fn start(sandbox: &TestVault) -> PeerServer {
        let script = sandbox.write("model.jsonl", "{\"text\": \"Nobody asks.\"}");
        let backend = format!("scripted:{}", script.display());
        let mut process = sandbox
            .command(&["serve", "--json", "--port", "0", "--yes", "--backend", &backend])
            .env("HOSTILE", "counting")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut ready = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        let ready: Value = serde_json::from_str(&ready).unwrap();
        let token = std::fs::read_to_string(ready["tokenFile"].as_str().unwrap()).unwrap().trim().to_owned();
        let address = ready["url"].as_str().unwrap().strip_prefix("http://").unwrap().to_owned();
        PeerServer { process, address, token }
    }

    /// One message of a session, and all that comes back.
    fn post(&self, session: &str, message: &Value) -> String {
        let body = message.to_string();
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let (address, token, length) = (&self.address, &self.token, body.len());
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\
             content-type: application/json\r\naccept: application/json, text/event-stream\r\n{session}\
             content-length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// The lines of a head that name a new session.
    pub(crate) fn session(&self) -> String {
        let client = json!({ "name": "test", "version": "1" });
        let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
        let asked = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
        let answer = self.post("", &asked);
        let named = answer.lines().find(|line| line.to_lowercase().starts_with("mcp-session-id:"));
        let session = format!("{}\r\nmcp-protocol-version: 2025-06-18\r\n", named.expect(&answer));
        self.post(&session, &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        session
    }

    /// One call, and all that comes back.
    pub(crate) fn call(&self, session: &str, tool: &str, args: &Value) -> String {
        let params = json!({ "name": tool, "arguments": args });
        self.post(session, &json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params }))
    }

    /// Ends it as a user does, so that every record is closed.
    pub(crate) fn stop(mut self) {
        kill_process(Pid::from_child(&self.process), Signal::INT).unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for PeerServer {
    fn drop(&mut self) {
        let _gone = self.process.kill();
        let _collected = self.process.wait();
    }
}
