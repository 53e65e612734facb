//! Every tool that takes a path, with a path in each of its path arguments.

use serde_json::{Value, json};

/// A call: a short name, the tool, and its arguments.
pub(crate) struct PathCall {
    pub(crate) name: &'static str,
    pub(crate) tool: &'static str,
    pub(crate) args: Value,
}

/// Tools of the vault without a path argument.
const WITHOUT_A_PATH: [&str; 0] = [];

/// Calls that read.
pub(crate) fn reading(path: &str) -> Vec<PathCall> {
    let call = |name, tool, args| PathCall { name, tool, args };
    vec![
        call("list", "vault.listFiles", json!({"prefix": path, "recursive": true})),
        call("list after", "vault.listFiles", json!({"recursive": true, "after": path})),
        call("read", "vault.readFile", json!({"path": path})),
        call("read base64", "vault.readFile", json!({"path": path, "as": "base64"})),
        call("search", "vault.searchText", json!({"query": "e", "paths": [path]})),
        call("search regex", "vault.searchText", json!({"query": ".*", "mode": "regex", "paths": [path]})),
        call("links", "vault.getLinks", json!({"path": path})),
        call("outline", "vault.getOutline", json!({"path": path})),
    ]
}

/// Calls that write. `spare` is a file that may be moved, `free` a free path.
pub(crate) fn writing(path: &str, spare: &str, free: &str) -> Vec<PathCall> {
    let call = |name, tool, args| PathCall { name, tool, args };
    let create = |strategy: &str| json!({"path": path, "content": "new", "collisionStrategy": strategy});
    let moved_to = |strategy: &str| json!({"fromPath": spare, "toPath": path, "collisionStrategy": strategy});
    let patch = json!({"replaceRange": {"start": 0, "end": 0, "text": "new "}});
    let section = json!({"path": path, "heading": ["H"], "mode": "append", "content": "new"});
    vec![
        call("folder", "vault.ensureFolder", json!({"path": path})),
        call("create", "vault.createFile", create("error")),
        call("create unique", "vault.createFile", create("create-unique")),
        call("create over", "vault.createFile", create("overwrite")),
        call("write", "vault.writeFile", json!({"path": path, "content": "# H\nnew\n"})),
        call("append", "vault.writeFile", json!({"path": path, "content": "new", "mode": "append"})),
        call("patch", "vault.patchFile", json!({"path": path, "patch": patch})),
        call("replace", "vault.replaceText", json!({"path": path, "find": "e", "replace": "E", "all": true})),
        call("frontmatter", "vault.updateFrontmatter", json!({"path": path, "set": {"a": 1}})),
        call("section", "vault.patchSection", section),
        call("move to", "vault.rename", moved_to("error")),
        call("move over", "vault.rename", moved_to("overwrite")),
        call("move from", "vault.rename", json!({"fromPath": path, "toPath": free})),
        call("trash", "vault.delete", json!({"path": path})),
        call("delete", "vault.delete", json!({"path": path, "trash": false})),
    ]
}

pub(crate) fn every(path: &str, spare: &str, free: &str) -> Vec<PathCall> {
    reading(path).into_iter().chain(writing(path, spare, free)).collect()
}

#[test]
fn no_tool_that_takes_a_path_is_left_out() {
    let world = crate::support::HostileVault::new();
    let runner = super::call_runner::CallRunner::new(&world.inside(""), &world.temp.path().join("store"));
    let called: Vec<&str> = every("a.md", "b.md", "c.md").iter().map(|call| call.tool).collect();
    for entry in runner.tools() {
        let name = entry.decl.name.to_string();
        let is_here = called.contains(&name.as_str()) || WITHOUT_A_PATH.contains(&name.as_str());
        assert!(is_here || !name.starts_with("vault."), "{name} is in no table of this file");
    }
}
