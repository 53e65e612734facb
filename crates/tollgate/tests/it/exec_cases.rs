//! Known weaknesses of command rules elsewhere, tried through the real binary: lines that hide what they run, flags
//! that extend a program, state that is left for the next command, folders and secrets of others.
//!
//! A vault allows a few programs without a question. Everything that makes one of them run something else must be asked
//! about, and here no one can be asked. Where it matters, the same lines are run with an approval and do the harm: a
//! line that cannot do harm proves nothing. The parser of lines is tested in `command-line`; how commands end, in
//! `hundred_commands.rs`.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use crate::support::sandboxes::SandboxChoice;
use crate::support::{ProcessResult, TestVault};
use command_line::CommandLine;
use serde_json::{Value, json};

/// What a command makes that should not have run.
const MADE: &str = "made/x";

/// A vault whose owner lets these commands run without being asked, with `...` where any words may follow.
fn allowing(commands: &[&str]) -> TestVault {
    let sandbox = TestVault::new();
    sandbox.write("vault/made/.keep", "");
    let rule = |command: &&str| {
        let words: Vec<&str> = command.split(' ').collect();
        let example = command.replace("...", "--version");
        format!(
            "[[rules]]\neffect = \"allow\"\ncommand = {words:?}\nmatch = [\"{example}\"]\nnot_match = [\"id\"]\n"
        )
    };
    sandbox.trusted_config(&commands.iter().map(rule).collect::<String>());
    sandbox
}

/// A call without an approval.
fn unasked(sandbox: &TestVault, args: &Value) -> ProcessResult {
    sandbox.tollgate(&["call", "ExecCommand", &args.to_string()])
}

fn with_yes(sandbox: &TestVault, args: &Value) -> ProcessResult {
    sandbox.tollgate(&["call", "ExecCommand", &args.to_string(), "--yes"])
}

/// Returns whether something ran that should not have, and removes what it made.
fn was_made(sandbox: &TestVault) -> bool {
    std::fs::remove_file(sandbox.vault().join(MADE)).is_ok()
}

/// Each line is refused, since no one can be asked.
#[track_caller]
fn held_back(sandbox: &TestVault, lines: &[String]) {
    for line in lines {
        let ended = unasked(sandbox, &json!({ "cmd": line }));
        assert_eq!(ended.code, 3, "{line:?}: {}{}", ended.out, ended.err);
        assert!(!was_made(sandbox), "{line:?}");
    }
}

/// Returns how many of the lines do harm with an approval. In one run, where each line makes a file of its own.
fn harmful(sandbox: &TestVault, lines: &[String]) -> usize {
    let step = |(n, line): (usize, &String)| {
        let cmd = line.replace(MADE, &format!("{MADE}{n}"));
        json!({ "id": format!("line-{n}"), "tool": "ExecCommand", "args": plain(&cmd), "onError": "skip" })
    };
    let steps: Vec<Value> = lines.iter().enumerate().map(step).collect();
    let plan = json!({ "version": "1.0", "goal": "Harm", "riskLevel": "commands", "steps": steps });
    let file = sandbox.plan_file("harm.json", &plan);
    sandbox.tollgate(&["run", &file, "--yes"]);
    let made = std::fs::read_dir(sandbox.vault().join("made")).unwrap();
    made.filter(|entry| entry.as_ref().unwrap().file_name().to_str().unwrap().starts_with('x')).count()
}

/// A command in a plan, where braces and dollars are references unless they are doubled.
fn plain(cmd: &str) -> Value {
    plan::literal(&json!({ "cmd": cmd }), &plan::TemplateScope::default())
}

fn owned(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}

#[test]
fn what_is_allowed_runs_without_a_question() {
    let sandbox = allowing(&["cat", "ls"]);
    for args in [
        json!({ "cmd": "ls made && cat Inbox.md | cat" }),
        json!({ "argv": ["ls", "made"] }),
        json!({ "argv": ["cat", "$(touch made/x)"] }),
    ] {
        let ended = unasked(&sandbox, &args).expect_code(0);
        assert!(ended.out.starts_with("Process exited"), "{}", ended.out);
    }
    assert!(!was_made(&sandbox));
}

