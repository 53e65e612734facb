//! Nothing of a server can be used before a person has trusted the vault and looked at what it offers.

use std::os::unix::fs::PermissionsExt;

use expect_test::expect;
use serde_json::json;

use crate::rig::{approved, failure, hostile_config, no_wall};
use crate::support::Sandbox;

#[test]
fn a_vault_from_elsewhere_starts_no_server() {
    let sandbox = Sandbox::new();
    sandbox.config("[servers.evil]\ncommand = [\"touch\", \"mark\"]\n");
    let ended = sandbox.tollgate(&["servers", "approve", "evil", "--yes"]).expect_code(3);
    expect![[r#"
        error: nothing was run: this vault has settings that you have not trusted
          server evil runs ["touch","mark"] in the sandbox of commands
        hint: look at them and decide with `tollgate trust --vault DIR/vault`
    "#]]
    .assert_eq(&sandbox.scrub(&ended.err));
    sandbox.tollgate(&["call", "vault.readFile", r#"{"path": "Inbox.md"}"#]).expect_code(3);
    assert!(!sandbox.path("vault/mark").exists());
}

#[test]
fn a_program_in_the_vault_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("vault/server.py", "");
    sandbox.config("[servers.own]\ncommand = [\"python3\", \"server.py\"]\n");
    let ended = sandbox.tollgate(&["trust", "--yes"]).expect_code(3);
    expect![[r#"
        error: server `own` names `server.py`, a file of the vault
        hint: keep its program outside of the vault, and name the folder in `readable` of that server
    "#]]
    .assert_eq(&sandbox.scrub(&ended.err));
}

#[test]
fn what_was_trusted_is_not_yet_approved_and_can_be_forgotten() {
    if no_wall() {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.trusted_config(&hostile_config(""));
    sandbox.tollgate(&["call", "mcp.evil.good", r#"{"name": "x"}"#, "--yes"]).expect_code(2);
    let doctor = sandbox.tollgate(&["doctor"]).out;
    assert!(doctor.contains("warn servers   evil: not approved"), "{doctor}");

    let answer = sandbox.tollgate(&["servers", "approve", "evil", "--yes", "--json"]).expect_code(0).json();
    assert_eq!(
        answer,
        json!({
            "server": "evil", "approved": 13, "changed": {}, "gone": [],
            "added": ["asks", "complains", "crash", "endless_line", "endless_progress", "good", "huge", "sentinels",
                      "shifting", "silent", "tagged", "turns", "wrong_result"],
            "undeclared": [{"name": "no_schema", "why": "its inputSchema is no object"}],
            "leftOut": [answer["leftOut"][0]],
            "hiddenCharacters": ["tagged"],
        })
    );
    let listed = sandbox.tollgate(&["tools"]).expect_code(0).out;
    assert!(listed.contains("mcp.evil.tagged"), "{listed}");
    assert!(listed.contains(r"Reads\u{e0041}\u{e0042} a file\u{202e}"), "{listed}");

    let folder = sandbox.path("state-home/tollgate/servers");
    let kept = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let kept: Vec<_> = kept.filter(|path| path.extension().is_some_and(|it| it == "json")).collect();
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0].metadata().unwrap().permissions().mode() & 0o777, 0o600);

    sandbox.tollgate(&["servers", "forget", "evil"]).expect_code(0);
    sandbox.tollgate(&["call", "mcp.evil.good", r#"{"name": "x"}"#, "--yes"]).expect_code(2);
}

#[test]
fn path_rules_hold_for_any_argument() {
    if no_wall() {
        return;
    }
    let sandbox = approved("\n[[rules]]\neffect = \"deny\"\npaths = [\"Private/**\"]\nreason = \"private\"");
    let denied = |args| failure(&sandbox, "mcp.evil.sentinels", &args);
    let vault = sandbox.vault().canonicalize().unwrap().display().to_string();
    for args in [
        json!({"anything": "Private/a.md"}),
        json!({"deep": [{"x": "./x/../Private/a.md"}]}),
        json!({"uri": format!("file://{vault}/Private/a%2Emd")}),
        json!({"path": format!("{vault}/Private")}),
    ] {
        let said = denied(args);
        assert!(said.starts_with("permission_denied: rule 1 (private) denies mcp.evil.sentinels"), "{said}");
    }
    expect!["sandbox_violation: `.git/config` lies in `.git`, which no tool may touch"]
        .assert_eq(&denied(json!({"file": ".git/config"})));
}
