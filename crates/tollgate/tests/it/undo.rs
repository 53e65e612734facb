//! Undo and redo through the real binary: exact bytes back, edits never lost, every refusal with its way out.
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::{TestVault, one_note};
use expect_test::expect;
use serde_json::{Value, json};

/// Everything in the vault but Tollgate's own files: mode and bytes of files; folders are `None`.
type FolderSnapshot = BTreeMap<String, Option<(u32, Vec<u8>)>>;

fn tree(sandbox: &TestVault) -> FolderSnapshot {
    let mut tree = FolderSnapshot::new();
    walk(&sandbox.vault(), &sandbox.vault(), &mut tree);
    tree
}

fn walk(root: &Path, dir: &Path, tree: &mut FolderSnapshot) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        let meta = path.symlink_metadata().unwrap();
        if name == ".tollgate" {
            continue;
        }
        let file =
            meta.is_file().then(|| (meta.permissions().mode() & 0o7777, std::fs::read(&path).unwrap()));
        tree.insert(name, file);
        if meta.is_dir() {
            walk(root, &path, tree);
        }
    }
}

/// A vault with links and a private note, and a plan that does something of every kind to it.
fn varied() -> (TestVault, String) {
    let sandbox = TestVault::new();
    let private = sandbox.write("vault/Private.md", "secret\n");
    std::fs::set_permissions(private, std::fs::Permissions::from_mode(0o600)).unwrap();
    sandbox.write("vault/Index.md", "See [[Old name]] and [[Private]].\n");
    sandbox.write("vault/Projects/Old name.md", "# Old\nOne line.\nTwo words here.\n");
    let plan = json!({
        "version": "1.0", "goal": "Tidy up", "riskLevel": "writes",
        "steps": [
            { "id": "write", "tool": "vault.writeFile", "args": {
                "path": "Projects/Old name.md", "content": "# Old\nOne line.\nTwo other here.\n" } },
            { "id": "rename", "tool": "vault.rename", "dependsOn": ["write"], "args": {
                "fromPath": "Projects/Old name.md", "toPath": "Archive/New name.md" } },
            { "id": "create", "tool": "vault.createFile", "args": {
                "path": "Notes/Deep/New.md", "content": "new\n" } },
            { "id": "append", "tool": "vault.writeFile", "dependsOn": ["create"], "args": {
                "path": "Notes/Deep/New.md", "content": "more\n", "mode": "append" } },
            { "id": "trash", "tool": "vault.delete", "args": { "path": "Inbox.md" } },
            { "id": "delete", "tool": "vault.delete", "args": { "path": "Private.md", "trash": false } }
        ]
    });
    let plan = sandbox.plan_file("plan.json", &plan);
    (sandbox, plan)
}

/// One note that a run has replaced, `Note.md`, and one that it has created, `New.md`.
fn replaced() -> TestVault {
    let sandbox = TestVault::new();
    sandbox.write("vault/Note.md", "before\n");
    let plan = json!({
        "version": "1.0", "goal": "Replace it", "riskLevel": "writes",
        "steps": [
            { "id": "write", "tool": "vault.writeFile", "args": { "path": "Note.md", "content": "after\n" } },
            { "id": "create", "tool": "vault.createFile", "dependsOn": ["write"], "args": { "path": "New.md", "content": "new\n" } }
        ]
    });
    let plan = sandbox.plan_file("plan.json", &plan);
    sandbox.tollgate(&["run", &plan, "--yes"]).expect_code(0);
    sandbox
}

fn runs(sandbox: &TestVault) -> Vec<Value> {
    sandbox.tollgate(&["runs", "--json"]).expect_code(0).json().as_array().unwrap().clone()
}

fn read(sandbox: &TestVault, path: &str) -> String {
    std::fs::read_to_string(sandbox.vault().join(path)).unwrap()
}