#[test]
fn a_here_document_is_asked_about_whatever_is_in_it() {
    let sandbox = allowing(&["cat"]);
    let mut lines = Vec::new();
    for (mark, end) in [("EOF", "EOF"), ("'EOF'", "EOF"), ("\\EOF", "EOF"), ("-EOF", "\tEOF")] {
        for body in [
            "$(touch made/x)",
            "`touch made/x`",
            "${A:-$(touch made/x)}",
            "${A:=`touch made/x`}",
            "$(($(touch made/x; echo 1) + 1))",
            "$HOME",
        ] {
            lines.push(format!("cat <<{mark}\n{body}\n{end}"));
        }
    }
    held_back(&sandbox, &lines);
    // Five of six expansions run something, under the two marks without quotes.
    assert_eq!(harmful(&sandbox, &lines), 10);
}

#[test]
fn what_the_shell_does_itself_is_not_allowed_by_a_rule_about_a_program() {
    let sandbox = allowing(&["ls"]);
    sandbox.write("vault/made/evil.sh", "touch made/x");
    let lines = owned(&[
        "export PATH=made:$PATH; ls",
        "PATH=made ls",
        "readonly LD_PRELOAD=x; ls",
        "alias ls=touch; ls",
        "cd made; ls",
        ". made/evil.sh; ls",
        "eval 'touch made/x'; ls",
        "set -x; ls",
        "unset PATH; ls",
        "trap 'touch made/x' EXIT; ls",
        "exec touch made/x",
        "command touch made/x",
        "ls() { touch made/x; }; ls",
        "ls; umask 0",
        "ls & touch made/x",
        "ls | while read line; do touch made/x; done",
        "ls >made/x",
        "ls $(touch made/x)",
        "ls made/*",
        "ls ~",
    ]);
    held_back(&sandbox, &lines);
    assert_eq!(harmful(&sandbox, &lines), 10);
}

#[test]
fn no_state_of_a_shell_is_left_for_the_next_command_of_a_run() {
    let sandbox = TestVault::new();
    sandbox.write("vault/made/.keep", "");
    let poison = "export POISON=1 LD_PRELOAD=/x PATH=made:$PATH; alias ls=touch; umask 0777; ulimit -n 20; cd made; \
                  printf 'touch x' >ls; chmod +x ls; echo 'export POISON=1' | tee ~/.profile ~/.bashrc >/tmp/left; true";
    let look = "echo [$POISON$LD_PRELOAD] $(pwd | sed 's|.*/||') $(umask) $(ulimit -n); ls >/dev/null; \
                cat ~/.profile ~/.bashrc /tmp/left 2>/dev/null; true";
    let plan = json!({
        "version": "1.0", "goal": "Two commands", "riskLevel": "commands",
        "steps": [
            { "id": "poison", "tool": "ExecCommand", "args": { "cmd": poison } },
            { "id": "look", "tool": "ExecCommand", "args": { "cmd": look }, "dependsOn": ["poison"] }
        ]
    });
    let file = sandbox.plan_file("plan.json", &plan);
    sandbox.tollgate(&["run", &file, "--yes"]).expect_code(0);
    let shown = sandbox.tollgate(&["show", "last", "--as-model"]).expect_code(0).out;
    assert!(shown.contains("\n[] vault 0022 1024"), "{shown}");
    assert!(!was_made(&sandbox));
}

