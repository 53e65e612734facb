//! Commands that fork as fast as they can, through the real binary, in each sandbox: the process limit holds, they end
//! in time, and leave nothing.
//!
//! Also as root, to whom the kernel applies no process limit. Each stops at some thousands by itself, so that a sandbox
//! that does not hold fails the test and not the machine.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::build::latest_end;
use crate::support::process_scan::with_number;
use crate::support::sandboxes::{SandboxChoice, without_control_groups};
use crate::support::{TestVault, took_ms};
use serde_json::{Value, json};

/// How many processes a command may have here.
const PROCESSES: u64 = 128;
const LIMIT_MS: u64 = 700;

/// Every process doubles until there are twelve generations, retries if that fails, and then runs for ever. It prints
/// its first failure.
const STAYS: &str = r#"$| = 1; for (1 .. 12) { defined fork or $held++ || print("held\n"), redo } 1 while 1"#;

/// The same, where every process leaves its group and its session.
const STRAYS: &str =
    r#"$| = 1; for (1 .. 12) { defined fork or $held++ || print("held\n"), redo; syscall 112 } 1 while 1"#;

/// Runs a fork bomb until its time limit and returns the result. Asserts that nothing is left. `None` without the
/// sandbox.
#[track_caller]
fn explode(kind: SandboxChoice, bomb: &str, around: impl Fn(Command) -> Command) -> Option<Value> {
    let sandbox = TestVault::new();
    if !kind.is_available(&sandbox) {
        return None;
    }
    sandbox.config(&format!("[commands]\nprocesses = {PROCESSES}\n"));
    let number = format!("7{}00{}", std::process::id(), bomb.len());
    let args = json!({ "argv": ["perl", "-e", bomb, &number], "timeout_ms": LIMIT_MS }).to_string();
    let call = sandbox.command(&["call", "ExecCommand", &args, "--yes", "--json"]);
    let ended = crate::support::ended(around(kind.around(call)).output().unwrap());
    let deadline = Instant::now() + Duration::from_secs(2);
    loop {
        let left = with_number(&number);
        if left.is_empty() {
            return Some(ended.json());
        }
        assert!(Instant::now() < deadline, "still there: {left:#?}");
        std::thread::yield_now();
    }
}

#[track_caller]
fn is_held_and_ends(kind: SandboxChoice, bomb: &str) {
    let Some(result) = explode(kind, bomb, |call| call) else { return };
    assert_eq!(result["status"], "timeout", "{result}");
    assert!(took_ms(&result) <= latest_end(LIMIT_MS), "{result}");
    assert!(result["error"]["details"].get("survivors").is_none(), "{result}");
    let printed = result["error"]["details"]["stdout_preview"].to_string();
    assert!(printed.contains("held"), "nobody held it: {result}");
}

#[test]
fn one_that_multiplies_is_held_and_ends_in_time_behind_bubblewrap() {
    is_held_and_ends(SandboxChoice::Bubblewrap, STAYS);
}

#[test]
fn one_that_multiplies_and_strays_is_held_and_ends_in_time_behind_bubblewrap() {
    is_held_and_ends(SandboxChoice::Bubblewrap, STRAYS);
}

#[test]
fn one_that_multiplies_is_held_and_ends_in_time_behind_landlock() {
    is_held_and_ends(SandboxChoice::Landlock, STAYS);
}

// Conformance: result 6.5
#[test]
fn one_that_multiplies_and_strays_is_held_and_ends_in_time_behind_landlock() {
    is_held_and_ends(SandboxChoice::Landlock, STRAYS);
}

/// Where no control group can be made, processes are counted: the command is ended when it has too many.
#[test]
fn one_that_multiplies_ends_where_its_processes_are_only_counted() {
    for kind in [SandboxChoice::Bubblewrap, SandboxChoice::Landlock] {
        let Some(result) = explode(kind, STAYS, without_control_groups) else { continue };
        assert!(took_ms(&result) <= latest_end(LIMIT_MS), "{kind:?}: {result}");
        // On a busy system its time may be up before it is counted.
        let counted = result["data"]["stderr"]["text"]
            == format!("tollgate: ended, since it has more than {PROCESSES} processes\n");
        let timed_out = result["status"] == "timeout";
        assert!(counted || timed_out, "{kind:?}: {result}");
    }
}
