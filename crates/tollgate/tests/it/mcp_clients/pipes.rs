//! `tollgate mcp` on bare pipes: messages that no client library sends, and the death of either side.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::thread::JoinHandle;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::mcp_clients::records::{runs, shown};
use crate::mcp_clients::serving::{until_begun, vault};
use crate::support::TestVault;

/// A client that opens with `initialize` and can show forms.
struct StdioPeer {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    log: JoinHandle<String>,
}

impl StdioPeer {
    fn start(sandbox: &TestVault) -> StdioPeer {
        let mut process = sandbox.command(&["mcp", "--log", "debug"]).stdin(Stdio::piped()).spawn().unwrap();
        let mut log = process.stderr.take().unwrap();
        // Whatever it logs is read, so that it never waits for room.
        let log = std::thread::spawn(move || {
            let mut text = String::new();
            log.read_to_string(&mut text).unwrap();
            text
        });
        let (input, output) = (process.stdin.take(), BufReader::new(process.stdout.take().unwrap()));
        StdioPeer { process, input, output, log }
    }

    fn open(sandbox: &TestVault) -> StdioPeer {
        let mut client = StdioPeer::start(sandbox);
        let me = json!({ "name": "pipes", "version": "1" });
        let capabilities = json!({ "elicitation": {} });
        client.request(
            0,
            "initialize",
            json!({ "protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": me }),
        );
        assert_eq!(client.next()["result"]["serverInfo"]["name"], "tollgate");
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
        client
    }

    fn send(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    fn request(&mut self, id: u64, method: &str, params: Value) {
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.send(&request.to_string());
    }

    fn call(&mut self, id: u64, tool: &str, args: Value) {
        self.request(id, "tools/call", json!({ "name": tool, "arguments": args }));
    }

    /// The next line, which has to be a message.
    #[track_caller]
    fn next(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// Begins a call that would take ten minutes, and waits until it is under way.
    fn begin_slow(&mut self, sandbox: &TestVault, id: u64) {
        self.call(id, "ExecCommand", json!({ "cmd": "touch begun && sleep 600", "yield_time_ms": 500_000 }));
        until_begun(sandbox);
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).unwrap();
    }

    /// Everything that was still said, which has to be messages, and how it ended.
    #[track_caller]
    fn end(mut self) -> (Vec<Value>, Option<i32>) {
        drop(self.input.take());
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        let rest = rest.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        (rest, self.process.wait().unwrap().code())
    }
}

/// The status of the only run, and its only call, as `show` prints them.
#[track_caller]
fn only_run(sandbox: &TestVault) -> (Value, String) {
    let runs = runs(sandbox);
    assert_eq!(runs.len(), 1, "{runs:?}");
    (runs[0]["status"].clone(), shown(sandbox, &runs[0]))
}

#[test]
fn no_note_and_no_argument_is_logged_however_much_is() {
    let sandbox = vault();
    sandbox.write("vault/Diary.md", "canary in a note");
    let mut client = StdioPeer::open(&sandbox);
    client.call(1, "vault_readFile", json!({ "path": "Diary.md" }));
    assert!(client.next().to_string().contains("canary in a note"));
    client.call(2, "vault_searchText", json!({ "query": "canary in an argument" }));
    client.next();
    client.call(3, "canary_in_a_name", json!({}));
    client.next();
    drop(client.input.take());
    assert!(client.process.wait().unwrap().success());
    let log = client.log.join().unwrap();
    // It does log.
    assert!(log.contains("a run of tools has ended"), "{log}");
    assert!(!log.contains("canary") && !log.contains("rmcp"), "{log}");
}

#[test]
fn only_messages_are_printed_whatever_is_logged_and_whatever_comes() {
    let sandbox = vault();
    let mut client = StdioPeer::open(&sandbox);
    client.send("this is no message");
    client.send("{\"jsonrpc\": \"2.0\", \"id\": 7}");
    client.request(1, "no/such/method", json!({}));
    client.request(2, "tools/call", json!({ "arguments": {} }));
    client.call(3, "vault_readFile", json!({ "path": "Inbox.md" }));
    loop {
        let answer = client.next();
        match answer["id"].as_u64() {
            Some(3) => break assert_eq!(answer["result"]["isError"], false, "{answer}"),
            Some(1) => assert_eq!(answer["error"]["code"], -32601, "{answer}"),
            _ => assert!(answer["error"].is_object(), "{answer}"),
        }
    }
    assert_eq!(client.end().1, Some(0));
    only_run(&sandbox);
}

#[test]
fn a_client_that_closes_its_pipe_in_mid_call_ends_the_call_and_the_run() {
    let sandbox = vault();
    let mut client = StdioPeer::open(&sandbox);
    client.begin_slow(&sandbox, 1);
    assert_eq!(client.end(), (vec![], Some(0)));
    let (status, shown) = only_run(&sandbox);
    assert!(status == "ok" && shown.contains("cancelled  call-1 ExecCommand"), "{status} {shown}");
}

#[test]
fn a_client_that_closes_its_pipe_instead_of_answering_has_said_no() {
    let sandbox = vault();
    let mut client = StdioPeer::open(&sandbox);
    client.call(1, "vault_createFile", json!({ "path": "New.md", "content": "" }));
    assert_eq!(client.next()["method"], "elicitation/create");
    assert_eq!(client.end().1, Some(0));
    only_run(&sandbox);
    assert_eq!(sandbox.notes(), ["Inbox.md"]);
}

#[test]
fn a_question_of_the_newer_era_that_nobody_comes_back_for_does_not_keep_the_server() {
    let sandbox = vault();
    let mut client = StdioPeer::start(&sandbox);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "pipes", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {} } },
    });
    let args = json!({ "path": "New.md", "content": "" });
    client.request(1, "tools/call", json!({ "name": "vault_createFile", "arguments": args, "_meta": meta }));
    assert_eq!(client.next()["result"]["resultType"], "input_required");
    assert_eq!(client.end(), (vec![], Some(0)));
    only_run(&sandbox);
    assert_eq!(sandbox.notes(), ["Inbox.md"]);
}

#[test]
fn a_server_that_is_told_to_stop_in_mid_call_closes_its_run() {
    let sandbox = vault();
    let mut client = StdioPeer::open(&sandbox);
    client.begin_slow(&sandbox, 1);
    client.signal(Signal::TERM);
    let (status, shown) = {
        client.end();
        only_run(&sandbox)
    };
    assert!(status == "ok" && shown.contains("cancelled  call-1 ExecCommand"), "{status} {shown}");
}

#[test]
fn a_server_that_is_killed_in_mid_call_leaves_a_record_that_is_whole_as_far_as_it_goes() {
    let sandbox = vault();
    let mut client = StdioPeer::open(&sandbox);
    client.call(1, "vault_readFile", json!({ "path": "Inbox.md" }));
    client.next();
    client.begin_slow(&sandbox, 2);
    client.signal(Signal::KILL);
    client.end();
    sandbox.tollgate(&["verify", "last"]).expect_code(0);
    let shown = sandbox.tollgate(&["show", "last"]).expect_code(0).out;
    assert!(shown.contains("call-1 vault.readFile"), "{shown}");
    // The next client gets a server that works.
    let mut client = StdioPeer::open(&sandbox);
    client.call(1, "vault_readFile", json!({ "path": "Inbox.md" }));
    assert_eq!(client.next()["result"]["isError"], false);
    assert_eq!(client.end().1, Some(0));
}