#[test]
fn what_is_over_a_limit_is_denied_even_with_a_yes() {
    let sandbox = allowing(&["touch ..."]);
    let many = vec!["touch made/x"; 51].join("; ");
    let nested = format!("{}touch made/x", "nice ".repeat(20));
    for line in [many, nested] {
        for ended in [with_yes(&sandbox, &json!({ "cmd": line })), unasked(&sandbox, &json!({ "cmd": line }))]
        {
            assert_eq!(ended.code, 3, "{line}: {}{}", ended.out, ended.err);
        }
        assert!(!was_made(&sandbox), "{line}");
    }
    let long = json!({ "cmd": format!("touch made/x # {}", "y".repeat(70_000)) });
    assert_eq!(with_yes(&sandbox, &long).code, 2);
    assert!(!was_made(&sandbox));
    // One less is judged by what it is.
    let fifty = vec!["touch made/x"; 50].join("; ");
    unasked(&sandbox, &json!({ "cmd": fifty })).expect_code(0);
    assert!(was_made(&sandbox));
}

#[test]
fn a_character_that_readers_take_differently_is_asked_about() {
    let sandbox = allowing(&["ls"]);
    let strange = [
        '\r', '\u{a0}', '\u{85}', '\u{2028}', '\u{2029}', '\u{200b}', '\u{feff}', '\u{b}', '\u{c}', '\u{1b}',
    ];
    let lines: Vec<String> = strange.iter().map(|strange| format!("ls made{strange}touch made/x")).collect();
    held_back(&sandbox, &lines);
    assert_eq!(harmful(&sandbox, &lines), 0, "for this shell none of them ends a command");
    let ended = with_yes(&sandbox, &json!({ "cmd": "ls\u{0}touch made/x" }));
    assert_eq!(ended.code, 2, "{}{}", ended.out, ended.err);
    assert!(!was_made(&sandbox));
}

#[test]
fn a_flag_that_makes_more_of_an_allowed_program_is_part_of_the_rule() {
    let sandbox = allowing(&["find", "git", "rg", "sort", "tar ..."]);
    sandbox.write("vault/made/run.sh", "touch made/x");
    let lines = owned(&[
        "find . -maxdepth 1 -name Inbox.md -exec touch made/x ;",
        "find . -maxdepth 1 -name Inbox.md -execdir touch made/x {} +",
        "find . -maxdepth 1 -name Inbox.md -ok touch made/x ;",
        "find Inbox.md -fprint made/x",
        "git -c alias.go=!touch\\ made/x go",
        "git -c core.pager='touch made/x' log",
        "git --exec-path=made status",
        "git diff --output=made/x",
        "git diff --no-index --ext-diff Inbox.md made/run.sh",
        "rg --pre 'touch made/x' Red Inbox.md",
        "sort --compress-program=made/run.sh Inbox.md",
        "sort -o made/x Inbox.md",
        "tar -cf /dev/null --checkpoint=1 --checkpoint-action=exec='touch made/x' Inbox.md",
        "tar -cf /dev/null -I 'touch made/x' Inbox.md",
        "tar --to-command='touch made/x' -xf made/a.tar",
    ]);
    held_back(&sandbox, &lines);
    // Not every program is installed everywhere.
    assert!(harmful(&sandbox, &lines) >= 7);
}

#[test]
fn what_runs_any_command_cannot_be_allowed_at_all() {
    for program in ["sh", "bash", "env", "xargs", "sudo", "nice", "timeout", "nohup", "npx", "eval"] {
        let sandbox = TestVault::new();
        sandbox.config(&format!(
            "[[rules]]\neffect = \"allow\"\ncommand = [\"{program}\"]\nmatch = [\"{program} ls\"]\nnot_match = [\"id\"]\n"
        ));
        sandbox.tollgate(&["trust", "--yes"]);
        let ended = unasked(&sandbox, &json!({ "argv": ["true"] }));
        assert_eq!(ended.code, 2, "{program}: {}{}", ended.out, ended.err);
        assert!(ended.err.contains("cannot be allowed"), "{program}: {}", ended.err);
    }
}

