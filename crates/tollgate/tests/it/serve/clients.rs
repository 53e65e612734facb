//! Clients of a server that asks: identified by their tokens, and each asked about on its own.

use std::net::TcpStream;

use serde_json::{Value, json};

use crate::serve::server::ServeProcess;
use crate::serve::wire::{self, RawResponse};
use crate::support::{TestTerminal, TestVault};

const NOTE: &str = "Inbox.md";

/// A model that overwrites a note when asked.
fn overwriting_model() -> Vec<Value> {
    let arguments = json!({ "path": NOTE, "content": "by a model\n" }).to_string();
    let call = json!({ "name": "vault_writeFile", "arguments": arguments });
    vec![
        json!({ "match": { "last_contains": "policy_blocked" }, "text": "I may not." }),
        json!({ "match": { "last_contains": "approval_rejected" }, "text": "I was told not to." }),
        json!({ "match": { "last_contains": "Wrote" }, "text": "It is written." }),
        json!({ "match": { "last_contains": "Overwrite" }, "text": format!("<tool_call>{call}</tool_call>") }),
    ]
}

fn asked_model(name: &str) -> String {
    let tools = json!([{ "type": "tollgate" }]);
    json!({ "model": name, "input": "Overwrite my note", "tools": tools }).to_string()
}

/// A call over MCP, in a request of its own, of a client that can show no question.
fn mcp_call(address: &str, token: &str, name: &str, content: &str) -> TcpStream {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": name, "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let arguments = json!({ "path": NOTE, "content": content });
    let params = json!({ "_meta": meta, "name": "vault_writeFile", "arguments": arguments });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
    let line = "POST /mcp HTTP/1.1\r\naccept: application/json, text/event-stream\r\n\
                mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: vault_writeFile\r\nx-rest:";
    wire::send(address, token, line, &body)
}

fn note(sandbox: &TestVault) -> String {
    std::fs::read_to_string(sandbox.vault().join(NOTE)).unwrap()
}

fn token(sandbox: &TestVault, name: &str) -> String {
    sandbox.tollgate(&["token", "issue", name]).expect_code(0).out.trim().to_owned()
}

#[test]
fn a_question_that_waits_is_logged_with_the_command_that_answers_it() {
    let sandbox = TestVault::new();
    let server = ServeProcess::scripted(&sandbox, &overwriting_model(), &["--tools", "--wait", "60"]);
    let call = mcp_call(server.address(), server.token(), "claude-code", "by an agent\n");
    server.until_logged("a question waits for your answer: run `tollgate approve ");
    let listed = sandbox.tollgate(&["approve", "--list", "--json"]).expect_code(0).json();
    assert_eq!(listed["questions"][0]["owner"], "default", "{listed}");
    assert_eq!(listed["questions"][0]["client"], "default (says it is claude-code 1)", "{listed}");
    let mut person = sandbox.terminal(&["approve"]);
    person.wait_for("May this call run?");
    person.type_in("y\r");
    person.wait_for("Yes, once.");
    assert_eq!(RawResponse::of(call).status, 200);
    assert_eq!(note(&sandbox), "by an agent\n");
}

#[test]
fn a_note_that_is_edited_while_its_question_waits_in_the_queue_is_asked_about_again() {
    for is_model in [false, true] {
        let sandbox = TestVault::new();
        let server = ServeProcess::scripted(&sandbox, &overwriting_model(), &["--tools", "--wait", "60"]);
        let call = match is_model {
            true => {
                wire::send(server.address(), server.token(), "POST /v1/responses", &asked_model("scripted"))
            }
            false => mcp_call(server.address(), server.token(), "claude-code", "by an agent\n"),
        };
        let mut person = sandbox.terminal(&["approve", "--watch"]);
        person.wait_for("Changes 1 note: Inbox.md.");
        person.wait_for("May this call run?");
        sandbox.write("vault/Inbox.md", "edited by hand\n");
        person.type_in("y\r");
        person.wait_for("This is not what you approved:");
        person.wait_for("Inbox.md has changed: it was ");
        person.wait_for("- edited by hand");
        person.wait_for("May this call run?");
        person.type_in("n\r");
        let told = RawResponse::of(call).text();
        assert!(told.contains("I was told not to.") || told.contains("approval_rejected"), "{told}");
        assert_eq!(note(&sandbox), "edited by hand\n");
        person.type_in("\u{3}");
        person.end();
    }
}

#[test]
fn always_for_a_client_is_none_for_whoever_takes_its_name() {
    let sandbox = TestVault::new();
    let server = ServeProcess::scripted(&sandbox, &overwriting_model(), &["--tools", "--wait", "60"]);
    let laptop = token(&sandbox, "laptop");
    let first = mcp_call(server.address(), &laptop, "claude-code", "by an agent\n");
    let mut person = sandbox.terminal(&["approve", "--watch"]);
    person.wait_for("(says it is claude-code 1)");
    person.wait_for("May this call run?");
    person.type_in("a\r");
    person.wait_for("Yes, always");
    assert_eq!(RawResponse::of(first).status, 200);
    assert_eq!(note(&sandbox), "by an agent\n");
    // The same client is not asked about again, whatever it calls itself.
    assert_eq!(RawResponse::of(mcp_call(server.address(), &laptop, "another", "again\n")).status, 200);
    assert_eq!(note(&sandbox), "again\n");
    // A model of that name is asked about, with the token of another client and with the same one.
    for token in [server.token(), &laptop] {
        let model = wire::send(server.address(), token, "POST /v1/responses", &asked_model("claude-code 1"));
        person.wait_for("(model claude-code 1)");
        person.wait_for("May this call run?");
        person.type_in("n\r");
        let told = RawResponse::of(model).text();
        assert!(told.contains("I was told not to."), "{told}");
        assert_eq!(note(&sandbox), "again\n");
    }
    // Another client of the same name is asked about, too.
    let other = mcp_call(server.address(), server.token(), "claude-code", "by somebody else\n");
    person.wait_for("May this call run?");
    person.type_in("n\r");
    assert!(RawResponse::of(other).text().contains("approval_rejected"));
    assert_eq!(note(&sandbox), "again\n");
    person.type_in("\u{3}");
    person.end();
}

