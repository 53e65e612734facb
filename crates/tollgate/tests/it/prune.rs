//! `tollgate prune`: what it shows, asks and removes, and what one that was killed leaves.

#[cfg(target_os = "linux")]
use std::path::Path;

use serde_json::{Value, json};

#[cfg(target_os = "linux")]
use crate::kill_at_system_calls::run_to_system_call;
use crate::support::TestVault;

/// Writes a note, and returns the id of the run.
fn write(sandbox: &TestVault, note: &str, text: &str) -> String {
    let args = json!({ "path": note, "content": text }).to_string();
    let done = sandbox.tollgate(&["call", "vault.writeFile", &args, "--yes", "--json"]).expect_code(0);
    done.json()["runId"].as_str().unwrap().to_owned()
}

fn runs(sandbox: &TestVault) -> Vec<String> {
    let listed = sandbox.tollgate(&["runs", "--json"]).expect_code(0).json();
    listed.as_array().unwrap().iter().map(|run| run["runId"].as_str().unwrap().to_owned()).collect()
}

fn objects(sandbox: &TestVault) -> Value {
    let findings = sandbox.tollgate(&["doctor", "--json"]).json()["findings"].clone();
    findings.as_array().unwrap().iter().find(|finding| finding["what"] == "size").unwrap().clone()
}

