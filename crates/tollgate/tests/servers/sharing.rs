//! The clients of one `tollgate serve` share the programs of its servers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::rig::{approved, no_wall};
use crate::support::Sandbox;

/// Ended with the test, however that ends.
struct Serving {
    process: Child,
    address: String,
    token: String,
}

impl Serving {
    fn start(sandbox: &Sandbox) -> Serving {
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
        Serving { process, address, token }
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
    fn session(&self) -> String {
        let client = json!({ "name": "test", "version": "1" });
        let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
        let asked = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
        let answer = self.post("", &asked);
        let named = answer.lines().find(|line| line.to_lowercase().starts_with("mcp-session-id:"));
        let session = format!("{}\r\nmcp-protocol-version: 2025-06-18\r\n", named.expect(&answer));
        self.post(&session, &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        session
    }

    fn call(&self, session: &str) -> String {
        let params = json!({ "name": "mcp_evil_shifting", "arguments": {} });
        self.post(session, &json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params }))
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _gone = self.process.kill();
        let _collected = self.process.wait();
    }
}

#[test]
fn a_second_client_calls_the_program_that_the_first_one_started() {
    if no_wall() {
        return;
    }
    let sandbox = approved("");
    let serving = Serving::start(&sandbox);
    let (first, second) = (serving.session(), serving.session());
    assert_ne!(first, second);
    for (session, count) in [(&first, 1), (&second, 2), (&first, 3)] {
        let answer = serving.call(session);
        assert!(answer.contains(&format!("call {count} of this program")), "{answer}");
    }
    // A word that is taken back counts for whoever is there, and for whoever comes next.
    sandbox.tollgate(&["servers", "forget", "evil"]).expect_code(0);
    let answer = serving.call(&first);
    assert!(answer.contains("blocked_tool") || answer.contains("unknown tool"), "{answer}");
    assert!(!answer.contains("call 4 of this program"), "{answer}");
    let answer = serving.call(&serving.session());
    assert!(answer.contains("unknown_tool"), "{answer}");
}
