//! `tollgate check` on right and wrong plans.

use crate::support::{TestVault, inbox_plan};
use expect_test::expect;
use serde_json::json;

fn wrong_plan() -> serde_json::Value {
    json!({
        "version": "1.0",
        "goal": "Read and write",
        "riskLevel": "read-only",
        "steps": [
            { "id": "read", "tool": "vault.readFil", "args": { "path": "Inbox.md" } },
            { "id": "note", "tool": "vault.createFile", "args": { "path": 3, "content": "$steps.raed.content" } }
        ]
    })
}

#[test]
fn a_wrong_plan_is_told_with_every_finding_and_its_way_out() {
    let sandbox = TestVault::new();
    let plan = sandbox.plan_file("wrong.json", &wrong_plan());
    let ended = sandbox.tollgate(&["check", &plan]).expect_code(2);
    expect![[r#"
        error /riskLevel
          the plan says `read-only`, but these steps go further: `note`
          hint: write `"riskLevel": "writes"`
        error read /steps/0/tool
          no tool is named `vault.readFil`
          hint: did you mean `vault.readFile`?
        error note /steps/1/args/content
          `$steps.raed.content` names a step that does not exist
          hint: did you mean `$steps.read.content`?
        error note /steps/1/args/path
          expected a string, found the number 3
          hint: write "3"
        4 errors, 0 warnings
    "#]]
    .assert_eq(&ended.out);
    assert_eq!(ended.err, "");
}

#[test]
fn a_path_that_can_never_work_is_found_before_the_run() {
    let sandbox = TestVault::new();
    let step = |id: &str, tool: &str, path: &str| json!({ "id": id, "tool": tool, "args": { "path": path } });
    let plan = json!({
        "version": "1.0", "goal": "Reach out", "riskLevel": "writes",
        "steps": [
            step("out", "vault.readFile", "../secret.md"),
            step("app", "vault.readFile", ".obsidian/app.json"),
            step("name", "vault.ensureFolder", "a:b"),
            step("good", "vault.readFile", "Inbox.md")
        ]
    });
    let plan = sandbox.plan_file("plan.json", &plan);
    expect![[r#"
        error out /steps/0/args/path
          `../secret.md` is not a path inside the vault: it contains `.` or `..`; name the folder itself
          hint: use a path of a note inside the vault, such as `Notes/Idea.md`
        error app /steps/1/args/path
          `.obsidian/app.json` is protected: no tool may use what is in `.obsidian`
          hint: use a path of a note inside the vault, such as `Notes/Idea.md`
        error name /steps/2/args/path
          `a:b` is not a path inside the vault: it contains `:`; use a plain character
          hint: use a path of a note inside the vault, such as `Notes/Idea.md`
        3 errors, 0 warnings
    "#]]
    .assert_eq(&sandbox.tollgate(&["check", &plan]).expect_code(2).out);
}

#[test]
fn a_wrong_plan_as_json_carries_the_same_findings() {
    let sandbox = TestVault::new();
    let answer = sandbox
        .tollgate_with_input(&["check", "-", "--json"], &wrong_plan().to_string())
        .expect_code(2)
        .json();
    assert_eq!(answer["ok"], false);
    let brief: Vec<String> = answer["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| format!("{} {} {}", finding["severity"], finding["code"], finding["pointer"]))
        .collect();
    expect![[r#"
        "error" "risk_too_low" "/riskLevel"
        "error" "unknown_tool" "/steps/0/tool"
        "error" "unknown_step" "/steps/1/args/content"
        "error" "schema" "/steps/1/args/path""#]]
    .assert_eq(&brief.join("\n"));
}

#[test]
fn a_right_plan_has_a_hash_and_an_order() {
    let sandbox = TestVault::new();
    let plan = sandbox.plan();
    let text = sandbox.tollgate(&["check", &plan]).expect_code(0);
    expect![[r#"
        The plan can run: 3 steps, writes, b3:HASH
        Order: read, bullets, notes
    "#]]
    .assert_eq(&sandbox.scrub(&text.out));
    let answer = sandbox.tollgate(&["check", &plan, "--json"]).expect_code(0).json();
    assert_eq!((&answer["ok"], &answer["order"]), (&json!(true), &json!(["read", "bullets", "notes"])));
    assert!(answer["planHash"].as_str().unwrap().starts_with("b3:"));
}

#[test]
fn a_plan_can_be_checked_where_no_vault_is() {
    let sandbox = TestVault::new();
    let plan = sandbox.plan();
    let elsewhere = tempfile::tempdir().unwrap();
    let output = sandbox.command(&["check", &plan]).current_dir(elsewhere.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn what_is_no_plan_at_all_is_said_plainly() {
    let sandbox = TestVault::new();
    let missing = sandbox.tollgate(&["check", "nowhere.json"]).expect_code(2);
    expect![[r#"
        error: there is no file `nowhere.json`
        hint: give the path of a file with the plan, or `-` to read standard input
    "#]]
    .assert_eq(&missing.err);
    let not_json = sandbox.tollgate_with_input(&["check", "-"], "Sure! Here is the plan: {").expect_code(2);
    expect![[r#"
        error (plan)
          the text is not JSON: expected value at line 1 column 1
          hint: send the JSON object alone: the first character must be `{`, with no words before it
        1 error, 0 warnings
    "#]]
    .assert_eq(&not_json.out);
}

#[test]
fn a_plan_with_errors_is_not_run_and_leaves_no_record() {
    let sandbox = TestVault::new();
    let plan = sandbox.plan_file("wrong.json", &wrong_plan());
    let ended = sandbox.tollgate(&["run", &plan, "--yes"]).expect_code(2);
    assert!(ended.out.contains("did you mean `vault.readFile`"), "{}", ended.out);
    let answer = sandbox.tollgate(&["run", &plan, "--yes", "--json"]).expect_code(2).json();
    assert_eq!(answer["error"]["code"], "plan_rejected");
    assert!(!answer["findings"].as_array().unwrap().is_empty());
    assert!(!sandbox.path("vault/.tollgate").exists());
    assert_eq!(sandbox.notes(), ["Inbox.md"]);
}

#[test]
fn the_example_is_the_plan_of_the_demonstration() {
    let sandbox = TestVault::new();
    let example = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/inbox-to-notes.json");
    sandbox.tollgate(&["check", example.to_str().unwrap()]).expect_code(0);
    let dir = sandbox.path("demo");
    sandbox.tollgate(&["demo", "--dir", dir.to_str().unwrap()]).expect_code(0);
    assert_eq!(std::fs::read(dir.join("plan.json")).unwrap(), std::fs::read(example).unwrap());
    assert!(inbox_plan().is_object());
}

#[test]
fn a_plan_forges_no_line_of_the_report() {
    let sandbox = TestVault::new();
    let mut plan = inbox_plan();
    plan["x\n0 errors, 0 warnings\r\tThe plan can run"] = json!(1);
    let plan = sandbox.plan_file("forged.json", &plan);
    let ended = sandbox.tollgate(&["check", &plan]).expect_code(2);
    expect![[r#"
        error /x\n0 errors, 0 warnings\r\tThe plan can run
          `x\n0 errors, 0 warnings\r\tThe plan can run` is not a field of the plan format
          hint: remove it; the known fields are `version`, `goal`, `riskLevel`, `steps`, `assumptions`, `contextRequests`, `vars`, `defaults`, `outputs`, `uiHints`
        1 error, 0 warnings
    "#]].assert_eq(&ended.out);
}
