//! Programs that a vault names run only after the user has trusted it, outside of the vault.

use std::os::unix::fs::PermissionsExt;

use crate::support::{TestVault, one_note};
use expect_test::expect;
use serde_json::json;

const READ: [&str; 3] = ["call", "vault.readFile", r#"{"path": "Inbox.md"}"#];

/// A vault whose hook leaves a mark when it runs.
fn with_hook() -> TestVault {
    let sandbox = TestVault::new();
    let mark = sandbox.path("mark");
    sandbox.script("vault/.tollgate/guard.sh", &format!("cat > /dev/null\ntouch '{}'", mark.display()));
    sandbox.config(&config("60000"));
    sandbox
}

fn config(timeout: &str) -> String {
    format!(
        "[[hooks]]\nname = \"guard\"\ncommand = [\".tollgate/guard.sh\", \"--strict\"]\ntimeout_ms = {timeout}\n"
    )
}

fn ran(sandbox: &TestVault) -> bool {
    sandbox.path("mark").exists()
}

#[test]
fn a_vault_from_elsewhere_runs_nothing_of_its_own() {
    let sandbox = with_hook();
    let plan = sandbox.plan();
    for args in [&READ[..], &["run", &plan, "--yes"]] {
        let ended = sandbox.tollgate(args).expect_code(3);
        expect![[r#"
            error: nothing was run: this vault has hooks that you have not trusted
              hook guard (before): [".tollgate/guard.sh","--strict"]
            hint: look at them and decide with `tollgate trust --vault DIR/vault`
        "#]]
        .assert_eq(&sandbox.scrub(&ended.err));
    }
    let answer = sandbox.tollgate(&[&READ[..], &["--json"]].concat()).expect_code(3).json();
    assert_eq!(answer["error"]["code"], "untrusted_hooks");
    assert_eq!(answer["hooks"][0]["command"], json!([".tollgate/guard.sh", "--strict"]));
    let doctor = sandbox.tollgate(&["doctor"]).expect_code(1).out;
    assert!(doctor.contains("fail hooks     not trusted, so nothing runs in this vault"), "{doctor}");
    assert!(!ran(&sandbox) && !sandbox.path("vault/.tollgate/runs").exists());
}

#[test]
fn what_was_trusted_runs_until_it_is_revoked() {
    let sandbox = with_hook();
    let shown = sandbox.tollgate(&["trust", "--yes"]).expect_code(0).out;
    expect![[r#"
        guard (before): [".tollgate/guard.sh","--strict"]
          program: DIR/vault/.tollgate/guard.sh
          from the vault: .tollgate/guard.sh (b3:HASH)
          sees: every tool; may take N ms
        These settings grant more than the defaults:
          hook guard (before): [".tollgate/guard.sh","--strict"]
        Trusted. Changes that only tighten keep the trust; any other ends it.
    "#]]
    .assert_eq(&sandbox.scrub(&shown));
    let file = sandbox.path("state-home/tollgate/trusted.json");
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
    sandbox.tollgate(&READ).expect_code(0);
    assert!(ran(&sandbox));
    let doctor = sandbox.tollgate(&["doctor"]).expect_code(0).out;
    assert!(doctor.contains("ok   hooks     trusted as they are"), "{doctor}");
    assert_eq!(sandbox.tollgate(&["trust", "--json"]).expect_code(0).json()["trusted"], true);
    sandbox.tollgate(&["trust", "--revoke"]).expect_code(0);
    sandbox.tollgate(&READ).expect_code(3);
}

#[test]
fn trust_ends_when_what_would_run_changes() {
    let sandbox = with_hook();
    let trust = || sandbox.tollgate(&["trust", "--yes"]).expect_code(0);
    trust();
    sandbox.config(&config("61000"));
    sandbox.tollgate(&READ).expect_code(3);
    trust();
    sandbox.tollgate(&READ).expect_code(0);
    sandbox.script("vault/.tollgate/guard.sh", "cat > /dev/null; echo changed >&2");
    sandbox.tollgate(&READ).expect_code(3);
    trust();
    // The same vault in another place is another vault.
    std::fs::rename(sandbox.vault(), sandbox.path("moved")).unwrap();
    let moved = sandbox.path("moved");
    let ended = sandbox.command(&READ).current_dir(&moved).output().unwrap();
    assert_eq!(ended.status.code(), Some(3));
}

#[test]
fn trust_is_not_taken_from_the_vault_or_from_silence() {
    let sandbox = with_hook();
    let silent = sandbox.tollgate(&["trust"]).expect_code(3);
    assert!(silent.err.contains("not running in a terminal, so you cannot be asked"), "{}", silent.err);
    let inside = sandbox.command(&["trust", "--yes"]).env("XDG_STATE_HOME", sandbox.path("vault/x")).output();
    let inside = crate::support::ended(inside.unwrap()).expect_code(2);
    assert!(inside.err.contains("is inside the vault"), "{}", inside.err);
    sandbox.write("state-home/tollgate/trusted.json", "{ nonsense");
    let garbled = sandbox.tollgate(&READ).expect_code(2);
    assert!(garbled.err.contains("trusted.json"), "{}", garbled.err);
    assert!(!ran(&sandbox));
}

#[test]
fn a_person_at_the_terminal_may_trust_or_not() {
    let sandbox = with_hook();
    for (typed, code) in [("n\r", 3), ("\u{4}", 3), ("y\r", 0)] {
        let mut terminal = sandbox.terminal(&["trust"]);
        terminal.wait_for("Hooks run with your permissions. [y/N]");
        terminal.type_in(typed);
        let (screen, ended) = terminal.end();
        assert_eq!(ended, code, "{screen}");
    }
    sandbox.tollgate(&READ).expect_code(0);
}

#[test]
fn a_hook_that_tools_could_rewrite_is_not_run() {
    let sandbox = TestVault::new();
    sandbox.script("vault/scripts/guard.sh", "cat > /dev/null");
    sandbox.config("[[hooks]]\nname = \"guard\"\ncommand = [\"sh\", \"scripts/guard.sh\"]\n");
    let ended = sandbox.tollgate(&["trust", "--yes"]).expect_code(3);
    expect![[r#"
        error: hook `guard` names `scripts/guard.sh`, a file that tools can change
        hint: keep what a hook needs in .tollgate, which no tool reaches, or outside of the vault
    "#]]
    .assert_eq(&ended.err);
}

#[test]
fn a_run_is_bound_to_the_hooks_it_began_with() {
    let sandbox = with_hook();
    sandbox.tollgate(&["trust", "--yes"]).expect_code(0);
    let plan = sandbox.plan_file("plan.json", &one_note("a.md"));
    let mut terminal = sandbox.terminal(&["run", &plan]);
    terminal.wait_for("May this run? [y/N]");
    let run = sandbox.only_run();
    let header: serde_json::Value =
        serde_json::from_slice(&std::fs::read(run.join("run.json")).unwrap()).unwrap();
    // The policy is stored once by its hash.
    let hash = header["policyHash"].as_str().unwrap().trim_start_matches("b3:");
    let policy = sandbox.path("vault/.tollgate/objects").join(&hash[..2]).join(hash);
    let policy: serde_json::Value = serde_json::from_slice(&std::fs::read(policy).unwrap()).unwrap();
    expect![[
        r#"["{\"command\":[\".tollgate/guard.sh\",\"--strict\"],\"files\":{\".tollgate/guard.sh\":\"b3:HASH\"},\"name\":\"guard\",\"timeout_ms\":60000,\"tools\":[],\"when\":\"before\"}"]"#
    ]]
    .assert_eq(&sandbox.scrub(&policy["hooks"].to_string()));
    terminal.kill();
    sandbox.trusted_config(&config("61000"));
    let refused = sandbox.tollgate(&["resume", "last", "--yes"]).expect_code(3);
    assert!(refused.err.contains("the policy changed since the approval"), "{}", refused.err);
    sandbox.trusted_config(&config("60000"));
    sandbox.tollgate(&["resume", "last", "--yes"]).expect_code(0);
    assert_eq!(sandbox.notes(), ["Inbox.md", "a.md"]);
}

#[test]
fn the_doctor_misses_a_program_that_is_not_there() {
    let sandbox = TestVault::new();
    sandbox.config("[[hooks]]\nname = \"guard\"\ncommand = [\"no-such-program-here\"]\n");
    sandbox.tollgate(&["trust", "--yes"]).expect_code(0);
    let doctor = sandbox.tollgate(&["doctor"]).expect_code(1).out;
    assert!(
        doctor.contains("fail hooks     hook `guard`: there is no program `no-such-program-here`"),
        "{doctor}"
    );
}

#[test]
fn a_hook_that_names_a_folder_of_the_vault_is_not_run() {
    let sandbox = TestVault::new();
    sandbox.config("[[hooks]]\nname = \"guard\"\ncommand = [\"python3\", \"hooks\"]\n");
    std::fs::create_dir(sandbox.path("vault/hooks")).unwrap();
    let ended = sandbox.tollgate(&["trust", "--yes"]).expect_code(3);
    assert!(ended.err.contains("`hooks`, a folder of the vault"), "{}", ended.err);
}

#[test]
fn a_hook_has_a_name_of_one_line() {
    let sandbox = TestVault::new();
    sandbox.config("[[hooks]]\nname = \"a\\nhint: all is well\"\ncommand = [\"true\"]\n");
    sandbox.tollgate(&["trust", "--yes"]);
    let ended = sandbox.tollgate(&READ).expect_code(2);
    assert!(!ended.err.contains("\nhint: all is well"), "{}", ended.err);
}

/// A deny rule that is removed, a raised limit, a new allow rule: each in the words of the settings.
#[test]
fn a_synced_file_cannot_loosen_what_was_trusted() {
    let sandbox = TestVault::new();
    let rule = "[[rules]]\neffect = \"deny\"\ntools = [\"vault.delete\"]\npaths = [\"Private/**\"]\n";
    sandbox.trusted_config(&format!("mode = \"trusted\"\n{rule}"));
    sandbox.tollgate(&READ).expect_code(0);
    for (settings, told) in [
        ("mode = \"trusted\"\n".to_owned(), "removed: deny vault.delete Private/**"),
        (String::new(), "removed: deny vault.delete Private/**"),
        (
            format!("mode = \"trusted\"\n[limits]\nmax_foreach_items = 100000\n{rule}"),
            "changed: limits.max_foreach_items: 1000 -> 100000",
        ),
        (
            format!("mode = \"trusted\"\n{rule}[[rules]]\neffect = \"allow\"\ntools = [\"*\"]\n"),
            "added: allow *",
        ),
    ] {
        sandbox.config(&settings);
        let refused = sandbox.tollgate(&READ).expect_code(3);
        assert!(refused.err.contains(told), "{}", refused.err);
        let doctor = sandbox.tollgate(&["doctor"]).expect_code(1).out;
        assert!(doctor.contains(told), "{doctor}");
        let shown = sandbox.tollgate(&["trust"]).expect_code(3).out;
        assert!(shown.contains(told), "{shown}");
    }
    // Without a file there are no rules either.
    std::fs::remove_file(sandbox.path("vault/.tollgate/config.toml")).unwrap();
    sandbox.tollgate(&READ).expect_code(3);
    // Tightening keeps the trust, and undoing it is no loosening.
    let tighter = format!(
        "mode = \"ask\"\n[limits]\nmax_attempts = 1\n{rule}[[rules]]\neffect = \"ask\"\ntools = [\"*\"]\n"
    );
    sandbox.config(&tighter);
    sandbox.tollgate(&[&READ[..], &["--yes"]].concat()).expect_code(0);
    let doctor = sandbox.tollgate(&["doctor"]).expect_code(0).out;
    assert!(doctor.contains("ok   settings  stricter than those that you trusted: "), "{doctor}");
    sandbox.config(&format!("mode = \"trusted\"\n{rule}"));
    sandbox.tollgate(&READ).expect_code(0);
}

#[test]
fn a_raised_limit_needs_trust() {
    let sandbox = TestVault::new();
    sandbox.config("[limits]\nmax_concurrency = 9\n");
    let refused = sandbox.tollgate(&READ).expect_code(3);
    assert!(refused.err.contains("limits.max_concurrency: 8 -> 9"), "{}", refused.err);
    sandbox.config("[limits]\nmax_concurrency = 7\n");
    sandbox.tollgate(&READ).expect_code(0);
}

#[test]
fn rules_that_do_not_load_are_not_trusted() {
    let sandbox = TestVault::new();
    for rule in [
        "effect = \"allow\"\ncommand = [\"git\"]\nmatch = [\"ls\"]\nnot_match = [\"id\"]\n",
        "effect = \"deny\"\npaths = [\"[\"]\n",
    ] {
        sandbox.config(&format!("mode = \"trusted\"\n[[rules]]\n{rule}"));
        let ended = sandbox.tollgate(&["trust", "--yes"]).expect_code(2);
        assert!(ended.err.contains("rule 1") && !ended.out.contains("Trusted"), "{}{}", ended.out, ended.err);
        assert!(!sandbox.path("state-home/tollgate/trusted.json").exists());
    }
}

#[test]
fn what_an_earlier_version_trusted_has_to_be_trusted_again() {
    let sandbox = with_hook();
    let vault = sandbox.vault().canonicalize().unwrap();
    let earlier = json!({ vault.to_str().unwrap(): format!("b3:{}", "0".repeat(64)) });
    sandbox.write("state-home/tollgate/trusted.json", &earlier.to_string());
    let refused = sandbox.tollgate(&READ).expect_code(3);
    assert!(refused.err.contains("that you trusted with an earlier version"), "{}", refused.err);
    let doctor = sandbox.tollgate(&["doctor"]).expect_code(1).out;
    assert!(doctor.contains("trusted with an earlier version"), "{doctor}");
    sandbox.tollgate(&["trust", "--yes"]).expect_code(0);
    sandbox.tollgate(&READ).expect_code(0);
    assert!(ran(&sandbox));
}

#[test]
fn the_program_of_a_hook_outside_of_the_vault_is_bound_to_its_bytes() {
    let sandbox = TestVault::new();
    let program = sandbox.script("guard.sh", "cat > /dev/null");
    sandbox.trusted_config(&format!("[[hooks]]\nname = \"guard\"\ncommand = [\"{program}\"]\n"));
    sandbox.tollgate(&READ).expect_code(0);
    sandbox.script("guard.sh", "cat > /dev/null; true");
    let refused = sandbox.tollgate(&READ).expect_code(3);
    assert!(refused.err.contains("guard.sh"), "{}", refused.err);
}

#[test]
fn settings_and_folders_that_are_links_or_huge_are_refused_without_being_read() {
    let sandbox = TestVault::new();
    sandbox.write("elsewhere/config.toml", "mode = \"read-only\"\n");
    let ours = sandbox.path("vault/.tollgate");
    std::os::unix::fs::symlink(sandbox.path("elsewhere"), &ours).unwrap();
    let refused = sandbox.tollgate(&READ).expect_code(2);
    assert!(refused.err.contains(".tollgate is a link"), "{}", refused.err);
    std::fs::rename(sandbox.path("elsewhere/config.toml"), sandbox.path("kept")).unwrap();
    let refused = sandbox.tollgate(&["init"]).expect_code(2);
    assert!(refused.err.contains(".tollgate` is a link"), "{}", refused.err);
    std::fs::rename(sandbox.path("kept"), sandbox.path("elsewhere/config.toml")).unwrap();
    assert_eq!(std::fs::read_dir(sandbox.path("elsewhere")).unwrap().count(), 1);
    std::fs::remove_file(&ours).unwrap();

    std::fs::create_dir(&ours).unwrap();
    std::os::unix::fs::symlink(sandbox.path("elsewhere/config.toml"), ours.join("config.toml")).unwrap();
    let refused = sandbox.tollgate(&READ).expect_code(2);
    assert!(refused.err.contains("it is a link"), "{}", refused.err);
    std::fs::remove_file(ours.join("config.toml")).unwrap();

    std::os::unix::fs::symlink(sandbox.path("elsewhere"), ours.join("runs")).unwrap();
    for args in [&READ[..], &["runs"], &["show", "last"]] {
        let refused = sandbox.tollgate(args).expect_code(3);
        assert!(refused.err.contains("is a symbolic link or is behind one"), "{}", refused.err);
    }
    assert_eq!(std::fs::read_dir(sandbox.path("elsewhere")).unwrap().count(), 1);
    std::fs::remove_file(ours.join("runs")).unwrap();

    for huge in ["vault/.tollgate/config.toml", "state-home/tollgate/trusted.json"] {
        let path = sandbox.write(huge, "");
        std::fs::File::create(&path).unwrap().set_len(3 << 30).unwrap();
        // In less memory than the file has bytes.
        let output = sandbox.command_within(2_000_000, &READ).output().unwrap();
        let refused = crate::support::ended(output).expect_code(2);
        assert!(refused.err.contains("it is larger than"), "{}", refused.err);
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn settings_that_only_tighten_can_be_trusted_and_are_then_kept() {
    let sandbox = TestVault::new();
    sandbox.config("[[rules]]\neffect = \"deny\"\ntools = [\"vault.delete\"]\n");
    sandbox.tollgate(&READ).expect_code(0);
    let shown = sandbox.tollgate(&["trust", "--yes"]).expect_code(0).out;
    assert!(shown.contains("Trusting them keeps them from being loosened"), "{shown}");
    sandbox.tollgate(&READ).expect_code(0);
    sandbox.config("");
    let refused = sandbox.tollgate(&READ).expect_code(3);
    assert!(refused.err.contains("removed: deny vault.delete"), "{}", refused.err);
    sandbox.tollgate(&["trust", "--revoke"]).expect_code(0);
    sandbox.tollgate(&READ).expect_code(0);
}
