//! Hooks before calls.

use crate::support::TestVault;
use expect_test::expect;
use serde_json::{Value, json};

const NOTE: &str = r#"{"path": "a.md", "content": "x"}"#;

/// Creates a note through a hook with this script, which has all the time it needs; returns the result.
fn call_through(sandbox: &TestVault, script: &str, code: i32) -> Value {
    call_within(sandbox, 60_000, script, code)
}

fn call_within(sandbox: &TestVault, limit_ms: u32, script: &str, code: i32) -> Value {
    let program = sandbox.script("hook.sh", script);
    sandbox.trusted_config(&format!(
        "[[hooks]]\nname = \"guard\"\ncommand = [\"{program}\"]\ntimeout_ms = {limit_ms}\ntools = [\"vault.*\"]\n"
    ));
    sandbox.tollgate(&["call", "vault.createFile", NOTE, "--yes", "--json"]).expect_code(code).json()
}

#[test]
fn a_hook_changes_the_input_and_the_change_is_on_record() {
    let sandbox = TestVault::new();
    let reply = json!({ "updatedInput": { "path": "Checked/a.md", "content": "x" }, "reason": "notes go to Checked" });
    let result = call_through(&sandbox, &format!("cat > /dev/null\necho '{reply}'"), 0);
    assert_eq!(sandbox.notes(), ["Checked/a.md", "Inbox.md"]);
    expect![[
        r#"[{"phase":"pre_hooks","by":{"hook":"guard"},"fields":["/path"],"why":"notes go to Checked"}]"#
    ]]
    .assert_eq(&result["mutations"].to_string());
    let shown = sandbox.tollgate(&["show", "last"]).expect_code(0).out;
    assert!(shown.contains("changed by hook guard in pre_hooks: /path (notes go to Checked)"), "{shown}");
    sandbox.tollgate(&["verify", "last"]).expect_code(0);
    sandbox.tollgate(&["replay", "last"]).expect_code(0);
}

#[test]
fn a_hook_stops_a_call_with_its_reason() {
    let sandbox = TestVault::new();
    let result = call_through(&sandbox, r#"echo '{"decision": "stop", "reason": "not on Sundays"}'"#, 3);
    assert_eq!(result["error"]["kind"], "hook_blocked");
    assert!(result["error"]["message"].as_str().unwrap().contains("not on Sundays"), "{result}");
    assert_eq!(sandbox.notes(), ["Inbox.md"]);
}

#[test]
fn a_hook_that_hangs_past_its_limit_fails_closed() {
    let sandbox = TestVault::new();
    let result = call_within(&sandbox, 300, "exec sleep 30", 1);
    assert_eq!(result["error"]["kind"], "hook_failed");
    expect!["hook `guard` failed: it did not answer within 300 ms"]
        .assert_eq(result["error"]["message"].as_str().unwrap());
    assert_eq!(sandbox.notes(), ["Inbox.md"]);
}

#[test]
fn a_hook_that_crashes_or_talks_nonsense_fails_closed() {
    for script in ["exit 7", "echo sure, go ahead", r#"echo '{"decision": "allow"}'"#] {
        let sandbox = TestVault::new();
        let result = call_through(&sandbox, script, 1);
        assert_eq!(result["error"]["kind"], "hook_failed", "{script}");
        assert_eq!(sandbox.notes(), ["Inbox.md"]);
    }
}

#[test]
fn a_hook_that_asks_is_not_answered_by_silence() {
    let sandbox = TestVault::new();
    let program = sandbox.script("hook.sh", r#"echo '{"decision": "ask", "reason": "sure?"}'"#);
    sandbox.trusted_config(&format!(
        "mode = \"trusted\"\n[[hooks]]\nname = \"guard\"\ncommand = [\"{program}\"]\ntimeout_ms = 60000\n"
    ));
    let result = sandbox.tollgate(&["call", "vault.createFile", NOTE, "--json"]).expect_code(3).json();
    assert_eq!(result["error"]["kind"], "policy_blocked");
    sandbox.tollgate(&["call", "vault.createFile", NOTE, "--yes"]).expect_code(0);
}

#[test]
fn a_hook_runs_in_the_vault_wherever_the_command_is_started() {
    let sandbox = TestVault::new();
    let stop = r#"echo '{"decision": "stop", "reason": "the guard of the vault"}'"#;
    sandbox.script("vault/.tollgate/guard.sh", stop);
    sandbox.script("elsewhere/.tollgate/guard.sh", "cat > /dev/null");
    sandbox.trusted_config(
        "[[hooks]]\nname = \"guard\"\ncommand = [\"sh\", \".tollgate/guard.sh\"]\ntimeout_ms = 60000\n",
    );
    let vault = sandbox.vault();
    let output = sandbox
        .command(&["call", "vault.createFile", NOTE, "--yes", "--vault", vault.to_str().unwrap()])
        .current_dir(sandbox.path("elsewhere"))
        .output()
        .unwrap();
    let ended = crate::support::ended(output).expect_code(3);
    assert!(ended.out.contains("the guard of the vault"), "{}", ended.out);
    assert_eq!(sandbox.notes(), ["Inbox.md"]);
}