#[test]
fn a_prune_shows_what_it_removes_and_asks_once() {
    let sandbox = TestVault::new();
    let first = write(&sandbox, "A.md", "one");
    let second = write(&sandbox, "A.md", "two");
    let third = write(&sandbox, "A.md", "three");
    let before = objects(&sandbox);
    assert_eq!(before["runs"], 3);

    let planned = sandbox.tollgate(&["prune", "--keep", "1", "--dry-run", "--json"]).expect_code(0).json();
    let named: Vec<&str> = planned["plan"]["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["runId"].as_str().unwrap())
        .collect();
    assert_eq!(named, [&second, &first]);
    assert_eq!((planned["removed"].clone(), planned["plan"]["keptRuns"].clone()), (Value::Null, 1.into()));
    assert_eq!(runs(&sandbox), [&third, &second, &first].map(String::clone));

    let unasked = sandbox.tollgate(&["prune", "--keep", "1"]).expect_code(3);
    assert!(unasked.err.contains("--yes"), "{}", unasked.err);
    let mut terminal = sandbox.terminal(&["prune", "--keep", "1"]);
    terminal.wait_for(&second);
    terminal.wait_for("[y/N]");
    terminal.type_in("n\n");
    assert_eq!(terminal.end().1, 3);
    assert_eq!(objects(&sandbox), before);

    let mut terminal = sandbox.terminal(&["prune", "--keep", "1"]);
    terminal.wait_for("[y/N]");
    terminal.type_in("y\n");
    terminal.wait_for("Removed 2 runs");
    assert_eq!(terminal.end().1, 0);
    assert_eq!(runs(&sandbox), [third]);
    let again = sandbox.tollgate(&["prune", "--keep", "1", "--yes"]).expect_code(0);
    assert!(again.out.contains("Nothing was removed"), "{}", again.out);
    sandbox.tollgate(&["verify", "last"]).expect_code(0);
    sandbox.tollgate(&["undo", "last", "--yes"]).expect_code(0);
    assert_eq!(std::fs::read_to_string(sandbox.path("vault/A.md")).unwrap(), "two");
    assert_eq!(
        sandbox.tollgate(&["prune", "--older-than", "4w", "--yes", "--json"]).expect_code(0).json()["plan"]["runs"],
        serde_json::json!([])
    );
}

#[test]
fn limits_that_cannot_be_read_are_bad_input() {
    let sandbox = TestVault::new();
    for (option, value, named) in [
        ("--older-than", "30", "`30` is not an age"),
        ("--older-than", "3m", "`12h`, `30d`, `4w`"),
        ("--keep", "-1", "--keep"),
        ("--keep", "many", "--keep"),
    ] {
        let refused = sandbox.tollgate(&["prune", &format!("{option}={value}"), "--json"]).expect_code(2);
        let error = refused.json()["error"].clone();
        assert_eq!(error["code"], "usage");
        assert!(error["message"].as_str().unwrap().contains(named), "{error}");
    }
}

#[cfg(target_os = "linux")]
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        match entry.path().is_dir() {
            true => copy(&entry.path(), &to.join(entry.file_name())),
            false => drop(std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap()),
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_prune_that_is_killed_at_any_system_call_leaves_whole_runs_and_is_completed_by_the_next() {
    let made = TestVault::new();
    write(&made, "Old.md", "old");
    write(&made, "Gone.md", "gone");
    made.tollgate(&["undo", "last", "--yes"]).expect_code(0);
    made.tollgate(&["redo", "last", "--yes"]).expect_code(0);
    write(&made, "A.md", "one");
    let newest = write(&made, "A.md", "two");
    let prune = ["prune", "--keep", "1", "--yes"];
    let fresh = || {
        let sandbox = TestVault::new();
        copy(&made.vault(), &sandbox.vault());
        sandbox
    };
    let whole = run_to_system_call(&fresh().command(&prune), usize::MAX / 2);
    let kills = if std::env::var_os("RUN_SLOW_TESTS").is_some() { 60 } else { 10 };
    // What comes before the removal is reading.
    let start = whole / 3;
    let (mut untouched, mut midway) = (0, 0);
    for kill in 0..kills {
        let at = start + (whole - start) * kill / kills;
        let sandbox = fresh();
        run_to_system_call(&sandbox.command(&prune), at);
        let left = runs(&sandbox);
        // Two single runs, three that belong together, and the newest.
        untouched += u32::from(left.len() == 6);
        midway +=
            u32::from((2..6).contains(&left.len()) || sandbox.path("vault/.tollgate/pruning.json").exists());
        assert_eq!(left.first(), Some(&newest), "killed at {at}");
        for run in &left {
            sandbox.tollgate(&["verify", run]).expect_code(0);
        }
        sandbox.tollgate(&prune).expect_code(0);
        assert_eq!(runs(&sandbox), std::slice::from_ref(&newest), "killed at {at}");
        assert!(!sandbox.path("vault/.tollgate/pruning.json").exists());
        sandbox.tollgate(&["verify", "last"]).expect_code(0);
        sandbox.tollgate(&["undo", "last", "--yes"]).expect_code(0);
        assert_eq!(std::fs::read_to_string(sandbox.path("vault/A.md")).unwrap(), "one");
    }
    eprintln!(
        "{kills} kills at {whole} system calls: {untouched} before the removal, {midway} in the middle of it"
    );
    assert!(midway > 0, "no kill has hit the removal itself");
}

#[test]
fn a_second_read_leaves_four_small_files_and_stores_no_declaration_again() {
    let sandbox = TestVault::new();
    let read = || sandbox.tollgate(&["call", "vault.readFile", r#"{"path": "Inbox.md"}"#]).expect_code(0);
    read();
    let before = objects(&sandbox);
    read();
    let after = objects(&sandbox);
    let grown = |name: &str| after[name].as_u64().unwrap() - before[name].as_u64().unwrap();
    assert_eq!((grown("runs"), grown("objects"), grown("objectBytes")), (1, 0, 0));
    eprintln!("a read leaves {} bytes", grown("runBytes"));
    assert!(grown("runBytes") <= 4_096, "{} bytes", grown("runBytes"));
    let run = sandbox.path("vault/.tollgate/runs").join(&runs(&sandbox)[0]);
    assert_eq!(std::fs::read_dir(run).unwrap().count(), 4);
}

#[test]
fn a_link_beside_the_runs_is_named_and_left_alone() {
    let sandbox = TestVault::new();
    write(&sandbox, "A.md", "one");
    write(&sandbox, "A.md", "two");
    let elsewhere = sandbox.path("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    // Its name is that of a run, and newer than the others.
    let link = sandbox.path("vault/.tollgate/runs/fff1f62d-ad3a-7645-9075-3b5eb54a18ce");
    std::os::unix::fs::symlink(&elsewhere, &link).unwrap();
    let shown = sandbox.tollgate(&["prune", "--keep", "1", "--dry-run"]).expect_code(0).out;
    assert!(shown.contains("Stored contents stay while fff1f62d-ad3a-7645-9075-3b5eb54a18ce in "), "{shown}");
    let answer = sandbox.tollgate(&["prune", "--keep", "1", "--yes", "--json"]).expect_code(0).json();
    assert_eq!(answer["plan"]["unreadableEntries"], json!(["fff1f62d-ad3a-7645-9075-3b5eb54a18ce"]));
    assert_eq!((&answer["plan"]["keptRuns"], &answer["removed"]["runs"]), (&json!(1), &json!(1)));
    assert_eq!(answer["removed"]["objects"], 0);
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink() && elsewhere.exists());
}
