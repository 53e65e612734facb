//! A run that was killed or cancelled is undone without being resumed; a killed undo is continued.
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command};

use crate::kill_at_system_calls::{has_run, run_to_system_call};
use crate::support::TestVault;
use serde_json::{Value, json};

const NOTES: usize = 120;

fn note(n: usize) -> String {
    format!("# Note {n}\n\nSee [[note {}]].\n", (n + 1) % NOTES)
}

/// A vault with many notes that link to each other.
fn vault() -> TestVault {
    let sandbox = TestVault::new();
    for n in 0..NOTES {
        sandbox.write(&format!("vault/Old/note {n}.md"), &note(n));
    }
    sandbox
}

/// Creates, overwrites, renames with links, trashes and deletes, all at once; then creates one more note, the
/// first that an undo takes back.
fn plan() -> Value {
    let all: Vec<usize> = (0..NOTES).collect();
    let each = |from: &[usize]| json!({ "from": from, "itemName": "n", "concurrency": 4 });
    json!({
        "version": "1.0", "goal": "Turn it all over", "riskLevel": "writes",
        "steps": [
            { "id": "new", "tool": "vault.createFile", "foreach": each(&all),
              "args": { "path": "New/Deep/{n}.md", "content": "new {n}\n" } },
            { "id": "write", "tool": "vault.writeFile", "foreach": each(&all[..60]),
              "args": { "path": "Old/note {n}.md", "content": "written {n}\n" } },
            { "id": "rename", "tool": "vault.rename", "dependsOn": ["write"],
              "foreach": { "from": all[60..80], "itemName": "n", "concurrency": 1 },
              "args": { "fromPath": "Old/note {n}.md", "toPath": "Renamed/was {n}.md" } },
            { "id": "trash", "tool": "vault.delete", "foreach": each(&all[80..100]),
              "args": { "path": "Old/note {n}.md" } },
            { "id": "delete", "tool": "vault.delete", "foreach": each(&all[100..]),
              "args": { "path": "Old/note {n}.md", "trash": false } },
            { "id": "last", "tool": "vault.createFile", "dependsOn": ["new", "rename", "trash", "delete"],
              "args": { "path": "Last/note.md", "content": "last\n" } }
        ]
    })
}

/// Everything in the vault but what Tollgate keeps.
fn tree(sandbox: &TestVault) -> BTreeMap<String, Option<Vec<u8>>> {
    fn walk(root: &Path, dir: &Path, tree: &mut BTreeMap<String, Option<Vec<u8>>>) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            if name == ".tollgate" {
                continue;
            }
            tree.insert(name, path.is_file().then(|| std::fs::read(&path).unwrap()));
            if path.is_dir() {
                walk(root, &path, tree);
            }
        }
    }
    let mut tree = BTreeMap::new();
    walk(&sandbox.vault(), &sandbox.vault(), &mut tree);
    tree
}

