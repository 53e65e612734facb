//! Refused calls and wrong input, and the messages for the user.

use std::io::Write;

use crate::support::{TestVault, one_note};
use expect_test::{Expect, expect};
use serde_json::json;

/// Runs a command that must fail and compares its messages.
#[track_caller]
fn refused(sandbox: &TestVault, args: &[&str], code: i32, expect: Expect) {
    let ended = sandbox.tollgate(args).expect_code(code);
    expect.assert_eq(&sandbox.scrub(&ended.err));
    let json: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
    let answer = sandbox.tollgate(&json).expect_code(code);
    assert!(answer.json()["error"]["message"].is_string(), "{}", answer.out);
    assert_eq!(answer.err, "");
}

/// The available sandboxes depend on the machine.
fn without_walls(doctor: &str) -> String {
    let (sandbox_kinds, rest): (Vec<&str>, Vec<&str>) = doctor.split_inclusive('\n').partition(|line| {
        [" sandbox   ", " memory    ", "systemd-run"].iter().any(|word| line.contains(word))
    });
    assert!((2..=3).contains(&sandbox_kinds.len()), "{doctor}");
    rest.into_iter().filter(|line| !line.contains("bubblewrap")).collect()
}

#[test]
fn without_a_terminal_and_a_yes_nothing_is_written() {
    let sandbox = TestVault::new();
    let plan = sandbox.plan();
    let ended = sandbox.tollgate(&["run", &plan]).expect_code(3);
    assert!(ended.out.contains("run again with --yes"), "{}", ended.out);
    let report = sandbox.tollgate(&["run", &plan, "--json"]).expect_code(3).json();
    assert_eq!(report["status"], "declined");
    assert_eq!(sandbox.notes(), ["Inbox.md"]);
    refused(
        &sandbox,
        &["call", "vault.createFile", r#"{"path": "a.md", "content": "x"}"#],
        3,
        expect![[r#"
            error: no one is available to approve this: not running in a terminal, so you cannot be asked; run again with --yes
        "#]],
    );
    sandbox.tollgate(&["verify", "last"]).expect_code(0);
}

#[test]
fn a_plan_that_only_reads_needs_no_yes() {
    let sandbox = TestVault::new();
    let plan = json!({
        "version": "1.0", "goal": "Read", "riskLevel": "read-only",
        "steps": [{ "id": "read", "tool": "vault.readFile", "args": { "path": "Inbox.md" } }]
    });
    sandbox.tollgate(&["run", &sandbox.plan_file("read.json", &plan)]).expect_code(0);
}

#[test]
fn read_only_mode_lets_no_write_through_even_with_a_yes() {
    let sandbox = TestVault::new();
    sandbox.config("mode = \"read-only\"\n");
    let plan = sandbox.plan_file("note.json", &one_note("a.md"));
    let report = sandbox.tollgate(&["run", &plan, "--yes", "--json"]).expect_code(3).json();
    assert_eq!(report["steps"][0]["error"]["kind"], "policy_blocked");
    assert_eq!(sandbox.notes(), ["Inbox.md"]);
}

#[test]
fn a_deny_rule_on_a_path_holds_against_a_yes_and_is_explained() {
    let sandbox = TestVault::new();
    sandbox.config("[[rules]]\neffect = \"deny\"\npaths = [\"Private/**\"]\nreason = \"private notes\"\n");
    let denied = sandbox.plan_file("denied.json", &one_note("private/a.md"));
    let report = sandbox.tollgate(&["run", &denied, "--yes", "--json"]).expect_code(3).json();
    expect!["rule 1 (private notes) denies vault.createFile: Create private/a.md (7 bytes)"]
        .assert_eq(report["steps"][0]["error"]["message"].as_str().unwrap());
    let shown = sandbox.tollgate(&["show", "last"]).expect_code(0).out;
    assert!(shown.contains("ended in permission (permission_denied)"), "{shown}");
    let allowed = sandbox.plan_file("allowed.json", &one_note("Public/a.md"));
    sandbox.tollgate(&["run", &allowed, "--yes"]).expect_code(0);
    assert_eq!(sandbox.notes(), ["Inbox.md", "Public/a.md"]);
}

#[test]
fn a_protected_folder_is_out_of_reach() {
    let sandbox = TestVault::new();
    let args = r#"{"path": ".obsidian/app.json", "content": "{}", "collisionStrategy": "overwrite"}"#;
    let result =
        sandbox.tollgate(&["call", "vault.createFile", args, "--yes", "--json"]).expect_code(3).json();
    assert_eq!(result["error"]["kind"], "sandbox_violation");
}

#[test]
fn a_call_ends_with_the_code_of_its_failure() {
    let sandbox = TestVault::new();
    let result = sandbox
        .tollgate(&["call", "vault.readFile", r#"{"path": "nope.md"}"#, "--json"])
        .expect_code(1)
        .json();
    assert_eq!(result["canonical"]["error"]["kind"], "not_found");
    assert_eq!(result["phases"].as_array().unwrap().last().unwrap()["phase"], "emit_terminal");
    sandbox.tollgate(&["verify", "last"]).expect_code(0);
    sandbox.tollgate(&["replay", "last"]).expect_code(0);
}

#[test]
fn arguments_arrive_as_they_were_written() {
    let sandbox = TestVault::new();
    let text = "$steps.x {item} {{y}} $$";
    let args = json!({ "path": "a.md", "content": text }).to_string();
    sandbox.tollgate_with_input(&["call", "vault.createFile", "-", "--yes"], &args).expect_code(0);
    assert_eq!(std::fs::read_to_string(sandbox.path("vault/a.md")).unwrap(), text);
    let file = sandbox.write("args.json", r#"{"title": "From a file"}"#);
    let said =
        sandbox.tollgate(&["call", "util_slugifyTitle", &format!("@{}", file.display())]).expect_code(0).out;
    expect!["Slug: from-a-file\n"].assert_eq(&said);
}

#[test]
fn calls_that_make_no_sense_are_told_why() {
    let sandbox = TestVault::new();
    refused(
        &sandbox,
        &["call", "vault.readFiles", "{}"],
        2,
        expect![[r#"
            error: no tool is named `vault.readFiles`
            hint: did you mean `vault.readFile`? `tollgate tools` lists them all
        "#]],
    );
    refused(
        &sandbox,
        &["call", "vault.readFile", "{path: x}"],
        2,
        expect![[r#"
        error: the arguments are not JSON: key must be a string at line 1 column 2
        hint: quote them for the shell: '{"path": "Inbox.md"}', or put them in a file and give @FILE
    "#]],
    );
    refused(
        &sandbox,
        &["call", "vault.readFile", "[1]"],
        2,
        expect![[r#"
        error: the arguments are not a JSON object
        hint: write them as {"name": value}
    "#]],
    );
    refused(
        &sandbox,
        &["call", "vault.readFile", r#"{"file": "Inbox.md"}"#],
        2,
        expect![[r#"
            error: vault.readFile cannot be called like this:
              arguments: `path` is missing (add `path`, a string: File, such as `Notes/Inbox.md`.)
              arguments: unknown field `file` (known fields: `path`, `maxBytes`, `range`, `as`)
            hint: `tollgate tools vault.readFile` shows what it takes
        "#]],
    );
    refused(
        &sandbox,
        &["tools", "vault.createFiles"],
        2,
        expect![[r#"
        error: no tool is named `vault.createFiles`
        hint: did you mean `vault.createFile`? `tollgate tools` lists them all
    "#]],
    );
    assert!(!sandbox.path("vault/.tollgate").exists());
}

#[test]
fn a_run_that_is_not_there_or_not_clear_is_told() {
    let sandbox = TestVault::new();
    refused(
        &sandbox,
        &["show", "last"],
        2,
        expect![[r#"
        error: no run is named `last`
        hint: `tollgate runs` lists them; name one by its id, the beginning of it, or `last`
    "#]],
    );
    for title in ["one", "two"] {
        sandbox
            .tollgate(&["call", "util.slugifyTitle", &json!({ "title": title }).to_string()])
            .expect_code(0);
    }
    refused(
        &sandbox,
        &["verify", "zzz"],
        2,
        expect![[r#"
        error: no run is named `zzz`
        hint: `tollgate runs` lists them; name one by its id, the beginning of it, or `last`
    "#]],
    );
    refused(
        &sandbox,
        &["replay", "0"],
        2,
        expect![[r#"
        error: `0` is the beginning of 2 runs:
          ID
          ID
        hint: give more of the id
    "#]],
    );
    refused(
        &sandbox,
        &["resume", "last"],
        2,
        expect![[r#"
        error: the run has already finished; there is nothing to resume
        hint: `tollgate show` shows how it ended; if calls failed, `resume RUN --retry-failed` makes them again
    "#]],
    );
}

#[test]
fn settings_that_cannot_be_read_stop_everything_with_their_line() {
    let sandbox = TestVault::new();
    sandbox.config("mode = \"ask\"\n\n[limits]\nmax_atempts = 3\n");
    refused(
        &sandbox,
        &["runs"],
        2,
        expect![[r#"
            error: DIR/vault/.tollgate/config.toml: line 4: `limits.max_atempts` is not a key; did you mean `limits.max_attempts`?
            hint: fix the line, or move the file away and run `tollgate init` for one with every key explained
        "#]],
    );
    sandbox.config("[[rules]]\neffect = \"deny\"\n");
    let plan = sandbox.plan();
    refused(
        &sandbox,
        &["run", &plan, "--yes"],
        2,
        expect![[r#"
            error: DIR/vault/.tollgate/config.toml: line 1: this rule names no `tools`, `paths`, `risk` or `command`; say which calls it is about, or set `mode`, which is about all of them
            hint: fix the line, or move the file away and run `tollgate init` for one with every key explained
        "#]],
    );
    let doctor = sandbox.tollgate(&["doctor"]).expect_code(1);
    assert!(doctor.out.contains("fail settings"), "{}", doctor.out);
}

#[test]
fn a_vault_that_is_not_there_is_told() {
    let sandbox = TestVault::new();
    refused(
        &sandbox,
        &["runs", "--vault", "/nowhere/at/all"],
        2,
        expect![[r#"
        error: `/nowhere/at/all` is not a folder
        hint: give the folder that holds your notes: --vault DIR
    "#]],
    );
    let elsewhere = tempfile::tempdir().unwrap();
    let output = sandbox.command(&["runs"]).current_dir(elsewhere.path()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("no vault here") && said.contains("tollgate init"), "{said}");
}

#[test]
fn init_explains_every_key_and_overwrites_nothing() {
    let sandbox = TestVault::new();
    let folder = sandbox.path("fresh");
    std::fs::create_dir(&folder).unwrap();
    let dir = folder.to_str().unwrap();
    sandbox.tollgate(&["init", dir]).expect_code(0);
    let written = std::fs::read_to_string(folder.join(".tollgate/config.toml")).unwrap();
    expect_test::expect_file!["data/config.toml"].assert_eq(&written);
    refused(
        &sandbox,
        &["init", dir],
        2,
        expect![[r#"
        error: `DIR/fresh/.tollgate/config.toml` exists already and stays as it is
        hint: edit it, or move it away and run `tollgate init` again
    "#]],
    );
    let doctor = sandbox.tollgate(&["doctor", "--vault", dir]).expect_code(0);
    expect![[r#"
        ok   version   tollgate 0.1.0
        ok   vault     DIR/fresh
        ok   settings  mode ask, 0 rules, 0 hooks
        ok   state     DIR/fresh/.tollgate
        ok   disk      a file in DIR/fresh/.tollgate can be written and synced
        ok   runs      0 in DIR/fresh/.tollgate/runs
        ok   size      0 bytes in 0 runs, 0 bytes in 0 stored contents; to remove old runs: tollgate prune --vault DIR/fresh
    "#]]
    .assert_eq(&sandbox.scrub(&without_walls(&doctor.out)));
}

#[test]
fn the_state_folder_can_stand_outside_the_vault() {
    let sandbox = TestVault::new();
    sandbox.config("state = \"../state\"\n");
    let plan = sandbox.plan();
    for args in [&["run", &plan, "--yes"][..], &["runs"], &["show", "last"]] {
        let refused = sandbox.tollgate(args).expect_code(3);
        assert!(refused.err.contains("outside of the vault, which you have not trusted"), "{}", refused.err);
    }
    assert!(!sandbox.path("state").exists());
    sandbox.tollgate(&["trust", "--yes"]).expect_code(0);
    sandbox.tollgate(&["run", &plan, "--yes"]).expect_code(0);
    assert!(!sandbox.path("vault/.tollgate/runs").exists());
    assert_eq!(std::fs::read_dir(sandbox.path("state/runs")).unwrap().count(), 1);
    sandbox.tollgate(&["verify", "last"]).expect_code(0);
}

#[test]
fn the_state_folder_stays_out_of_the_reach_of_tools() {
    let sandbox = TestVault::new();
    let plan = sandbox.plan();
    for state in ["Notes", ".", "..", "/", "~nobody/x"] {
        sandbox.config(&format!("mode = \"ask\"\nstate = \"{state}\"\n"));
        let refused = sandbox.tollgate(&["run", &plan, "--yes"]).expect_code(2);
        assert!(refused.err.contains(&format!("line 2: `state` cannot be `{state}`")), "{}", refused.err);
        let doctor = sandbox.tollgate(&["doctor"]).expect_code(1).out;
        assert!(doctor.contains("fail settings") && !doctor.contains("chmod"), "{doctor}");
    }
    sandbox.trusted_config("state = \"~/runs of notes\"\n");
    sandbox.tollgate(&["run", &plan, "--yes"]).expect_code(0);
    assert_eq!(std::fs::read_dir(sandbox.path("home/runs of notes/runs")).unwrap().count(), 1);
}

#[test]
fn the_doctor_tells_folders_that_are_ours_from_those_that_are_not() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = TestVault::new();
    let common = sandbox.path("common");
    std::fs::create_dir_all(common.join("runs")).unwrap();
    for folder in [&common, &common.join("runs")] {
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    sandbox.trusted_config("state = \"../common\"\n");
    let doctor = sandbox.tollgate(&["doctor"]).expect_code(0).out;
    assert!(sandbox.scrub(&doctor).contains("fix: chmod 700 DIR/common/runs\n"), "{doctor}");
    assert_eq!(doctor.matches("chmod").count(), 1, "{doctor}");
    sandbox.write("a-file", "");
    sandbox.config("state = \"../a-file\"\n");
    let doctor = sandbox.tollgate(&["doctor"]).expect_code(1).out;
    assert!(sandbox.scrub(&doctor).contains("fail state     DIR/a-file is a file, not a folder"), "{doctor}");
}

#[test]
fn settings_that_are_no_text_file_are_bad_input() {
    let sandbox = TestVault::new();
    let file = sandbox.path("vault/.tollgate/config.toml");
    std::fs::create_dir_all(&file).unwrap();
    refused(
        &sandbox,
        &["runs"],
        2,
        expect![[r#"
            error: DIR/vault/.tollgate/config.toml: it is a folder, not a file
            hint: make it a text file of at most 1 MiB, or move it away and run `tollgate init`
        "#]],
    );
    std::fs::remove_dir(&file).unwrap();
    std::fs::File::create(&file).unwrap().write_all(b"mode = \"\xff\"\n").unwrap();
    refused(
        &sandbox,
        &["runs"],
        2,
        expect![[r#"
        error: DIR/vault/.tollgate/config.toml: it is not UTF-8 text (byte 8)
        hint: save it as UTF-8, or move it away and run `tollgate init`
    "#]],
    );
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("nowhere.toml", &file).unwrap();
    refused(
        &sandbox,
        &["runs"],
        2,
        expect![[r#"
            error: DIR/vault/.tollgate/config.toml: it is a link, or lies behind one
            hint: make it a text file of at most 1 MiB, or move it away and run `tollgate init`
        "#]],
    );
}

#[test]
fn arguments_that_can_be_read_in_two_ways_are_refused() {
    let sandbox = TestVault::new();
    let doubled = r#"{"path": "a.md", "content": "x", "path\u0000": 1, "path": "b\nhint: c"}"#;
    refused(
        &sandbox,
        &["call", "vault.createFile", doubled, "--yes"],
        2,
        expect![[r#"
        error: vault.createFile cannot be called like this:
          /path: the key `path` occurs twice in the same object (keep one of the two and remove the other)
        hint: `tollgate tools vault.createFile` shows what it takes
    "#]],
    );
    refused(
        &sandbox,
        &["call", "vault.createFile", r#"{"path": "a.md", "content": 123456789012345678901234567890}"#],
        2,
        expect![[r#"
            error: vault.createFile cannot be called like this:
              /content: the number does not fit 64 bits, so its last digits would be lost (write it as text in double quotes, or use a smaller number)
            hint: `tollgate tools vault.createFile` shows what it takes
        "#]],
    );
    refused(
        &sandbox,
        &["call", "vault.createFile", "@nope.json"],
        2,
        expect![[r#"
        error: there is no file `nope.json`
        hint: give the path of a file with the arguments, or `-` to read standard input
    "#]],
    );
    assert_eq!(sandbox.notes(), ["Inbox.md"]);
}

#[test]
fn an_answer_that_cannot_be_written_is_an_error() {
    let sandbox = TestVault::new();
    for args in [&["tools", "--json"][..], &["tools"], &["--help"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = sandbox.command(args).stdout(full).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("standard output cannot be written"), "{said}");
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = sandbox.command(args).stdout(writer).output().unwrap();
        assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()), "nobody reads on");
    }
}

#[test]
fn json_acts_on_no_terminal() {
    let sandbox = TestVault::new();
    let name = "\u{9b}2J\u{7f}\u{202e}\u{2028}é";
    let args = json!({ "path": "a.md", "content": name, "collisionStrategy": "overwrite" }).to_string();
    sandbox.tollgate(&["call", "vault.createFile", &args, "--yes"]).expect_code(0);
    let read = sandbox.tollgate(&["call", "vault.readFile", r#"{"path": "a.md"}"#, "--json"]).expect_code(0);
    assert!(read.out.contains("\\u009b2J\\u007f\\u202e\\u2028é"), "{}", read.out);
    assert!(!read.out.contains(['\u{9b}', '\u{7f}', '\u{202e}', '\u{2028}']), "{:?}", read.out);
    assert_eq!(read.json()["data"]["content"], name);
}

#[test]
fn a_folder_with_a_strange_name_forges_no_line_and_can_be_pasted() {
    let sandbox = TestVault::new();
    let strange = sandbox.path("my notes\nDone");
    std::fs::create_dir(&strange).unwrap();
    let dir = strange.to_str().unwrap();
    let said = [&["init", dir][..], &["runs", "--vault", dir], &["doctor", "--vault", dir]]
        .map(|args| sandbox.scrub(&sandbox.tollgate(args).expect_code(0).out));
    expect![[r#"
        Wrote DIR/my notes\nDone/.tollgate/config.toml
        Mode: ask (reads run; a plan with writes or commands needs one approval)
        Next: tollgate doctor --vault $'DIR/my notes\012Done'
        No runs yet in DIR/my notes\nDone/.tollgate/runs
        Start one: tollgate run PLAN --vault $'DIR/my notes\012Done'
        ok   version   tollgate 0.1.0
        ok   vault     DIR/my notes\nDone
        ok   settings  mode ask, 0 rules, 0 hooks
        ok   state     DIR/my notes\nDone/.tollgate
        ok   disk      a file in DIR/my notes\nDone/.tollgate can be written and synced
        ok   runs      0 in DIR/my notes\nDone/.tollgate/runs
        ok   size      0 bytes in 0 runs, 0 bytes in 0 stored contents; to remove old runs: tollgate prune --vault $'DIR/my notes\012Done'
    "#]]
    .assert_eq(&without_walls(&said.concat()));
    let plan = sandbox.plan_file("plan.json", &one_note("a.md"));
    let ran = sandbox.tollgate(&["run", &plan, "--yes", "--vault", dir]).expect_code(0).out;
    assert_eq!(ran.lines().filter(|line| line.starts_with("Done")).count(), 1, "{ran}");
    assert!(ran.contains("my notes\\012Done'"), "{ran}");
}

#[test]
fn the_folder_of_init_is_named_once() {
    let sandbox = TestVault::new();
    refused(
        &sandbox,
        &["init", "a", "--vault", "b"],
        2,
        expect![[r#"
        error: the folder is named twice: as DIR and with --vault
        hint: name the one that is meant: tollgate init DIR
    "#]],
    );
}

#[test]
fn a_search_without_a_hit_says_so() {
    let sandbox = TestVault::new();
    sandbox.tollgate(&["call", "util.slugifyTitle", r#"{"title": "a"}"#]).expect_code(0);
    let found = sandbox.tollgate(&["runs", "zebra"]).expect_code(0).out;
    expect![[r#"
        No run changed or mentions `zebra`; 1 run searched by notes, goal, tools, session and id
    "#]]
    .assert_eq(&found);
}