#[test]
fn undo_gives_back_the_exact_vault_and_redo_the_exact_end_however_often() {
    let (sandbox, plan) = varied();
    let before = tree(&sandbox);
    sandbox.tollgate(&["run", &plan, "--yes"]).expect_code(0);
    let after = tree(&sandbox);
    assert_ne!(before, after);
    for _ in 0..2 {
        sandbox.tollgate(&["undo", "last", "--yes"]).expect_code(0);
        assert_eq!(tree(&sandbox), before);
        sandbox.tollgate(&["verify", "last"]).expect_code(0);
        sandbox.tollgate(&["replay", "last"]).expect_code(0);
        sandbox.tollgate(&["redo", "last", "--yes"]).expect_code(0);
        assert_eq!(tree(&sandbox), after);
        sandbox.tollgate(&["verify", "last"]).expect_code(0);
    }
    assert_eq!(runs(&sandbox).len(), 5);
}

#[test]
fn a_private_folder_that_was_deleted_for_good_comes_back_private() {
    let sandbox = TestVault::new();
    sandbox.write("vault/Diary/In/day.md", "secret\n");
    let mode = |path: &str| sandbox.vault().join(path).metadata().unwrap().permissions().mode() & 0o7777;
    for path in ["Diary", "Diary/In"] {
        let private = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(sandbox.vault().join(path), private).unwrap();
    }
    let plan = json!({
        "version": "1.0", "goal": "Forget", "riskLevel": "writes",
        "steps": [{ "id": "delete", "tool": "vault.delete", "args": { "path": "Diary", "trash": false } }]
    });
    let plan = sandbox.plan_file("plan.json", &plan);
    sandbox.tollgate(&["run", &plan, "--yes"]).expect_code(0);
    assert!(!sandbox.vault().join("Diary").exists());
    sandbox.tollgate(&["undo", "last", "--yes"]).expect_code(0);
    assert_eq!([mode("Diary"), mode("Diary/In")], [0o700, 0o700]);
    assert_eq!(read(&sandbox, "Diary/In/day.md"), "secret\n");
}

