//! A vault in a temporary folder and the real binary beside it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a test stops at the first surprise, says what it skips, and drives the binary as a person would"
)]
#![allow(dead_code, reason = "each test file uses its own part")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

pub(crate) mod build;
pub(crate) mod installed;
pub(crate) mod process_scan;
mod scrub;
mod terminal;
pub(crate) mod sandboxes;

pub(crate) use scrub::scrub;
pub(crate) use terminal::TestTerminal;

/// What a command printed and how it ended.
pub(crate) struct ProcessResult {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl ProcessResult {
    /// Standard output as the one JSON value it must be.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}\n{}\n{}", self.out, self.err))
    }

    #[track_caller]
    pub(crate) fn expect_code(self, code: i32) -> ProcessResult {
        assert_eq!(self.code, code, "{}\n{}", self.out, self.err);
        self
    }
}

/// A vault with an inbox of three bullets.
pub(crate) struct TestVault {
    dir: tempfile::TempDir,
}

impl TestVault {
    pub(crate) fn new() -> TestVault {
        let sandbox = TestVault { dir: tempfile::tempdir().unwrap() };
        sandbox.write("vault/.obsidian/app.json", "{}");
        sandbox.write("vault/Inbox.md", "# Inbox\n\n- Red apples\n- Green pears\n- Blue plums\n");
        sandbox
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn vault(&self) -> PathBuf {
        self.path("vault")
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Settings for the vault.
    pub(crate) fn config(&self, text: &str) {
        self.write("vault/.tollgate/config.toml", text);
    }

    /// A shell script that can be run; returns its path as it goes into the settings.
    pub(crate) fn script(&self, name: &str, body: &str) -> String {
        use std::os::unix::fs::PermissionsExt;
        let path = self.write(name, &format!("#!/bin/sh\n{body}\n"));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// The plan that most tests run: a note for each bullet. Written to `plan.json`.
    pub(crate) fn plan(&self) -> String {
        self.plan_file("plan.json", &inbox_plan())
    }

    pub(crate) fn plan_file(&self, name: &str, plan: &Value) -> String {
        self.write(name, &serde_json::to_string_pretty(plan).unwrap()).to_str().unwrap().to_owned()
    }

    /// The command, about to be started in the vault.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(build::binary());
        command.args(args);
        self.prepared(command)
    }

    /// The same in no more memory than so many KiB.
    pub(crate) fn command_within(&self, kib: u64, args: &[&str]) -> Command {
        let mut command = Command::new("sh");
        command
            .args(["-c", "ulimit -v \"$0\"; exec \"$@\"", &kib.to_string()])
            .arg(build::binary())
            .args(args);
        self.prepared(command)
    }

    fn prepared(&self, mut command: Command) -> Command {
        command
            .current_dir(self.vault())
            .env_remove("NO_COLOR")
            .env("TZ", "UTC")
            // No file of the developer is read or changed.
            .env("HOME", self.path("home"))
            .env("XDG_STATE_HOME", self.path("state-home"))
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("CLAUDE_CONFIG_DIR")
            .env_remove("CODEX_HOME")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Settings whose hooks may run.
    pub(crate) fn trusted_config(&self, text: &str) {
        self.config(text);
        self.tollgate(&["trust", "--yes"]).expect_code(0);
    }

    /// Runs the command at a terminal.
    pub(crate) fn terminal(&self, args: &[&str]) -> TestTerminal {
        TestTerminal::open(&self.command(args))
    }

    /// Runs the binary in the vault, without a terminal.
    pub(crate) fn tollgate(&self, args: &[&str]) -> ProcessResult {
        ended(self.command(args).output().unwrap())
    }

    pub(crate) fn tollgate_with_input(&self, args: &[&str], input: &str) -> ProcessResult {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        let written = child.stdin.take().unwrap().write_all(input.as_bytes());
        // A command that reads nothing may have ended by then.
        if let Err(error) = written {
            assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
        }
        ended(child.wait_with_output().unwrap())
    }

    /// Every file of the vault but the settings and runs of Tollgate, sorted.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut found = Vec::new();
        walk(&self.vault(), &self.vault(), &mut found);
        found.retain(|path| !path.starts_with(".tollgate") && !path.starts_with(".obsidian"));
        found.sort();
        found
    }

    /// The folder of the only run.
    #[track_caller]
    pub(crate) fn only_run(&self) -> PathBuf {
        let runs: Vec<PathBuf> = std::fs::read_dir(self.path("vault/.tollgate/runs"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs[0].clone()
    }

    /// Changes one byte in the second line of a log; returns where that line starts.
    pub(crate) fn flip_byte_in_second_line(&self, log: &Path) -> usize {
        let mut bytes = std::fs::read(log).unwrap();
        let second_line = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        bytes[second_line + 20] ^= 1;
        std::fs::write(log, bytes).unwrap();
        second_line
    }

    /// Text without what differs from one run to the next.
    pub(crate) fn scrub(&self, text: &str) -> String {
        let dir = self.dir.path().canonicalize().unwrap();
        let text =
            text.replace(dir.to_str().unwrap(), "DIR").replace(self.dir.path().to_str().unwrap(), "DIR");
        scrub::scrub(&text)
    }
}

pub(crate) fn ended(output: std::process::Output) -> ProcessResult {
    ProcessResult {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// How long a tool took for a call, as the gate measured it: without the wait for others before it.
pub(crate) fn took_ms(result: &Value) -> u64 {
    let phases = result["phases"].as_array().unwrap();
    let execute = phases.iter().find(|phase| phase["phase"] == "execute").unwrap();
    execute["micros"].as_u64().unwrap() / 1000
}

fn walk(root: &Path, dir: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(root, &path, found);
        } else {
            found.push(path.strip_prefix(root).unwrap().to_str().unwrap().to_owned());
        }
    }
}

/// Reads the inbox, finds its bullets, makes a note for each.
pub(crate) fn inbox_plan() -> Value {
    json!({
        "version": "1.0",
        "goal": "A note for every bullet",
        "riskLevel": "writes",
        "steps": [
            { "id": "read", "tool": "vault.readFile", "args": { "path": "Inbox.md" } },
            { "id": "bullets", "tool": "util.parseMarkdownBullets", "args": { "text": "$steps.read.content" } },
            {
                "id": "notes",
                "tool": "vault.createFile",
                "foreach": { "from": "$steps.bullets.items", "itemName": "bullet", "concurrency": 1 },
                "args": { "path": "Notes/{bullet.text}.md", "content": "# {bullet.text}\n" }
            }
        ]
    })
}

/// A plan that creates one note.
pub(crate) fn one_note(path: &str) -> Value {
    json!({
        "version": "1.0",
        "goal": "One note",
        "riskLevel": "writes",
        "steps": [{ "id": "note", "tool": "vault.createFile", "args": { "path": path, "content": "Hello.\n" } }]
    })
}
