//! The official SDKs, as programs use them: the same steps with each, over pipes and over HTTP, in both eras.

use std::collections::BTreeSet;
use std::process::Stdio;

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::mcp_clients::records::{runs, shown};
use crate::mcp_clients::serving::{McpHttpServer, vault};
use crate::support::TestVault;
use crate::support::installed::{clients_are_missing, interpreter};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClientRoute {
    Pipes,
    Http,
}

/// What a script printed.
#[track_caller]
fn steps(sandbox: &TestVault, script: &str, era: &str, serving: Option<&McpHttpServer>) -> Vec<Value> {
    let mut client = interpreter(script);
    if let Some(serving) = serving {
        client.env("MCP_URL", &serving.url).env("MCP_TOKEN", &serving.token);
    }
    let ended = client
        .env("MCP_ERA", era)
        .env("TOLLGATE", crate::support::build::binary())
        .env("VAULT", sandbox.vault())
        .env("HOME", sandbox.path("home"))
        .env("XDG_STATE_HOME", sandbox.path("state-home"))
        .current_dir(sandbox.path("home"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert!(ended.status.success(), "{script}:\n{out}\n{err}");
    // A client that warns of a schema or of an answer warns here.
    let complaints: Vec<&str> = err.lines().filter(|line| !line.contains("unknown tool")).collect();
    assert!(complaints.is_empty(), "{script}: {complaints:#?}");
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The tools that the binary lists, as clients see them: its own, without helpers for texts and without those of a host, as
/// none is attached, and the three for plans.
fn names(sandbox: &TestVault) -> BTreeSet<String> {
    let tools = sandbox.tollgate(&["tools", "--json"]).expect_code(0).json();
    let is_listed = |name: &&str| {
        !["util.", "editor.", "workspace.", "commands."].iter().any(|family| name.starts_with(family))
    };
    let own = tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap());
    let own = own.filter(is_listed).map(|name| name.replace('.', "_"));
    own.chain(["plan_check", "plan_preview", "plan_run", "run_undo"].map(str::to_owned)).collect()
}

/// Takes all steps with a client, and looks at what is on record afterwards.
#[track_caller]
fn check(script: &str, era: &str, way: ClientRoute) {
    if clients_are_missing() {
        return;
    }
    let sandbox = vault();
    let serving = (way == ClientRoute::Http).then(|| McpHttpServer::start(&sandbox, &[]));
    let mut steps = steps(&sandbox, script, era, serving.as_ref());
    if let Some(serving) = serving {
        serving.stop();
    }
    let listed: BTreeSet<String> = serde_json::from_value(steps.remove(0)["names"].clone()).unwrap();
    assert_eq!(listed, names(&sandbox));
    let told: String = steps.iter().map(|step| sandbox.scrub(&format!("{step}\n"))).collect();
    as_expected(way == ClientRoute::Http && era == "modern")
        .assert_eq(&told.replace("MCP error -32602: ", ""));
    on_record(&sandbox);
}

/// The output of every client, step by step. Requests without a session have no client to ask for an approval.
fn as_expected(alone: bool) -> Expect {
    if alone {
        expect![[r##"
            {"step":"read","failed":false,"text":"Read Inbox.md (49 bytes) (etag ETAG)","content":"# Inbox\n\n- Red apples\n- Green pears\n- Blue plums\n"}
            {"step":"denied","failed":true,"text":"vault.createFile failed (permission_denied): rule 1 (private notes) denies vault.createFile: Create Private/a.md (0 bytes)","asked":[]}
            {"step":"approved","failed":false,"text":"Created Approved.md (etag ETAG)","asked":[{"tool":"Creates 1 note: Approved.md.","choices":["once","no"]}]}
            {"step":"refused","failed":true,"text":"vault.createFile failed (approval_rejected): the user declined Create refused.md (4 bytes): declined","asked":[{"tool":"Creates 1 note: refused.md.","choices":["once","no"]}]}
            {"step":"declined","failed":true,"text":"vault.createFile failed (approval_rejected): the user declined Create declined.md (4 bytes): declined","asked":[{"tool":"Creates 1 note: declined.md.","choices":["once","no"]}]}
            {"step":"dismissed","failed":true,"text":"vault.createFile failed (policy_blocked): mode ask needs an approval of Create dismissed.md (4 bytes), and no one is available to approve it: the client closed the question without an answer","asked":[{"tool":"Creates 1 note: dismissed.md.","choices":["once","no"]}]}
            {"step":"remembered","failed":false,"text":"Created Often.md (5 bytes) (etag ETAG)","asked":[{"tool":"Creates 1 note: Often.md.","choices":["once","no"]}]}
            {"step":"again","failed":false,"text":"Wrote Often.md (5 bytes) (etag ETAG)","asked":[{"tool":"Changes 1 note: Often.md.","choices":["once","no"]}]}
            {"step":"cancelled","begun":true,"ended":"without one"}
            {"step":"artifact","name":"artifacts/call-10-stdout.log","bytes":108894,"lines":20000,"listed":true}
            {"step":"progress","failed":false,"text":"Done","told":true,"grows":true}
            {"step":"error","name":"vault_readFile","failed":true,"text":"vault.readFile failed (not_found): `Nowhere.md` does not exist"}
            {"step":"error","name":"vault_readFile","failed":true,"text":"vault.readFile failed (invalid_arguments): `../outside.md` is not a path inside the vault: it contains `.` or `..`; name the folder itself"}
            {"step":"error","name":"vault_readFile","failed":true,"text":"vault.readFile failed (schema_validation_failed): the arguments do not match the schema of vault.readFile: `path` is missing; unknown field `paht`"}
            {"step":"error","name":"plan_check","failed":true,"text":"The plan has 3 errors; nothing was run"}
            {"step":"unknown","code":-32602,"message":"unknown tool `vault_raedFile`; did you mean `vault_readFile`?"}
        "##]]
    } else {
        expect![[r##"
            {"step":"read","failed":false,"text":"Read Inbox.md (49 bytes) (etag ETAG)","content":"# Inbox\n\n- Red apples\n- Green pears\n- Blue plums\n"}
            {"step":"denied","failed":true,"text":"vault.createFile failed (permission_denied): rule 1 (private notes) denies vault.createFile: Create Private/a.md (0 bytes)","asked":[]}
            {"step":"approved","failed":false,"text":"Created Approved.md (etag ETAG)","asked":[{"tool":"Creates 1 note: Approved.md.","choices":["once","session","no"]}]}
            {"step":"refused","failed":true,"text":"vault.createFile failed (approval_rejected): the user declined Create refused.md (4 bytes): declined","asked":[{"tool":"Creates 1 note: refused.md.","choices":["once","session","no"]}]}
            {"step":"declined","failed":true,"text":"vault.createFile failed (approval_rejected): the user declined Create declined.md (4 bytes): declined","asked":[{"tool":"Creates 1 note: declined.md.","choices":["once","session","no"]}]}
            {"step":"dismissed","failed":true,"text":"vault.createFile failed (policy_blocked): mode ask needs an approval of Create dismissed.md (4 bytes), and no one is available to approve it: the client closed the question without an answer","asked":[{"tool":"Creates 1 note: dismissed.md.","choices":["once","session","no"]}]}
            {"step":"remembered","failed":false,"text":"Created Often.md (5 bytes) (etag ETAG)","asked":[{"tool":"Creates 1 note: Often.md.","choices":["once","session","no"]}]}
            {"step":"again","failed":false,"text":"Wrote Often.md (5 bytes) (etag ETAG)","asked":[]}
            {"step":"cancelled","begun":true,"ended":"without one"}
            {"step":"artifact","name":"artifacts/call-10-stdout.log","bytes":108894,"lines":20000,"listed":true}
            {"step":"progress","failed":false,"text":"Done","told":true,"grows":true}
            {"step":"error","name":"vault_readFile","failed":true,"text":"vault.readFile failed (not_found): `Nowhere.md` does not exist"}
            {"step":"error","name":"vault_readFile","failed":true,"text":"vault.readFile failed (invalid_arguments): `../outside.md` is not a path inside the vault: it contains `.` or `..`; name the folder itself"}
            {"step":"error","name":"vault_readFile","failed":true,"text":"vault.readFile failed (schema_validation_failed): the arguments do not match the schema of vault.readFile: `path` is missing; unknown field `paht`"}
            {"step":"error","name":"plan_check","failed":true,"text":"The plan has 3 errors; nothing was run"}
            {"step":"unknown","code":-32602,"message":"unknown tool `vault_raedFile`; did you mean `vault_readFile`?"}
        "##]]
    }
}

/// The calls are one run, the plan another; both are closed and intact, and name who approved what.
#[track_caller]
fn on_record(sandbox: &TestVault) {
    let runs = runs(sandbox);
    let listed: Vec<Value> =
        runs.iter().map(|run| json!([run["status"], run["calls"], run["effects"]])).collect();
    assert_eq!(listed, [json!(["ok", 13, 3]), json!(["ok", 60, 0])], "{runs:#?}");
    let calls = shown(sandbox, &runs[0]);
    assert!(
        calls.contains("approved (client)") && calls.contains("cancelled  call-9 ExecCommand"),
        "{calls}"
    );
    assert_eq!(sandbox.notes(), ["Approved.md", "Inbox.md", "Often.md", "begun"]);
    assert_eq!(std::fs::read_to_string(sandbox.vault().join("Often.md")).unwrap(), "Two.\n");
}

#[test]
fn version_1_of_the_typescript_sdk_over_pipes() {
    check("mcp_typescript_1.mjs", "legacy", ClientRoute::Pipes);
}

#[test]
fn version_1_of_the_typescript_sdk_over_http() {
    check("mcp_typescript_1.mjs", "legacy", ClientRoute::Http);
}

#[test]
fn version_2_of_the_typescript_sdk_over_pipes_in_the_older_era() {
    check("mcp_typescript_2.mjs", "legacy", ClientRoute::Pipes);
}

#[test]
fn version_2_of_the_typescript_sdk_over_http_in_the_older_era() {
    check("mcp_typescript_2.mjs", "legacy", ClientRoute::Http);
}

#[test]
fn version_2_of_the_typescript_sdk_over_pipes_in_the_newer_era() {
    check("mcp_typescript_2.mjs", "modern", ClientRoute::Pipes);
}

#[test]
fn version_2_of_the_typescript_sdk_over_http_in_the_newer_era() {
    check("mcp_typescript_2.mjs", "modern", ClientRoute::Http);
}

#[test]
fn the_python_sdk_over_pipes_in_the_older_era() {
    check("mcp_python.py", "legacy", ClientRoute::Pipes);
}

#[test]
fn the_python_sdk_over_http_in_the_older_era() {
    check("mcp_python.py", "legacy", ClientRoute::Http);
}

#[test]
fn the_python_sdk_over_pipes_in_the_newer_era() {
    check("mcp_python.py", "modern", ClientRoute::Pipes);
}

#[test]
fn the_python_sdk_over_http_in_the_newer_era() {
    check("mcp_python.py", "modern", ClientRoute::Http);
}
