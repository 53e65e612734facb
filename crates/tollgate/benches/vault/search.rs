//! `vault.searchText` through the gate against ripgrep, for the same matches.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::corpus::{Corpus, FREQUENT, PATTERN, RARE, UNCOMMON};
use crate::rig::Gate;
use crate::rounds::{Contender, compare};

struct Case {
    name: &'static str,
    query: &'static str,
    regex: bool,
    case_sensitive: bool,
}

const CASES: [Case; 4] = [
    Case { name: "plain, rare", query: RARE, regex: false, case_sensitive: true },
    Case { name: "plain, any case", query: UNCOMMON, regex: false, case_sensitive: false },
    Case { name: "plain, in every second note", query: FREQUENT, regex: false, case_sensitive: true },
    Case { name: "regex", query: PATTERN, regex: true, case_sensitive: true },
];

impl Case {
    fn args(&self, limit: u32) -> Value {
        json!({
            "query": self.query,
            "mode": if self.regex { "regex" } else { "plain" },
            "caseSensitive": self.case_sensitive,
            "limit": limit,
        })
    }

    /// Ripgrep on the same files: hidden ones left out, none ignored.
    fn ripgrep(&self, rg: &Path, corpus: &Corpus) -> Command {
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

pub(crate) fn measure(corpus: &Corpus, rg: &Path) {
    let gate = Gate::over(&corpus.path);
    let cold = env!("CARGO_BIN_EXE_tollgate");
    for case in &CASES {
        let ours = gate.call("vault.searchText", &case.args(50_000)).data.unwrap();
        let found = ours["matches"].as_array().unwrap().len();
        assert_eq!(ours["truncated"], json!(false));
        assert_eq!(found, lines_of(&mut case.ripgrep(rg, corpus)), "the same matches");
        compare(
            &format!("search, {}: {found} matches", case.name),
            vec![
                Contender::new("rg, a process", || {
                    assert_eq!(lines_of(&mut case.ripgrep(rg, corpus)), found);
                }),
                Contender::new("through the gate, in this process", || {
                    gate.call("vault.searchText", &case.args(50_000));
                }),
                Contender::new("through the gate, the first 50", || {
                    gate.call("vault.searchText", &case.args(50));
                }),
                Contender::new("tollgate call, a process, the first 50", || {
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