/// Starts the command and waits until it says `words` on standard error.
fn start_until(sandbox: &TestVault, args: &[&str], words: &str) -> Child {
    let mut child = sandbox.command(args).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while said.read_line(&mut line).unwrap() > 0 {
        if line.contains(words) {
            break;
        }
        line.clear();
    }
    // It stays open: whoever writes to a closed pipe would end for that reason.
    std::mem::forget(said);
    child
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

fn run_id(sandbox: &TestVault) -> String {
    let runs = sandbox.tollgate(&["runs", "--json"]).expect_code(0).json();
    runs.as_array().unwrap().last().unwrap()["runId"].as_str().unwrap().to_owned()
}

#[test]
fn a_run_killed_midway_is_undone_without_being_resumed() {
    for words in [
        "new: vault.createFile",
        "new: 30 of 120",
        "write: 15 of 60",
        "rename: 5 of 20",
        "trash: 5 of 20",
        "delete: 15 of 20",
    ] {
        let sandbox = vault();
        let before = tree(&sandbox);
        let plan = sandbox.plan_file("plan.json", &plan());
        let mut child = start_until(&sandbox, &["run", &plan, "--yes"], words);
        signal(&child, "-KILL");
        child.wait().unwrap();
        let run = run_id(&sandbox);
        let killed = tree(&sandbox);
        let undone = sandbox.tollgate(&["undo", &run, "--yes"]).expect_code(0);
        assert_eq!(tree(&sandbox), before, "killed at `{words}`");
        if undone.out.starts_with("Nothing to undo") {
            continue;
        }
        sandbox.tollgate(&["verify", "last"]).expect_code(0);
        let told = sandbox.tollgate(&["resume", &run, "--yes"]).expect_code(2).err;
        assert!(told.contains("undone, by run"), "{told}");
        sandbox.tollgate(&["redo", &run, "--yes"]).expect_code(0);
        assert_eq!(without_hidden(tree(&sandbox)), without_hidden(killed), "killed at `{words}`");
    }
}

/// The hidden copies that a killed process leaves exist for a moment only, so this kills at many moments. The variable
/// `KILL_EVERY` sets their distance.
#[test]
fn a_run_killed_at_any_system_call_is_undone_without_a_hidden_copy() {
    let whole = {
        let sandbox = vault();
        let plan = sandbox.plan_file("plan.json", &plan());
        run_to_system_call(&sandbox.command(&["run", &plan, "--yes"]), usize::MAX / 2)
    };
    let kills = if std::env::var_os("RUN_SLOW_TESTS").is_some() { 60 } else { 8 };
    let every = std::env::var("KILL_EVERY").ok().and_then(|every| every.parse().ok());
    let step = every.unwrap_or(whole / kills);
    for at in (step..whole).step_by(step) {
        let sandbox = vault();
        let before = tree(&sandbox);
        let plan = sandbox.plan_file("plan.json", &plan());
        if run_to_system_call(&sandbox.command(&["run", &plan, "--yes"]), at) < at {
            break;
        }
        if !has_run(&sandbox) {
            assert_eq!(tree(&sandbox), before, "killed at system call {at}: an effect without a record");
            continue;
        }
        let (killed, run) = (tree(&sandbox), run_id(&sandbox));
        let undone = sandbox.tollgate(&["undo", &run, "--yes"]).expect_code(0);
        let after = tree(&sandbox);
        let differs = |path: &&String| after.get(*path) != before.get(*path);
        let different: Vec<&String> = after.keys().chain(before.keys()).filter(differs).collect();
        assert!(different.is_empty(), "killed at system call {at}: {different:?}\n{}", undone.out);
        if !undone.out.starts_with("Nothing to undo") {
            sandbox.tollgate(&["redo", &run, "--yes"]).expect_code(0);
            assert_eq!(without_hidden(tree(&sandbox)), without_hidden(killed), "killed at system call {at}");
        }
    }
}

/// The hidden files of a killed process are removed by the next one.
fn without_hidden(mut tree: BTreeMap<String, Option<Vec<u8>>>) -> BTreeMap<String, Option<Vec<u8>>> {
    tree.retain(|path, _| !path.contains(".tollgate-tmp-"));
    tree
}

#[test]
fn a_run_that_was_cancelled_is_undone() {
    let sandbox = vault();
    let before = tree(&sandbox);
    let plan = sandbox.plan_file("plan.json", &plan());
    let mut child = start_until(&sandbox, &["run", &plan, "--yes"], "write: 15 of 60");
    signal(&child, "-INT");
    child.wait().unwrap();
    assert_ne!(tree(&sandbox), before);
    sandbox.tollgate(&["undo", "last", "--yes"]).expect_code(0);
    assert_eq!(tree(&sandbox), before);
}

#[test]
fn an_undo_that_was_killed_is_resumed_and_taken_back_as_one() {
    for held in ["New/Deep", "Old"] {
        let sandbox = vault();
        let before = tree(&sandbox);
        let plan = sandbox.plan_file("plan.json", &plan());
        sandbox.tollgate(&["run", &plan, "--yes"]).expect_code(0);
        let (after, run) = (tree(&sandbox), run_id(&sandbox));
        // It makes its first change and cannot make all of them: it waits for its turn in this folder.
        let turn = std::fs::File::open(sandbox.vault().join(held)).unwrap();
        turn.lock().unwrap();
        let mut child = start_until(&sandbox, &["undo", &run, "--yes"], "restore-1: vault.restore");
        while sandbox.vault().join("Last/note.md").exists() && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        signal(&child, "-KILL");
        child.wait().unwrap();
        drop(turn);
        let killed = tree(&sandbox);
        assert!(killed != before && killed != after, "it was killed midway");
        for named in [run.as_str(), "last"] {
            let again = sandbox.tollgate(&["undo", named, "--yes"]).expect_code(2).err;
            assert!(again.contains("was interrupted"), "{again}");
        }
        sandbox.tollgate(&["resume", "last", "--yes"]).expect_code(0);
        assert_eq!(tree(&sandbox), before);
        sandbox.tollgate(&["verify", "last"]).expect_code(0);
        sandbox.tollgate(&["replay", "last"]).expect_code(0);
        sandbox.tollgate(&["redo", &run, "--yes"]).expect_code(0);
        assert_eq!(tree(&sandbox), after);
    }
}

#[test]
fn a_run_that_is_still_running_is_not_undone() {
    let sandbox = vault();
    let plan = sandbox.plan_file("plan.json", &plan());
    let mut terminal = sandbox.terminal(&["run", &plan]);
    terminal.wait_for("May this run?");
    let run = run_id(&sandbox);
    for named in [run.as_str(), "last"] {
        let told = sandbox.tollgate(&["undo", named, "--yes"]).expect_code(1).err;
        assert!(told.contains(&format!("run {run} is still running")), "{told}");
    }
    terminal.kill();
}
