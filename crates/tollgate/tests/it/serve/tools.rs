//! The tools of the server: what a model does with them, and what is on record afterwards.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::serve::server::ServeProcess;
use crate::serve::wire::{DONE, RawResponse, StreamEvent, kinds};
use crate::support::TestVault;

fn call(name: &str, arguments: &Value) -> String {
    let call = json!({ "name": name, "arguments": arguments.to_string() });
    format!("<tool_call>{call}</tool_call>")
}

/// A model that reads the inbox, copies a line of it, and repeats the results. The newest comes first, because a model
/// is given everything so far.
fn copying_model() -> Vec<Value> {
    vec![
        json!({ "match": { "last_contains": "Created Copy.md" }, "text": "It is copied." }),
        json!({ "match": { "last_contains": "policy_blocked" }, "text": "I may not." }),
        json!({
            "match": { "last_contains": "- Red apples" },
            "text": call("vault_createFile", &json!({ "path": "Copy.md", "content": "- Red apples\n" })),
        }),
        json!({
            "match": { "last_contains": "Copy my inbox" },
            "text": ["Let me look.\n", call("vault_readFile", &json!({ "path": "Inbox.md" }))],
        }),
    ]
}

fn with_events() -> Value {
    json!({ "tools": [{ "type": "tollgate", "events": true }] })
}

/// The reports about the calls, without what differs from one answer to the next.
fn told(events: &[StreamEvent]) -> Vec<(&str, &str, &str)> {
    events
        .iter()
        .filter(|event| event.kind.starts_with("tollgate:"))
        .map(|event| {
            let word = |key: &str| event.data[key].as_str().unwrap_or_default();
            (event.kind.as_str(), word("name"), word("status"))
        })
        .collect()
}

fn last_text(events: &[StreamEvent]) -> &str {
    let done = events.iter().rfind(|event| event.kind == "response.output_text.done").unwrap();
    done.data["text"].as_str().unwrap()
}

#[test]
fn a_model_uses_the_tools_and_its_run_can_be_shown_verified_replayed_and_undone() {
    let sandbox = TestVault::new();
    let server = ServeProcess::scripted(&sandbox, &copying_model(), &["--tools", "--yes"]);
    let events = RawResponse::of(server.stream("Copy my inbox", with_events())).rest();
    assert_eq!(
        told(&events),
        [
            ("tollgate:tool.started", "vault_readFile", ""),
            ("tollgate:tool.finished", "vault_readFile", "ok"),
            ("tollgate:tool.started", "vault_createFile", ""),
            ("tollgate:tool.finished", "vault_createFile", "ok"),
        ]
    );
    assert_eq!(last_text(&events), "It is copied.");
    assert_eq!(kinds(&events)[events.len() - 2..], ["response.completed", DONE]);
    let copy = sandbox.vault().join("Copy.md");
    assert_eq!(std::fs::read_to_string(&copy).unwrap(), "- Red apples\n");

    let runs = sandbox.tollgate(&["runs", "--json"]).expect_code(0).json();
    let started = events.iter().find(|event| event.kind == "tollgate:tool.started").unwrap();
    let [run] = runs.as_array().unwrap().as_slice() else { panic!("one run: {runs}") };
    assert_eq!(run["runId"], started.data["run"]);
    let listed = ["kind", "status", "goal", "calls", "effects"].map(|key| run[key].clone());
    assert_eq!(json!(listed), json!(["session", "ok", "Copy my inbox", 2, 1]));
    for command in ["verify", "replay"] {
        sandbox.tollgate(&[command, "last"]).expect_code(0);
    }
    let shown = sandbox.tollgate(&["show", "last"]).expect_code(0).out;
    assert!(shown.contains("vault.createFile") && shown.contains("Copy.md"), "{shown}");
    sandbox.tollgate(&["undo", "last", "--yes"]).expect_code(0);
    assert!(!copy.exists());
    assert_eq!(sandbox.notes(), ["Inbox.md"]);
}

#[test]
fn a_model_sends_a_plan_once_and_runs_and_undoes_it() {
    let sandbox = TestVault::new();
    let before = sandbox.notes();
    let plan = json!({ "plan": {
        "version": "1.0", "goal": "Add two notes", "riskLevel": "writes",
        "steps": [
            { "id": "one", "tool": "vault.createFile", "args": { "path": "One.md", "content": "1" } },
            { "id": "two", "tool": "vault.createFile", "args": { "path": "Two.md", "content": "2" } },
        ],
    } });
    // The newest comes first.
    let script = [
        json!({ "match": { "last_contains": "Undone: session" }, "text": "It is undone." }),
        json!({ "match": { "last_contains": "ok two: 1 call" }, "text": call("run_undo", &json!({})) }),
        json!({ "match": { "last_contains": "To run exactly this" }, "text": call("plan_run", &json!({ "previewId": "p1" })) }),
        json!({ "match": { "last_contains": "Add notes" }, "text": call("plan_preview", &plan) }),
    ];
    let server = ServeProcess::scripted(&sandbox, &script, &["--tools", "--yes"]);
    let events = RawResponse::of(server.stream("Add notes", with_events())).rest();
    assert_eq!(last_text(&events), "It is undone.", "{:?}", told(&events));
    assert_eq!(sandbox.notes(), before);
    let runs = sandbox.tollgate(&["runs", "--json"]).expect_code(0).json();
    let listed: Vec<_> = runs.as_array().unwrap().iter().map(|run| (&run["kind"], &run["status"])).collect();
    assert!(
        listed.contains(&(&json!("plan"), &json!("ok"))) && listed.contains(&(&json!("undo"), &json!("ok"))),
        "{runs}"
    );
    let sessions: Vec<&Value> = runs.as_array().unwrap().iter().map(|run| &run["session"]).collect();
    assert!(sessions.iter().all(|session| session.is_string() && *session == sessions[0]), "{runs}");
}