#[test]
fn a_token_that_is_revoked_takes_the_open_question_of_its_client_along() {
    let sandbox = TestVault::new();
    let server = ServeProcess::scripted(&sandbox, &overwriting_model(), &["--tools", "--wait", "60"]);
    let laptop = token(&sandbox, "laptop");
    let call = mcp_call(server.address(), &laptop, "claude-code", "by an agent\n");
    server.until_logged("a question waits for your answer");
    sandbox.tollgate(&["token", "revoke", "laptop"]).expect_code(0);
    let told = RawResponse::of(call).text();
    assert!(told.contains("the token of the client `laptop` has been revoked"), "{told}");
    assert_eq!(sandbox.tollgate(&["approve", "--list"]).out, "Nothing waits for an answer.\n");
    assert_eq!(RawResponse::of(mcp_call(server.address(), &laptop, "claude-code", "x")).status, 401);
    assert_ne!(note(&sandbox), "by an agent\n");
}

/// A server at a terminal of its own, its address and its token.
fn at_a_terminal(sandbox: &TestVault) -> (TestTerminal, String, String) {
    let lines: Vec<String> = overwriting_model().iter().map(Value::to_string).collect();
    let script = sandbox.write("model.jsonl", &lines.join("\n"));
    let backend = format!("scripted:{}", script.display());
    let vault = sandbox.vault();
    let args = ["serve", "--tools", "--port", "0", "--backend", &backend, "--vault", vault.to_str().unwrap()];
    let mut terminal = sandbox.terminal(&args);
    terminal.wait_for("Ctrl-C stops the server.");
    let screen = terminal.screen();
    let address = screen.split("http://").nth(1).and_then(|rest| rest.split('/').next()).unwrap().to_owned();
    let token = std::fs::read_to_string(sandbox.path("state-home/tollgate/token")).unwrap();
    (terminal, address, token.trim().to_owned())
}

/// The id of the question that this client asks, once it is there.
fn question_of(sandbox: &TestVault, client: &str) -> String {
    for _ in 0..500 {
        let listed = sandbox.tollgate(&["approve", "--list", "--json"]).expect_code(0).json();
        let mut questions = listed["questions"].as_array().unwrap().iter();
        if let Some(question) = questions.find(|question| question["client"] == client) {
            return question["id"].as_str().unwrap().to_owned();
        }
    }
    panic!("{client} asks nothing");
}

#[test]
fn a_question_at_the_servers_terminal_holds_up_nobody_and_ends_with_its_client() {
    let sandbox = TestVault::new();
    let (mut terminal, address, token) = at_a_terminal(&sandbox);
    let call = mcp_call(&address, &token, "claude-code", "by an agent\n");
    terminal.wait_for("default (says it is claude-code 1)");
    terminal.wait_for("May this call run?");
    // While it stands there, another question is answered through `tollgate approve`.
    let model = wire::send(&address, &token, "POST /v1/responses", &asked_model("m"));
    let mut person = sandbox.terminal(&["approve", &question_of(&sandbox, "default (model m)")]);
    person.wait_for("May this call run?");
    person.type_in("y\r");
    person.wait_for("Yes, once.");
    assert!(RawResponse::of(model).text().contains("It is written."));
    assert_eq!(note(&sandbox), "by a model\n");
    drop(call);
    terminal.wait_for("This question is withdrawn");
    terminal.type_in("y\r");
    // What was typed answers neither the question that is gone nor the next one.
    let next = mcp_call(&address, &token, "claude-code", "another\n");
    terminal.wait_for("May this call run?");
    terminal.type_in("n\r");
    assert!(RawResponse::of(next).text().contains("approval_rejected"));
    terminal.type_in("\u{3}");
    let (screen, code) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    assert_eq!(note(&sandbox), "by a model\n");
}

#[test]
fn a_question_can_be_answered_at_the_servers_terminal_and_the_log_does_not_write_over_it() {
    let sandbox = TestVault::new();
    let (mut terminal, address, token) = at_a_terminal(&sandbox);
    let call = mcp_call(&address, &token, "claude-code", "by an agent\n");
    terminal.wait_for("[N]o");
    let asked = terminal.screen().len();
    // Each of these is logged.
    for _ in 0..20 {
        assert_eq!(RawResponse::of(wire::send(&address, "wrong", "GET /v1/models", "")).status, 401);
    }
    terminal.type_in("y\r");
    assert_eq!(RawResponse::of(call).status, 200);
    terminal.wait_for("refused a request");
    let screen = terminal.screen();
    let between = screen[asked..].split("y\r\n").next().unwrap();
    assert!(!between.contains("refused a request"), "{screen}");
    assert_eq!(note(&sandbox), "by an agent\n");
    terminal.type_in("\u{3}");
    let (screen, _code) = terminal.end();
    assert_eq!(screen.matches("refused a request").count(), 20, "{screen}");
}
