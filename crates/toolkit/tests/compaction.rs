//! A session of twelve calls as a model sees it, with less and less room.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use envelope::{CanonicalResult, Family};
use expect_test::{Expect, expect};
use serde_json::{Value, json};
use toolkit::compaction::{Compacted, Entry, Round, Rules, compact};
use toolkit::families;

struct Call {
    id: &'static str,
    call: String,
    family: Family,
    canonical: CanonicalResult,
    receipt: String,
}

fn ok(id: &'static str, tool: &str, args: &str, family: Family, summary: &str, result: &Value) -> Call {
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

fn failed(id: &'static str, tool: &str, args: &str, family: Family, error: &Value) -> Call {
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

fn ended(id: &'static str, tool: &str, args: &str, family: Family, canonical: Value) -> Call {
    let canonical: CanonicalResult = serde_json::from_value(canonical).unwrap();
    let receipt = families::render(family, &canonical, family.default_budget() as usize);
    Call { id, call: format!("{id} {tool} {args}"), family, canonical, receipt }
}

fn lines(number: usize, line: impl Fn(usize) -> String) -> String {
    (1..=number).map(line).collect::<Vec<_>>().join("\n")
}

/// Look around, build, fail, mend, build again, start a server, look at it.
fn session() -> Vec<Call> {
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
            Family::Listing,
            "Found 40 files",
            &json!({
                "entries": entries, "count": 40, "truncated": false
            }),
        ),
        ok(
            "find",
            "vault.searchText",
            r#"{"query":"plan"}"#,
            Family::Search,
            "Found 30 matches in 1 note",
            &json!({
                "matches": matches, "count": 30, "files_searched": 41, "truncated": false
            }),
        ),
        ok(
            "read",
            "vault.readFile",
            r#"{"path":"Notes/Plan.md"}"#,
            Family::Read,
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
            Family::Mutation,
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
            Family::Mutation,
            "Patched Notes/Plan.md in 2 places",
            &json!({
                "outcome": "changed", "path": "Notes/Plan.md", "etag": "77aa4346648f6b96df89dda901c5176b",
                "places": 2, "bytes_written": 2410
            }),
        ),
        ok(
            "build",
            "ExecCommand",
            r#"{"command":"cargo build"}"#,
            Family::Command,
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
            Family::Command,
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
            Family::Command,
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
            Family::External,
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
            Family::Task,
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
            Family::Task,
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
            Family::Text,
            "my-plan",
            &json!({
                "text_preview": "my-plan", "truncated": false
            }),
        ),
    ]
}

fn shown(calls: &[Call], budget: usize) -> Compacted<'_> {
    let rounds: Vec<Round<'_>> = calls
        .iter()
        .map(|call| Round {
            calls: vec![Entry {
                call: &call.call,
                id: call.id,
                family: call.family,
                canonical: &call.canonical,
                receipt: &call.receipt,
            }],
        })
        .collect();
    compact(&rounds, budget, &Rules { keep_exact_rounds: 2 })
}

