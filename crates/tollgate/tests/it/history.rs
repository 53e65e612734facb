//! Finding runs by the notes that they changed, and showing what they changed.

use expect_test::expect;

use crate::support::TestVault;

/// A vault in which a note was created, changed, renamed and changed again, and another one created.
fn with_history() -> TestVault {
    let sandbox = TestVault::new();
    for (tool, args) in [
        ("vault.createFile", r#"{"path": "Boat.md", "content": "one\n"}"#),
        ("vault.writeFile", r#"{"path": "Boat.md", "content": "one\ntwo\n"}"#),
        ("vault.createFile", r#"{"path": "Car.md", "content": "car\n"}"#),
        ("vault.rename", r#"{"fromPath": "Boat.md", "toPath": "Projects/Ship.md"}"#),
        ("vault.writeFile", r#"{"path": "Projects/Ship.md", "content": "one\nthree\n"}"#),
    ] {
        sandbox.tollgate(&["call", tool, args, "--yes"]).expect_code(0);
    }
    sandbox
}

/// The tools of the runs that are listed for a note, oldest first.
fn runs_of(sandbox: &TestVault, note: &str) -> Vec<String> {
    let listed = sandbox.tollgate(&["runs", note, "--json"]).expect_code(0).json();
    let goals = listed.as_array().unwrap().iter().rev();
    goals.map(|run| run["goal"].as_str().unwrap().replace("Call ", "")).collect()
}

#[test]
fn the_runs_of_a_note_are_found_under_each_of_its_names() {
    let sandbox = with_history();
    let all = ["vault.createFile", "vault.writeFile", "vault.rename", "vault.writeFile"];
    for name in ["Boat.md", "boat", "Projects/Ship.md", "ship"] {
        assert_eq!(runs_of(&sandbox, name), all, "{name}");
    }
    assert_eq!(runs_of(&sandbox, "Car"), ["vault.createFile"]);
    assert!(runs_of(&sandbox, "Plane").is_empty());
}

#[test]
fn a_run_shows_what_it_changed_also_after_later_changes() {
    let sandbox = with_history();
    let second = sandbox.tollgate(&["runs", "--json"]).expect_code(0).json()[3]["runId"].clone();
    let second = second.as_str().unwrap();
    let diff_of = |run: &str| {
        let shown = sandbox.tollgate(&["show", run, "--diff"]).expect_code(0).out;
        shown.split_once("/runs/").unwrap().1.split_once("\n\n").unwrap().1.to_owned()
    };
    // The text that this run wrote has been replaced, and is in the store.
    expect![[r#"
        changed Boat.md (+1 -0)
          @@ line 1 @@
            one
          + two
    "#]]
    .assert_eq(&diff_of(second));
    expect![[r"
        changed Projects/Ship.md (+1 -1)
          @@ lines 1-2 @@
            one
          - two
          + three
    "]]
    .assert_eq(&diff_of("last"));
    sandbox.write("vault/Projects/Ship.md", "by another program\n");
    expect![[r"
        changed Projects/Ship.md: its content after this run is not stored
    "]]
    .assert_eq(&diff_of("last"));
    let answer = sandbox.tollgate(&["show", second, "--diff", "--json"]).expect_code(0).json();
    assert_eq!(answer["diff"]["differences"]["files"][0]["path"], "Boat.md");
    assert_eq!(answer["diff"]["notStored"], serde_json::json!([]));
    assert!(sandbox.tollgate(&["show", second, "--json"]).json().get("diff").is_none());
}

#[test]
fn the_question_of_an_undo_names_the_changes_in_words() {
    let sandbox = with_history();
    let mut terminal = sandbox.terminal(&["undo", "last"]);
    terminal.wait_for("May this run? [y/N]");
    terminal.type_in("y\n");
    let (shown, code) = terminal.end();
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("       change Projects/Ship.md back\r\n"), "{shown}");
    assert!(!shown.contains("{\""), "{shown}");
}

/// Every file below a folder.
fn files(folder: &std::path::Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path.display().to_string()) }
    }
    found.sort();
    found
}

#[test]
fn a_vault_that_is_not_written_is_read_with_a_state_folder_elsewhere() {
    let sandbox = TestVault::new();
    let before = files(&sandbox.vault());
    let state = sandbox.path("records");
    let state = state.to_str().unwrap();
    let read = r#"{"path": "Inbox.md"}"#;
    let answer = sandbox.tollgate(&["call", "vault.readFile", read, "--state", state]).expect_code(0).out;
    assert!(answer.contains("Red apples"), "{answer}");
    assert_eq!(files(&sandbox.vault()), before);
    let listed = sandbox.tollgate(&["runs", "--json", "--state", state]).expect_code(0).json();
    assert_eq!(listed.as_array().unwrap().len(), 1);
    sandbox.tollgate(&["verify", "last", "--state", state]).expect_code(0);
    assert!(sandbox.tollgate(&["runs"]).expect_code(0).out.contains("No runs yet"));
    // Another vault does not see these runs.
    let other = TestVault::new();
    assert_eq!(
        other.tollgate(&["runs", "--json", "--state", state]).expect_code(0).json(),
        serde_json::json!([])
    );
}

#[test]
fn a_state_folder_that_tools_could_change_is_refused() {
    let (sandbox, other) = (TestVault::new(), TestVault::new());
    let inside = sandbox.path("vault/State");
    let others =
        [other.path("vault/State"), other.path("vault/.tollgate"), sandbox.vault(), sandbox.path("")];
    for state in others.iter().chain([&inside]) {
        let state = state.to_str().unwrap();
        let refused = sandbox.tollgate(&["runs", "--state", state, "--json"]).expect_code(2).json();
        assert_eq!(refused["error"]["code"], "bad_state", "{state}");
    }
    let refused = sandbox.tollgate(&["doctor", "--state", "/tmp/x"]).expect_code(2);
    assert!(refused.err.contains("this command does not take --state"), "{}", refused.err);
}

#[test]
fn a_state_folder_for_one_command_needs_no_trust_and_grants_none() {
    let sandbox = TestVault::new();
    let state = sandbox.path("records");
    let state = state.to_str().unwrap();
    let read = ["call", "vault.readFile", r#"{"path": "Inbox.md"}"#, "--state", state];
    sandbox.config("mode = \"trusted\"\n");
    assert!(sandbox.tollgate(&read).expect_code(3).err.contains("you have not trusted"));
    sandbox.config("[limits]\nmax_attempts = 2\n");
    sandbox.tollgate(&read).expect_code(0);
}
