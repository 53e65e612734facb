//! Commands through the real binary: what they can reach, what they leave, and that no process of them survives.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::support::sandboxes::{SandboxChoice, led_from_outside, without_control_groups};
use crate::support::{ProcessResult, TestVault};
use expect_test::{Expect, expect};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

/// Runs `ExecCommand` with an approval.
fn exec(sandbox: &TestVault, args: &Value) -> ProcessResult {
    sandbox.tollgate(&["call", "ExecCommand", &args.to_string(), "--yes"])
}

fn exec_json(sandbox: &TestVault, args: &Value) -> Value {
    sandbox.tollgate(&["call", "ExecCommand", &args.to_string(), "--yes", "--json"]).json()
}

#[track_caller]
fn receipt(ended: &ProcessResult, expect: Expect) {
    expect.assert_eq(&ended.out);
}

/// Processes whose command line contains this.
fn alive(mark: &str) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.contains(mark))
        .collect()
}

/// Whether none is left, two seconds from now at the latest.
#[track_caller]
fn none_survives(mark: &str) {
    let deadline = Instant::now() + Duration::from_secs(2);
    while !alive(mark).is_empty() {
        assert!(Instant::now() < deadline, "still there: {:?}", alive(mark));
        std::thread::yield_now();
    }
}

/// Waits until so many processes with exactly this command line are there.
fn until_alive(line: &str, count: usize) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while alive(line).iter().filter(|found| found.trim_end() == line).count() < count {
        assert!(Instant::now() < deadline, "it never started: {line}");
        std::thread::yield_now();
    }
}

/// All bytes of all files below a folder.
fn everything_in(folder: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            bytes.extend(everything_in(&path));
        } else {
            bytes.extend(std::fs::read(&path).unwrap_or_default());
        }
    }
    bytes
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

