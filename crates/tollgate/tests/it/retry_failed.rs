//! `resume --retry-failed` through the real binary: the calls that are left are made, and only those.
use crate::support::TestVault;
use serde_json::{Value, json};

/// A run that created four of five notes: `Out/3.md` was taken. Each note is listed by a later step.
fn four_of_five(on_error: &str) -> (TestVault, String) {
    let sandbox = TestVault::new();
    sandbox.write("vault/Out/3.md", "mine\n");
    let plan = json!({
        "version": "1.0", "goal": "Create five notes", "riskLevel": "writes",
        "vars": { "names": ["1", "2", "3", "4", "5"] },
        "steps": [
            { "id": "create", "tool": "vault.createFile", "onError": on_error,
              "foreach": { "from": "$vars.names", "itemName": "name" },
              "args": { "path": "Out/{name}.md", "content": "note {name}\n" } },
            { "id": "index", "tool": "vault.createFile",
              "args": { "path": "Index.md", "content": "made {steps.create.count}, {steps.create.failed} failed\n" } }
        ]
    });
    let plan = sandbox.plan_file("plan.json", &plan);
    sandbox.tollgate(&["run", &plan, "--yes"]).expect_code(1);
    let run = runs(&sandbox)[0]["runId"].as_str().unwrap().to_owned();
    (sandbox, run)
}

fn runs(sandbox: &TestVault) -> Vec<Value> {
    sandbox.tollgate(&["runs", "--json"]).expect_code(0).json().as_array().unwrap().clone()
}

fn read(sandbox: &TestVault, path: &str) -> Option<String> {
    std::fs::read_to_string(sandbox.vault().join(path)).ok()
}

#[test]
fn exactly_the_call_that_is_left_is_made_and_undo_takes_back_both_parts() {
    let (sandbox, first) = four_of_five("stop");
    assert_eq!(read(&sandbox, "Index.md"), None);
    std::fs::remove_file(sandbox.vault().join("Out/3.md")).unwrap();
    // A note that was made is edited meanwhile: it is not made again.
    sandbox.write("vault/Out/1.md", "edited\n");

    let report =
        sandbox.tollgate(&["resume", &first, "--retry-failed", "--yes", "--json"]).expect_code(0).json();
    assert_eq!(report["status"], "ok");
    let counts =
        |step: usize| (report["steps"][step]["calls"].clone(), report["steps"][step]["carried"].clone());
    assert_eq!(counts(0), (json!(1), json!(4)));
    assert_eq!(counts(1), (json!(1), Value::Null));
    assert_eq!(read(&sandbox, "Out/3.md").unwrap(), "note 3\n");
    assert_eq!(read(&sandbox, "Out/1.md").unwrap(), "edited\n");
    assert_eq!(read(&sandbox, "Index.md").unwrap(), "made 5, 0 failed\n");

    let second = report["runId"].as_str().unwrap();
    for run in [first.as_str(), second] {
        sandbox.tollgate(&["verify", run]).expect_code(0);
        sandbox.tollgate(&["replay", run]).expect_code(0);
    }
    let shown = sandbox.tollgate(&["show", second, "--json"]).expect_code(0).json();
    assert_eq!(shown["continues"], first.as_str());
    assert_eq!(shown["steps"][0]["status"], "ok");
    assert_eq!(shown["steps"][0]["counts"]["carried"], 4);
    let shown = sandbox.tollgate(&["show", &first]).expect_code(0);
    assert!(shown.out.contains(&format!("Continued by: {second}")), "{}", shown.out);
    assert_eq!(runs(&sandbox)[0]["continues"], first.as_str());

    std::fs::write(sandbox.vault().join("Out/1.md"), "note 1\n").unwrap();
    sandbox.tollgate(&["undo", &first, "--yes"]).expect_code(0);
    assert_eq!((1..=5).filter_map(|n| read(&sandbox, &format!("Out/{n}.md"))).count(), 0);
    assert_eq!(read(&sandbox, "Index.md"), None);
    let listed = runs(&sandbox);
    assert_eq!(listed[0]["undoes"], json!([second, first]));
    sandbox.tollgate(&["redo", second, "--yes"]).expect_code(0);
    assert_eq!((1..=5).filter_map(|n| read(&sandbox, &format!("Out/{n}.md"))).count(), 5);
    assert_eq!(read(&sandbox, "Index.md").unwrap(), "made 5, 0 failed\n");
    sandbox.tollgate(&["undo", "last", "--yes"]).expect_code(0);
    assert_eq!((1..=5).filter_map(|n| read(&sandbox, &format!("Out/{n}.md"))).count(), 0);
}

