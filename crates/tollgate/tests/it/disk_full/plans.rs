//! The plans that are run while the disk fails.

use serde_json::{Value, json};

/// The step that must not happen once another one failed.
pub(crate) const AFTER: &str = "after.md";

/// Each step waits for the one before it; the last one makes a note.
fn in_order(mut steps: Vec<Value>) -> Value {
    steps.push(
        json!({ "id": "after", "tool": "vault.createFile", "args": { "path": AFTER, "content": "after" } }),
    );
    for n in 1..steps.len() {
        steps[n]["dependsOn"] = json!([steps[n - 1]["id"]]);
    }
    json!({ "version": "1.0", "goal": "Fill the disk", "riskLevel": "commands", "steps": steps })
}

fn command(id: &str, cmd: &str) -> Value {
    json!({ "id": id, "tool": "ExecCommand", "args": { "cmd": cmd, "yield_time_ms": 300_000 } })
}

/// A command that prints eight megabytes.
pub(crate) fn much_output() -> Value {
    in_order(vec![command("much", "head -c 8000000 /dev/zero | tr '\\0' x")])
}

/// The same, in a plan that would go on with what does not depend on it.
pub(crate) fn much_output_and_on() -> Value {
    let mut plan = much_output();
    plan["steps"][0]["onError"] = json!("skip");
    plan["steps"].as_array_mut().unwrap().insert(1, command("between", "flock room/lock true"));
    plan["steps"][0]["args"]["cmd"] =
        json!("exec 9>room/lock; flock 9; head -c 8000000 /dev/zero | tr '\\0' x");
    plan["steps"][2]["dependsOn"] = json!(["between"]);
    plan
}

/// Many small records.
pub(crate) fn many_notes() -> Value {
    let items: Vec<String> = (0..200).map(|n| format!("note {n}")).collect();
    let mut plan = in_order(vec![json!({
        "id": "notes",
        "tool": "vault.createFile",
        "foreach": { "from": "$vars.items", "itemName": "item", "concurrency": 4 },
        "args": { "path": "Notes/{item}.md", "content": "text of {item}\n" }
    })]);
    plan["vars"] = json!({ "items": items });
    plan
}

/// An approval of a long plan, which is written again with the approval.
pub(crate) fn long_plan() -> Value {
    in_order(vec![json!({
        "id": "long",
        "tool": "vault.createFile",
        "args": { "path": "long.md", "content": "y".repeat(300_000) }
    })])
}

/// A background task that prints without end. The next step waits until the task is dead, by a lock that ends with it;
/// its output is not read.
pub(crate) fn flood(mark: &str) -> Value {
    let floods = format!(
        "exec 9>room/lock; flock 9; : >room/held; until test -e room/go; do sleep 0.02; done; exec yes {mark}"
    );
    let mut plan = in_order(vec![
        command("flood", &floods),
        command("go", "until test -e room/held; do sleep 0.02; done; : >room/go"),
        command("wait", "flock room/lock true"),
    ]);
    plan["steps"][0]["args"]["yield_time_ms"] = json!(50);
    plan
}

/// Something of everything, short: notes before and after a command with an artifact.
pub(crate) fn few_steps() -> Value {
    in_order(vec![
        json!({ "id": "make", "tool": "vault.createFile", "args": { "path": "one.md", "content": "1" } }),
        command("print", "head -c 100000 /dev/zero | tr '\\0' x"),
        json!({ "id": "change", "tool": "vault.writeFile", "args": { "path": "one.md", "content": "2" } }),
    ])
}

/// The same without the command, which takes most of the time.
pub(crate) fn few_notes() -> Value {
    in_order(vec![
        json!({ "id": "make", "tool": "vault.createFile", "args": { "path": "one.md", "content": "1" } }),
        json!({ "id": "change", "tool": "vault.writeFile", "args": { "path": "one.md", "content": "2" } }),
    ])
}