#[test]
fn a_tool_outside_of_the_chosen_sets_is_not_run_for_a_model() {
    let sandbox = TestVault::new();
    let out = call("ExecCommand", &json!({ "cmd": "echo no > made.md" }));
    let script = vec![
        json!({ "match": { "last_contains": "Leave" }, "text": out }),
        json!({ "match": {}, "text": "I may not." }),
    ];
    let server = ServeProcess::scripted(&sandbox, &script, &["--tools", "notes", "--yes"]);
    let events = RawResponse::of(server.stream("Leave the sets", with_events())).rest();
    let started = told(&events)
        .iter()
        .any(|(kind, name, _)| *kind == "tollgate:tool.started" && *name == "ExecCommand");
    assert!(!started, "{events:?}");
    let asked = json!({ "tools": [{ "type": "tollgate", "names": ["ExecCommand"] }] });
    let refused = RawResponse::of(server.stream("Leave the sets", asked));
    assert_eq!(refused.status, 400);
    assert_eq!(sandbox.notes(), ["Inbox.md"]);
}

#[test]
fn events_of_tools_are_for_those_who_asked_for_them() {
    let sandbox = TestVault::new();
    let server = ServeProcess::scripted(&sandbox, &copying_model(), &["--tools", "--yes"]);
    let asked = json!({ "tools": [{ "type": "tollgate" }] });
    let events = RawResponse::of(server.stream("Copy my inbox", asked)).rest();
    assert!(told(&events).is_empty(), "{events:?}");
    assert_eq!(last_text(&events), "It is copied.");
}

#[test]
fn without_a_yes_and_a_terminal_nothing_is_written_and_the_model_is_told() {
    let sandbox = TestVault::new();
    let server = ServeProcess::scripted(&sandbox, &copying_model(), &["--tools", "--wait", "0"]);
    let events = RawResponse::of(server.stream("Copy my inbox", with_events())).rest();
    assert_eq!(told(&events)[3], ("tollgate:tool.finished", "vault_createFile", "error"));
    assert_eq!(last_text(&events), "I may not.");
    assert_eq!(sandbox.notes(), ["Inbox.md"]);
    sandbox.tollgate(&["verify", "last"]).expect_code(0);
}

/// Lets calls that write reach a hook, which reports it and holds them.
fn held_by_a_hook(sandbox: &TestVault) -> PathBuf {
    let begun = sandbox.path("begun");
    assert!(std::process::Command::new("mkfifo").arg(&begun).status().unwrap().success());
    let hook = sandbox.script("hook.sh", &format!("echo begun > '{}'\nexec sleep 60", begun.display()));
    sandbox.trusted_config(&format!(
        "[[hooks]]\nname = \"slow\"\ncommand = [\"{hook}\"]\ntimeout_ms = 60000\ntools = [\"vault.createFile\"]\n"
    ));
    begun
}

#[test]
fn a_client_that_goes_away_in_mid_call_leaves_a_run_that_is_closed_and_whole() {
    let sandbox = TestVault::new();
    let begun = held_by_a_hook(&sandbox);
    let server = ServeProcess::scripted(&sandbox, &copying_model(), &["--tools", "--yes"]);
    let client = server.stream("Copy my inbox", with_events());
    assert_eq!(std::fs::read_to_string(&begun).unwrap(), "begun\n");
    drop(client);
    server.until_logged("a run of tools has ended");

    let run = sandbox.tollgate(&["runs", "--json"]).expect_code(0).json()[0].clone();
    assert_eq!((&run["kind"], &run["calls"], &run["effects"]), (&json!("session"), &json!(2), &json!(0)));
    assert_eq!(run["status"], "cancelled");
    sandbox.tollgate(&["verify", "last"]).expect_code(0);
    sandbox.tollgate(&["replay", "last"]).expect_code(0);
    let shown = sandbox.tollgate(&["show", "last"]).expect_code(0).out;
    assert!(shown.contains("cancelled"), "{shown}");
    assert_eq!(sandbox.notes(), ["Inbox.md"]);
    // The server is none the worse for it.
    assert_eq!(server.get("/healthz").status, 200);
}

#[test]
fn a_call_under_way_is_ended_and_its_run_closed_when_the_server_is_told_to_stop() {
    let sandbox = TestVault::new();
    let begun = held_by_a_hook(&sandbox);
    let mut script = copying_model();
    script.insert(0, json!({ "match": { "last_contains": "cancel" }, "text": "It was stopped." }));
    let server = ServeProcess::scripted(&sandbox, &script, &["--tools", "--yes"]);
    let client = server.stream("Copy my inbox", with_events());
    assert_eq!(std::fs::read_to_string(&begun).unwrap(), "begun\n");
    server.terminate();
    let events = RawResponse::of(client).rest();
    assert_eq!(told(&events)[3], ("tollgate:tool.finished", "vault_createFile", "cancelled"));
    assert_eq!(last_text(&events), "It was stopped.");
    assert!(server.ended().success());

    let run = sandbox.tollgate(&["runs", "--json"]).expect_code(0).json()[0].clone();
    assert_eq!((&run["kind"], &run["calls"], &run["effects"]), (&json!("session"), &json!(2), &json!(0)));
    assert_eq!(run["status"], "ok");
    sandbox.tollgate(&["verify", "last"]).expect_code(0);
    sandbox.tollgate(&["replay", "last"]).expect_code(0);
    assert_eq!(sandbox.notes(), ["Inbox.md"]);
}