#[test]
fn a_variable_in_the_call_is_never_allowed_by_a_rule() {
    let sandbox = allowing(&["ls"]);
    for name in ["LD_PRELOAD", "PATH", "GIT_SSH_COMMAND", "HARMLESS"] {
        let ended = unasked(&sandbox, &json!({ "argv": ["ls", "made"], "env": { name: "made" } }));
        assert_eq!(ended.code, 3, "{name}: {}{}", ended.out, ended.err);
    }
}

/// What the same words do depends on the folder and on the input.
#[test]
fn a_rule_that_allows_words_allows_them_in_the_root_and_without_an_input() {
    let sandbox = allowing(&["cat", "made/build.sh", "git"]);
    let script = "#!/bin/sh\ncat\n";
    for (folder, text) in [("made", script), ("Notes/evil/made", "#!/bin/sh\ntouch ../../made/x\n")] {
        sandbox.write(&format!("vault/{folder}/build.sh"), text);
        let file = sandbox.path(&format!("vault/{folder}/build.sh"));
        std::fs::set_permissions(file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    for args in [
        json!({ "argv": ["made/build.sh"], "workdir": "Notes/evil" }),
        json!({ "argv": ["made/build.sh"], "stdin": "x" }),
        json!({ "argv": ["made/build.sh"], "tty": true }),
        json!({ "cmd": "cat Inbox.md | made/build.sh" }),
        json!({ "cmd": "cd Notes/evil && cat made/build.sh" }),
        json!({ "argv": ["git", "status"], "workdir": "Notes/evil" }),
        json!({ "argv": ["git", "log"], "tty": true }),
        json!({ "argv": ["cat", "/etc/passwd"] }),
        json!({ "argv": ["cat"], "stdin": "x" }),
    ] {
        let ended = unasked(&sandbox, &args);
        assert_eq!(ended.code, 3, "{args}: {}{}", ended.out, ended.err);
        assert!(!was_made(&sandbox), "{args}");
    }
    unasked(&sandbox, &json!({ "argv": ["cat", "Inbox.md"], "workdir": ".", "stdin": "" })).expect_code(0);
}

/// Without a `.git`, git would take the vault itself for a repository if it looks like one, with its settings.
#[test]
fn notes_that_look_like_a_repository_give_git_no_settings() {
    let sandbox = allowing(&["git"]);
    for (name, text) in [
        ("HEAD", "ref: refs/heads/main\n"),
        (
            "config",
            "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = ../vault\n\tfsmonitor = \"touch made/x; false\"\n",
        ),
        ("objects/.keep", ""),
        ("refs/.keep", ""),
    ] {
        sandbox.write(&format!("vault/{name}"), text);
    }
    unasked(&sandbox, &json!({ "argv": ["git", "status"] }));
    assert!(!was_made(&sandbox));
    // With a yes to a call that takes the protection away, it is what git does.
    let open = json!({ "argv": ["git", "status"], "env": { "GIT_CONFIG_COUNT": "0" } });
    assert_eq!(unasked(&sandbox, &open).code, 3);
    with_yes(&sandbox, &open);
    assert!(was_made(&sandbox));
}

#[test]
fn words_reach_a_program_exactly_as_they_were_given() {
    let sandbox = allowing(&[]);
    let words = [
        "{",
        "}",
        "{a,b}",
        "a\u{a0}b",
        "$(touch made/x)",
        "`touch made/x`",
        "; touch made/x",
        "a\nb",
        "*",
        "~",
        "'",
        "\"",
        "\\",
        "",
    ];
    let mut argv = vec!["printf", "[%s]"];
    argv.extend(words);
    let result = sandbox
        .tollgate(&["call", "ExecCommand", &json!({ "argv": argv }).to_string(), "--yes", "--json"])
        .json();
    let printed: String = words.iter().map(|word| format!("[{word}]")).collect();
    assert_eq!(result["data"]["stdout"]["text"], printed, "{result}");
    assert!(!was_made(&sandbox));
}

#[test]
fn a_folder_of_the_call_is_never_more_than_a_place_in_the_vault() {
    let sandbox = TestVault::new();
    sandbox.write("outside/secret.md", "outside");
    sandbox.write("vault/Notes/a.md", "a");
    std::os::unix::fs::symlink(sandbox.path("outside"), sandbox.path("vault/Notes/link")).unwrap();
    std::os::unix::fs::symlink("../.obsidian", sandbox.path("vault/Notes/inner")).unwrap();
    for workdir in
        ["Notes/link", "Notes/inner", "Notes/link/..", "nowhere", "Inbox.md", "/tmp", "~", "Notes/./../.."]
    {
        let ended = with_yes(&sandbox, &json!({ "cmd": "pwd; touch x", "workdir": workdir }));
        assert_ne!(ended.code, 0, "{workdir}: {}", ended.out);
        assert!(!ended.out.contains("Process exited"), "{workdir}: {}", ended.out);
    }
    // Inside, the same sandbox holds.
    let cmd = format!(
        "echo x >../.obsidian/app.json; echo x >link/secret.md; echo x >{}; echo kept >a.md; true",
        sandbox.path("outside/secret.md").display()
    );
    with_yes(&sandbox, &json!({ "cmd": cmd, "workdir": "Notes" })).expect_code(0);
    let read = |name: &str| std::fs::read_to_string(sandbox.path(name)).unwrap();
    assert_eq!(read("vault/.obsidian/app.json"), "{}");
    assert_eq!(read("outside/secret.md"), "outside");
    assert_eq!(read("vault/Notes/a.md"), "kept\n");
}

#[test]
fn no_secret_reaches_a_command_behind_either_wall_and_none_is_left_in_a_core() {
    const CANARY: &str = "sk-canary-40aa91";
    const LOOK: &str = "env; set; cat /proc/self/environ /proc/*/environ /proc/$PPID/environ /proc/*/cmdline; ps auxeww; \
                        ulimit -c; sh -c 'kill -SEGV $$'; ls; cat core* /tmp/core* 2>/dev/null; true";
    for kind in [SandboxChoice::Bubblewrap, SandboxChoice::Landlock] {
        let sandbox = TestVault::new();
        if !kind.is_available(&sandbox) {
            continue;
        }
        let args = json!({ "cmd": LOOK }).to_string();
        let mut command = kind.around(sandbox.command(&["call", "ExecCommand", &args, "--yes", "--json"]));
        let output = command.env("CANARY_TOKEN", CANARY).output().unwrap();
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(said.contains(&format!("\"sandbox\":\"{}\"", kind.name())), "{said}");
        assert!(said.contains("PATH=") && !said.contains(CANARY), "{kind:?}: {said}");
        let grep = Command::new("grep").args(["-r", CANARY]).arg(sandbox.vault()).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&grep.stdout), "", "{kind:?}");
    }
}

