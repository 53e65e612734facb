//! `note` and `requestId` in a call of any front end: shown in the question, recorded, and never given to the tool.

use serde_json::{Value, json};

use crate::mcp::pipe::{McpPipe, ProtocolEra, no, yes};
use crate::serve::server::ServeProcess;
use crate::serve::wire::RawResponse;
use crate::support::TestVault;

const NOTE: &str = "the user asked for it";

fn args() -> Value {
    json!({ "path": "New.md", "content": "Hello.\n", "note": NOTE, "requestId": "trace-7" })
}

/// Checks the record of the last run: the arguments as sent, both fields of their own, and what `show` prints.
fn check_record(sandbox: &TestVault) {
    let text = std::fs::read_to_string(sandbox.vault().join("New.md")).unwrap();
    assert_eq!(text, "Hello.\n");
    let calls = std::fs::read_to_string(sandbox.only_run().join("calls.jsonl")).unwrap();
    let call: Value = serde_json::from_str(calls.lines().last().unwrap()).unwrap();
    assert_eq!(call["args"], args(), "{call}");
    assert_eq!((&call["note"], &call["requestId"]), (&json!(NOTE), &json!("trace-7")), "{call}");
    let shown = sandbox.tollgate(&["show", "last", "--json"]).expect_code(0).json();
    let call = &shown["steps"][0]["calls"][0];
    assert_eq!((&call["note"], &call["requestId"]), (&json!(NOTE), &json!("trace-7")), "{shown}");
    let shown = sandbox.tollgate(&["show", "last"]).expect_code(0).out;
    assert!(shown.contains("note: the user asked for it\n"), "{shown}");
    assert!(shown.contains("request id: trace-7\n"), "{shown}");
    for command in ["verify", "replay"] {
        sandbox.tollgate(&[command, "last"]).expect_code(0);
    }
}

#[test]
fn a_call_of_the_command_line_takes_them() {
    let sandbox = TestVault::new();
    sandbox.tollgate(&["call", "vault.createFile", &args().to_string(), "--yes"]).expect_code(0);
    check_record(&sandbox);
}

#[test]
fn a_plan_takes_them_and_is_warned_of_a_request_id() {
    let sandbox = TestVault::new();
    let plan = json!({
        "version": "1.0", "goal": "One note", "riskLevel": "writes",
        "steps": [{ "id": "new", "tool": "vault.createFile", "args": args() }],
    });
    let file = sandbox.plan_file("noted.json", &plan);
    let checked = sandbox.tollgate(&["check", &file]).expect_code(0).out;
    let finding = "warning new /steps/0/args/requestId\n  `requestId` is for the program that makes the call";
    assert!(checked.contains(finding), "{checked}");
    let asked = sandbox.tollgate(&["preview", &file]).expect_code(0).out;
    assert!(!asked.contains("unknown field"), "{asked}");
    sandbox.tollgate(&["run", &file, "--yes"]).expect_code(0);
    check_record(&sandbox);
}

#[test]
fn a_call_of_an_mcp_client_takes_them_and_the_question_shows_the_note() {
    for era in [ProtocolEra::Old, ProtocolEra::New] {
        let sandbox = TestVault::new();
        let mut pipe = McpPipe::open(&sandbox, era, &[]);
        let (asked, result) = pipe.call("vault_createFile", &args(), &yes());
        assert_eq!(result["isError"], false, "{result}");
        let asked = asked.unwrap();
        assert!(asked.contains("Note of the caller: \"the user asked for it\""), "{asked}");
        let (_, result) = pipe.call("vault_readFile", &json!({ "path": "New.md", "note": 7 }), &no());
        assert_eq!(result["isError"], true);
        assert!(
            result.to_string().contains("/note: expected a string of at most 1000 characters"),
            "{result}"
        );
        pipe.leave();
    }
}

#[test]
fn a_call_of_a_model_behind_the_responses_api_takes_them() {
    let sandbox = TestVault::new();
    let call = json!({ "name": "vault_createFile", "arguments": args().to_string() });
    let model = [
        json!({ "match": { "last_contains": "Created New.md" }, "text": "Done." }),
        json!({ "match": { "last_contains": "Write it" }, "text": format!("<tool_call>{call}</tool_call>") }),
    ];
    let server = ServeProcess::scripted(&sandbox, &model, &["--tools", "--yes"]);
    let asked = json!({ "tools": [{ "type": "tollgate", "events": true }] });
    let events = RawResponse::of(server.stream("Write it", asked)).rest();
    let finished = events.iter().find(|event| event.kind == "tollgate:tool.finished").unwrap();
    assert_eq!(finished.data["status"], "ok", "{finished:?}");
    drop(server);
    check_record(&sandbox);
}
