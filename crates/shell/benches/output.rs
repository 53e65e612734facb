//! What it costs to keep what a command prints, against the same command with a file as its output.
//!
//! Both sides of a pair run one after the other in the same run, and both end when the command has ended. Ours
//! then also has a digest, has counted the lines, and has everything on the disk.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark prints, and stops at the first surprise"
)]
#![allow(clippy::disallowed_methods, reason = "a benchmark reads the clock and starts processes")]

#[path = "../tests/it/process/job.rs"]
mod job;

use std::fs::File;
use std::process::Command;
use std::time::{Duration, Instant};

use shell::process::{CommandOutcome, CommandSpawner, TaskRegistry, run_command};
use toolkit::CancelToken;

use job::{TempArtifacts, shell_job};

const ROUNDS: usize = 3;

fn main() {
    let only: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    println!("output      command                          to a file      kept   ratio   memory grows by");
    for (name, gib) in [("1-GiB", 1_u64), ("5-GiB", 5)] {
        if !only.is_empty() && !only.iter().any(|arg| arg == name) {
            continue;
        }
        let source = tempfile::NamedTempFile::new().unwrap();
        text_of(gib, source.path());
        for script in [format!("cat {}", source.path().display()), format!("head -c {gib}G /dev/zero")] {
            measure(&runtime, name, &script, gib << 30);
        }
    }
}

fn measure(runtime: &tokio::runtime::Runtime, name: &str, script: &str, bytes: u64) {
    let (mut plain, mut kept, mut grown) = (Duration::MAX, Duration::MAX, 0);
    for _ in 0..ROUNDS {
        let folder = TempArtifacts::new();
        let start = Instant::now();
        let target = File::create(folder.dir.path().join("plain")).unwrap();
        assert!(Command::new("/bin/sh").args(["-c", script]).stdout(target).status().unwrap().success());
        plain = plain.min(start.elapsed());
        std::fs::remove_file(folder.dir.path().join("plain")).unwrap();
        rustix::fs::sync();

        let (spawner, tasks) = (CommandSpawner::new().unwrap(), TaskRegistry::new());
        let before = resident();
        let start = Instant::now();
        let job = shell_job(script, folder.clone());
        let outcome = runtime.block_on(run_command(&spawner, &tasks, job, None, &CancelToken::new()));
        kept = kept.min(start.elapsed());
        grown = grown.max(peak().saturating_sub(before));
        let CommandOutcome::Completed(finished) = outcome else { panic!("{outcome:?}") };
        assert_eq!(finished.stdout.bytes, bytes);
        drop(folder);
        rustix::fs::sync();
    }
    let script = if script.starts_with("cat") { "cat of a file" } else { script };
    let ratio = kept.as_secs_f64() / plain.as_secs_f64();
    println!("{name:<11} {script:<28} {plain:>9.2?} {kept:>9.2?} {ratio:>7.2}   {grown:>6} KiB");
}

/// Lines of text, so that counting them is part of the work.
fn text_of(gib: u64, path: &std::path::Path) {
    let target = File::create(path).unwrap();
    let script = format!("yes 'a line of a build log that says how far it has come' | head -c {gib}G");
    assert!(Command::new("/bin/sh").args(["-c", &script]).stdout(target).status().unwrap().success());
}

fn resident() -> u64 {
    status("VmRSS:")
}

fn peak() -> u64 {
    status("VmHWM:")
}

fn status(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
}
