//! Measures the cost of keeping the whole output of a command, beside the same command with its output in a file.
//!
//! The real binary runs `cat` over a text again and again, in its sandbox, through the whole gate; the peers are the
//! same `cat` with its output in a file, once left to the kernel and once synced, as an artifact is. All take turns in
//! the same run. Memory is the most that our process had, less what it has for a command that prints nothing.
//!
//! `-- --mib 512` makes it short.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark prints, and stops at the first surprise"
)]
#![allow(
    clippy::disallowed_methods,
    reason = "a benchmark reads the clock, writes files and starts its peers"
)]

use std::io::{BufWriter, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const MIB: u64 = 1 << 20;
const PIECE_MIB: u64 = 128;
const ROUNDS: usize = 3;

fn main() {
    let mut args = std::env::args().skip(1).filter(|arg| arg != "--bench");
    let mut mib: u64 = 5 * 1024;
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--mib" => mib = args.next().and_then(|count| count.parse().ok()).expect("a number of MiB"),
            other => panic!("`{other}` is not an option; there is --mib"),
        }
    }
    let times = mib.div_ceil(PIECE_MIB);
    let vault = tempfile::Builder::new().prefix("bench-").tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    std::fs::create_dir(vault.path().join(".obsidian")).unwrap();
    write_text(&vault.path().join("piece.log"), PIECE_MIB * MIB);
    let cat = format!("cat {}", vec!["piece.log"; usize::try_from(times).unwrap()].join(" "));
    let bytes = times * PIECE_MIB * MIB;
    println!("a command that prints {:.2} GiB; seconds of {ROUNDS} rounds in turn", gib(bytes));

    let (idle, _) = ours(vault.path(), "true");
    let (mut plain, mut synced, mut kept, mut most) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for _ in 0..ROUNDS {
        plain.push(into_file(vault.path(), &format!("{cat} > out.log")));
        synced.push(into_file(vault.path(), &format!("{cat} > out.log && sync out.log")));
        let began = Instant::now();
        let (memory, result) = ours(vault.path(), &cat);
        kept.push(began.elapsed());
        most = most.max(memory);
        prove(vault.path(), &result, bytes);
        std::fs::remove_dir_all(vault.path().join(".tollgate")).unwrap();
    }
    let least = |times: &[Duration]| times.iter().min().unwrap().as_secs_f64();
    let median = |times: &[Duration]| {
        let mut sorted = times.to_vec();
        sorted.sort();
        sorted[sorted.len() / 2].as_secs_f64()
    };
    for (name, times) in
        [("cat to a file", &plain), ("cat to a file, synced", &synced), ("through the gate", &kept)]
    {
        println!(
            "  {name:<24} best {:>6.2}  median {:>6.2}   = {:.2}x {:.2}x of cat to a file, {:.2}x {:.2}x of it synced",
            least(times),
            median(times),
            least(times) / least(&plain),
            median(times) / median(&plain),
            least(times) / least(&synced),
            median(times) / median(&synced),
        );
    }
    assert!(most.saturating_sub(idle) < 64 * MIB, "more than 64 MiB for output that is kept on disk");
    println!(
        "  memory: {:.1} MiB for a command that prints nothing, {:.1} MiB at most for this one, {:.1} MiB more",
        idle as f64 / MIB as f64,
        most as f64 / MIB as f64,
        most.saturating_sub(idle) as f64 / MIB as f64
    );
}

fn gib(bytes: u64) -> f64 {
    bytes as f64 / (1024.0 * MIB as f64)
}

/// Lines that differ from one another, as a log's do.
fn write_text(path: &Path, bytes: u64) {
    let mut file = BufWriter::new(std::fs::File::create(path).unwrap());
    let (mut written, mut number) = (0, 0_u64);
    while written < bytes {
        let line = format!(
            "{number:>10} compiled module {:x} in {} ms\n",
            number.wrapping_mul(0x9e37_79b9),
            number % 977
        );
        let line = &line.as_bytes()[..line.len().min(usize::try_from(bytes - written).unwrap())];
        file.write_all(line).unwrap();
        (written, number) = (written + line.len() as u64, number + 1);
    }
    file.flush().unwrap();
}

fn into_file(vault: &Path, script: &str) -> Duration {
    let began = Instant::now();
    let status = Command::new("/bin/sh").args(["-c", script]).current_dir(vault).status().unwrap();
    let took = began.elapsed();
    assert!(status.success());
    std::fs::remove_file(vault.join("out.log")).unwrap();
    took
}

/// Runs the command through the real binary. Returns its peak memory and the result.
fn ours(vault: &Path, cmd: &str) -> (u64, Value) {
    let args = json!({ "cmd": cmd }).to_string();
    let mut child = Command::new(env!("CARGO_BIN_EXE_tollgate"))
        .args(["call", "ExecCommand", &args, "--yes", "--json"])
        .current_dir(vault)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let watcher = std::thread::spawn(move || {
        let mut most = 0;
        // The file stays until the process is waited for, but has no memory in it once that has ended.
        while let Ok(text) = std::fs::read_to_string(&status) {
            let Some(line) = text.lines().find(|line| line.starts_with("VmHWM:")) else { break };
            most = line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024;
            std::thread::sleep(Duration::from_millis(5));
        }
        most
    });
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert!(child.wait().unwrap().success(), "{text}");
    (watcher.join().unwrap(), serde_json::from_str(&text).unwrap())
}

/// Checks that the whole output is there: its length, and the digest that the result names.
fn prove(vault: &Path, result: &Value, bytes: u64) {
    let artifact = &result["artifacts"][0];
    assert_eq!(artifact["bytes"], bytes);
    let run = vault.join(".tollgate/runs").join(result["runId"].as_str().unwrap());
    let mut file = std::fs::File::open(run.join(artifact["path"].as_str().unwrap())).unwrap();
    let mut hasher = blake3::Hasher::new();
    assert_eq!(std::io::copy(&mut file, &mut hasher).unwrap(), bytes);
    let hash = envelope::Hash::from_bytes(*hasher.finalize().as_bytes());
    assert_eq!(artifact["hash"], hash.to_string());
}
