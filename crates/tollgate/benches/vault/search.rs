//! `vault.searchText` through the engine, compared with ripgrep for the same matches.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::corpus::{FREQUENT, NoteCorpus, PATTERN, RARE, UNCOMMON};
use crate::rig::BenchEngine;
use crate::rounds::{BenchContender, compare};

struct SearchCase {
    name: &'static str,
    query: &'static str,
    regex: bool,
    case_sensitive: bool,
}

const CASES: [SearchCase; 4] = [
    SearchCase { name: "plain, rare", query: RARE, regex: false, case_sensitive: true },
    SearchCase { name: "plain, any case", query: UNCOMMON, regex: false, case_sensitive: false },
    SearchCase { name: "plain, in every second note", query: FREQUENT, regex: false, case_sensitive: true },
    SearchCase { name: "regex", query: PATTERN, regex: true, case_sensitive: true },
];

impl SearchCase {
    fn args(&self, limit: u32) -> Value {
        json!({
            "query": self.query,
            "mode": if self.regex { "regex" } else { "plain" },
            "caseSensitive": self.case_sensitive,
            "limit": limit,
        })
    }

    /// Runs ripgrep on the same files: hidden files left out, no ignore files.
    fn ripgrep(&self, rg: &Path, corpus: &NoteCorpus) -> Command {
        let mut command = Command::new(rg);
        command.args(["--no-config", "--no-ignore", "--no-heading", "--line-number", "--color", "never"]);
        command.arg(if self.case_sensitive { "--case-sensitive" } else { "--ignore-case" });
        if !self.regex {
            command.arg("--fixed-strings");
        }
        command.arg("--").arg(self.query).arg(&corpus.path);
        command
    }
}

pub(crate) fn measure(corpus: &NoteCorpus, rg: &Path) {
    let gate = BenchEngine::over(&corpus.path);
    let cold = env!("CARGO_BIN_EXE_tollgate");
    for case in &CASES {
        let ours = gate.call("vault.searchText", &case.args(50_000)).data.unwrap();
        let found = ours["matches"].as_array().unwrap().len();
        assert_eq!(ours["truncated"], json!(false));
        assert_eq!(found, lines_of(&mut case.ripgrep(rg, corpus)), "the same matches");
        compare(
            &format!("search, {}: {found} matches", case.name),
            vec![
                BenchContender::new("rg, a process", || {
                    assert_eq!(lines_of(&mut case.ripgrep(rg, corpus)), found);
                }),
                BenchContender::new("through the gate, in this process", || {
                    gate.call("vault.searchText", &case.args(50_000));
                }),
                BenchContender::new("through the gate, the first 50", || {
                    gate.call("vault.searchText", &case.args(50));
                }),
                BenchContender::new("tollgate call, a process, the first 50", || {
                    let done = Command::new(cold)
                        .args(["call", "vault.searchText", &case.args(50).to_string(), "--json", "--vault"])
                        .arg(&corpus.path)
                        .output()
                        .unwrap();
                    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
                }),
            ],
        );
    }
    drop(std::fs::remove_dir_all(corpus.path.join(".tollgate")));
}

fn lines_of(command: &mut Command) -> usize {
    let output = command.output().unwrap().stdout;
    output.iter().filter(|byte| **byte == b'\n').count()
}
