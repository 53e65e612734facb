//! The real codex app-server with Tollgate as one of its MCP servers.

use std::process::Stdio;

use expect_test::expect;
use serde_json::{Value, json};

use crate::mcp_clients::records::{runs, shown};
use crate::mcp_clients::serving::vault;
use crate::support::build::binary;
use crate::support::installed::{clients_are_missing, codex, interpreter};

#[test]
fn codex_lists_reads_asks_its_person_and_cancels() {
    if clients_are_missing() {
        return;
    }
    let sandbox = vault();
    // Codex does not do everything in a temporary folder that it does elsewhere.
    let home = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let ended = interpreter("mcp_codex.py")
        .env("TOLLGATE", binary())
        .env("VAULT", sandbox.vault())
        .env("CODEX", codex())
        .env("CODEX_HOME", home.path().join("codex"))
        .env("HOME", sandbox.path("home"))
        .env("XDG_STATE_HOME", sandbox.path("state-home"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert!(ended.status.success(), "{out}\n{err}");
    let mut steps: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let listed = steps.remove(0);
    let listed = listed["names"].as_array().unwrap();
    assert!(listed.len() > 20 && listed.contains(&json!("vault_readFile")), "{listed:?}");
    let told: String = steps.iter().map(|step| sandbox.scrub(&format!("{step}\n"))).collect();
    expect![[r#"
        {"step":"read","status":"completed","text":"Read Inbox.md (49 bytes) (etag ETAG)","turn":"completed","asked":[]}
        {"step":"denied","status":"failed","text":"vault.createFile failed (permission_denied): rule 1 (private notes) denies vault.createFile: Create Private/a.md (0 bytes)","turn":"completed","asked":["codex asks"]}
        {"step":"approved","status":"completed","text":"Created Approved.md (etag ETAG)","turn":"completed","asked":["codex asks","Creates 1 note: Approved.md."]}
        {"step":"declined","status":"failed","text":"vault.createFile failed (approval_rejected): the user declined Create declined.md (4 bytes): declined","turn":"completed","asked":["codex asks","Creates 1 note: declined.md."]}
        {"step":"remembered","status":"completed","text":"Created Often.md (5 bytes) (etag ETAG)","turn":"completed","asked":["codex asks","Creates 1 note: Often.md."]}
        {"step":"unasked","status":"completed","text":"Wrote Often.md (5 bytes) (etag ETAG)","turn":"completed","asked":["codex asks"]}
        {"step":"artifact","status":"completed","text":"Process exited with code 0","turn":"completed","asked":["codex asks"],"lines":20000}
        {"step":"cancelled","turn":"interrupted"}
        {"step":"afterwards","status":"completed","text":"Read Inbox.md (49 bytes) (etag ETAG)","turn":"completed","asked":[]}
    "#]].assert_eq(&told);

    let runs = runs(&sandbox);
    let listed: Vec<Value> =
        runs.iter().map(|run| json!([run["status"], run["calls"], run["effects"]])).collect();
    assert_eq!(listed, [json!(["ok", 9, 3])], "{runs:#?}");
    let calls = shown(&sandbox, &runs[0]);
    assert!(
        calls.contains("approved (client)") && calls.contains("cancelled  call-8 ExecCommand"),
        "{calls}"
    );
    assert_eq!(sandbox.notes(), ["Approved.md", "Inbox.md", "Often.md", "begun"]);
}