// Conformance: result 6.1
#[test]
fn a_command_runs_in_the_vault_and_reads_like_a_terminal() {
    let sandbox = TestVault::new();
    let ended = exec(&sandbox, &json!({ "cmd": "cat Inbox.md | head -3; echo gone wrong >&2; exit 3" }));
    assert_eq!(ended.code, 0, "{}", ended.err);
    receipt(
        &ended,
        expect![[r"
        Process exited with code 3
        stdout:
        # Inbox

        - Red apples
        stderr:
        gone wrong
    "]],
    );
    let ended = exec(&sandbox, &json!({ "argv": ["printf", "%s|", "a b", "$HOME", "*"], "workdir": "." }));
    receipt(
        &ended,
        expect![[r"
        Process exited with code 0
        stdout:
        a b|$HOME|*|
    "]],
    );
    let ended = exec(
        &sandbox,
        &json!({ "cmd": "cat; echo $GREETING", "stdin": "typed\n", "env": { "GREETING": "hello" } }),
    );
    receipt(
        &ended,
        expect![[r"
        Process exited with code 0
        stdout:
        typed
        hello
    "]],
    );
    receipt(
        &exec(&sandbox, &json!({ "cmd": "true" })),
        expect![[r"
        Process exited with code 0
        (no output)
    "]],
    );
}

#[test]
fn a_terminal_is_there_when_it_is_asked_for() {
    let sandbox = TestVault::new();
    let ended = exec(&sandbox, &json!({ "cmd": "test -t 0 && test -t 1 && echo a terminal", "tty": true }));
    receipt(
        &ended,
        expect![[r"
        Process exited with code 0
        output:
        a terminal
    "]],
    );
}

// Conformance: result 2.4
// Conformance: result 6.4
#[test]
fn a_folder_outside_of_the_vault_is_refused_as_the_contract_words_it() {
    let sandbox = TestVault::new();
    sandbox.write("other-repo/secret.md", "canary");
    for workdir in ["../other-repo", "/etc", "..", ".obsidian", "Notes/../..", ".tollgate"] {
        let result = exec_json(&sandbox, &json!({ "cmd": "ls", "workdir": workdir }));
        let example = json!({
            "tool_name": "ExecCommand",
            "status": "error",
            "summary_text": "requested working directory is outside the current execution root",
            "result": null,
            "error": {
                "kind": "sandbox_violation",
                "message": "requested working directory is outside the current execution root",
                "details": { "workdir": workdir },
                "recovery_hint": "omit workdir or use a relative path inside the active workspace",
                "retryable": false
            }
        });
        assert_eq!(result["canonical"].to_string(), example.to_string());
    }
}

#[test]
fn a_receipt_that_could_not_name_its_outcome_is_refused_and_not_made_longer() {
    let sandbox = TestVault::new();
    for tokens in [0, 1, 49] {
        for (tool, args) in [
            ("ExecCommand", json!({ "cmd": "touch Ran.md", "max_output_tokens": tokens })),
            ("TaskOutput", json!({ "task_id": "task_1", "max_output_tokens": tokens })),
            ("artifact.read", json!({ "path": "artifacts/x.log", "max_output_tokens": tokens })),
        ] {
            let ended = sandbox.tollgate(&["call", tool, &args.to_string(), "--yes"]).expect_code(2);
            let why = format!("/max_output_tokens: expected 50 or more, found the number {tokens}");
            assert!(ended.err.contains(&why), "{tool}: {}", ended.err);
        }
    }
    assert!(!sandbox.path("vault/Ran.md").exists());
}

#[test]
fn a_call_that_says_nothing_to_run_is_refused() {
    let sandbox = TestVault::new();
    for (args, why) in [
        (json!({}), "neither `cmd` nor `argv` is given"),
        (json!({ "cmd": "ls", "argv": ["ls"] }), "both given"),
        (json!({ "cmd": "  " }), "`cmd` is empty"),
        (json!({ "argv": [] }), "`argv` names no program"),
        (json!({ "cmd": "ls", "env": { "A=B": "c" } }), "not a valid variable name"),
        (json!({ "cmd": format!("echo {}", "x".repeat(70_000)) }), "the most that is run"),
    ] {
        let ended = exec(&sandbox, &args);
        assert_eq!(ended.code, 2, "{}{}", ended.out, ended.err);
        assert!(ended.out.contains(why), "{}", ended.out);
    }
}

/// A call in one of the sandboxes.
fn exec_in(choice: SandboxChoice, sandbox: &TestVault, args: &Value) -> Value {
    let call = sandbox.command(&["call", "ExecCommand", &args.to_string(), "--yes", "--json"]);
    crate::support::ended(choice.around(call).output().unwrap()).json()
}

#[test]
fn a_command_that_says_that_its_sandbox_was_not_built_is_a_command() {
    let said = [("tollgate: the sandbox was not built: landlock: no", 125), ("bwrap: No permissions", 1)];
    let sandbox = TestVault::new();
    for choice in [SandboxChoice::Bubblewrap, SandboxChoice::Landlock]
        .into_iter()
        .filter(|choice| choice.is_available(&sandbox))
    {
        for ((line, code), tty) in said.into_iter().zip([false, true]) {
            let cmd = format!("echo '{line}' >&2; exit {code}");
            let result = exec_in(choice, &sandbox, &json!({ "cmd": cmd, "tty": tty }));
            let data = &result["data"];
            assert_eq!(
                (&data["exit_status"], &data["sandbox"]),
                (&json!(code), &json!(choice.name())),
                "{result}"
            );
            let printed = if tty { &data["stdout"] } else { &data["stderr"] };
            assert_eq!(printed["text"].as_str().unwrap().trim_end(), line, "{result}");
        }
    }
}

#[test]
fn a_task_is_the_command_even_if_its_sandbox_takes_longer_than_the_call_waits() {
    let sandbox = TestVault::new();
    let run = |setting: &str| {
        sandbox.trusted_config(&format!("[commands]\n{setting}\n"));
        let plan = plan(&[
            ("task", "ExecCommand", json!({ "cmd": "echo here", "yield_time_ms": 0 })),
            // The first may come between what it prints and its end.
            ("wait", "TaskOutput", json!({ "task_id": "task_1", "timeout_ms": 60_000 })),
            ("again", "TaskOutput", json!({ "task_id": "task_1", "timeout_ms": 60_000 })),
        ]);
        let file = sandbox.plan_file("plan.json", &plan);
        sandbox.tollgate(&["run", &file, "--yes", "--json"])
    };
    run("open_files = 100").expect_code(0);
    let shown = sandbox.tollgate(&["show", "last", "--as-model"]).expect_code(0).out;
    assert!(shown.contains("stdout:\nhere"), "{shown}");
    run("open_files = 1").expect_code(1);
    let shown = sandbox.tollgate(&["show", "last", "--as-model"]).expect_code(0).out;
    assert!(shown.contains("TaskOutput failed (setup_required): the command was not run"), "{shown}");
}

#[test]
fn a_sandbox_that_was_not_built_is_told_with_the_reason() {
    // A launcher that may open no files, and a tree in which bubblewrap has no place for the launcher.
    for (choice, setting) in [
        (SandboxChoice::Bubblewrap, "open_files = 1"),
        (SandboxChoice::Landlock, "open_files = 1"),
        (SandboxChoice::Bubblewrap, "readable = [\"/\"]"),
    ] {
        let sandbox = TestVault::new();
        if !choice.is_available(&sandbox) {
            continue;
        }
        sandbox.trusted_config(&format!("[commands]\n{setting}\n"));
        let result = exec_in(choice, &sandbox, &json!({ "cmd": "touch Ran.md" }));
        let error = &result["canonical"]["error"];
        assert_eq!(error["kind"], "setup_required", "{choice:?}: {setting}: {result}");
        let message = error["message"].as_str().unwrap();
        let why = message.strip_prefix("the command was not run, since its sandbox was not built: ");
        assert!(why.is_some_and(|why| !why.is_empty()), "{message}");
        assert!(!sandbox.path("vault/Ran.md").exists());
    }
}

// Conformance: result 6.6
#[test]
fn no_secret_of_the_person_reaches_a_command_or_a_record() {
    const CANARY: &str = "sk-canary-8c1f0e";
    const LOOK: &str =
        "printenv; cat /proc/self/environ /proc/*/environ /proc/$PPID/environ; set; ps auxeww; env";
    let sandbox = TestVault::new();
    let run = |sandbox: &TestVault| {
        let args = json!({ "cmd": LOOK }).to_string();
        let mut command = sandbox.command(&["call", "ExecCommand", &args, "--yes", "--json"]);
        crate::support::ended(command.env("CANARY_TOKEN", CANARY).output().unwrap())
    };
    let ended = run(&sandbox).expect_code(0);
    assert!(ended.out.contains("PATH="), "{}", ended.out);
    assert!(!ended.out.contains(CANARY) && !ended.err.contains(CANARY));
    assert!(!contains(&everything_in(&sandbox.vault().join(".tollgate")), CANARY));
    // The same probe finds it where the user passes it on, so it would have found it above.
    sandbox.trusted_config("[commands]\nenv = [\"CANARY_TOKEN\"]\n");
    assert!(run(&sandbox).expect_code(0).out.contains(CANARY));
}

#[test]
fn what_a_vault_loosens_holds_only_after_a_person_trusts_it() {
    let sandbox = TestVault::new();
    sandbox.config("[commands]\nsandbox = \"off\"\nnetwork = true\n");
    let ended = exec(&sandbox, &json!({ "cmd": "echo hi" })).expect_code(3);
    assert!(ended.err.contains("commands run without a sandbox"), "{}", ended.err);
    assert!(ended.err.contains("tollgate trust"), "{}", ended.err);
    sandbox.tollgate(&["trust", "--yes"]).expect_code(0);
    receipt(
        &exec(&sandbox, &json!({ "cmd": "echo hi" })),
        expect![[r"
        Process exited with code 0 (no sandbox)
        stdout:
        hi
    "]],
    );
    assert_eq!(exec_json(&sandbox, &json!({ "cmd": "true" }))["data"]["sandbox"], "none");
    // The mode and the rules of a vault loosen as well.
    for text in ["mode = \"trusted\"\n", "[[rules]]\neffect = \"allow\"\ntools = [\"vault.*\"]\n"] {
        sandbox.config(text);
        let ended = sandbox.tollgate(&["call", "TaskList", "{}"]).expect_code(3);
        assert!(
            ended.err.contains("the settings of this vault are not those that you trusted"),
            "{}",
            ended.err
        );
        let doctor = sandbox.tollgate(&["doctor"]).expect_code(1).out;
        let told = "fail settings  not those that you trusted, so nothing runs in this vault: ";
        assert!(doctor.contains(told), "{doctor}");
        sandbox.tollgate(&["trust", "--yes"]).expect_code(0);
        sandbox.tollgate(&["call", "TaskList", "{}"]).expect_code(0);
    }
    // A different permission has a different text.
    sandbox.config("[commands]\nsandbox = \"off\"\nnetwork = true\nenv = [\"TOKEN\"]\n");
    exec(&sandbox, &json!({ "cmd": "echo hi" })).expect_code(3);
}

#[test]
fn a_repository_that_a_command_or_a_task_makes_is_named_in_the_receipt_and_in_the_record() {
    let sandbox = TestVault::new();
    receipt(
        &exec(&sandbox, &json!({ "cmd": "mkdir -p Notes/new; echo gitdir: /x > Notes/new/.git; echo made" })),
        expect![[r"
            Process exited with code 0
            Warning: `Notes/new/.git` appeared while the command ran; programs load settings and code from it, so look at it before you use it
            stdout:
            made
        "]],
    );
    let result =
        exec_json(&sandbox, &json!({ "cmd": "mkdir Notes/new/.obsidian; sleep 1000", "timeout_ms": 700 }));
    let warnings = &result["canonical"]["error"]["details"]["warnings"];
    assert!(warnings[0].as_str().unwrap().starts_with("`Notes/new/.obsidian` appeared"), "{result}");
    let plan = plan(&[
        (
            "task",
            "ExecCommand",
            json!({ "cmd": "mkdir -p Notes/task/.git; read x", "tty": true, "yield_time_ms": 0 }),
        ),
        ("end", "TaskInput", json!({ "task_id": "task_1", "input": "\n" })),
        ("look", "TaskOutput", json!({ "task_id": "task_1", "timeout_ms": 60_000 })),
        ("wait", "TaskOutput", json!({ "task_id": "task_1", "timeout_ms": 60_000 })),
    ]);
    let file = sandbox.plan_file("plan.json", &plan);
    sandbox.tollgate(&["run", &file, "--yes", "--json"]).expect_code(0);
    let shown = sandbox.tollgate(&["show", "last", "--as-model"]).expect_code(0).out;
    assert!(shown.contains("Warning: `Notes/task/.git` appeared"), "{shown}");
}

#[test]
fn the_doctor_says_whether_the_limit_on_memory_holds_for_a_command_or_for_each_of_its_processes() {
    let sandbox = TestVault::new();
    let memory = |ended: ProcessResult| {
        let findings = ended.json()["findings"].as_array().unwrap().clone();
        findings.into_iter().find(|finding| finding["what"] == "memory").unwrap()
    };
    let here = memory(sandbox.tollgate(&["doctor", "--json"]));
    let said = here["message"].as_str().unwrap();
    let whole = said == "a command may use 4096 MB, all its processes together";
    assert_eq!(here["health"], if whole { "ok" } else { "warn" }, "{here}");
    let doctor = sandbox.command(&["doctor", "--json"]);
    let nowhere = memory(crate::support::ended(without_control_groups(doctor).output().unwrap()));
    let said = nowhere["message"].as_str().unwrap();
    let each = "each process of a command may use 4096 MB; all of them together are not limited: ";
    assert!(said.starts_with(each) && nowhere["mend"].is_string(), "{nowhere}");
}

/// Runs `ExecCommand` without an approval: only rules allow it.
fn exec_by_rule(sandbox: &TestVault, args: &Value) -> Value {
    sandbox.tollgate(&["call", "ExecCommand", &args.to_string(), "--json"]).json()
}

#[test]
fn a_command_that_only_a_rule_allows_executes_the_file_that_it_names_and_no_other_one_of_the_vault() {
    const RULES: &str = r#"
        [[rules]]
        effect = "allow"
        command = ["./Scripts/build.sh"]
        match = ["./Scripts/build.sh"]
        not_match = ["./Scripts/helper.sh"]
    "#;
    let sandbox = TestVault::new();
    sandbox.script("vault/Scripts/build.sh", "echo built; Scripts/helper.sh; exit $?");
    sandbox.script("vault/Scripts/helper.sh", "echo helped");
    sandbox.trusted_config(RULES);
    let build = json!({ "argv": ["./Scripts/build.sh"] });
    let result = exec_by_rule(&sandbox, &build);
    assert_eq!(result["data"]["stdout"]["text"], "built\n", "{result}");
    assert_eq!(result["data"]["exit_status"], 126);
    let warning = result["data"]["warnings"][0].as_str().unwrap();
    assert!(warning.contains("`execute_vault_files = true`"), "{warning}");
    // An approval of the call covers the programs that it runs, whatever else allows it.
    sandbox.trusted_config(&RULES.replace("allow", "ask"));
    assert_eq!(exec_json(&sandbox, &build)["data"]["stdout"]["text"], "built\nhelped\n");
    sandbox.config(&format!("[commands]\nexecute_vault_files = true\n{RULES}"));
    let refused = exec(&sandbox, &build).expect_code(3);
    assert!(
        refused.err.contains("commands that a rule allows execute any file of the vault"),
        "{}",
        refused.err
    );
    sandbox.tollgate(&["trust", "--yes"]).expect_code(0);
    assert_eq!(exec_by_rule(&sandbox, &build)["data"]["stdout"]["text"], "built\nhelped\n");
}

#[test]
fn a_program_that_a_deny_rule_names_cannot_be_executed_by_a_script_either() {
    let sandbox = TestVault::new();
    sandbox.script(
        "vault/Scripts/clean.sh",
        "rm Inbox.md; /bin/rm Inbox.md; find . -name Inbox.md -exec rm {} +",
    );
    sandbox.write("vault/Scripts/clean.py", "import subprocess; subprocess.run(['rm', 'Inbox.md'])");
    let deny = |command: &str, not: &str| {
        format!(
            "[[rules]]\neffect = \"deny\"\ncommand = {command}\nmatch = [\"rm -rf x\"]\nnot_match = [\"{not}\"]\n"
        )
    };
    sandbox.trusted_config(&deny("[[\"rm\", \"unlink\"]]", "ls"));
    for cmd in [
        "Scripts/clean.sh",
        "sh Scripts/clean.sh",
        "python3 Scripts/clean.py",
        "perl -e 'exec qw(rm Inbox.md)'",
    ] {
        exec(&sandbox, &json!({ "cmd": cmd }));
        assert!(sandbox.path("vault/Inbox.md").exists(), "{cmd}");
    }
    let result = exec_json(&sandbox, &json!({ "cmd": "r=rm; $r Inbox.md" }));
    let warning = result["data"]["warnings"][0].as_str().unwrap_or_else(|| panic!("{result}"));
    assert!(warning.ends_with("deny rules forbid to execute rm, unlink"), "{warning}");
    sandbox.trusted_config(&deny("[\"rm\", \"-rf\"]", "rm x"));
    exec(&sandbox, &json!({ "cmd": "Scripts/clean.sh" }));
    assert!(!sandbox.path("vault/Inbox.md").exists(), "a rule about some words is none about the program");
}

#[test]
fn a_command_leaves_protected_folders_and_what_is_outside_as_they_are() {
    let sandbox = TestVault::new();
    let outside = sandbox.write("outside.md", "outside");
    let cmd = format!(
        "echo x > .obsidian/app.json; mkdir -p .git/hooks && echo x > .git/hooks/post-commit; echo x > .trash/x; \
         echo x > .tollgate/config.toml; rm -rf .obsidian; echo x > {}; echo kept > Notes.md; true",
        outside.display()
    );
    exec(&sandbox, &json!({ "cmd": cmd })).expect_code(0);
    let read = |name: &str| std::fs::read_to_string(sandbox.path(name)).unwrap_or_default();
    assert_eq!(
        (read("vault/.obsidian/app.json"), read("outside.md")),
        ("{}".to_owned(), "outside".to_owned())
    );
    assert_eq!(read("vault/Notes.md"), "kept\n");
    for absent in ["vault/.git", "vault/.trash", "vault/.tollgate/config.toml"] {
        assert!(!sandbox.path(absent).exists(), "{absent}");
    }
}

#[test]
fn nothing_of_one_command_is_left_for_the_next() {
    let sandbox = TestVault::new();
    exec(&sandbox, &json!({ "cmd": "export POISON=1; alias ls=rm; echo 'export POISON=1' > ~/.profile; echo x > /tmp/left" }))
        .expect_code(0);
    let ended =
        exec(&sandbox, &json!({ "cmd": "echo [$POISON]; cat ~/.profile /tmp/left 2>/dev/null; true" }));
    receipt(
        &ended,
        expect![[r"
        Process exited with code 0
        stdout:
        []
    "]],
    );
}

#[test]
fn a_command_that_takes_too_long_is_killed_and_what_it_printed_stays() {
    let sandbox = TestVault::new();
    let cmd = "echo before; setsid sleep 86411 & (sleep 86411 &); trap '' TERM; sleep 86411";
    let ended = exec(&sandbox, &json!({ "cmd": cmd, "timeout_ms": 5000 })).expect_code(1);
    assert!(
        ended.out.starts_with("ExecCommand failed (timeout): the command did not end within 5000 ms"),
        "{}",
        ended.out
    );
    assert!(ended.out.contains("before"), "{}", ended.out);
    none_survives("sleep 86411");
}

#[test]
fn commands_end_where_group_and_session_are_led_from_outside_the_process_table() {
    let sandbox = TestVault::new();
    if !SandboxChoice::Bubblewrap.is_available(&sandbox) {
        return;
    }
    let outside = |args: &Value| {
        let call = sandbox.command(&["call", "ExecCommand", &args.to_string(), "--yes"]);
        crate::support::ended(led_from_outside(&call).output().unwrap())
    };
    let quick = outside(&json!({ "cmd": "echo hello", "tty": true })).expect_code(0);
    assert!(quick.out.contains("hello"), "{}", quick.out);
    let cmd = "echo before; setsid sleep 86412 & (sleep 86412 &); trap '' TERM; sleep 86412";
    let slow = outside(&json!({ "cmd": cmd, "timeout_ms": 2000 })).expect_code(1);
    assert!(slow.out.contains("did not end within 2000 ms"), "{}", slow.out);
    none_survives("sleep 86412");
}

// Conformance: result 4.2
#[test]
fn long_output_is_kept_paged_and_proven() {
    let sandbox = TestVault::new();
    let result = exec_json(&sandbox, &json!({ "cmd": "seq 1 30000", "max_output_tokens": 200 }));
    let path = result["artifacts"][0]["path"].as_str().unwrap();
    assert_eq!(path, "artifacts/call-stdout.log");
    let shown = &result["canonical"]["result"];
    assert_eq!((&shown["stdout_artifact"], &shown["artifacts"][0]["path"]), (&json!(0), &json!(path)));
    assert_eq!(shown["stdout_digest"], result["artifacts"][0]["hash"]);
    let said = result["receipt"].as_str().unwrap();
    assert!(said.contains("artifact_read") && said.contains("30000"), "{said}");
    let folder = sandbox.only_run();
    let (run, log) = (folder.file_name().unwrap().to_str().unwrap(), folder.join(path));
    assert_eq!(std::fs::read_to_string(&log).unwrap().lines().count(), 30_000);
    let args = json!({ "path": path, "run": run, "lines": { "start": 12_344, "count": 3 } }).to_string();
    let page = sandbox.tollgate(&["call", "artifact.read", &args]).expect_code(0);
    assert!(
        page.out.contains("12344") && page.out.contains("12346") && !page.out.contains("\n12347"),
        "{}",
        page.out
    );
    sandbox.tollgate(&["verify", run]).expect_code(0);
    std::fs::write(&log, "1\n").unwrap();
    let changed = sandbox.tollgate(&["verify", run]).expect_code(4);
    assert!(changed.out.contains("artifact changed: artifacts/call-stdout.log"), "{}", changed.out);
}

/// A plan of commands.
fn plan(steps: &[(&str, &str, Value)]) -> Value {
    let steps: Vec<Value> = steps
        .iter()
        .enumerate()
        .map(|(n, (id, tool, args))| match n {
            0 => json!({ "id": id, "tool": tool, "args": args }),
            _ => json!({ "id": id, "tool": tool, "args": args, "dependsOn": [steps[n - 1].0] }),
        })
        .collect();
    json!({ "version": "1.0", "goal": "Commands", "riskLevel": "commands", "steps": steps })
}

// Conformance: result 6.2
#[test]
fn a_task_goes_on_behind_its_call_and_tells_only_what_is_new() {
    let sandbox = TestVault::new();
    let waits = "echo first; until test -e go; do sleep 0.05; done; echo second; sleep 86412";
    let plan = plan(&[
        ("server", "ExecCommand", json!({ "cmd": waits, "yield_time_ms": 5000 })),
        ("nothing", "TaskOutput", json!({ "task_id": "task_1", "block": false })),
        ("go", "vault.createFile", json!({ "path": "go", "content": "" })),
        ("look", "TaskOutput", json!({ "task_id": "task_1", "timeout_ms": 60_000 })),
        ("list", "TaskList", json!({})),
        ("stop", "TaskStop", json!({ "task_id": "task_1" })),
        ("ended", "TaskOutput", json!({ "task_id": "task_1" })),
        ("left", "ExecCommand", json!({ "cmd": "echo left; sleep 86412", "yield_time_ms": 200 })),
    ]);
    let file = sandbox.plan_file("plan.json", &plan);
    sandbox.tollgate(&["run", &file, "--yes"]).expect_code(0);
    none_survives("sleep 86412");
    let shown = sandbox.tollgate(&["show", "last", "--as-model"]).expect_code(0).out;
    let receipts: Vec<&str> = shown.split("\n\n").filter(|part| !part.contains("Commands (ok)")).collect();
    let told = |n: usize| receipts[n].split_once('\n').unwrap().1;
    assert_eq!(told(0), "Command promoted to background task\nTask: task_1\nInitial output:\nfirst");
    assert_eq!(told(1), "Task task_1 is still running; nothing new");
    assert_eq!(told(3), "Task task_1 still running\nstdout:\nsecond");
    assert!(told(4).starts_with("1 task\ntask_1 still running"), "{}", told(4));
    assert!(told(5).starts_with("Task task_1 stopped with all its processes"), "{}", told(5));
    assert!(
        told(6).starts_with("Task task_1 exited with code") && !told(6).contains("second"),
        "{}",
        told(6)
    );
    let events = std::fs::read_to_string(sandbox.only_run().join("events.jsonl")).unwrap();
    assert!(events.contains("task_2 was still running when the run ended and was stopped"), "{events}");
    sandbox.tollgate(&["verify", "last"]).expect_code(0);
    sandbox.tollgate(&["replay", "last"]).expect_code(0);
}

#[test]
fn one_call_waits_for_the_end_of_a_task_or_for_what_it_prints() {
    let sandbox = TestVault::new();
    let cmd = "for n in 1 2 3 4 5; do echo tick $n; done; echo ready; until test -e go; do echo tock; sleep 0.02; done; exit 3";
    let plan = plan(&[
        ("server", "ExecCommand", json!({ "cmd": cmd, "yield_time_ms": 0 })),
        ("ready", "TaskOutput", json!({ "task_id": "task_1", "regex": "^ready$", "timeout_ms": 60_000 })),
        ("go", "vault.createFile", json!({ "path": "go", "content": "" })),
        ("end", "TaskOutput", json!({ "task_id": "task_1", "until": "exit", "timeout_ms": 60_000 })),
    ]);
    let file = sandbox.plan_file("plan.json", &plan);
    sandbox.tollgate(&["run", &file, "--yes"]).expect_code(0);
    let results = std::fs::read_to_string(sandbox.only_run().join("results.jsonl")).unwrap();
    let results: Vec<Value> = results.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of =
        |step: &str| &results.iter().find(|result| result["stepId"] == step).unwrap()["canonical"]["result"];
    assert_eq!((&of("ready")["reason"], &of("ready")["matched_line"]), (&json!("matched"), &json!("ready")));
    assert_eq!((&of("end")["reason"], &of("end")["task"]["exit_status"]), (&json!("exited"), &json!(3)));
    let shown = sandbox.tollgate(&["show", "last", "--as-model"]).expect_code(0).out;
    assert!(shown.contains("Task task_1 still running; this line matches: ready\n"), "{shown}");
    let args = json!({ "task_id": "task_1", "block": false, "quiet_ms": 5 });
    let refused = sandbox.tollgate(&["call", "TaskOutput", &args.to_string()]).expect_code(2);
    assert!((refused.out + &refused.err).contains("`block: false` does not wait"));
}

#[test]
fn a_step_fails_by_the_exit_status_of_its_command_only_if_the_plan_says_so() {
    for (fail_on_exit, code, status) in [(Some(true), 1, "failed"), (Some(false), 0, "ok"), (None, 0, "ok")] {
        let sandbox = TestVault::new();
        let mut plan = plan(&[
            ("check", "ExecCommand", json!({ "cmd": "echo bad >&2; exit 3" })),
            ("after", "vault.createFile", json!({ "path": "after.md", "content": "" })),
        ]);
        if let Some(fail_on_exit) = fail_on_exit {
            plan["steps"][0]["failOnExit"] = json!(fail_on_exit);
        }
        let file = sandbox.plan_file("plan.json", &plan);
        let ended = sandbox.tollgate(&["run", &file, "--yes", "--json"]).expect_code(code).json();
        assert_eq!(ended["status"], status, "{ended}");
        assert_eq!(sandbox.vault().join("after.md").exists(), code == 0, "{ended}");
        let shown = sandbox.tollgate(&["show", "last", "--as-model"]).expect_code(0).out;
        assert!(shown.contains("Process exited with code 3\nstderr:\nbad"), "{shown}");
        for command in ["verify", "replay"] {
            sandbox.tollgate(&[command, "last"]).expect_code(0);
        }
        if fail_on_exit == Some(true) {
            assert!(ended.to_string().contains("the command exited with 3"), "{ended}");
        }
    }
}

/// Runs a plan that waits in a command and has a background task.
fn waiting(sandbox: &TestVault, seconds: &str) -> Child {
    let cmd = format!("setsid sleep {seconds} & (sleep {seconds} &); trap '' TERM INT HUP; sleep {seconds}");
    let plan = plan(&[
        ("task", "ExecCommand", json!({ "cmd": &cmd, "yield_time_ms": 100 })),
        ("wait", "ExecCommand", json!({ "cmd": &cmd, "yield_time_ms": 500_000 })),
    ]);
    let file = sandbox.plan_file("plan.json", &plan);
    let mut command = sandbox.command(&["run", &file, "--yes"]);
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until_alive(&format!("sleep {seconds}"), 6);
    child
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

// Conformance: result 6.5
#[test]
fn ctrl_c_ends_commands_and_tasks_with_all_they_started() {
    let sandbox = TestVault::new();
    let mut child = waiting(&sandbox, "86413");
    send(&child, Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    none_survives("sleep 86413");
    sandbox.tollgate(&["verify", "last"]).expect_code(0);
}

// Conformance: result 6.5
#[test]
fn a_killed_binary_leaves_no_command_behind() {
    let sandbox = TestVault::new();
    let mut child = waiting(&sandbox, "86414");
    send(&child, Signal::KILL);
    child.wait().unwrap();
    none_survives("sleep 86414");
}

#[test]
fn a_command_is_not_run_without_a_yes() {
    let sandbox = TestVault::new();
    let args = json!({ "cmd": "touch ran" }).to_string();
    let ended = sandbox.tollgate(&["call", "ExecCommand", &args]);
    assert_eq!(ended.code, 3, "{}{}", ended.out, ended.err);
    assert!(!sandbox.path("vault/ran").exists());
}

#[test]
fn what_a_hook_blanks_out_is_in_no_artifact_either() {
    let sandbox = TestVault::new();
    sandbox.script("vault/.tollgate/censor.sh", r#"cat > /dev/null; echo '{"redact": ["/stdout/text"]}'"#);
    sandbox.trusted_config(
        "[[hooks]]\nname = \"censor\"\ncommand = [\".tollgate/censor.sh\"]\nwhen = \"after\"\ntimeout_ms = 60000\n",
    );
    let result = exec_json(&sandbox, &json!({ "cmd": "seq 1 30000" }));
    assert_eq!(result["data"]["stdout"]["text"], "[redacted]", "{result}");
    assert!(result.get("artifacts").is_none(), "{result}");
    assert!(!contains(&everything_in(&sandbox.vault().join(".tollgate")), "29998\n29999"));
}

#[test]
fn a_command_of_a_plan_is_waited_for_and_what_its_tasks_printed_last_is_on_record() {
    let sandbox = TestVault::new();
    let plan = plan(&[
        ("slow", "ExecCommand", json!({ "cmd": "sleep 11; echo done at last" })),
        (
            "task",
            "ExecCommand",
            json!({ "cmd": "sleep 0.3; echo last words; touch said; sleep 86415", "yield_time_ms": 100 }),
        ),
        ("wait", "ExecCommand", json!({ "cmd": "until test -e said; do sleep 0.05; done" })),
    ]);
    let file = sandbox.plan_file("plan.json", &plan);
    sandbox.tollgate(&["run", &file, "--yes"]).expect_code(0);
    let shown = sandbox.tollgate(&["show", "last", "--as-model"]).expect_code(0).out;
    assert!(shown.contains("Process exited with code 0\nstdout:\ndone at last"), "{shown}");
    let events = std::fs::read_to_string(sandbox.only_run().join("events.jsonl")).unwrap();
    assert!(events.contains(r#""unread":{"stdout":"last words\n"}"#), "{events}");
    none_survives("sleep 86415");
}

#[test]
fn a_preview_says_what_would_run_and_that_nobody_knows_what_it_changes() {
    let sandbox = TestVault::new();
    let plan = plan(&[
        ("wipe", "ExecCommand", json!({ "cmd": "rm -f Inbox.md" })),
        ("look", "TaskOutput", json!({ "task_id": "task_1" })),
    ]);
    let file = sandbox.plan_file("plan.json", &plan);
    let shown = sandbox.tollgate(&["preview", &file]).expect_code(0).out;
    assert!(
        shown.starts_with("What this does cannot be forecast: Run rm -f Inbox.md and 1 step more."),
        "{shown}"
    );
    assert!(!shown.contains("changes nothing") && !shown.contains("fails"), "{shown}");
    assert!(sandbox.path("vault/Inbox.md").exists());
}
