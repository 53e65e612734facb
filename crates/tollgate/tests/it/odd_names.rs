//! Files whose names not every system can store, through the real binary: previewed, renamed, relinked, shown, restored.
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use crate::support::TestVault;
use serde_json::json;

fn tree(sandbox: &TestVault) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let entries = std::fs::read_dir(sandbox.vault()).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.filter(|path| path.is_file());
    files
        .map(|path| (path.file_name().unwrap().as_bytes().to_owned(), std::fs::read(&path).unwrap()))
        .collect()
}

#[test]
fn a_run_renames_relinks_and_gives_the_old_bytes_back() {
    let sandbox = TestVault::new();
    for (name, text) in [
        (&b"x: y.md"[..], "[[Target]]"),
        (b"caf\xe9.md", "[[Target]] [[x: y]]"),
        (b"Target.md", ""),
        (b"CON.md", "[[x: y]]"),
    ] {
        std::fs::write(sandbox.vault().join(OsStr::from_bytes(name)), text).unwrap();
    }
    let before = tree(&sandbox);
    let plan = json!({
        "version": "1.0", "goal": "Give plain names", "riskLevel": "writes",
        "steps": [
            { "id": "note", "tool": "vault.rename", "args": { "fromPath": r"x\x3A y.md", "toPath": "x y.md" } },
            { "id": "target", "tool": "vault.rename", "dependsOn": ["note"], "args": { "fromPath": "Target.md", "toPath": "Goal.md" } },
            { "id": "trash", "tool": "vault.delete", "dependsOn": ["target"], "args": { "path": r"caf\xE9.md" } }
        ]
    });
    let plan = sandbox.plan_file("plan.json", &plan);
    let preview = sandbox.tollgate(&["preview", &plan]).expect_code(0);
    assert!(preview.out.contains(r"x\x3A y.md") && preview.out.contains(r"caf\xE9.md"), "{}", preview.out);
    assert_eq!(tree(&sandbox), before);
    sandbox.tollgate(&["run", &plan, "--yes"]).expect_code(0);
    let after = tree(&sandbox);
    assert_eq!(after[&b"x y.md"[..]], b"[[Goal]]");
    assert_eq!(after[&b"CON.md"[..]], b"[[x y]]");
    assert!(!after.contains_key(&b"caf\xe9.md"[..]));
    let shown = sandbox.tollgate(&["show", "last"]).expect_code(0);
    assert!(shown.out.contains(r"caf\xE9.md"), "{}", shown.out);
    sandbox.tollgate(&["verify", "last"]).expect_code(0);
    sandbox.tollgate(&["undo", "last", "--yes"]).expect_code(0);
    assert_eq!(tree(&sandbox), before);
    sandbox.tollgate(&["redo", "last", "--yes"]).expect_code(0);
    assert_eq!(tree(&sandbox), after);
    sandbox.config("[[rules]]\neffect = \"deny\"\ntools = [\"vault.*\"]\npaths = [\"CON*\"]\n");
    let denied = json!({ "path": r"\x43ON.md" }).to_string();
    let denied = sandbox.tollgate(&["call", "vault.readFile", &denied]);
    assert_eq!(denied.code, 3, "a rule is about the name on disk: {}{}", denied.out, denied.err);
}
