//! A plan from the file to the proof: run, show, runs, verify, replay, and what a changed byte does.

use crate::support::{TestTerminal, TestVault, inbox_plan};
use expect_test::expect;
use serde_json::{Value, json};

/// A sandbox in which the plan has run once.
fn ran() -> (TestVault, Value) {
    let sandbox = TestVault::new();
    let plan = sandbox.plan();
    let report = sandbox.tollgate(&["run", &plan, "--yes", "--json"]).expect_code(0).json();
    (sandbox, report)
}

#[test]
fn a_plan_runs_end_to_end_with_one_yes() {
    let sandbox = TestVault::new();
    let plan = sandbox.plan();
    let ended = sandbox.tollgate(&["run", &plan, "--yes"]).expect_code(0);
    expect![[r#"
        ok         read             1 call
                    Read Inbox.md (49 bytes) (etag ETAG)
        ok         bullets          1 call
                    Found 3 bullets
        ok         notes            3 calls
                    Created Notes/Red apples.md (etag ETAG)
                    Created Notes/Green pears.md (etag ETAG)
                    Created Notes/Blue plums.md (etag ETAG)
        4 changes
          created Notes/
          created Notes/Blue plums.md
          created Notes/Green pears.md
          created Notes/Red apples.md
        Done
        Chain head: b3:HASH (30 records)
        Run folder: DIR/vault/.tollgate/runs/ID
        Next: tollgate undo last
              tollgate show last
    "#]]
    .assert_eq(&sandbox.scrub(&ended.out));
    expect![[r#"
        read: vault.readFile
        bullets: util.parseMarkdownBullets
        notes: vault.createFile, 3 calls
        notes: 1 of 3
        notes: 2 of 3
        notes: 3 of 3
    "#]]
    .assert_eq(&sandbox.scrub(&ended.err));
    expect!["Inbox.md, Notes/Blue plums.md, Notes/Green pears.md, Notes/Red apples.md"]
        .assert_eq(&sandbox.notes().join(", "));
}

#[test]
fn the_report_has_the_fields_that_programs_rely_on() {
    let (sandbox, report) = ran();
    let keys: Vec<&str> = report.as_object().unwrap().keys().map(String::as_str).collect();
    expect!["runId status planHash confirmationId steps effects chainHead runDir"].assert_eq(&keys.join(" "));
    assert_eq!(report["status"], "ok");
    assert_eq!(report["steps"][2], json!({ "id": "notes", "status": "ok", "calls": 3, "failed": 0 }));
    assert_eq!(
        report["runDir"].as_str().unwrap(),
        sandbox.only_run().canonicalize().unwrap().to_str().unwrap()
    );
}

#[test]
fn an_intact_run_is_verified_replayed_listed_and_shown() {
    let (sandbox, report) = ran();
    let head = report["chainHead"]["hash"].as_str().unwrap();
    let plain = sandbox.tollgate(&["verify", "last"]).expect_code(0).out;
    expect![[r#"
        intact 30 records, each as it was written and in its place
        Chain head: b3:HASH
        Without a head kept elsewhere (--head) a cut tail or a complete rewrite of all files cannot be excluded.
    "#]].assert_eq(&sandbox.scrub(&plain));
    let proven = sandbox.tollgate(&["verify", "last", "--head", head]).expect_code(0).out;
    assert!(proven.contains("nothing was cut off or rewritten"), "{proven}");
    expect![[r#"
        same 5 calls derived again from what was recorded; no tool was run
    "#]]
    .assert_eq(&sandbox.tollgate(&["replay", "last"]).expect_code(0).out);
    expect![[r#"
        ID  TIME  ok           A note for every bullet  5 calls, 4 changes
    "#]]
    .assert_eq(&sandbox.scrub(&sandbox.tollgate(&["runs"]).expect_code(0).out));
    expect![[r#"
        A note for every bullet
        Run:        ID
        Started:    TIME
        Mode:       ask
        Plan:       b3:HASH
        Allowed by: --yes on the command line, TIME (ID)
          +N ms  may this plan run?
          +N ms  confirmed

        ok         read vault.readFile
          +N ms  Read Inbox.md (49 bytes) (N ms)
        ok         bullets util.parseMarkdownBullets
          +N ms  Found 3 bullets (N ms)
        ok         notes vault.createFile: 3 ok of 3
          +N ms  [0] Created Notes/Red apples.md (N ms)
                       made the folder Notes/
                       created Notes/Red apples.md (13 bytes)
          +N ms  [1] Created Notes/Green pears.md (N ms)
          +N ms  [2] Created Notes/Blue plums.md (N ms)

        4 changes
          created Notes/
          created Notes/Blue plums.md
          created Notes/Green pears.md
          created Notes/Red apples.md
        Ended:      ok
        Record:     30 records, intact
        Chain head: b3:HASH
        Run folder: DIR/vault/.tollgate/runs/ID
    "#]]
    .assert_eq(&sandbox.scrub(&sandbox.tollgate(&["show", "last"]).expect_code(0).out));
}

#[test]
fn a_head_of_another_record_is_damage() {
    let (sandbox, _) = ran();
    let other = format!("b3:{}", "0".repeat(64));
    let ended = sandbox.tollgate(&["verify", "last", "--head", &other]).expect_code(4);
    assert!(ended.out.contains("head differs"), "{}", ended.out);
    let bad = sandbox.tollgate(&["verify", "last", "--head", "b3:12"]).expect_code(2);
    assert!(bad.err.contains("is not a hash"), "{}", bad.err);
}

#[test]
fn one_changed_byte_is_named_with_its_record() {
    for log in ["calls.jsonl", "results.jsonl", "events.jsonl"] {
        let (sandbox, _) = ran();
        let second_line = sandbox.flip_byte_in_second_line(&sandbox.only_run().join(log));
        let ended = sandbox.tollgate(&["verify", "last"]).expect_code(4);
        assert!(ended.out.contains(&format!("{log} line 2 (byte {second_line})")), "{}", ended.out);
        let answer = sandbox.tollgate(&["verify", "last", "--json"]).expect_code(4).json();
        assert_eq!(
            (&answer["intact"], &answer["verification"]["problems"][0]["file"]),
            (&json!(false), &json!(log))
        );
        sandbox.tollgate(&["replay", "last"]).expect_code(4);
        sandbox.tollgate(&["show", "last"]).expect_code(4);
    }
}

#[test]
fn json_answers_are_json_and_nothing_else() {
    let (sandbox, _) = ran();
    for args in [
        &["runs", "--json"][..],
        &["runs", "bullet", "--json"],
        &["show", "last", "--json"],
        &["show", "last", "--all", "--json"],
        &["verify", "last", "--json"],
        &["replay", "last", "--json"],
        &["tools", "--json"],
        &["tools", "vault.readFile", "--json"],
        &["doctor", "--json"],
        &["call", "util.slugifyTitle", r#"{"title": "A b"}"#, "--json"],
    ] {
        let ended = sandbox.tollgate(args).expect_code(0);
        ended.json();
        assert_eq!(ended.err, "", "{args:?}");
    }
}

#[test]
fn runs_are_found_by_goal_and_by_tool() {
    let (sandbox, _) = ran();
    sandbox.tollgate(&["call", "util.slugifyTitle", r#"{"title": "A b"}"#]).expect_code(0);
    let found = |query: &str| sandbox.tollgate(&["runs", query, "--json"]).json().as_array().unwrap().len();
    assert_eq!(
        [found("BULLET"), found("slugify"), found("createFile"), found("nothing like it")],
        [1, 1, 1, 0]
    );
    let newest = sandbox.tollgate(&["runs", "--json", "--limit", "1"]).json();
    assert_eq!(
        (&newest[0]["kind"], &newest[0]["calls"], &newest[0]["effects"]),
        (&json!("call"), &json!(1), &json!(0))
    );
}

#[test]
fn a_long_loop_is_shown_by_its_ends_and_its_failures() {
    let sandbox = TestVault::new();
    let bullets: String = (0..40).map(|n| format!("- Note {n}\n")).collect();
    sandbox.write("vault/Inbox.md", &bullets);
    sandbox.write("vault/Notes/Note 20.md", "already here");
    let mut plan = inbox_plan();
    plan["steps"][2]["onError"] = json!("skip");
    let plan = sandbox.plan_file("plan.json", &plan);
    sandbox.tollgate(&["run", &plan, "--yes"]).expect_code(1);
    expect![[r#"
        A note for every bullet
        Run:        ID
        Started:    TIME
        Mode:       ask
        Plan:       b3:HASH
        Allowed by: --yes on the command line, TIME (ID)
          +N ms  may this plan run?
          +N ms  confirmed

        ok         read vault.readFile
          +N ms  Read Inbox.md (390 bytes) (N ms)
        ok         bullets util.parseMarkdownBullets
          +N ms  Found 40 bullets (N ms)
        partial    notes vault.createFile: 39 ok, 1 failed of 40
          +N ms  [0] Created Notes/Note 0.md (N ms)
          +N ms  [1] Created Notes/Note 1.md (N ms)
          +N ms  [2] Created Notes/Note 2.md (N ms)
          +N ms  [3] Created Notes/Note 3.md (N ms)
          +N ms  [4] Created Notes/Note 4.md (N ms)
          +N ms  [20] error: `Notes/Note 20.md` already exists (a file) (N ms)
                       ended in execute (conflict)
                       hint: choose another path, or set collisionStrategy to "create-unique" or "overwrite"
          +N ms  [37] Created Notes/Note 37.md (N ms)
          +N ms  [38] Created Notes/Note 38.md (N ms)
          +N ms  [39] Created Notes/Note 39.md (N ms)
                     and 31 more like these; --all lists them

        39 changes
          created Notes/Note 0.md
          created Notes/Note 1.md
          created Notes/Note 10.md
          created Notes/Note 11.md
          created Notes/Note 12.md
          created Notes/Note 13.md
          created Notes/Note 14.md
          created Notes/Note 15.md
          created Notes/Note 16.md
          created Notes/Note 17.md
          created Notes/Note 18.md
          created Notes/Note 19.md
          created Notes/Note 2.md
          created Notes/Note 21.md
          created Notes/Note 22.md
          created Notes/Note 23.md
          created Notes/Note 24.md
          created Notes/Note 25.md
          created Notes/Note 26.md
          created Notes/Note 27.md
          created 19 more
        Ended:      failed: finished with failures
        Record:     215 records, intact
        Chain head: b3:HASH
        Run folder: DIR/vault/.tollgate/runs/ID
    "#]]
    .assert_eq(&sandbox.scrub(&sandbox.tollgate(&["show", "last"]).expect_code(0).out));
    let all = sandbox.tollgate(&["show", "last", "--all"]).expect_code(0).out;
    assert!((0..40).all(|n| all.contains(&format!("Notes/Note {n}.md"))), "{all}");
    assert!(all.contains("emit_terminal"), "{all}");
}

#[test]
fn a_note_cannot_act_on_the_terminal() {
    let sandbox = TestVault::new();
    sandbox.write("vault/Inbox.md", "- \u{1b}[2JRed\u{202e} apples\n");
    let mut plan = inbox_plan();
    plan["goal"] = json!("A \u{1b}]0;owned\u{7} goal");
    plan["steps"][2]["args"]["path"] = json!("Notes/{index}.md");
    let plan = sandbox.plan_file("plan.json", &plan);
    let run = sandbox.tollgate(&["run", &plan, "--yes"]);
    let shown = ["show last --all", "show last", "runs"].map(|args| {
        let args: Vec<&str> = args.split(' ').collect();
        sandbox.tollgate(&args).out
    });
    for text in shown.iter().chain([&run.out, &run.err]) {
        assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text:?}");
    }
}

#[test]
fn the_demonstration_shows_everything_and_leaves_nothing() {
    let sandbox = TestVault::new();
    let temp = sandbox.path("tmp");
    std::fs::create_dir(&temp).unwrap();
    let output = sandbox.command(&["demo"]).env("TMPDIR", &temp).output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{shown}");
    for part in [
        "1. The vault",
        "\n  Inbox.md\n",
        "2. The plan",
        "3. The preview",
        "Creates 6 notes and 8 folders: ",
        "This is exactly what was previewed.",
        "May this run? [y/N] y",
        "5. The receipts",
        "6. The vault now",
        "\n  Notes/\n    Ask Mara about the letterpress workshop.md\n",
        "intact",
        "same",
        "damaged changed: results.jsonl",
        "8. The way back",
        "every file is as it was",
        "9. Your turn",
    ] {
        assert!(shown.contains(part), "{part}:\n{shown}");
    }
    assert_eq!(std::fs::read_dir(&temp).unwrap().count(), 0);
}

#[test]
fn the_demonstration_fits_a_screen_and_its_last_commands_work() {
    let sandbox = TestVault::new();
    let dir = sandbox.path("kept vault");
    let shown = sandbox.tollgate(&["demo", "--dir", dir.to_str().unwrap()]).expect_code(0).out;
    for scene in shown.split("\n\n").filter(|scene| scene.starts_with(|c: char| c.is_ascii_digit())) {
        // The question is shown in pages at a terminal.
        assert!(scene.lines().count() <= 23 || scene.starts_with("4. "), "{scene}");
    }
    let (_, turn) = shown.split_once("9. Your turn\n").unwrap();
    let commands: Vec<&str> = turn.lines().filter(|line| line.starts_with("  ")).collect();
    assert!(commands[0].starts_with("  cd ") && commands.len() > 5, "{turn}");
    let bin = sandbox.path("bin");
    std::fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(crate::support::build::binary(), bin.join("tollgate")).unwrap();
    let script = format!("set -e\n{}\n", commands.join("\n").replace(" last   # asks", " last --yes #"));
    let mut shell = std::process::Command::new("sh");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    shell
        .args(["-c", &script])
        .env("PATH", path)
        .current_dir(sandbox.path(""))
        .env("HOME", sandbox.path("home"));
    let ended = crate::support::ended(shell.env("TZ", "UTC").output().unwrap());
    assert_eq!(ended.code, 0, "{script}\n{}\n{}", ended.out, ended.err);
    assert!(
        ended.out.contains("created Notes/Plan a weekend hike along the coast.md (+3 -0)"),
        "{}",
        ended.out
    );
}

#[test]
fn the_demonstration_asks_at_a_terminal_and_can_be_declined() {
    let sandbox = TestVault::new();
    let dir = sandbox.path("kept");
    let command = |dir: &std::path::Path| {
        let program = crate::support::build::binary();
        let line =
            format!("stty rows 24 cols 80; exec '{}' demo --dir '{}'", program.display(), dir.display());
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &line]).current_dir(sandbox.vault()).env("HOME", sandbox.path("home"));
        shell
    };
    let mut terminal = TestTerminal::open(&command(&dir));
    for _scene in 0..3 {
        terminal.wait_for("q to end:");
        terminal.type_in("\n");
    }
    terminal.wait_for("more of the question:");
    terminal.type_in("\n");
    terminal.wait_for("more of the question:");
    terminal.type_in("\n");
    terminal.wait_for("May this run? [y/N]");
    terminal.type_in("n\n");
    let (shown, code) = terminal.end();
    assert_eq!(code, 3, "{shown}");
    assert!(shown.contains(": declined by the user"), "{shown}");
    assert!(!dir.join("Notes").exists());
    let mut terminal = TestTerminal::open(&command(&sandbox.path("ended")));
    terminal.wait_for("q to end:");
    terminal.type_in("q\n");
    let (shown, code) = terminal.end();
    assert_eq!(code, 130, "{shown}");
    assert!(!shown.contains("2. The plan"), "{shown}");
}

#[test]
fn a_run_without_its_head_is_listed_as_damaged() {
    let (sandbox, _) = ran();
    std::fs::remove_file(sandbox.only_run().join("run.json")).unwrap();
    let listed = sandbox.tollgate(&["runs"]).expect_code(0).out;
    assert!(listed.contains("  damaged  "), "{listed}");
    let doctor = sandbox.tollgate(&["doctor"]).expect_code(1).out;
    assert!(doctor.contains("is damaged: run.json is gone"), "{doctor}");
    let verified = sandbox.tollgate(&["verify", "last"]).expect_code(4);
    assert!(verified.err.contains("run.json") || verified.out.contains("run.json"), "{}", verified.err);
}
