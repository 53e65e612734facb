//! Kills a rename that changes many notes at every so-many-th system call, and resumes it: the vault is then as before the
//! rename or as after it, never between, and no run is left that can neither be resumed nor undone.
//!
//! The variable `KILL_EVERY` sets the distance. At every 100th of some 50,000 calls the test takes more than a quarter of an
//! hour on the release build, so the ordinary run has fewer.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::errno::Errno;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::support::TestVault;

/// Notes with a link to the renamed one.
const LINKED: usize = 500;
const ARGS: &str = r#"{"fromPath": "Old.md", "toPath": "Moved/New.md"}"#;

fn vault() -> TestVault {
    let sandbox = TestVault::new();
    sandbox.write("vault/Old.md", "# The renamed note\n");
    for number in 0..LINKED {
        sandbox.write(
            &format!("vault/Notes/{number:03}.md"),
            &format!("Note {number} links to [[Old]] and [itself]({number:03}.md).\n"),
        );
    }
    sandbox
}

/// The notes of the vault and their texts, with every other file in the folders of notes.
fn notes(vault: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![vault.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(vault).unwrap().to_str().unwrap().to_owned();
            match path.is_dir() {
                true if [".obsidian", ".tollgate", ".trash"].contains(&name.as_str()) => {}
                true => folders.push(path),
                false => drop(found.insert(name, std::fs::read_to_string(path).unwrap())),
            }
        }
    }
    found
}

/// Runs the command, and kills it at this system call if it gets so far. Returns how many it has made.
pub(crate) fn run_to_system_call(command: &Command, kill_at: usize) -> usize {
    // The shell waits until it is traced.
    let mut shell = Command::new("sh");
    shell.args(["-c", "read ready; exec \"$0\" \"$@\" </dev/null"]).arg(command.get_program());
    shell.args(command.get_args()).current_dir(command.get_current_dir().unwrap());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = shell.spawn().unwrap();
    let group = Pid::from_raw(i32::try_from(child.id()).unwrap());
    let options = Options::PTRACE_O_TRACESYSGOOD
        | Options::PTRACE_O_TRACECLONE
        | Options::PTRACE_O_TRACEEXEC
        | Options::PTRACE_O_EXITKILL;
    ptrace::seize(group, options).unwrap();
    ptrace::interrupt(group).unwrap();
    child.stdin.take().unwrap().write_all(b"ready\n").unwrap();
    let (mut started, mut stops) = (false, 0);
    loop {
        let any_thread = Pid::from_raw(-group.as_raw());
        let (thread, signal) = match waitpid(any_thread, Some(WaitPidFlag::__WALL)) {
            Ok(WaitStatus::PtraceSyscall(thread)) => {
                stops += usize::from(started);
                // Each call stops the thread twice, before and after.
                if started && stops == 2 * kill_at {
                    killpg(group, Signal::SIGKILL).unwrap();
                }
                (thread, None)
            }
            Ok(WaitStatus::PtraceEvent(thread, _, event)) => {
                started |= event == ptrace::Event::PTRACE_EVENT_EXEC as i32;
                (thread, None)
            }
            Ok(WaitStatus::Stopped(thread, signal)) => (thread, Some(signal)),
            Ok(_) => continue,
            Err(Errno::ECHILD) => break,
            Err(error) => panic!("{error}"),
        };
        // It may be gone by now.
        let _gone = ptrace::syscall(thread, signal);
    }
    let _reaped = child.wait();
    stops / 2
}

/// Returns whether the killed process got as far as to record its run.
pub(crate) fn has_run(sandbox: &TestVault) -> bool {
    std::fs::read_dir(sandbox.path("vault/.tollgate/runs"))
        .is_ok_and(|mut runs| runs.any(|run| run.unwrap().path().join("run.json").exists()))
}

/// Kills one rename, resumes it and takes it back. Returns whether the kill left the vault between the two states, or
/// `None` if the rename ended before that system call.
fn kill_and_resume(
    before: &BTreeMap<String, String>,
    after: &BTreeMap<String, String>,
    at: usize,
) -> Option<bool> {
    let sandbox = vault();
    if run_to_system_call(&sandbox.command(&["call", "vault.rename", ARGS, "--yes"]), at) < at {
        return None;
    }
    let visible = |notes: BTreeMap<String, String>| -> BTreeMap<String, String> {
        notes.into_iter().filter(|(name, _)| !name.contains(".tollgate-tmp-")).collect()
    };
    let killed = visible(notes(&sandbox.vault()));
    let was_between = killed != *before && killed != *after;
    let what = format!("killed at system call {at}");
    if !has_run(&sandbox) {
        assert_eq!(killed, *before, "{what}: an effect without a record");
        return Some(was_between);
    }
    let resumed = sandbox.tollgate(&["resume", "last", "--yes"]);
    let ended_before = format!("{}{}", resumed.out, resumed.err).contains("already finished");
    assert!(resumed.code == 0 || ended_before, "{what}: {}{}", resumed.out, resumed.err);
    assert!(notes(&sandbox.vault()) == *after, "{what}: {}", resumed.out);
    sandbox.tollgate(&["verify", "last"]).expect_code(0);
    let undone = sandbox.tollgate(&["undo", "last", "--yes"]);
    assert_eq!(undone.code, 0, "{what}: {}{}", undone.out, undone.err);
    assert!(notes(&sandbox.vault()) == *before, "{what}: {}", undone.out);
    let redone = sandbox.tollgate(&["redo", "last", "--yes"]);
    assert_eq!(redone.code, 0, "{what}: {}{}", redone.out, redone.err);
    assert!(notes(&sandbox.vault()) == *after, "{what}: {}", redone.out);
    Some(was_between)
}

#[test]
fn a_rename_that_is_killed_at_any_system_call_is_made_as_a_whole_by_resume() {
    let sandbox = vault();
    let before = notes(&sandbox.vault());
    let whole =
        run_to_system_call(&sandbox.command(&["call", "vault.rename", ARGS, "--yes"]), usize::MAX / 2);
    let after = notes(&sandbox.vault());
    assert!(after.contains_key("Moved/New.md") && before.contains_key("Old.md"));
    assert!(after.values().filter(|text| text.contains("[[New]]")).count() == LINKED);
    assert!(whole > 4 * LINKED, "{whole} system calls cannot have changed {LINKED} notes durably");
    let kills = if std::env::var_os("RUN_SLOW_TESTS").is_some() { 24 } else { 6 };
    let every = std::env::var("KILL_EVERY").ok().and_then(|every| every.parse().ok());
    let step = every.unwrap_or(whole / kills);
    let (mut kills, mut between) = (0, 0);
    for at in (step..whole).step_by(step) {
        let Some(was_between) = kill_and_resume(&before, &after, at) else { break };
        kills += 1;
        between += u32::from(was_between);
    }
    eprintln!("{kills} kills at {whole} system calls, {between} of them between the two states");
    assert!(between > 0, "no kill has hit the rename itself");
}
