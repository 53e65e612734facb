//! What is shown is what happens, through `run`, `run --previewed` and `call`.
use crate::support::TestVault;
use serde_json::{Value, json};

fn plan(risk: &str, steps: Value) -> Value {
    json!({ "version": "1.0", "goal": "Tidy up", "riskLevel": risk, "steps": steps })
}

/// Bullets of which the first names a note that is not there.
fn deletes_what_bullets_name(sandbox: &TestVault) -> String {
    sandbox.write("vault/List.md", "- missing\n- precious\n");
    sandbox.write("vault/precious.md", "precious\n");
    let steps = json!([
        { "id": "read", "tool": "vault.readFile", "args": { "path": "List.md" } },
        { "id": "bullets", "tool": "util.parseMarkdownBullets", "args": { "text": "$steps.read.content" } },
        { "id": "del", "tool": "vault.delete", "args": { "path": "{b.text}.md" },
          "foreach": { "from": "$steps.bullets.items", "itemName": "b" } },
    ]);
    sandbox.plan_file("delete.json", &plan("writes", steps))
}

const HEADLINE: &str = "Deletes 1 note: precious.md. 1 of 2 items will fail: `missing.md` does not exist.";

#[test]
fn the_question_and_the_preview_say_what_is_deleted_although_another_item_fails() {
    let sandbox = TestVault::new();
    let file = deletes_what_bullets_name(&sandbox);
    let shown = sandbox.tollgate(&["preview", &file]).expect_code(1).out;
    assert_eq!(shown.lines().next(), Some(HEADLINE), "{shown}");
    for (typed, is_there) in [("n\r", true), ("y\r", false)] {
        let mut terminal = sandbox.terminal(&["run", &file]);
        terminal.wait_for(HEADLINE);
        terminal.wait_for("May this run? [y/N]");
        terminal.type_in(typed);
        let (screen, _) = terminal.end();
        assert_eq!(sandbox.path("vault/precious.md").exists(), is_there, "{screen}");
    }
}

#[test]
fn a_previewed_run_writes_nothing_onwards_that_was_not_previewed() {
    let sandbox = TestVault::new();
    // The command stands for another program that writes while the plan runs.
    let steps = json!([
        { "id": "other", "tool": "ExecCommand", "args": { "cmd": "printf 'changed midway' > Inbox.md" } },
        { "id": "read", "tool": "vault.readFile", "args": { "path": "Inbox.md" } },
        { "id": "copy", "tool": "vault.writeFile", "args": { "path": "Copy.md", "content": "$steps.read.content" } },
    ]);
    let file = sandbox.plan_file("copy.json", &plan("commands", steps));
    let seen = sandbox.path("seen.json").to_str().unwrap().to_owned();
    sandbox.tollgate(&["preview", &file, "--out", &seen]).expect_code(0);
    let ended =
        sandbox.tollgate(&["run", &file, "--previewed", &seen, "--yes", "--json"]).expect_code(1).json();
    let error = &ended["steps"][2]["error"];
    assert_eq!(error["code"], "CONFLICT", "{ended:#}");
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("Copy.md would get other content: ") && message.contains("--yes covers"),
        "{message}"
    );
    assert!(!sandbox.path("vault/Copy.md").exists());
}

#[test]
fn a_preview_that_was_edited_in_any_place_is_no_preview_to_run_by() {
    let sandbox = TestVault::new();
    let file = deletes_what_bullets_name(&sandbox);
    let seen = sandbox.path("seen.json").to_str().unwrap().to_owned();
    sandbox.tollgate(&["preview", &file, "--out", &seen]).expect_code(1);
    let saved = std::fs::read_to_string(&seen).unwrap();
    for (from, to) in [
        ("Deletes 1 note", "Changes 1 note"),
        ("Move precious.md to the trash", "Leave precious.md alone"),
        ("\"fate\": \"trashed\"", "\"fate\": \"changed\""),
        ("\"warnings\": []", "\"warnings\": [\"none\"]"),
    ] {
        assert!(saved.contains(from), "{from}: {saved}");
        sandbox.write("seen.json", &saved.replace(from, to));
        let ended = sandbox.tollgate(&["run", &file, "--previewed", &seen, "--yes"]).expect_code(3);
        assert!(
            ended.err.contains("the file does not show what the preview showed"),
            "{from}: {}",
            ended.err
        );
        assert!(sandbox.path("vault/precious.md").exists());
    }
    sandbox.write("seen.json", &saved);
    sandbox.tollgate(&["run", &file, "--previewed", &seen, "--yes"]).expect_code(1);
    assert!(!sandbox.path("vault/precious.md").exists());
}