/// A plan whose two steps run the same command, filled in while it runs: each is asked about as it came out.
fn twice(args: &Value) -> Value {
    json!({
        "version": "1.0", "goal": "Twice", "riskLevel": "commands", "vars": { "word": "made" },
        "steps": [
            { "id": "first", "tool": "ExecCommand", "args": args },
            { "id": "second", "tool": "ExecCommand", "args": args, "dependsOn": ["first"] }
        ]
    })
}

#[test]
fn a_yes_to_a_wrapper_cannot_be_kept_and_one_to_a_program_can() {
    let sandbox = TestVault::new();
    let plan = sandbox.plan_file("wrapped.json", &twice(&json!({ "argv": ["sh", "-c", "ls {vars.word}"] })));
    let mut terminal = sandbox.terminal(&["run", &plan]);
    terminal.wait_for("May this run? [y/N]");
    terminal.type_in("y\n");
    terminal.wait_for("May this call run? [y]es once, [N]o");
    terminal.type_in("y\n");
    terminal.wait_for("May this call run? [y]es once, [N]o");
    terminal.type_in("a\n");
    let (screen, code) = terminal.end();
    assert_eq!(code, 3, "{screen}");
    let plan = sandbox.plan_file("plain.json", &twice(&json!({ "argv": ["ls", "{vars.word}"] })));
    let mut terminal = sandbox.terminal(&["run", &plan]);
    terminal.wait_for("May this run? [y/N]");
    terminal.type_in("y\n");
    terminal.wait_for("[a]lways for exactly this command");
    terminal.type_in("a\n");
    let (screen, code) = terminal.end();
    assert_eq!((code, screen.matches("May this call run?").count()), (0, 1), "{screen}");
}

