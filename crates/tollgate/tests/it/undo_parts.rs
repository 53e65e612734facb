//! Undo of a part of a run through the real binary: `--only`, `--keep`, and what a dry run leaves as it is.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{TestVault, one_note};

/// Everything below the vault, with Tollgate's own files: the content of files; folders are `None`.
fn tree(dir: &Path) -> BTreeMap<String, Option<Vec<u8>>> {
    let mut tree = BTreeMap::new();
    let mut todo = vec![dir.to_owned()];
    while let Some(folder) = todo.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(dir).unwrap().to_str().unwrap().to_owned();
            tree.insert(name, path.is_file().then(|| std::fs::read(&path).unwrap()));
            if path.is_dir() {
                todo.push(path);
            }
        }
    }
    tree
}

fn read(sandbox: &TestVault, path: &str) -> String {
    std::fs::read_to_string(sandbox.vault().join(path)).unwrap()
}

/// A run that changed `A.md` and created `In/B.md` and `In/C.md`, after a run that created `First.md`.
fn changed() -> TestVault {
    let sandbox = TestVault::new();
    sandbox.write("vault/A.md", "before\n");
    let plan = sandbox.plan_file("plan.json", &one_note("First.md"));
    sandbox.tollgate(&["run", &plan, "--yes"]).expect_code(0);
    let write = |id: &str, path: &str| {
        let args = json!({ "path": path, "content": format!("{path} after\n") });
        json!({ "id": id, "tool": "vault.writeFile", "args": args })
    };
    let steps = [write("a", "A.md"), write("b", "In/B.md"), write("c", "In/C.md")];
    let plan = json!({ "version": "1.0", "goal": "Change", "riskLevel": "writes", "steps": steps });
    let plan = sandbox.plan_file("plan.json", &plan);
    sandbox.tollgate(&["run", &plan, "--yes"]).expect_code(0);
    sandbox
}

fn changed_paths(answer: &Value) -> Vec<String> {
    let changes = answer["changes"].as_array().unwrap();
    let mut paths: Vec<String> =
        changes.iter().map(|change| change["path"].as_str().unwrap().to_owned()).collect();
    paths.sort();
    paths
}

#[test]
fn only_the_named_files_and_folders_are_undone_and_kept_ones_stay() {
    let sandbox = changed();
    let before = tree(&sandbox.vault());
    let dry = |more: &[&str]| {
        let args = [&["undo", "last", "--dry-run", "--json"], more].concat();
        changed_paths(&sandbox.tollgate(&args).expect_code(0).json())
    };
    assert_eq!(dry(&["--only", "A.md"]), ["A.md"]);
    assert_eq!(dry(&["--only", "In", "--keep", "In/C.md"]), ["In/B.md"]);
    assert_eq!(dry(&["--keep", "In/"]), ["A.md"]);
    assert_eq!(dry(&["--only", "a.md", "--only", "In/C.md"]), ["A.md", "In/C.md"]);
    assert_eq!(tree(&sandbox.vault()), before, "a dry run changes nothing");

    sandbox.tollgate(&["undo", "last", "--only", "In", "--keep", "In/C.md", "--yes"]).expect_code(0);
    assert!(!sandbox.vault().join("In/B.md").exists());
    assert_eq!(
        (read(&sandbox, "A.md"), read(&sandbox, "In/C.md")),
        ("A.md after\n".into(), "In/C.md after\n".into())
    );
    sandbox.tollgate(&["verify", "last"]).expect_code(0);
}

#[test]
fn a_name_that_the_run_did_not_change_is_an_error_that_names_it() {
    let sandbox = changed();
    let before = tree(&sandbox.vault());
    for option in ["--only", "--keep"] {
        for (wrong, code) in
            [("Inbox.md", "path_not_changed"), ("In/X.md", "path_not_changed"), ("../A.md", "bad_path")]
        {
            let answer =
                sandbox.tollgate(&["undo", "last", option, wrong, "--yes", "--json"]).expect_code(2).json();
            assert_eq!(answer["error"]["code"], code, "{answer}");
            assert!(answer["error"]["message"].as_str().unwrap().contains(wrong), "{answer}");
        }
    }
    assert_eq!(tree(&sandbox.vault()), before);
}

#[test]
fn a_dry_run_that_keeps_edited_notes_changes_no_byte_of_the_vault_or_the_record() {
    let sandbox = changed();
    sandbox.write("vault/A.md", "mine\n");
    let before = tree(&sandbox.vault());
    let told = sandbox.tollgate(&["undo", "last", "--dry-run", "--keep-changed"]).expect_code(0).out;
    assert!(told.contains("A.md kept as it is"), "{told}");
    sandbox.tollgate(&["undo", "last", "--dry-run", "--keep-changed", "--json"]).expect_code(0);
    assert_eq!(tree(&sandbox.vault()), before);
}

#[test]
fn a_run_that_was_undone_in_parts_is_not_the_last_one_any_more() {
    let sandbox = changed();
    sandbox.tollgate(&["undo", "last", "--only", "A.md", "--yes"]).expect_code(0);
    assert_eq!(read(&sandbox, "A.md"), "before\n");
    sandbox.tollgate(&["undo", "last", "--only", "In", "--yes"]).expect_code(0);
    assert!(!sandbox.vault().join("In").exists());
    // The run is undone as a whole, so the one before it is next.
    sandbox.tollgate(&["undo", "last", "--yes"]).expect_code(0);
    assert!(!sandbox.vault().join("First.md").exists());
    sandbox.tollgate(&["undo", "last", "--yes"]).expect_code(2);
    // A redo makes it the last one again.
    for _ in 0..2 {
        sandbox.tollgate(&["redo", "last", "--yes"]).expect_code(0);
    }
    assert_eq!(
        (read(&sandbox, "A.md"), read(&sandbox, "In/B.md")),
        ("A.md after\n".into(), "In/B.md after\n".into())
    );
    let goal =
        sandbox.tollgate(&["undo", "last", "--dry-run", "--json"]).expect_code(0).json()["goal"].clone();
    assert!(goal.as_str().unwrap().ends_with(": Change"), "{goal}");
}