#[test]
fn a_step_that_succeeded_beside_a_failed_item_is_not_made_again() {
    let (sandbox, first) = four_of_five("skip");
    std::fs::remove_file(sandbox.vault().join("Out/3.md")).unwrap();
    let report =
        sandbox.tollgate(&["resume", "last", "--retry-failed", "--yes", "--json"]).expect_code(0).json();
    assert_eq!(report["steps"][1]["calls"], 0);
    assert_eq!(report["steps"][1]["carried"], 1);
    assert_eq!(read(&sandbox, "Out/3.md").unwrap(), "note 3\n");
    sandbox.tollgate(&["replay", "last"]).expect_code(0);
    let shown = sandbox.tollgate(&["show", "last"]).expect_code(0);
    assert!(shown.out.contains(&format!("Continues:  {first}")), "{}", shown.out);
}

#[test]
fn a_retry_that_fails_again_is_continued_by_the_next_one() {
    let (sandbox, first) = four_of_five("stop");
    sandbox.tollgate(&["resume", &first, "--retry-failed", "--yes"]).expect_code(1);
    let refused = sandbox.tollgate(&["resume", &first, "--retry-failed", "--yes"]).expect_code(2);
    assert!(refused.err.contains("was continued already, by run"), "{}", refused.err);
    std::fs::remove_file(sandbox.vault().join("Out/3.md")).unwrap();
    let report =
        sandbox.tollgate(&["resume", "last", "--retry-failed", "--yes", "--json"]).expect_code(0).json();
    assert_eq!(
        (report["steps"][0]["calls"].clone(), report["steps"][0]["carried"].clone()),
        (json!(1), json!(4))
    );
    sandbox.tollgate(&["replay", "last"]).expect_code(0);
    sandbox.tollgate(&["undo", "last", "--yes"]).expect_code(0);
    assert_eq!((1..=5).filter_map(|n| read(&sandbox, &format!("Out/{n}.md"))).count(), 0);
    assert_eq!(runs(&sandbox)[0]["undoes"].as_array().unwrap().len(), 3);
}

#[test]
fn the_question_shows_what_is_left_and_a_no_makes_nothing() {
    let (sandbox, first) = four_of_five("stop");
    std::fs::remove_file(sandbox.vault().join("Out/3.md")).unwrap();
    let mut terminal = sandbox.terminal(&["resume", &first, "--retry-failed"]);
    terminal.wait_for("May this run? [y/N]");
    terminal.type_in("n\r");
    let (screen, ended) = terminal.end();
    assert_eq!(ended, 3, "{screen}");
    assert!(
        screen.contains(&format!("Continues run {first}: 4 calls that succeeded are not made again")),
        "{screen}"
    );
    assert!(screen.contains("Out/3.md") && !screen.contains("Out/2.md"), "{screen}");
    assert_eq!(read(&sandbox, "Out/3.md"), None);
    // The declined run has made nothing; it can be continued like the first one.
    sandbox.tollgate(&["resume", "last", "--retry-failed", "--yes"]).expect_code(0);
    assert_eq!(read(&sandbox, "Out/3.md").unwrap(), "note 3\n");
}

#[test]
fn runs_with_nothing_to_retry_say_so() {
    let (sandbox, first) = four_of_five("stop");
    let hinted = sandbox.tollgate(&["resume", &first]).expect_code(2);
    assert!(hinted.err.contains("--retry-failed"), "{}", hinted.err);
    sandbox.tollgate(&["undo", &first, "--yes"]).expect_code(0);
    let undone = sandbox.tollgate(&["resume", &first, "--retry-failed"]).expect_code(2);
    assert!(undone.err.contains("is undone"), "{}", undone.err);
    let undo = sandbox.tollgate(&["resume", "last", "--retry-failed"]).expect_code(2);
    assert!(undo.err.contains("every call of run"), "{}", undo.err);
}

