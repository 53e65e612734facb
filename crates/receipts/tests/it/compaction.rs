//! A session of twelve calls, compacted to smaller and smaller budgets.

use envelope::{CanonicalResult, ReceiptFamily};
use expect_test::{ExpectFile, expect_file};
use receipts::compaction::{CallEntry, CallRound, CompactedHistory, CompactionRules, compact};
use receipts::families;
use serde_json::{Value, json};

struct Call {
    id: &'static str,
    call: String,
    family: ReceiptFamily,
    canonical: CanonicalResult,
    receipt: String,
}

fn ok(
    id: &'static str,
    tool: &str,
    args: &str,
    family: ReceiptFamily,
    summary: &str,
    result: &Value,
) -> Call {
    ended(
        id,
        tool,
        args,
        family,
        json!({
            "tool_name": tool, "status": "success", "summary_text": summary, "result": result, "error": null
        }),
    )
}

fn failed(id: &'static str, tool: &str, args: &str, family: ReceiptFamily, error: &Value) -> Call {
    ended(
        id,
        tool,
        args,
        family,
        json!({
            "tool_name": tool, "status": "error", "summary_text": error["message"], "result": null, "error": error
        }),
    )
}

fn ended(id: &'static str, tool: &str, args: &str, family: ReceiptFamily, canonical: Value) -> Call {
    let canonical: CanonicalResult = serde_json::from_value(canonical).unwrap();
    let receipt = families::render(family, &canonical, family.default_budget() as usize);
    Call { id, call: format!("{id} {tool} {args}"), family, canonical, receipt }
}

fn lines(number: usize, line: impl Fn(usize) -> String) -> String {
    (1..=number).map(line).collect::<Vec<_>>().join("\n")
}

/// Inspect, fail, fix, build, start a server, inspect it.
fn session() -> Vec<Call> {
    notes().into_iter().chain(commands()).collect()
}

fn notes() -> Vec<Call> {
    let entries: Vec<Value> =
        (1..=40).map(|n| json!({ "path": format!("Notes/Note {n}.md"), "kind": "file" })).collect();
    let matches: Vec<Value> = (1..=30)
        .map(|n| json!({ "path": "Notes/Plan.md", "line": n * 3, "start": n, "end": n + 4, "snippet": format!("the plan of day {n}") }))
        .collect();
    vec![
        ok(
            "list",
            "vault.listFiles",
            r#"{"prefix":"Notes"}"#,
            ReceiptFamily::Listing,
            "Found 40 files",
            &json!({
                "entries": entries, "count": 40, "truncated": false
            }),
        ),
        ok(
            "find",
            "vault.searchText",
            r#"{"query":"plan"}"#,
            ReceiptFamily::Search,
            "Found 30 matches in 1 note",
            &json!({
                "matches": matches, "count": 30, "files_searched": 41, "truncated": false
            }),
        ),
        ok(
            "read",
            "vault.readFile",
            r#"{"path":"Notes/Plan.md"}"#,
            ReceiptFamily::Read,
            "Read Notes/Plan.md (2400 bytes)",
            &json!({
                "path": "Notes/Plan.md", "etag": "8f434346648f6b96df89dda901c5176b", "encoding": "utf-8", "size_bytes": 2400,
                "range": { "start": 0, "end": 2400 },
                "content_preview": lines(60, |n| format!("- [ ] the plan of day {n}, with all that has to be done\n")),
                "truncated": false
            }),
        ),
        failed(
            "write",
            "vault.writeFile",
            r#"{"path":"Notes/Plan.md"}"#,
            ReceiptFamily::Mutation,
            &json!({
                "kind": "conflict", "message": "`Notes/Plan.md` has changed since it was read",
                "details": { "path": "Notes/Plan.md", "currentEtag": "19aa4346648f6b96df89dda901c5176b" },
                "recovery_hint": "read it again, then write", "retryable": false
            }),
        ),
        ok(
            "mend",
            "vault.patchFile",
            r#"{"path":"Notes/Plan.md"}"#,
            ReceiptFamily::Mutation,
            "Patched Notes/Plan.md in 2 places",
            &json!({
                "outcome": "changed", "path": "Notes/Plan.md", "etag": "77aa4346648f6b96df89dda901c5176b",
                "places": 2, "bytes_written": 2410
            }),
        ),
    ]
}

