//! Undo and redo of names through the real binary: links that were written since keep their files.

use expect_test::expect;
use serde_json::{Value, json};

use crate::support::TestVault;

fn read(sandbox: &TestVault, path: &str) -> String {
    std::fs::read_to_string(sandbox.vault().join(path)).unwrap()
}

fn run(sandbox: &TestVault, steps: Value) {
    let plan = json!({ "version": "1.0", "goal": "Rename", "riskLevel": "writes", "steps": steps });
    let plan = sandbox.plan_file("plan.json", &plan);
    sandbox.tollgate(&["run", &plan, "--yes"]).expect_code(0);
}

/// Makes a file as old as if it had been written long before.
fn age(sandbox: &TestVault, path: &str) {
    let file = std::fs::File::options().write(true).open(sandbox.vault().join(path)).unwrap();
    file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000)).unwrap();
}

/// A run that renamed `Ideas/Boat.md` to `Boats/Sail.md`; `Log.md` links to it.
fn renamed() -> TestVault {
    let sandbox = TestVault::new();
    sandbox.write("vault/Ideas/Boat.md", "# Boat\n");
    sandbox.write("vault/Log.md", "Built [[Boat]].\n");
    let args = json!({ "fromPath": "Ideas/Boat.md", "toPath": "Boats/Sail.md" });
    run(&sandbox, json!([{ "id": "rename", "tool": "vault.rename", "args": args }]));
    assert_eq!(read(&sandbox, "Log.md"), "Built [[Sail]].\n");
    sandbox
}