#[test]
fn a_rename_that_left_a_linked_note_as_it_was_is_partial_and_says_so() {
    let sandbox = TestVault::new();
    sandbox.write("vault/Old.md", "text\n");
    sandbox.write("vault/Kept/Linked.md", "[[Old]]\n");
    let args = json!({ "fromPath": "Old.md", "toPath": "New.md" }).to_string();
    // Another program keeps the folder of the linked note locked for longer than a rename waits.
    let folder = std::fs::File::open(sandbox.vault().join("Kept")).unwrap();
    folder.lock().unwrap();
    let mut terminal = sandbox.terminal(&["call", "vault.rename", &args]);
    terminal.wait_for("[y/N]");
    terminal.type_in("y\r");
    let (screen, ended) = terminal.end();
    drop(folder);
    let warning = "1 file keeps its links to Old.md: Kept/Linked.md could not be written";
    assert_eq!(ended, 1, "{screen}");
    assert!(screen.contains(&format!("warning: {warning}")), "{screen}");
    assert!(screen.contains("Not written: Kept/Linked.md"), "{screen}");
    assert_eq!(read(&sandbox, "Kept/Linked.md").unwrap(), "[[Old]]\n");
    assert_eq!(runs(&sandbox)[0]["status"], "failed");
    let shown = sandbox.tollgate(&["show", "last", "--json"]).expect_code(0).json();
    assert_eq!(shown["steps"][0]["status"], "partial");
    assert!(shown["steps"][0]["calls"][0]["incomplete"].as_str().unwrap().starts_with(warning), "{shown}");
    sandbox.tollgate(&["verify", "last"]).expect_code(0);
    sandbox.tollgate(&["replay", "last"]).expect_code(0);
    sandbox.tollgate(&["undo", "last", "--yes"]).expect_code(0);
    assert_eq!(read(&sandbox, "Old.md").unwrap(), "text\n");
}