fn commands() -> Vec<Call> {
    vec![
        ok(
            "build",
            "ExecCommand",
            r#"{"command":"cargo build"}"#,
            ReceiptFamily::Command,
            "command exited with status 101",
            &json!({
                "disposition": "completed", "exit_status": 101,
                "stdout_preview": null,
                "stderr_preview": lines(80, |n| format!("   Compiling crate-{n} v0.{n}.0")) + "\nerror[E0425]: cannot find value `plam` in this scope",
                "truncated": true, "stderr_truncated": true, "stderr_artifact": 0, "stderr_lines": 412, "stderr_bytes": 20480,
                "stderr_digest": "b3:0123456789abcdef0123456789abcdef", "artifacts": [{ "path": "artifacts/build-stderr.log" }]
            }),
        ),
        failed(
            "test",
            "ExecCommand",
            r#"{"command":"cargo test"}"#,
            ReceiptFamily::Command,
            &json!({
                "kind": "timeout", "message": "the command did not end within 60000 ms",
                "details": {
                    "stdout_preview": lines(50, |n| format!("test number_{n} ... ok")), "stderr_preview": null,
                    "stdout_artifact": 0, "artifacts": [{ "path": "artifacts/test-stdout.log" }],
                    "already_done": ["created target/"]
                },
                "recovery_hint": "raise timeout_ms, or let it go on as a task", "retryable": true
            }),
        ),
        ok(
            "serve",
            "ExecCommand",
            r#"{"command":"serve"}"#,
            ReceiptFamily::Command,
            "command promoted to managed task",
            &json!({
                "disposition": "promoted_to_task", "task_handle": { "task_id": "task_123", "kind": "command_task" },
                "initial_output_preview": lines(30, |n| format!("worker {n} is ready")), "initial_output_truncated": false
            }),
        ),
        ok(
            "ask",
            "weather.today",
            r#"{"city":"Oslo"}"#,
            ReceiptFamily::External,
            "Weather for Oslo",
            &json!({
                "stationId": "NO-18700", "temperature": -3, "sky": "snow",
                "forecast": (1..=12).map(|n| json!({ "hour": n, "temperature": -n, "words": "snow, and more of it later" })).collect::<Vec<_>>()
            }),
        ),
        ok(
            "look",
            "TaskOutput",
            r#"{"task_id":"task_123"}"#,
            ReceiptFamily::Task,
            "task_123 is running",
            &json!({
                "retrieval_status": "success", "task": { "task_id": "task_123", "kind": "command_task", "status": "running" },
                "stdout_preview": "listening on 3000", "stderr_preview": null, "truncated": false
            }),
        ),
        ok(
            "tasks",
            "TaskList",
            "{}",
            ReceiptFamily::Task,
            "2 tasks",
            &json!({
                "tasks": [
                    { "task_id": "task_123", "kind": "command_task", "status": "running", "command": "serve", "runtime_ms": 9000 },
                    { "task_id": "task_124", "kind": "command_task", "status": "exited", "exit_status": 0, "command": "true", "runtime_ms": 10 }
                ]
            }),
        ),
        ok(
            "slug",
            "util.slugifyTitle",
            r#"{"title":"My plan"}"#,
            ReceiptFamily::Text,
            "my-plan",
            &json!({
                "text_preview": "my-plan", "truncated": false
            }),
        ),
    ]
}

fn shown(calls: &[Call], budget: usize) -> CompactedHistory<'_> {
    let rounds: Vec<CallRound<'_>> = calls
        .iter()
        .map(|call| CallRound {
            calls: vec![CallEntry {
                call: &call.call,
                id: call.id,
                family: call.family,
                canonical: &call.canonical,
                receipt: &call.receipt,
            }],
        })
        .collect();
    compact(&rounds, budget, &CompactionRules { keep_exact_rounds: 2 })
}

#[track_caller]
fn check(budget: usize, expected: &ExpectFile) {
    let calls = session();
    let shown = shown(&calls, budget);
    let mut text = String::new();
    for entry in &shown.entries {
        text += &format!("--- {}\n", entry.level.name());
        for line in entry.call.into_iter().chain([&*entry.text]) {
            text += &format!("{line}\n");
        }
    }
    text += &format!(
        "--- {} of {budget} tokens{}\n",
        shown.tokens,
        if shown.over_budget { ", too many" } else { "" }
    );
    expected.assert_eq(&text);
}

#[test]
fn with_room_for_all_every_receipt_is_as_it_was() {
    let calls = session();
    let shown = shown(&calls, 10_000);
    let receipts: Vec<&str> = calls.iter().map(|call| call.receipt.as_str()).collect();
    assert_eq!(shown.entries.iter().map(|entry| &*entry.text).collect::<Vec<_>>(), receipts);
}

// Conformance: result 7.1
#[test]
fn first_all_previews_are_cut() {
    check(1_950, &expect_file!["../data/compaction/trimmed.txt"]);
}

#[test]
fn then_they_are_dropped_from_the_oldest_on() {
    check(1_000, &expect_file!["../data/compaction/bare.txt"]);
}

// Conformance: result 7.2
#[test]
fn at_last_old_calls_are_one_line_each() {
    check(0, &expect_file!["../data/compaction/recaps.txt"]);
}
