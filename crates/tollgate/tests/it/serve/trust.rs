//! Hooks and rules that are replaced while the server runs: between two answers, two calls of one answer, and two calls
//! of a session over HTTP.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::serve::server::ServeProcess;
use crate::serve::wire::RawResponse;
use crate::support::TestVault;

/// A model that reads the inbox, then deletes it, and repeats the results.
fn deleting_model() -> Vec<Value> {
    let call = |name: &str| {
        let call = json!({ "name": name, "arguments": json!({ "path": "Inbox.md" }).to_string() });
        format!("<tool_call>{call}</tool_call>")
    };
    vec![
        json!({ "match": { "last_contains": "trusted" }, "text": "I was refused." }),
        json!({ "match": { "last_contains": "permission_denied" }, "text": "I was refused." }),
        json!({ "match": { "last_contains": "Inbox.md was" }, "text": "It is gone." }),
        json!({ "match": { "last_contains": "- Red apples" }, "text": call("vault_delete") }),
        json!({ "match": { "last_contains": "Clean up" }, "text": call("vault_readFile") }),
    ]
}

fn answer(server: &ServeProcess) -> String {
    let request = json!({ "tools": [{ "type": "tollgate", "events": true }] });
    let events = RawResponse::of(server.stream("Clean up", request)).rest();
    let told = events.iter().filter(|event| event.kind == "tollgate:tool.finished");
    told.map(|event| format!("{} {}\n", event.data["name"], event.data["receipt"])).collect()
}

/// Settings with a hook that runs `script` before the first call.
fn with_hook(sandbox: &TestVault, script: &str, rules: &str) {
    sandbox.script("vault/.tollgate/hook", &format!("cat > /dev/null\n{script}"));
    sandbox.trusted_config(&format!(
        "mode = \"trusted\"\n[[hooks]]\nname = \"guard\"\ncommand = [\".tollgate/hook\"]\ntimeout_ms = 60000\n{rules}"
    ));
}

#[test]
fn a_hook_that_is_swapped_between_two_calls_of_one_answer_does_not_run() {
    let sandbox = TestVault::new();
    let mark = sandbox.path("ran-new");
    sandbox.script("other", &format!("cat > /dev/null\n: > {mark:?}"));
    with_hook(&sandbox, &format!("cp {:?} .tollgate/hook", sandbox.path("other")), "");
    let server = ServeProcess::scripted(&sandbox, &deleting_model(), &["--tools", "--yes"]);
    let told = answer(&server);
    assert!(told.contains("vault_delete") && told.contains("not those that you trusted"), "{told}");
    assert!(!mark.exists());
    assert_eq!(sandbox.notes(), ["Inbox.md"]);
    // A later answer gets no further.
    answer(&server);
    assert!(!mark.exists());
    assert_eq!(sandbox.notes(), ["Inbox.md"]);
}

#[test]
fn a_rule_that_leaves_the_file_between_two_calls_of_one_answer_lets_nothing_through() {
    for effect in ["deny", "ask"] {
        let sandbox = TestVault::new();
        let rule = format!("[[rules]]\neffect = \"{effect}\"\ntools = [\"vault.delete\"]\n");
        // The hook takes the last three lines out of the settings.
        let script =
            "head -n -3 .tollgate/config.toml > .tollgate/new && mv .tollgate/new .tollgate/config.toml";
        with_hook(&sandbox, script, &rule);
        let server = ServeProcess::scripted(&sandbox, &deleting_model(), &["--tools", "--yes"]);
        let told = answer(&server);
        // A tool that is denied was not offered to the model, so its call is text; it stays so without the rule.
        let said = format!("removed: {effect} vault.delete");
        assert!(
            if effect == "deny" { !told.contains("vault_delete") } else { told.contains(&said) },
            "{told}"
        );
        assert_eq!(sandbox.notes(), ["Inbox.md"]);
    }
}

#[test]
fn a_rule_that_is_added_between_two_calls_of_one_answer_holds_for_the_second() {
    let sandbox = TestVault::new();
    let rule = r#"[[rules]]\neffect = "deny"\ntools = ["vault.delete"]\n"#;
    let add = format!("grep -q deny .tollgate/config.toml || printf '{rule}' >> .tollgate/config.toml");
    with_hook(&sandbox, &add, "");
    let server = ServeProcess::scripted(&sandbox, &deleting_model(), &["--tools", "--yes"]);
    let told = answer(&server);
    assert!(told.contains("vault_delete") && told.contains("permission_denied"), "{told}");
    assert_eq!(sandbox.notes(), ["Inbox.md"]);
    drop(server);
    // The calls are on record in two runs, each under its own rules.
    assert_eq!(sandbox.tollgate(&["runs", "--json"]).expect_code(0).json().as_array().unwrap().len(), 2);
}

/// One message of a session over HTTP, and all that comes back.
fn post(server: &ServeProcess, session: &str, message: &Value) -> String {
    let body = message.to_string();
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let (address, token, length) = (server.address(), server.token(), body.len());
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
fn session(server: &ServeProcess) -> String {
    let client = json!({ "name": "test", "version": "1" });
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    let answer =
        post(server, "", &json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }));
    let named = answer.lines().find(|line| line.to_lowercase().starts_with("mcp-session-id:"));
    let session = format!("{}\r\nmcp-protocol-version: 2025-06-18\r\n", named.expect(&answer));
    post(server, &session, &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    session
}

fn call(server: &ServeProcess, session: &str, tool: &str) -> String {
    let params = json!({ "name": tool, "arguments": { "path": "Inbox.md" } });
    post(server, session, &json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params }))
}

#[test]
fn an_open_session_over_http_runs_neither_a_swapped_hook_nor_a_loosened_policy() {
    let sandbox = TestVault::new();
    let mark = sandbox.path("ran-new");
    let rules = "[[rules]]\neffect = \"deny\"\ntools = [\"vault.delete\"]\n";
    with_hook(&sandbox, "true", rules);
    let server = ServeProcess::scripted(&sandbox, &deleting_model(), &["--yes"]);
    let session = session(&server);
    let settings = std::fs::read_to_string(sandbox.path("vault/.tollgate/config.toml")).unwrap();
    assert!(call(&server, &session, "vault_readFile").contains("Red apples"));
    assert!(call(&server, &session, "vault_delete").contains("permission_denied"));

    sandbox.config(&settings.replace(rules, ""));
    let refused = call(&server, &session, "vault_delete");
    assert!(refused.contains("removed: deny vault.delete"), "{refused}");
    sandbox.config(&settings);
    assert!(call(&server, &session, "vault_readFile").contains("Red apples"));

    sandbox.script("vault/.tollgate/hook", &format!("cat > /dev/null\n: > {mark:?}"));
    let refused = call(&server, &session, "vault_readFile");
    assert!(refused.contains("the content of .tollgate/hook"), "{refused}");
    assert!(!mark.exists());
    assert_eq!(sandbox.notes(), ["Inbox.md"]);
}
