//! Ctrl-C during a loop of slow calls.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "the signal comes from outside, how long the end takes is the point, and a test stops at the first surprise"
)]

mod support;

use std::io::{BufRead, BufReader, Read};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::{Sandbox, ended};

const LIMIT: Duration = Duration::from_secs(2);

/// Two hundred notes with a hook that tells through a pipe that it was reached, then takes its time.
fn slow_run(sandbox: &Sandbox, when: &str) -> (std::process::Child, std::path::PathBuf) {
    let pipe = sandbox.path("reached");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let hook = sandbox.script("slow.sh", &format!("echo reached > '{}'\nexec sleep 60", pipe.display()));
    sandbox.trusted_config(&format!(
        "[[hooks]]\nname = \"slow\"\ncommand = [\"{hook}\"]\nwhen = \"{when}\"\ntimeout_ms = 60000\ntools = [\"vault.createFile\"]\n"
    ));
    let items: Vec<u64> = (0..200).collect();
    let plan = json!({
        "version": "1.0", "goal": "Slow notes", "riskLevel": "writes",
        "steps": [{
            "id": "notes", "tool": "vault.createFile",
            "foreach": { "from": items, "itemName": "n" },
            "args": { "path": "Notes/{n}.md", "content": "x" }
        }]
    });
    let plan = sandbox.plan_file("slow.json", &plan);
    (sandbox.command(&["run", &plan, "--yes", "--json"]).spawn().unwrap(), pipe)
}

/// Waits until at least one call is under way. Opening the pipe blocks until the hook writes to it; it has
/// to stay open, or the hooks of the other calls would block in turn.
#[must_use]
fn wait_until_reached(pipe: &std::path::Path) -> std::fs::File {
    let mut pipe = std::fs::File::open(pipe).unwrap();
    pipe.read_exact(&mut [0]).unwrap();
    pipe
}

/// That it takes no more than two seconds. A disk or another program may hold up one try, and then it is not
/// Tollgate that takes long; all of them only Tollgate can.
fn ends_in_time(mut one_try: impl FnMut() -> Duration) {
    let took: Vec<Duration> = (0..5).map(|_| one_try()).take_while(|took| *took >= LIMIT).collect();
    assert!(took.len() < 5, "{took:?}");
}

fn interrupt(pid: u32) {
    assert!(Command::new("kill").args(["-INT", &pid.to_string()]).status().unwrap().success());
}

#[test]
fn ctrl_c_during_a_slow_loop_ends_within_two_seconds_with_every_call_recorded() {
    ends_in_time(|| {
        let sandbox = Sandbox::new();
        let (child, pipe) = slow_run(&sandbox, "before");
        let _open = wait_until_reached(&pipe);
        let asked = Instant::now();
        interrupt(child.id());
        let run = ended(child.wait_with_output().unwrap()).expect_code(130);
        let took = asked.elapsed();
        assert_eq!(run.json()["status"], "cancelled");
        assert!(run.err.contains("Cancelling"), "{}", run.err);
        sandbox.tollgate(&["verify", "last"]).expect_code(0);
        let story = sandbox.tollgate(&["show", "last", "--all", "--json"]).expect_code(0).json();
        assert_eq!(story["finished"], true);
        let calls = story["steps"][0]["calls"].as_array().unwrap();
        assert!(!calls.is_empty() && calls.iter().all(|call| call["status"] != Value::Null), "{story}");
        assert_eq!(sandbox.notes(), ["Inbox.md"]);
        sandbox.tollgate(&["replay", "last"]).expect_code(0);
        took
    });
}

#[test]
fn a_second_ctrl_c_ends_at_once_and_still_answers() {
    ends_in_time(|| {
        let sandbox = Sandbox::new();
        // What was done is not taken back: the run waits for what comes after it, and the person need not.
        let (mut child, pipe) = slow_run(&sandbox, "after");
        let _open = wait_until_reached(&pipe);
        let asked = Instant::now();
        interrupt(child.id());
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("Press Ctrl-C again")));
        interrupt(child.id());
        let run = ended(child.wait_with_output().unwrap()).expect_code(130);
        let took = asked.elapsed();
        assert_eq!(run.json()["error"]["code"], "cancelled");
        sandbox.tollgate(&["verify", "last"]).expect_code(0);
        took
    });
}

#[test]
fn a_run_that_is_still_running_is_told_as_such() {
    let sandbox = Sandbox::new();
    let (child, pipe) = slow_run(&sandbox, "before");
    let _open = wait_until_reached(&pipe);
    let verified = sandbox.tollgate(&["verify", "last"]).expect_code(0).out;
    assert!(verified.contains("open the run is still running"), "{verified}");
    assert_eq!(sandbox.tollgate(&["verify", "last", "--json"]).expect_code(0).json()["running"], true);
    let shown = sandbox.tollgate(&["show", "last"]).expect_code(0).out;
    assert!(shown.contains("waiting    notes vault.createFile: none of 200"), "{shown}");
    assert!(shown.contains("not yet; the run is still running"), "{shown}");
    assert!(!verified.contains("resume") && !shown.contains("resume"), "{verified}\n{shown}");
    interrupt(child.id());
    ended(child.wait_with_output().unwrap()).expect_code(130);
    let verified = sandbox.tollgate(&["verify", "last", "--json"]).expect_code(0).json();
    assert_eq!(verified["running"], false);
}