#[test]
fn a_rule_that_allows_paths_lets_calls_and_plans_through_unasked() {
    let sandbox = TestVault::new();
    sandbox.trusted_config("[[rules]]\neffect = \"allow\"\ntools = [\"vault.*\"]\npaths = [\"Inbox/**\"]\n");
    // Making the folder itself is not part of the rule, which speaks of what is in it.
    sandbox.write("vault/Inbox/first.md", "x");
    let create = |path: &str| json!({ "path": path, "content": "x" }).to_string();
    sandbox.tollgate(&["call", "vault.createFile", &create("Inbox/a.md")]).expect_code(0);
    sandbox.tollgate(&["call", "vault.createFile", &create("Other/a.md")]).expect_code(3);
    let each = |folder: &str| {
        plan(
            "writes",
            json!([{ "id": "all", "tool": "vault.createFile",
            "args": { "path": format!("{folder}/{{n}}.md"), "content": "x" },
            "foreach": { "from": ["b", "c"], "itemName": "n" } }]),
        )
    };
    let inside = sandbox.plan_file("inside.json", &each("Inbox"));
    let outside = sandbox.plan_file("outside.json", &each("Other"));
    sandbox.tollgate(&["run", &inside]).expect_code(0);
    sandbox.tollgate(&["run", &outside]).expect_code(3);
    assert!(sandbox.path("vault/Inbox/c.md").exists() && !sandbox.path("vault/Other").exists());
}

#[test]
fn a_dry_run_needs_no_yes() {
    let sandbox = TestVault::new();
    let args = json!({ "path": "Inbox.md", "dryRun": true }).to_string();
    sandbox.tollgate(&["call", "vault.delete", &args]).expect_code(0);
    assert!(sandbox.path("vault/Inbox.md").exists());
}

#[test]
fn a_folder_with_notes_goes_to_the_trash_after_one_yes_and_not_with_an_edit_that_was_not_shown() {
    let sandbox = TestVault::new();
    for name in ["b", "a", "deep/c"] {
        sandbox.write(&format!("vault/Folder/{name}.md"), "text\n");
    }
    let delete = |args: Value| plan("writes", json!([{ "id": "del", "tool": "vault.delete", "args": args }]));
    let for_good = sandbox.plan_file("good.json", &delete(json!({ "path": "Folder", "trash": false })));
    let mut terminal = sandbox.terminal(&["run", &for_good]);
    terminal.wait_for("May this run? [y/N]");
    terminal.type_in("y\r");
    let (screen, code) = terminal.end();
    assert_eq!((code, sandbox.path("vault/Folder").exists()), (0, false), "{screen}");
    sandbox.tollgate(&["undo", "last", "--yes"]).expect_code(0);
    let file = sandbox.plan_file("folder.json", &delete(json!({ "path": "Folder" })));
    let mut terminal = sandbox.terminal(&["run", &file]);
    terminal.wait_for("Deletes 1 folder: Folder.");
    terminal.wait_for("May this run? [y/N]");
    terminal.type_in("y\r");
    let (screen, code) = terminal.end();
    assert_eq!((code, sandbox.path("vault/Folder").exists()), (0, false), "{screen}");
    sandbox.tollgate(&["undo", "last", "--yes"]).expect_code(0);
    let seen = sandbox.path("seen.json").to_str().unwrap().to_owned();
    sandbox.tollgate(&["preview", &file, "--out", &seen]).expect_code(0);
    sandbox.write("vault/Folder/deep/c.md", "edited by hand\n");
    sandbox.tollgate(&["run", &file, "--previewed", &seen, "--yes"]).expect_code(3);
    assert!(sandbox.path("vault/Folder").exists());
}