#[track_caller]
fn check(budget: usize, expected: &Expect) {
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

#[test]
fn first_all_previews_are_cut() {
    check(
        1_900,
        &expect![[r#"
            --- trimmed
            list vault.listFiles {"prefix":"Notes"}
            success: Found 40 files
            Notes/:
              Note 1.md
              Note 2.md
              Note 3.md
              Note 4.md
              Note 5.md
              Note 6.md
              Note 7.md
              Note 8.md
              Note 9.md
              Note 10.md
              Note 11.md
              Note 12.md
              Note 13.md
              Note 14.md
              Note 15.md
              Note 16.md
              Note 17.md
              Note 18.md
              Note 19.md
              Note 20.md
              Note 21.md
              Note 22.md
              Note 23.md
              Note 24.md
              Note 25.md
              Note 26.md
              Note 27.md
              Note 28.md
              Note 29.md
            … 11 of 40 not shown: list again with after "Notes/Note 29.md"
            --- trimmed
            find vault.searchText {"query":"plan"}
            success: Found 30 matches in 1 note
            Notes/Plan.md
              3: the plan of day 1
              6: the plan of day 2
              9: the plan of day 3
              12: the plan of day 4
              15: the plan of day 5
              18: the plan of day 6
              21: the plan of day 7
              24: the plan of day 8
              27: the plan of day 9
              30: the plan of day 10
              33: the plan of day 11
              36: the plan of day 12
              39: the plan of day 13
              42: the plan of day 14
              45: the plan of day 15
              48: the plan of day 16
              51: the plan of day 17
              54: the plan of day 18
            … 12 of 30 not shown: search again with offset 18, or narrow it with paths
            --- trimmed
            read vault.readFile {"path":"Notes/Plan.md"}
            success: Read Notes/Plan.md (2400 bytes) (etag 8f434346648f6b96df89dda901c5176b)
            - [ ] the plan of day 1, with all that has to be done

            - [ ] the plan of day 2, with all that has to be done

            - [ ] the plan of day 3, with all that has to be done

            - [ ] the plan of day 4, with all that has to be done

            - [ ] the plan of day 5, with all that has to be done

            - [ ] the plan of day 6, with all that has to be done

            - [ ] the plan of day 7, with all that has to be done

            - [ ] the plan of day 8, with all that has to be done

            - [ ] the plan of day 9, with all that has to be done

            - [ ] the plan of day 10, with all that has to be done

            - [ ] the plan of day 11, with all that has to be done

            … 1793 more bytes: read on with range {"start":607,"end":2400}
            --- exact
            write vault.writeFile {"path":"Notes/Plan.md"}
            vault.writeFile failed (conflict): `Notes/Plan.md` has changed since it was read
            currentEtag: 19aa4346648f6b96df89dda901c5176b
            Next: read it again, then write
            --- exact
            mend vault.patchFile {"path":"Notes/Plan.md"}
            Patched Notes/Plan.md in 2 places (etag 77aa4346648f6b96df89dda901c5176b)
            --- trimmed
            build ExecCommand {"command":"cargo build"}
            success: command exited with status 101
            Process exited with code 101
            Full stderr: artifacts/build-stderr.log (412 lines, 20480 bytes); page it with artifact.read
            stderr:
               Compiling crate-1 v0.1.0
               Compiling crate-2 v0.2.0
               Compiling crate-3 v0.3.0
               Compiling crate-4 v0.4.0
               Compiling crate-5 v0.5.0
               Compiling crate-6 v0.6.0
            [cut: first 6 and last 7 lines]
               Compiling crate-75 v0.75.0
               Compiling crate-76 v0.76.0
               Compiling crate-77 v0.77.0
               Compiling crate-78 v0.78.0
               Compiling crate-79 v0.79.0
               Compiling crate-80 v0.80.0
            error[E0425]: cannot find value `plam` in this scope
            --- trimmed
            test ExecCommand {"command":"cargo test"}
            ExecCommand failed (timeout): the command did not end within 60000 ms
            stdout_artifact: 0
            artifacts: [{"path":"artifacts/test-stdout.log"}]
            Already done and not undone: created target/
            Next: raise timeout_ms, or let it go on as a task
            stdout:
            test number_1 ... ok
            test number_2 ... ok
            test number_3 ... ok
            test number_4 ... ok
            test number_5 ... ok
            test number_6 ... ok
            test number_7 ... ok
            test number_8 ... ok
            test number_9 ... ok
            test number_10 ... ok
            test number_11 ... ok
            test number_12 ... ok
            [cut: first 12 and last 13 lines]
            test number_38 ... ok
            test number_39 ... ok
            test number_40 ... ok
            test number_41 ... ok
            test number_42 ... ok
            test number_43 ... ok
            test number_44 ... ok
            test number_45 ... ok
            test number_46 ... ok
            test number_47 ... ok
            test number_48 ... ok
            test number_49 ... ok
            test number_50 ... ok
            [retryable]
            --- exact
            serve ExecCommand {"command":"serve"}
            Command promoted to background task
            Task: task_123
            Initial output:
            worker 1 is ready
            worker 2 is ready
            worker 3 is ready
            worker 4 is ready
            worker 5 is ready
            worker 6 is ready
            worker 7 is ready
            worker 8 is ready
            worker 9 is ready
            worker 10 is ready
            worker 11 is ready
            worker 12 is ready
            worker 13 is ready
            worker 14 is ready
            worker 15 is ready
            worker 16 is ready
            worker 17 is ready
            worker 18 is ready
            worker 19 is ready
            worker 20 is ready
            worker 21 is ready
            worker 22 is ready
            worker 23 is ready
            worker 24 is ready
            worker 25 is ready
            worker 26 is ready
            worker 27 is ready
            worker 28 is ready
            worker 29 is ready
            worker 30 is ready
            --- exact
            ask weather.today {"city":"Oslo"}
            Weather for Oslo
            stationId: NO-18700
            temperature: -3
            sky: snow
            forecast[12]{hour,temperature,words}:
              1,-1,"snow, and more of it later"
              2,-2,"snow, and more of it later"
              3,-3,"snow, and more of it later"
              4,-4,"snow, and more of it later"
              5,-5,"snow, and more of it later"
              6,-6,"snow, and more of it later"
              7,-7,"snow, and more of it later"
              8,-8,"snow, and more of it later"
              9,-9,"snow, and more of it later"
              10,-10,"snow, and more of it later"
              11,-11,"snow, and more of it later"
              12,-12,"snow, and more of it later"
            --- exact
            look TaskOutput {"task_id":"task_123"}
            Task task_123 still running
            stdout:
            listening on 3000
            --- exact
            tasks TaskList {}
            2 tasks
            task_123 still running (9 s): serve
            task_124 exited with code 0 (0 s): true
            --- exact
            slug util.slugifyTitle {"title":"My plan"}
            my-plan
            --- 1857 of 1900 tokens
        "#]],
    );
}

#[test]
fn then_they_are_dropped_from_the_oldest_on() {
    check(
        1_000,
        &expect![[r#"
            --- bare
            list vault.listFiles {"prefix":"Notes"}
            success: Found 40 files
            count: 40
            --- bare
            find vault.searchText {"query":"plan"}
            success: Found 30 matches in 1 note
            count: 30; files_searched: 41
            --- bare
            read vault.readFile {"path":"Notes/Plan.md"}
            success: Read Notes/Plan.md (2400 bytes)
            etag: 8f434346648f6b96df89dda901c5176b; encoding: utf-8; range.start: 0
            --- exact
            write vault.writeFile {"path":"Notes/Plan.md"}
            vault.writeFile failed (conflict): `Notes/Plan.md` has changed since it was read
            currentEtag: 19aa4346648f6b96df89dda901c5176b
            Next: read it again, then write
            --- exact
            mend vault.patchFile {"path":"Notes/Plan.md"}
            Patched Notes/Plan.md in 2 places (etag 77aa4346648f6b96df89dda901c5176b)
            --- bare
            build ExecCommand {"command":"cargo build"}
            success: command exited with status 101
            disposition: completed; stderr_lines: 412; stderr_bytes: 20480; stderr: artifacts/build-stderr.log
            --- bare
            test ExecCommand {"command":"cargo test"}
            error (timeout, retryable): the command did not end within 60000 ms; next: raise timeout_ms, or let it go on as a task
            stdout: artifacts/test-stdout.log; already_done: created target/
            --- exact
            serve ExecCommand {"command":"serve"}
            Command promoted to background task
            Task: task_123
            Initial output:
            worker 1 is ready
            worker 2 is ready
            worker 3 is ready
            worker 4 is ready
            worker 5 is ready
            worker 6 is ready
            worker 7 is ready
            worker 8 is ready
            worker 9 is ready
            worker 10 is ready
            worker 11 is ready
            worker 12 is ready
            worker 13 is ready
            worker 14 is ready
            worker 15 is ready
            worker 16 is ready
            worker 17 is ready
            worker 18 is ready
            worker 19 is ready
            worker 20 is ready
            worker 21 is ready
            worker 22 is ready
            worker 23 is ready
            worker 24 is ready
            worker 25 is ready
            worker 26 is ready
            worker 27 is ready
            worker 28 is ready
            worker 29 is ready
            worker 30 is ready
            --- exact
            ask weather.today {"city":"Oslo"}
            Weather for Oslo
            stationId: NO-18700
            temperature: -3
            sky: snow
            forecast[12]{hour,temperature,words}:
              1,-1,"snow, and more of it later"
              2,-2,"snow, and more of it later"
              3,-3,"snow, and more of it later"
              4,-4,"snow, and more of it later"
              5,-5,"snow, and more of it later"
              6,-6,"snow, and more of it later"
              7,-7,"snow, and more of it later"
              8,-8,"snow, and more of it later"
              9,-9,"snow, and more of it later"
              10,-10,"snow, and more of it later"
              11,-11,"snow, and more of it later"
              12,-12,"snow, and more of it later"
            --- exact
            look TaskOutput {"task_id":"task_123"}
            Task task_123 still running
            stdout:
            listening on 3000
            --- exact
            tasks TaskList {}
            2 tasks
            task_123 still running (9 s): serve
            task_124 exited with code 0 (0 s): true
            --- exact
            slug util.slugifyTitle {"title":"My plan"}
            my-plan
            --- 843 of 1000 tokens
        "#]],
    );
}

#[test]
fn at_last_old_calls_are_one_line_each() {
    check(
        0,
        &expect![[r#"
            --- recap
            list vault.listFiles success: Found 40 files
            --- recap
            find vault.searchText success: Found 30 matches in 1 note
            --- recap
            read vault.readFile success: Read Notes/Plan.md (2400 bytes) [etag: 8f434346648f6b96df89dda901c5176b]
            --- recap
            write vault.writeFile error (conflict, not retryable): `Notes/Plan.md` has changed since it was read; next: read it again, then write [currentEtag: 19aa4346648f6b96df89dda901c5176b]
            --- recap
            mend vault.patchFile success: Patched Notes/Plan.md in 2 places [etag: 77aa4346648f6b96df89dda901c5176b]
            --- recap
            build ExecCommand success: command exited with status 101 [stderr: artifacts/build-stderr.log]
            --- recap
            test ExecCommand error (timeout, retryable): the command did not end within 60000 ms; next: raise timeout_ms, or let it go on as a task [stdout: artifacts/test-stdout.log; already_done: created target/]
            --- recap
            serve ExecCommand success: command promoted to managed task [task_id: task_123]
            --- recap
            ask weather.today success: Weather for Oslo [stationId: NO-18700]
            --- recap
            look TaskOutput success: task_123 is running
            --- exact
            tasks TaskList {}
            2 tasks
            task_123 still running (9 s): serve
            task_124 exited with code 0 (0 s): true
            --- exact
            slug util.slugifyTitle {"title":"My plan"}
            my-plan
            --- 345 of 0 tokens, too many
        "#]],
    );
}