/// A run of one call that replaced `x` by `xx`, and failed because a hook withheld its result.
fn doubled_before_the_hook_stopped_it() -> (TestVault, String) {
    let sandbox = TestVault::new();
    sandbox.write("vault/Note.md", "x\n");
    let hook = sandbox.script("hook.sh", r#"cat > /dev/null; echo '{"stop": true, "reason": "not today"}'"#);
    sandbox.trusted_config(&format!(
        "[[hooks]]\nname = \"guard\"\ncommand = [\"{hook}\"]\nwhen = \"after\"\ntimeout_ms = 60000\n"
    ));
    let plan = json!({
        "version": "1.0", "goal": "Double it", "riskLevel": "writes",
        "steps": [{ "id": "double", "tool": "vault.replaceText",
                    "args": { "path": "Note.md", "find": "x", "replace": "xx" } }]
    });
    let plan = sandbox.plan_file("plan.json", &plan);
    sandbox.tollgate(&["run", &plan, "--yes"]).expect_code(3);
    assert_eq!(read(&sandbox, "Note.md").unwrap(), "xx\n");
    let run = runs(&sandbox)[0]["runId"].as_str().unwrap().to_owned();
    (sandbox, run)
}

const MAY_HAVE_HAPPENED: &str =
    "May have happened already, and would be made again: double [vault.replaceText]";

#[test]
fn the_effect_of_a_call_that_a_hook_stopped_afterwards_is_not_repeated_unasked() {
    let (sandbox, first) = doubled_before_the_hook_stopped_it();
    let refused =
        sandbox.tollgate(&["resume", &first, "--retry-failed", "--yes", "--json"]).expect_code(3).json();
    assert_eq!(refused["error"]["code"], "uncertain");
    assert_eq!(runs(&sandbox).len(), 1);
    let mut terminal = sandbox.terminal(&["resume", &first, "--retry-failed"]);
    terminal.wait_for("May this run? [y/N]");
    terminal.type_in("n\r");
    let (screen, ended) = terminal.end();
    assert_eq!(ended, 3, "{screen}");
    assert!(screen.contains(MAY_HAVE_HAPPENED), "{screen}");
    assert_eq!(read(&sandbox, "Note.md").unwrap(), "xx\n");
}

#[test]
fn the_question_of_a_retry_that_was_killed_is_not_answered_unseen() {
    let (sandbox, first) = doubled_before_the_hook_stopped_it();
    let mut terminal = sandbox.terminal(&["resume", &first, "--retry-failed"]);
    terminal.wait_for("May this run? [y/N]");
    terminal.kill();
    let refused = sandbox.tollgate(&["resume", "last", "--yes", "--json"]).expect_code(3).json();
    assert_eq!(refused["error"]["code"], "uncertain");
    assert_eq!(read(&sandbox, "Note.md").unwrap(), "xx\n");
    let mut terminal = sandbox.terminal(&["resume", "last"]);
    terminal.wait_for("May this run? [y/N]");
    terminal.type_in("n\r");
    let (screen, ended) = terminal.end();
    assert_eq!(ended, 3, "{screen}");
    assert!(screen.contains(MAY_HAVE_HAPPENED), "{screen}");
    assert_eq!(read(&sandbox, "Note.md").unwrap(), "xx\n");

    // A call that certainly did not happen may be approved in advance.
    let (sandbox, first) = four_of_five("stop");
    std::fs::remove_file(sandbox.vault().join("Out/3.md")).unwrap();
    let mut terminal = sandbox.terminal(&["resume", &first, "--retry-failed"]);
    terminal.wait_for("May this run? [y/N]");
    terminal.kill();
    assert_eq!(read(&sandbox, "Out/3.md"), None);
    sandbox.tollgate(&["resume", "last", "--yes"]).expect_code(0);
    assert_eq!(read(&sandbox, "Out/3.md").unwrap(), "note 3\n");
    assert_eq!(read(&sandbox, "Index.md").unwrap(), "made 5, 0 failed\n");
}

#[test]
fn two_retries_that_begin_at_the_same_moment_make_the_calls_once() {
    let (sandbox, first) = four_of_five("stop");
    std::fs::remove_file(sandbox.vault().join("Out/3.md")).unwrap();
    let retry = || sandbox.command(&["resume", &first, "--retry-failed", "--yes"]).output().unwrap();
    let ended: Vec<_> = std::thread::scope(|threads| {
        let begun: Vec<_> = (0..3).map(|_| threads.spawn(retry)).collect();
        begun.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let codes: Vec<_> = ended.iter().map(|ended| ended.status.code().unwrap()).collect();
    assert_eq!(codes.iter().filter(|code| **code == 0).count(), 1, "{ended:?}");
    assert_eq!(codes.iter().filter(|code| **code == 2).count(), 2, "{ended:?}");
    assert_eq!(runs(&sandbox).len(), 2);
    assert_eq!(read(&sandbox, "Out/3.md").unwrap(), "note 3\n");
}

/// Records the only run again, as a build did that wrote format 1.
fn record_as_an_early_build(sandbox: &TestVault) {
    let run = sandbox.only_run();
    let kept = sandbox.path("kept").join(run.file_name().unwrap());
    std::fs::create_dir_all(sandbox.path("kept")).unwrap();
    let folder = journal::RunFolder::open(&run).unwrap();
    let header = journal::RunHeader {
        format: 1,
        policy: Some(folder.policy().unwrap()),
        call_policy: None,
        tools: folder.tools().unwrap().into_iter().map(Into::into).collect(),
        ..folder.header().clone()
    };
    let confirmation = folder.confirmation().cloned();
    drop(folder);
    std::fs::rename(&run, &kept).unwrap();
    let early = journal::Journal::create(&run, &header).unwrap();
    if let Some(confirmation) = confirmation {
        early.confirm(&confirmation).unwrap();
    }
    for entry in journal::RunFolder::open(&kept).unwrap().records().unwrap() {
        match entry.unwrap().record {
            journal::JournalRecord::Call(call) => early.call(&call),
            journal::JournalRecord::Result(result) => early.result(&result),
            journal::JournalRecord::Event(event) => early.event(&event),
        }
        .unwrap();
    }
    early.close().unwrap();
}

#[test]
fn a_retry_of_an_early_run_is_refused_if_its_braces_mean_something_else_now() {
    for (text, code) in [("{{date}}", 3), ("{date}", 0)] {
        let sandbox = TestVault::new();
        sandbox.write("vault/Daily.md", "mine\n");
        let plan = json!({
            "version": "1.0", "goal": "Create a note", "riskLevel": "writes",
            "steps": [{ "id": "create", "tool": "vault.createFile", "args": { "path": "Daily.md", "content": text } }]
        });
        let plan = sandbox.plan_file("plan.json", &plan);
        sandbox.tollgate(&["run", &plan, "--yes"]).expect_code(1);
        record_as_an_early_build(&sandbox);
        sandbox.tollgate(&["verify", "last"]).expect_code(0);
        std::fs::remove_file(sandbox.vault().join("Daily.md")).unwrap();
        let retried =
            sandbox.tollgate(&["resume", "last", "--retry-failed", "--yes", "--json"]).expect_code(code);
        if code == 3 {
            assert_eq!(retried.json()["error"]["code"], "changed");
        }
        assert_eq!(read(&sandbox, "Daily.md").as_deref(), (code == 0).then_some(text));
    }
}
