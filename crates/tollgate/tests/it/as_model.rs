//! What a model sees of a run, and how long its receipts are.

use crate::support::{TestVault, inbox_plan};
use expect_test::{Expect, expect};
use serde_json::{Value, json};

/// A sandbox in which the plan has run once.
fn ran(plan: &Value, code: i32) -> TestVault {
    let sandbox = TestVault::new();
    let plan = sandbox.plan_file("plan.json", plan);
    sandbox.tollgate(&["run", &plan, "--yes"]).expect_code(code);
    sandbox
}

#[track_caller]
fn check(sandbox: &TestVault, args: &[&str], expected: &Expect) {
    let shown = sandbox.tollgate(&[&["show", "last", "--as-model"], args].concat()).expect_code(0);
    assert_eq!(shown.err, "");
    expected.assert_eq(&sandbox.scrub(&shown.out));
}

// Conformance: result 1.2
//     Serialised JSON of the canonical result is for storage, not what the model sees.
//     In: receipts/families/mod.rs
// Conformance: result 7.3
//     The record has the canonical result and the receipt exactly as they were returned.
//     In: engine/phases/emit_terminal.rs
#[test]
fn each_call_stands_there_with_its_receipt_as_recorded() {
    let sandbox = ran(&inbox_plan(), 0);
    check(
        &sandbox,
        &[],
        &expect![[r##"
        A note for every bullet (ok)

        read vault.readFile {"path":"Inbox.md"}
        Read Inbox.md (49 bytes) (etag ETAG)
        # Inbox

        - Red apples
        - Green pears
        - Blue plums

        bullets util.parseMarkdownBullets {"text":"# Inbox\n\n- Red apples\n- Green pears\n- Blue plums\n"}
        Found 3 bullets
        - Red apples
        - Green pears
        - Blue plums

        notes[0] vault.createFile {"path":"Notes/Red apples.md","content":"# Red apples\n"}
        Created Notes/Red apples.md (etag ETAG)

        notes[1] vault.createFile {"path":"Notes/Green pears.md","content":"# Green pears\n"}
        Created Notes/Green pears.md (etag ETAG)

        notes[2] vault.createFile {"path":"Notes/Blue plums.md","content":"# Blue plums\n"}
        Created Notes/Blue plums.md (etag ETAG)

        5 calls, 273 of 20000 tokens: 5 exact
    "##]],
    );
    let shown = sandbox.tollgate(&["show", "last", "--as-model", "--json"]).json();
    let recorded = sandbox.tollgate(&["show", "last", "--all", "--json"]).json();
    let calls =
        recorded["steps"].as_array().unwrap().iter().flat_map(|step| step["calls"].as_array().unwrap());
    let receipts: Vec<&Value> = calls.map(|call| &call["receipt"]).collect();
    let seen: Vec<&Value> = shown["entries"].as_array().unwrap().iter().map(|entry| &entry["text"]).collect();
    assert_eq!(seen, receipts);
}

#[test]
fn older_calls_become_short_and_the_last_ones_stay() {
    let sandbox = ran(&inbox_plan(), 0);
    check(
        &sandbox,
        &["--budget", "0"],
        &expect![[r##"
        A note for every bullet (ok)

        read vault.readFile success: Read Inbox.md (49 bytes) [etag: 89255ecf897cfdd0cf5c81cc05f81287]
        bullets util.parseMarkdownBullets success: Found 3 bullets

        notes[0] vault.createFile {"path":"Notes/Red apples.md","content":"# Red apples\n"}
        Created Notes/Red apples.md (etag ETAG)

        notes[1] vault.createFile {"path":"Notes/Green pears.md","content":"# Green pears\n"}
        Created Notes/Green pears.md (etag ETAG)

        notes[2] vault.createFile {"path":"Notes/Blue plums.md","content":"# Blue plums\n"}
        Created Notes/Blue plums.md (etag ETAG)

        5 calls, 221 of 0 tokens: 3 exact, 2 recap; over the budget, because no call is left out and the last ones stay exact
    "##]],
    );
    let shown = sandbox.tollgate(&["show", "last", "--as-model", "--budget", "0", "--json"]).json();
    let keys: Vec<&str> = shown.as_object().unwrap().keys().map(String::as_str).collect();
    expect!["runId goal status budget entries tokens overBudget"].assert_eq(&keys.join(" "));
    assert_eq!((&shown["status"], &shown["overBudget"]), (&json!("ok"), &json!(true)));
    assert_eq!(
        (&shown["entries"][0]["level"], &shown["entries"][4]["level"]),
        (&json!("recap"), &json!("exact"))
    );
}

#[test]
fn a_failure_and_what_was_skipped_because_of_it_are_told() {
    let mut plan = inbox_plan();
    plan["steps"][0]["args"]["path"] = json!("Nope.md");
    let sandbox = ran(&plan, 1);
    check(
        &sandbox,
        &[],
        &expect![[r#"
        A note for every bullet (failed)

        read vault.readFile {"path":"Nope.md"}
        vault.readFile failed (not_found): `Nope.md` does not exist
        Next: list the vault to see what is there

        bullets util.parseMarkdownBullets
        step `read` failed

        notes vault.createFile
        step `read` failed

        3 calls, 67 of 20000 tokens: 3 exact
    "#]],
    );
}

// Conformance: result 5.5
//     Once cut, nothing is expanded again by itself.
//     In: receipts/compaction/mod.rs
#[test]
fn what_is_kept_elsewhere_is_not_fetched() {
    let sandbox = TestVault::new();
    let lines: String = (0..9000).map(|n| format!("line {n} of a long note\n")).collect();
    sandbox.write("vault/Long.md", &lines);
    sandbox.tollgate(&["call", "vault.readFile", r#"{"path": "Long.md"}"#]).expect_code(0);
    let before = sandbox.tollgate(&["show", "last", "--as-model"]).expect_code(0).out;
    assert!(before.contains("line 1 of a long note") && !before.contains("line 8000 of"), "{before}");
    let objects = sandbox.path("vault/.tollgate/objects");
    assert!(
        std::fs::read_dir(&objects).unwrap().next().is_some(),
        "the output is large enough to be kept apart"
    );
    std::fs::remove_dir_all(&objects).unwrap();
    assert_eq!(sandbox.tollgate(&["show", "last", "--as-model"]).out, before);
}

#[test]
fn a_damaged_run_is_told_as_far_as_it_can_be_trusted() {
    let sandbox = ran(&inbox_plan(), 0);
    sandbox.flip_byte_in_second_line(&sandbox.only_run().join("results.jsonl"));
    let shown = sandbox.tollgate(&["show", "last", "--as-model"]).expect_code(4).out;
    assert!(shown.contains("read vault.readFile") && !shown.contains("notes[2]"), "{shown}");
}

#[test]
fn a_budget_belongs_to_what_a_model_sees() {
    let sandbox = ran(&inbox_plan(), 0);
    sandbox.tollgate(&["show", "last", "--budget", "100"]).expect_code(2);
    sandbox.tollgate(&["show", "last", "--all", "--as-model"]).expect_code(2);
}

/// The receipt of a look at a long note.
#[track_caller]
fn receipt(sandbox: &TestVault, args: &[&str]) -> String {
    let read = ["call", "vault.readFile", r#"{"path": "Long.md"}"#, "--json"];
    let result = sandbox.tollgate(&[&read[..], args].concat()).expect_code(0).json();
    result["receipt"].as_str().unwrap().to_owned()
}

// Conformance: result 5.6
#[test]
fn a_receipt_is_as_long_as_the_caller_or_the_settings_want_it() {
    let sandbox = TestVault::new();
    let lines: String = (0..12_000).map(|n| format!("line {n}\n")).collect();
    sandbox.write("vault/Long.md", &lines);
    let usual = receipt(&sandbox, &[]);
    let short = receipt(&sandbox, &["--budget", "200"]);
    let long = receipt(&sandbox, &["--budget", "18000"]);
    assert!(short.len() * 4 < usual.len() && usual.len() * 2 < long.len(), "{short}");
    sandbox.config("[receipts]\nread = 200\n");
    assert_eq!(receipt(&sandbox, &[]), short);
    assert_eq!(receipt(&sandbox, &["--budget", "7000"]), usual);
}

#[test]
fn more_than_the_settings_allow_is_refused() {
    let sandbox = TestVault::new();
    sandbox.config("[receipts]\nmax_tokens = 2000\n");
    let read = ["call", "vault.readFile", r#"{"path": "Inbox.md"}"#, "--budget"];
    let ended = sandbox.tollgate(&[&read[..], &["2001"]].concat()).expect_code(2);
    expect![[r#"
        error: a receipt of 2001 tokens is more than the 2000 that the settings allow
        hint: ask for at most 2000, or raise `receipts.max_tokens` in .tollgate/config.toml
    "#]]
    .assert_eq(&ended.err);
    sandbox.tollgate(&[&read[..], &["2000"]].concat()).expect_code(0);
    sandbox.tollgate(&[&read[..], &["49"]].concat()).expect_code(2);
}

#[test]
fn a_tool_tells_how_long_its_receipts_are() {
    let shown = TestVault::new().tollgate(&["tools", "vault.readFile"]).expect_code(0).out;
    let line = shown.lines().find(|line| line.starts_with("Receipt:")).unwrap();
    expect!["Receipt:      read family, up to 7000 tokens unless the settings or the caller say otherwise"]
        .assert_eq(line);
}