#[test]
fn what_would_be_restored_is_shown_first_and_nothing_is_written() {
    let (sandbox, plan) = varied();
    sandbox.tollgate(&["run", &plan, "--yes"]).expect_code(0);
    let after = tree(&sandbox);
    let shown = sandbox.tollgate(&["undo", "last", "--dry-run"]).expect_code(0).out;
    expect![[r#"
        Undo run ID: Tidy up
        This would change 2 files back, bring 1 file back, remove 1 file, take 1 entry out of the trash, move 1 entry, remove 4 folders.
        moved .trash/Inbox.md to Inbox.md
        changed Index.md (+1 -1)
          @@ line 1 @@
          - See [[[-New-] name]] and [[Private]].
          + See [[{+Old+} name]] and [[Private]].
        deleted Notes/Deep/New.md (+0 -2)
          - new
          - more
        created Private.md (+1 -0)
          + secret
        moved Archive/New name.md to Projects/Old name.md (+1 -1)
          @@ lines 1-3 @@
            # Old
            One line.
          - Two [-other-] here.
          + Two {+words+} here.
        Nothing was changed: this was a dry run.
    "#]].assert_eq(&sandbox.scrub(&shown));
    let answer = sandbox.tollgate(&["undo", "last", "--dry-run", "--json"]).expect_code(0).json();
    let keys: Vec<&str> = answer.as_object().unwrap().keys().map(String::as_str).collect();
    expect![
        "run session undoes goal changes linkUpdates deadLinks alreadySo kept missing left conflicts notUndone files"
    ]
    .assert_eq(&keys.join(" "));
    assert_eq!(tree(&sandbox), after);
    assert_eq!(runs(&sandbox).len(), 1, "a dry run is no run");
}

#[test]
fn the_summary_tells_what_was_done_and_how_to_take_it_back() {
    let sandbox = replaced();
    let ended = sandbox.tollgate(&["undo", "last", "--yes"]).expect_code(0);
    expect![[r#"
        ok         restore-1        1 call
                    Made 2 changes
        2 changes
          changed Note.md
          deleted New.md
        Done
        Chain head: b3:HASH (9 records)
        Run folder: DIR/vault/.tollgate/runs/ID
        Next: tollgate redo last
              tollgate show last
    "#]]
    .assert_eq(&sandbox.scrub(&ended.out));
    let listed = sandbox.tollgate(&["runs"]).expect_code(0).out;
    expect![[r#"
        ID  TIME  ok           Undo run ID: Replace it  1 call, 2 changes
        ID  TIME  ok           Replace it  2 calls, 2 changes  undone by ID
    "#]]
    .assert_eq(&sandbox.scrub(&listed));
    let shown = sandbox.tollgate(&["show", "last"]).expect_code(0).out;
    expect![[r#"
        Undo run ID: Replace it
        Run:        ID
        Takes back: ID
        Started:    TIME
        Mode:       ask
        Plan:       b3:HASH
        Allowed by: --yes on the command line, TIME (ID)
          +N ms  may this plan run?
          +N ms  confirmed

        ok         restore-1 vault.restore
          +N ms  Made 2 changes (N ms)
                       removed New.md (4 bytes)
                       changed Note.md (6 to 7 bytes)

        2 changes
          changed Note.md
          deleted New.md
        Ended:      ok
        Record:     9 records, intact
        Chain head: b3:HASH
        Run folder: DIR/vault/.tollgate/runs/ID
    "#]]
    .assert_eq(&sandbox.scrub(&shown));
    let undone = runs(&sandbox)[1]["runId"].as_str().unwrap().to_owned();
    let shown = sandbox.tollgate(&["show", &undone]).expect_code(0).out;
    assert!(shown.contains("Undone by:  run "), "{shown}");
}

#[test]
fn without_a_terminal_an_edited_note_stops_all_of_it() {
    let sandbox = replaced();
    sandbox.write("vault/Note.md", "mine\n");
    let before = tree(&sandbox);
    for args in [&["undo", "last"][..], &["undo", "last", "--yes"]] {
        let ended = sandbox.tollgate(args).expect_code(1);
        expect![[r#"
            error: nothing was changed: 1 entry is not as it was left
              `Note.md` was edited since
            hint: --keep-changed leaves them as they are, --restore-changed restores those that can be and keeps what is there now
        "#]].assert_eq(&ended.err);
        assert_eq!(tree(&sandbox), before);
    }
    let answer = sandbox.tollgate(&["undo", "last", "--yes", "--json"]).expect_code(1).json();
    assert_eq!(answer["error"]["code"], "changed_since");
    assert_eq!(answer["conflicts"][0]["path"], "Note.md");
    let told = sandbox.tollgate(&["undo", "last", "--dry-run"]).expect_code(1).out;
    assert!(told.contains("in the way: `Note.md` was edited since"), "{told}");
    assert_eq!(runs(&sandbox).len(), 1);
}

#[test]
fn an_edited_note_is_kept_or_restored_as_the_flags_say_and_redo_returns_the_edit() {
    let sandbox = replaced();
    sandbox.write("vault/Note.md", "mine\n");
    let edited = tree(&sandbox);
    sandbox.tollgate(&["undo", "last", "--keep-changed", "--yes"]).expect_code(0);
    assert_eq!(
        (read(&sandbox, "Note.md"), sandbox.vault().join("New.md").exists()),
        ("mine\n".into(), false)
    );
    sandbox.tollgate(&["redo", "last", "--yes"]).expect_code(0);
    assert_eq!(tree(&sandbox), edited);
    sandbox.tollgate(&["undo", "last", "--restore-changed", "--yes"]).expect_code(0);
    assert_eq!(read(&sandbox, "Note.md"), "before\n");
    sandbox.tollgate(&["redo", "last", "--yes"]).expect_code(0);
    assert_eq!(tree(&sandbox), edited, "the edit is back, not what the run wrote");
}

/// A run that renamed `a.md` to `F/z.md` and changed `Note.md`.
fn renamed() -> TestVault {
    let sandbox = TestVault::new();
    sandbox.write("vault/Note.md", "See [[a]].\n");
    sandbox.write("vault/a.md", "Back to [the note](Note.md).\n");
    let plan = json!({
        "version": "1.0", "goal": "Rename it", "riskLevel": "writes",
        "steps": [{ "id": "rename", "tool": "vault.rename", "args": { "fromPath": "a.md", "toPath": "F/z.md" } }]
    });
    let plan = sandbox.plan_file("plan.json", &plan);
    sandbox.tollgate(&["run", &plan, "--yes"]).expect_code(0);
    assert_eq!(read(&sandbox, "Note.md"), "See [[z]].\n");
    sandbox
}

#[test]
fn a_renamed_note_that_was_edited_since_gets_its_name_back_as_its_links_do() {
    let sandbox = renamed();
    sandbox.write("vault/F/z.md", "mine\n");
    sandbox.tollgate(&["undo", "last", "--keep-changed", "--yes"]).expect_code(0);
    assert_eq!(read(&sandbox, "Note.md"), "See [[a]].\n");
    assert_eq!(read(&sandbox, "a.md"), "mine\n");
    assert!(!sandbox.vault().join("F").exists());
}

#[test]
fn a_name_that_stays_is_told_since_the_links_to_it_are_put_back() {
    let sandbox = renamed();
    sandbox.write("vault/a.md", "another\n");
    let told = sandbox.tollgate(&["undo", "last", "--keep-changed", "--yes"]).expect_code(0).out;
    assert!(
        told.contains("F/z.md keeps this name: links that are put back to a.md do not lead to it"),
        "{told}"
    );
    assert_eq!(read(&sandbox, "a.md"), "another\n");
}

#[test]
fn what_can_only_be_kept_is_kept_and_told_whatever_the_flag() {
    for flag in ["--keep-changed", "--restore-changed"] {
        let sandbox = replaced();
        let plan = json!({
            "version": "1.0", "goal": "Move it", "riskLevel": "writes",
            "steps": [
                { "id": "rename", "tool": "vault.rename", "args": { "fromPath": "Inbox.md", "toPath": "Box.md" } },
                { "id": "write", "tool": "vault.writeFile", "args": { "path": "Note.md", "content": "third\n" } }
            ]
        });
        let plan = sandbox.plan_file("plan.json", &plan);
        sandbox.tollgate(&["run", &plan, "--yes"]).expect_code(0);
        std::fs::remove_file(sandbox.vault().join("Box.md")).unwrap();
        sandbox.write("vault/Note.md", "mine\n");
        let told = sandbox.tollgate(&["undo", "last", flag, "--yes"]).expect_code(0).out;
        assert!(told.contains("Box.md is not there any more and stays away"), "{told}");
        assert!(!told.contains("already as it was before"), "{told}");
        let now = if flag == "--keep-changed" { "mine\n" } else { "after\n" };
        assert_eq!(read(&sandbox, "Note.md"), now);
    }
}

#[test]
fn a_note_in_the_way_under_another_spelling_is_kept() {
    let sandbox = TestVault::new();
    sandbox.write("vault/note.md", "old\n");
    let plan = json!({
        "version": "1.0", "goal": "Trash it", "riskLevel": "writes",
        "steps": [{ "id": "trash", "tool": "vault.delete", "args": { "path": "note.md" } }]
    });
    let plan = sandbox.plan_file("plan.json", &plan);
    sandbox.tollgate(&["run", &plan, "--yes"]).expect_code(0);
    sandbox.write("vault/Note.md", "mine\n");
    let told = sandbox.tollgate(&["undo", "last", "--keep-changed", "--yes"]).expect_code(0).out;
    assert!(told.contains(".trash/note.md kept as it is"), "{told}");
    assert_eq!(read(&sandbox, "Note.md"), "mine\n");
}

#[test]
fn at_a_terminal_each_edited_note_is_asked_about() {
    for (typed, code, note) in [("k\r", 0, "mine\n"), ("r\r", 0, "before\n"), ("a\r", 3, "mine\n")] {
        let sandbox = replaced();
        sandbox.write("vault/Note.md", "mine\n");
        let mut terminal = sandbox.terminal(&["undo", "last"]);
        terminal.wait_for("[k]eep mine, [r]estore, [d]iff, [a]bort");
        terminal.type_in("d\r");
        terminal.wait_for("before");
        terminal.wait_for("[k]eep mine");
        terminal.type_in(typed);
        if code == 0 {
            terminal.wait_for("May this run?");
            terminal.type_in("y\r");
        }
        let (screen, ended) = terminal.end();
        assert_eq!((ended, read(&sandbox, "Note.md")), (code, note.to_owned()), "{screen}");
        assert_eq!(sandbox.vault().join("New.md").exists(), code != 0, "{screen}");
    }
}

#[test]
fn the_one_question_shows_the_differences_and_a_no_changes_nothing() {
    let sandbox = replaced();
    let before = tree(&sandbox);
    let mut terminal = sandbox.terminal(&["undo", "last"]);
    terminal.wait_for("This would change 1 file back, remove 1 file.");
    terminal.wait_for("May this run?");
    terminal.type_in("n\r");
    let (screen, ended) = terminal.end();
    assert_eq!(ended, 3, "{screen}");
    assert_eq!(tree(&sandbox), before);
    // An undo that was declined has undone nothing.
    let first = runs(&sandbox)[1]["runId"].as_str().unwrap().to_owned();
    sandbox.tollgate(&["undo", &first, "--yes"]).expect_code(0);
    assert_eq!(read(&sandbox, "Note.md"), "before\n");
}

#[test]
fn an_undo_that_was_approved_at_the_terminal_can_be_proved_and_redone() {
    let sandbox = replaced();
    let before = tree(&sandbox);
    let mut terminal = sandbox.terminal(&["undo", "last"]);
    terminal.wait_for("May this run?");
    terminal.type_in("y\r");
    let (screen, ended) = terminal.end();
    assert_eq!(ended, 0, "{screen}");
    sandbox.tollgate(&["verify", "last"]).expect_code(0);
    sandbox.tollgate(&["redo", "last", "--yes"]).expect_code(0);
    assert_eq!(tree(&sandbox), before);
}

#[test]
fn what_cannot_be_taken_back_is_refused_with_the_way_out() {
    let sandbox = replaced();
    let run = runs(&sandbox)[0]["runId"].as_str().unwrap().to_owned();
    let told = |args: &[&str], code: i32| sandbox.scrub(&sandbox.tollgate(args).expect_code(code).err);
    expect![[r#"
        error: run ID is not undone; there is nothing to redo
        hint: to revert it: `tollgate undo ID`
    "#]]
    .assert_eq(&told(&["redo", &run, "--yes"], 2));
    expect![[r#"
        error: no run is undone; there is nothing to redo
        hint: `tollgate runs` shows which run undid which
    "#]]
    .assert_eq(&told(&["redo", "last", "--yes"], 2));
    expect![[r#"
        error: no run is named `nope`
        hint: `tollgate runs` lists them; name one by its id, the beginning of it, or `last`
    "#]]
    .assert_eq(&told(&["undo", "nope", "--yes"], 2));
    sandbox.tollgate(&["undo", &run, "--yes"]).expect_code(0);
    let undo = runs(&sandbox)[0]["runId"].as_str().unwrap().to_owned();
    expect![[r#"
        error: run ID is undone already, by run ID
        hint: to redo it: `tollgate redo ID`
    "#]]
    .assert_eq(&told(&["undo", &run, "--yes"], 2));
    expect![[r#"
        error: run ID is itself an undo
        hint: to revert it: `tollgate redo ID`
    "#]]
    .assert_eq(&told(&["undo", &undo, "--yes"], 2));
    expect![[r#"
        error: nothing to undo: no run here has changes that are not undone
        hint: `tollgate runs` lists what there is
    "#]]
    .assert_eq(&told(&["undo", "last", "--yes"], 2));
    // Named by its undo, it is still clear what to do again.
    sandbox.tollgate(&["redo", &undo, "--yes"]).expect_code(0);
    assert_eq!(read(&sandbox, "Note.md"), "after\n");
    let redo = runs(&sandbox)[0]["runId"].as_str().unwrap().to_owned();
    expect![[r#"
        error: run ID is itself a redo
        hint: to revert it: `tollgate undo ID`
    "#]]
    .assert_eq(&told(&["undo", &redo, "--yes"], 2));
}

#[test]
fn a_damaged_record_is_not_trusted_with_the_notes() {
    let sandbox = replaced();
    sandbox.flip_byte_in_second_line(&sandbox.only_run().join("results.jsonl"));
    let before = tree(&sandbox);
    sandbox
        .tollgate(&["undo", sandbox.only_run().file_name().unwrap().to_str().unwrap(), "--yes"])
        .expect_code(4);
    assert_eq!(tree(&sandbox), before);
}

#[test]
fn last_never_means_an_older_run_because_the_newest_is_damaged() {
    let sandbox = TestVault::new();
    for name in ["a.md", "b.md"] {
        let plan = sandbox.plan_file("plan.json", &one_note(name));
        sandbox.tollgate(&["run", &plan, "--yes"]).expect_code(0);
    }
    let newest = runs(&sandbox)[0]["runId"].as_str().unwrap().to_owned();
    let older = runs(&sandbox)[1]["runId"].as_str().unwrap().to_owned();
    let folder = sandbox.path("vault/.tollgate/runs").join(&newest);
    let damages: [&dyn Fn(); 3] = [
        &|| std::fs::write(folder.join("results.jsonl"), "").unwrap(),
        &|| std::fs::write(folder.join("results.jsonl"), "{}\n").unwrap(),
        &|| std::fs::write(folder.join("run.json"), "no").unwrap(),
    ];
    for damage in damages {
        damage();
        let told = sandbox.tollgate(&["undo", "last", "--yes"]).expect_code(4).err;
        assert!(told.contains(&format!("the record of run {newest} cannot be trusted")), "{told}");
        assert!(told.contains(&format!("`tollgate verify {newest}`")), "{told}");
        assert_eq!(sandbox.notes(), ["Inbox.md", "a.md", "b.md"]);
    }
    sandbox.tollgate(&["undo", &older, "--yes"]).expect_code(0);
    assert_eq!(sandbox.notes(), ["Inbox.md", "b.md"]);
}

#[test]
fn content_that_was_lost_from_the_store_stops_the_undo_before_it_begins() {
    let sandbox = replaced();
    std::fs::remove_dir_all(sandbox.path("vault/.tollgate/objects")).unwrap();
    let before = tree(&sandbox);
    sandbox.tollgate(&["verify", "last"]).expect_code(4);
    sandbox.tollgate(&["undo", runs(&sandbox)[0]["runId"].as_str().unwrap(), "--yes"]).expect_code(4);
    assert_eq!(tree(&sandbox), before);
}

#[test]
fn a_run_that_changed_nothing_leaves_nothing_to_undo() {
    let sandbox = TestVault::new();
    let plan = json!({
        "version": "1.0", "goal": "Look", "riskLevel": "read-only",
        "steps": [{ "id": "read", "tool": "vault.readFile", "args": { "path": "Inbox.md" } }]
    });
    let plan = sandbox.plan_file("plan.json", &plan);
    sandbox.tollgate(&["run", &plan]).expect_code(0);
    let run = runs(&sandbox)[0]["runId"].as_str().unwrap().to_owned();
    let told = sandbox.tollgate(&["undo", &run, "--yes"]).expect_code(0).out;
    expect![[r#"
        Nothing to undo: run ID changed nothing in the vault.
    "#]]
    .assert_eq(&sandbox.scrub(&told));
    let told = sandbox.tollgate(&["undo", "last", "--yes"]).expect_code(2).err;
    expect![[r#"
        error: nothing to undo: no run here has changes that are not undone
        hint: `tollgate runs` lists what there is
    "#]]
    .assert_eq(&sandbox.scrub(&told));
    assert_eq!(runs(&sandbox).len(), 1);
}

#[test]
fn last_is_the_newest_run_that_is_not_undone_so_that_twice_takes_back_two() {
    let sandbox = TestVault::new();
    for name in ["a.md", "b.md"] {
        let plan = sandbox.plan_file("plan.json", &one_note(name));
        sandbox.tollgate(&["run", &plan, "--yes"]).expect_code(0);
    }
    sandbox.tollgate(&["undo", "last", "--yes"]).expect_code(0);
    assert_eq!(sandbox.notes(), ["Inbox.md", "a.md"]);
    sandbox.tollgate(&["undo", "last", "--yes"]).expect_code(0);
    assert_eq!(sandbox.notes(), ["Inbox.md"]);
    // The newest undo is the first to be taken back.
    sandbox.tollgate(&["redo", "last", "--yes"]).expect_code(0);
    assert_eq!(sandbox.notes(), ["Inbox.md", "a.md"]);
    sandbox.tollgate(&["redo", "last", "--yes"]).expect_code(0);
    assert_eq!(sandbox.notes(), ["Inbox.md", "a.md", "b.md"]);
}

#[test]
fn the_rules_hold_for_an_undo_as_for_any_run() {
    let sandbox = replaced();
    let before = tree(&sandbox);
    for (config, words) in [
        ("mode = \"read-only\"\n", "read-only"),
        ("[[rules]]\neffect = \"deny\"\npaths = [\"Note.md\"]\n", "denies vault.restore"),
    ] {
        sandbox.config(config);
        let run = runs(&sandbox).last().unwrap()["runId"].as_str().unwrap().to_owned();
        let ended = sandbox.tollgate(&["undo", &run, "--yes"]).expect_code(3);
        assert!(ended.out.contains(words), "{}", ended.out);
        assert_eq!(tree(&sandbox), before);
    }
}

#[test]
fn no_plan_and_no_call_gets_the_tool_that_undo_is_made_of() {
    let sandbox = TestVault::new();
    assert!(!sandbox.tollgate(&["tools"]).expect_code(0).out.contains("vault.restore"));
    sandbox.tollgate(&["call", "vault.restore", r#"{"changes": []}"#, "--yes"]).expect_code(2);
    let plan = json!({
        "version": "1.0", "goal": "Sneak", "riskLevel": "writes",
        "steps": [{ "id": "a", "tool": "vault.restore", "args": { "changes": [] } }]
    });
    let plan = sandbox.plan_file("plan.json", &plan);
    sandbox.tollgate(&["run", &plan, "--yes"]).expect_code(2);
}

#[test]
fn commands_are_told_as_not_undone() {
    let sandbox = TestVault::new();
    sandbox.write("vault/Note.md", "before\n");
    let plan = json!({
        "version": "1.0", "goal": "With a command", "riskLevel": "commands",
        "steps": [
            { "id": "write", "tool": "vault.writeFile", "args": { "path": "Note.md", "content": "after\n" } },
            { "id": "command", "tool": "commands.run", "dependsOn": ["write"], "args": { "id": "save-all" } }
        ]
    });
    let commands = sandbox.tollgate(&["call", "commands.list", "{}", "--json"]).expect_code(0).json();
    let first =
        commands["data"]["commands"][0]["id"].as_str().or(commands["data"]["items"][0]["id"].as_str());
    let mut plan = plan;
    plan["steps"][1]["args"]["id"] = first.unwrap_or_else(|| panic!("{commands}")).into();
    let plan = sandbox.plan_file("plan.json", &plan);
    sandbox.tollgate(&["run", &plan, "--yes"]);
    let ended = sandbox.tollgate(&["undo", "last", "--yes"]).expect_code(0);
    assert!(ended.out.contains("not undone: commands.run of step command"), "{}", ended.out);
    assert_eq!(read(&sandbox, "Note.md"), "before\n");
}
