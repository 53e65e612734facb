//! Commands that multiply as fast as they can, through the real binary, behind each wall: they are held to their number
//! of processes, end in time, and leave nothing.
//!
//! As root too, whom the kernel holds to no number by itself. Each stops at some thousands on its own, so that a wall
//! that does not hold fails the test and not the machine.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test stops at the first surprise, and drives the binary as a person would"
)]

mod support;

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::build::latest_end;
use support::left::with_number;
use support::wall::{Wall, without_control_groups};
use support::{Sandbox, took_ms};

/// How many processes a command may have here.
const PROCESSES: u64 = 128;
const LIMIT_MS: u64 = 700;

/// Everyone doubles until twelve generations are there, tries again when that fails, and then works on for ever. It
/// says so when it fails for the first time.
const STAYS: &str = r#"$| = 1; for (1 .. 12) { defined fork or $held++ || print("held\n"), redo } 1 while 1"#;

/// The same, where everyone leaves the group and the session that it was born in.
const STRAYS: &str =
    r#"$| = 1; for (1 .. 12) { defined fork or $held++ || print("held\n"), redo; syscall 112 } 1 while 1"#;

/// Runs a bomb until its time is up: the result of the call. Nothing is left of it. None where the wall cannot stand.
#[track_caller]
fn explode(wall: Wall, bomb: &str, around: impl Fn(Command) -> Command) -> Option<Value> {
    let sandbox = Sandbox::new();
    if !wall.stands(&sandbox) {
        return None;
    }
    sandbox.config(&format!("[commands]\nprocesses = {PROCESSES}\n"));
    let number = format!("7{}00{}", std::process::id(), bomb.len());
    let args = json!({ "argv": ["perl", "-e", bomb, &number], "timeout_ms": LIMIT_MS }).to_string();
    let call = sandbox.command(&["call", "ExecCommand", &args, "--yes", "--json"]);
    let ended = support::ended(around(wall.around(call)).output().unwrap());
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
fn is_held_and_ends(wall: Wall, bomb: &str) {
    let Some(result) = explode(wall, bomb, |call| call) else { return };
    assert_eq!(result["status"], "timeout", "{result}");
    assert!(took_ms(&result) <= latest_end(LIMIT_MS), "{result}");
    assert!(result["error"]["details"].get("survivors").is_none(), "{result}");
    let printed = result["error"]["details"]["stdout_preview"].to_string();
    assert!(printed.contains("held"), "nobody held it: {result}");
}

#[test]
fn one_that_multiplies_is_held_and_ends_in_time_behind_bubblewrap() {
    is_held_and_ends(Wall::Bubblewrap, STAYS);
}

#[test]
fn one_that_multiplies_and_strays_is_held_and_ends_in_time_behind_bubblewrap() {
    is_held_and_ends(Wall::Bubblewrap, STRAYS);
}

#[test]
fn one_that_multiplies_is_held_and_ends_in_time_behind_landlock() {
    is_held_and_ends(Wall::Landlock, STAYS);
}

#[test]
fn one_that_multiplies_and_strays_is_held_and_ends_in_time_behind_landlock() {
    is_held_and_ends(Wall::Landlock, STRAYS);
}

/// Where no control group can be made, processes are counted: the command is ended when it has too many.
#[test]
fn one_that_multiplies_ends_where_its_processes_are_only_counted() {
    for wall in [Wall::Bubblewrap, Wall::Landlock] {
        let Some(result) = explode(wall, STAYS, without_control_groups) else { continue };
        assert!(took_ms(&result) <= latest_end(LIMIT_MS), "{wall:?}: {result}");
        // On a busy system its time may be up before it is counted.
        let counted = result["data"]["stderr"]["text"]
            == format!("tollgate: ended, since it has more than {PROCESSES} processes\n");
        let timed_out = result["status"] == "timeout";
        assert!(counted || timed_out, "{wall:?}: {result}");
    }
}