#[test]
fn a_link_to_the_new_name_that_was_written_since_follows_the_note_back_and_forth() {
    let sandbox = renamed();
    sandbox.write("vault/Diary/Today.md", "We took [[Sail]] and ![[Boats/Sail#Boat|it]].\n");
    let told = sandbox.tollgate(&["undo", "last", "--dry-run"]).expect_code(0).out;
    expect![[r#"
        Undo run ID: Rename
        This would change 1 file back, move 1 entry, remove 1 folder, update links in 1 note.
        changed Diary/Today.md (+1 -1)
          @@ line 1 @@
          - We took [[[-Sail-]]] and ![[[-Boats/Sail-]#Boat|it]].
          + We took [[{+Boat+}]] and ![[{+Ideas/Boat+}#Boat|it]].
        moved Boats/Sail.md to Ideas/Boat.md
        changed Log.md (+1 -1)
          @@ line 1 @@
          - Built [[[-Sail-]]].
          + Built [[{+Boat+}]].
        Nothing was changed: this was a dry run.
    "#]]
    .assert_eq(&sandbox.scrub(&told));
    let answer = sandbox.tollgate(&["undo", "last", "--dry-run", "--json"]).expect_code(0).json();
    assert_eq!(answer["linkUpdates"], json!(["Diary/Today.md"]));
    let changed: Vec<&str> =
        answer["changes"].as_array().unwrap().iter().filter_map(|change| change["path"].as_str()).collect();
    assert_eq!(changed, ["Log.md", "Boats", "Diary/Today.md"]);

    sandbox.tollgate(&["undo", "last", "--yes"]).expect_code(0);
    let boat = "We took [[Boat]] and ![[Ideas/Boat#Boat|it]].\n";
    assert_eq!(read(&sandbox, "Diary/Today.md"), boat);
    sandbox.tollgate(&["verify", "last"]).expect_code(0);
    sandbox.tollgate(&["replay", "last"]).expect_code(0);

    // The redo takes the rewritten links back, and rewrites those that were written after the undo.
    sandbox.write("vault/Later.md", "See [[Boat]].\n");
    sandbox.tollgate(&["redo", "last", "--yes"]).expect_code(0);
    let sail = "We took [[Sail]] and ![[Boats/Sail#Boat|it]].\n";
    assert_eq!(read(&sandbox, "Diary/Today.md"), sail);
    assert_eq!(read(&sandbox, "Later.md"), "See [[Sail]].\n");
    sandbox.tollgate(&["verify", "last"]).expect_code(0);
}

#[test]
fn links_into_a_folder_that_gets_its_name_back_follow_it() {
    let sandbox = TestVault::new();
    sandbox.write("vault/Old/In/a.md", "a\n");
    sandbox.write("vault/Old/b.md", "b\n");
    let args = json!({ "fromPath": "Old", "toPath": "New/Deep" });
    run(&sandbox, json!([{ "id": "rename", "tool": "vault.rename", "args": args }]));
    sandbox.write("vault/Log.md", "[[New/Deep/b]] and [a](New/Deep/In/a.md)\n");
    // A note that moves with the folder: its relative link leads out of it.
    sandbox.write("vault/New/Deep/c.md", "[the log](../../Log.md)\n");
    sandbox.tollgate(&["undo", "last", "--yes"]).expect_code(0);
    assert_eq!(read(&sandbox, "Log.md"), "[[Old/b]] and [a](Old/In/a.md)\n");
    assert_eq!(read(&sandbox, "Old/c.md"), "[the log](../Log.md)\n");
    sandbox.tollgate(&["redo", "last", "--yes"]).expect_code(0);
    assert_eq!(read(&sandbox, "Log.md"), "[[New/Deep/b]] and [a](New/Deep/In/a.md)\n");
    assert_eq!(read(&sandbox, "New/Deep/c.md"), "[the log](../../Log.md)\n");
}

#[test]
fn a_link_that_led_nowhere_before_the_run_is_as_it_was_after_the_undo() {
    let sandbox = TestVault::new();
    sandbox.write("vault/Boat.md", "# Boat\n");
    sandbox.write("vault/Wishes.md", "One day: [[Sail]].\n");
    age(&sandbox, "Wishes.md");
    let args = json!({ "fromPath": "Boat.md", "toPath": "Sail.md" });
    run(&sandbox, json!([{ "id": "rename", "tool": "vault.rename", "args": args }]));
    sandbox.tollgate(&["undo", "last", "--yes"]).expect_code(0);
    assert_eq!(read(&sandbox, "Wishes.md"), "One day: [[Sail]].\n");
}

#[test]
fn a_link_in_a_note_that_is_kept_is_told_and_stays() {
    let sandbox = renamed();
    sandbox.write("vault/Today.md", "We took [[Sail]].\n");
    sandbox.write("vault/Log.md", "Built [[Sail]] in May.\n");
    let told = sandbox.tollgate(&["undo", "last", "--keep-changed", "--yes"]).expect_code(0).out;
    assert_eq!(read(&sandbox, "Today.md"), "We took [[Boat]].\n");
    assert_eq!(read(&sandbox, "Log.md"), "Built [[Sail]] in May.\n");
    let line = "Log.md stays as it is: its link to Sail in line 1 no longer leads there";
    assert!(told.contains(line), "{told}");
    let answer = sandbox.tollgate(&["redo", "last", "--dry-run", "--json"]).expect_code(0).json();
    assert_eq!(answer["deadLinks"], json!([]));
}

#[test]
fn a_link_that_cannot_be_rewritten_is_asked_about() {
    let sandbox = TestVault::new();
    sandbox.write("vault/C# notes.md", "# C#\n");
    let args = json!({ "fromPath": "C# notes.md", "toPath": "Sharp.md" });
    run(&sandbox, json!([{ "id": "rename", "tool": "vault.rename", "args": args }]));
    let text = "---\nup: [[Sharp]]\n---\nText\n";
    sandbox.write("vault/New.md", text);
    let refused = sandbox.tollgate(&["undo", "last", "--yes", "--json"]).expect_code(1).json();
    assert_eq!(refused["error"]["code"], "changed_since", "{refused}");
    let conflict = &refused["conflicts"][0];
    assert_eq!((&conflict["path"], &conflict["why"]), (&json!("New.md"), &json!("links")));
    assert_eq!(conflict["links"], json!([{ "line": 2, "target": "Sharp" }]));
    assert!(sandbox.vault().join("Sharp.md").exists(), "nothing was changed");
    let told = sandbox.tollgate(&["undo", "last", "--keep-changed", "--yes"]).expect_code(0).out;
    assert!(told.contains("New.md stays as it is: its link to Sharp in line 2"), "{told}");
    assert_eq!(read(&sandbox, "New.md"), text);
    assert!(sandbox.vault().join("C# notes.md").exists());
}

#[test]
fn an_undo_that_is_limited_to_the_renamed_note_keeps_the_links_to_it() {
    let sandbox = renamed();
    sandbox.tollgate(&["undo", "last", "--only", "Boats/Sail.md", "--yes"]).expect_code(0);
    assert_eq!(read(&sandbox, "Log.md"), "Built [[Boat]].\n");
    sandbox.tollgate(&["redo", "last", "--yes"]).expect_code(0);
    assert_eq!(read(&sandbox, "Log.md"), "Built [[Sail]].\n");
}