/// The names of the programs that a call starts, as the kernel sees it. Those of our own are left out.
fn started(sandbox: &TestVault, args: &Value) -> BTreeSet<String> {
    let log = sandbox.path("strace.log");
    let call = sandbox.command(&["call", "ExecCommand", &args.to_string(), "--yes"]);
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "--seccomp-bpf", "-s", "100", "-e", "trace=execve,execveat", "-o"]).arg(&log);
    strace.arg(call.get_program()).args(call.get_args()).current_dir(sandbox.vault());
    strace.envs(call.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = strace.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{args}: {}", String::from_utf8_lossy(&output.stderr));
    let text = std::fs::read_to_string(&log).unwrap();
    // A program is searched for in several places; under which name does not change.
    let calls = text.lines().filter_map(|line| line.split_once("execve(\"")).map(|(_, call)| call);
    let own = |call: &&str| {
        let ours = ["/tollgate\"", "/.tollgate-launcher\"", "/bwrap\""];
        let shell = call.starts_with("/bin/sh\", [\"/bin/sh\", \"-c\"");
        shell || ours.iter().any(|name| call.split_once(',').is_some_and(|(path, _)| path.ends_with(name)))
    };
    let path = |call: &str| call.split('"').next().unwrap_or_default().to_owned();
    calls.filter(|call| !own(call)).map(path).map(|path| base(&path)).collect()
}

fn base(program: &str) -> String {
    program.rsplit('/').next().unwrap_or_default().to_owned()
}

#[test]
fn a_command_starts_no_program_that_was_not_named_to_the_rules() {
    let works = Command::new("strace").args(["-f", "-qq", "-o", "/dev/null", "true"]).status();
    if !works.is_ok_and(|status| status.success()) {
        eprintln!("skipped: strace cannot be had here");
        return;
    }
    let sandbox = TestVault::new();
    let mut seen = 0;
    for args in [
        json!({ "cmd": "ls -l && cat Inbox.md | head -1; /bin/true" }),
        json!({ "cmd": "sh -c 'ls; cat Inbox.md' | wc -l" }),
        json!({ "cmd": "env -S 'ls -l'; env A=b sort Inbox.md" }),
        json!({ "argv": ["env", "-S", "nice -n 5 ls -l"] }),
        json!({ "cmd": "nice timeout 5 nohup ls; find . -name Inbox.md -exec cat {} +" }),
        json!({ "cmd": "printf 'Inbox.md' | xargs head -1" }),
        json!({ "cmd": "bash -c 'env sh -c \"id -u\"'" }),
        json!({ "cmd": "if true; then ls; else rm Inbox.md; fi; (date) >/dev/null" }),
        json!({ "argv": ["ls", "-l", "; cat Inbox.md"] }),
    ] {
        let line = match (args["cmd"].as_str(), args["argv"].as_array()) {
            (Some(cmd), _) => CommandLine::of_shell(cmd, Vec::new()),
            (None, words) => {
                let words: Vec<String> =
                    words.unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect();
                CommandLine::of_argv(&words, Vec::new())
            }
        };
        let named: BTreeSet<String> = line.commands.iter().map(|command| base(&command.argv[0])).collect();
        let started = started(&sandbox, &args);
        assert!(started.is_subset(&named), "{args}: started {started:?}, named {named:?}");
        seen += started.len();
    }
    assert!(seen >= 20, "only {seen} programs were seen");
}
