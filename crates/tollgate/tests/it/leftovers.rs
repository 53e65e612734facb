//! Hidden files of killed calls: `doctor` reports them, and removes them if asked.
use std::os::unix::fs::MetadataExt as _;

use crate::support::TestVault;
use serde_json::{Value, json};

/// Puts a file under the hidden name that a call gives to a file before it removes it.
fn set_aside(sandbox: &TestVault, text: &str) -> String {
    let first = sandbox.write("vault/Sub/first", text);
    let name = format!(".tollgate-tmp-removed-{:x}", std::fs::metadata(&first).unwrap().ino());
    std::fs::rename(first, sandbox.vault().join("Sub").join(&name)).unwrap();
    format!("Sub/{name}")
}

fn leftovers(sandbox: &TestVault, arguments: &[&str]) -> Vec<Value> {
    let answer = sandbox.tollgate(&[&["doctor", "--json"], arguments].concat()).json();
    let findings = answer["findings"].as_array().unwrap();
    findings.iter().filter(|finding| finding["what"] == "leftovers").cloned().collect()
}

#[test]
fn doctor_reports_hidden_files_and_removes_only_what_is_stored() {
    let sandbox = TestVault::new();
    sandbox.write("vault/Note.md", "old text that is stored\n");
    let args = json!({ "path": "Note.md", "content": "new\n" }).to_string();
    sandbox.tollgate(&["call", "vault.writeFile", &args, "--yes"]).expect_code(0);
    assert_eq!(leftovers(&sandbox, &[]), Vec::<Value>::new());

    let stored = set_aside(&sandbox, "old text that is stored\n");
    let only_copy = set_aside(&sandbox, "nowhere else\n");
    let exists = |path: &str| sandbox.vault().join(path).exists();
    let told = |found: &[Value], path: &str| {
        found.iter().find(|finding| finding["message"].as_str().unwrap().contains(path)).unwrap().clone()
    };
    let found = leftovers(&sandbox, &[]);
    assert_eq!(found.len(), 2);
    assert!(told(&found, &stored)["mend"].as_str().unwrap().starts_with("tollgate doctor --fix"));
    assert_eq!(told(&found, &only_copy)["health"], "warn");
    assert!(exists(&stored) && exists(&only_copy), "a report changes nothing");

    let found = leftovers(&sandbox, &["--fix"]);
    assert_eq!(told(&found, &stored)["health"], "ok");
    assert_eq!(told(&found, &only_copy)["health"], "warn");
    assert!(!exists(&stored) && exists(&only_copy));
    assert_eq!(leftovers(&sandbox, &[]).len(), 1);
}
