//! The worked examples of the command family, compared as JSON text with the order of the keys, and their receipts
//! line by line.
//!
//! The tools themselves map what would have been the output of a command; nothing is run.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{Seek, Write};

use envelope::{Artifact, Fault, Hash, Requirement};
use expect_test::{Expect, expect};
use serde_json::{Map, Value, json};
use toolkit::{ArtifactSink, MappedResult, OpenArtifact, Projection, Registry, Surface, SurfaceRules};

/// Artifacts that are there to be read.
#[derive(Default)]
struct Files(HashMap<String, File>);

impl Files {
    fn with(mut self, path: &str, content: &str) -> Files {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content.as_bytes()).unwrap();
        self.0.insert(path.to_owned(), file);
        self
    }
}

impl ArtifactSink for Files {
    fn create(&self, _role: &str, _extension: &str) -> Result<Option<OpenArtifact>, Fault> {
        Ok(None)
    }

    fn seal(&self, artifact: OpenArtifact, bytes: u64, hash: Hash) -> Result<Artifact, Fault> {
        Ok(Artifact { path: artifact.path, bytes, hash })
    }

    fn discard(&self, _artifact: &Artifact) {}

    fn open(&self, path: &str) -> Result<File, Fault> {
        let mut file = self.0.get(path).unwrap().try_clone().unwrap();
        file.rewind().unwrap();
        Ok(file)
    }
}

fn mapped(tool: &str, data: &Value, budget: usize, files: &Files) -> MappedResult {
    let mut registry = Registry::new();
    shell::register(&mut registry, &None).unwrap();
    let surface = Surface::new(&registry, &BTreeSet::from([Requirement::Vault]), &SurfaceRules::default());
    let entry = surface.resolve(tool).unwrap();
    let mapped = entry.tool.remap(data, Projection::new(budget, Some(files))).unwrap();
    assert!(entry.output.validate(&mapped.data).is_empty());
    mapped
}

fn stream(text: &str) -> Value {
    json!({ "text": text, "complete": true, "from": 0, "bytes": text.len(), "lines": text.lines().count() })
}

fn exited(stdout: &str, stderr: &str) -> Value {
    json!({ "disposition": "completed", "exit_status": 0, "stdout": stream(stdout), "stderr": stream(stderr),
            "sandbox": "bubblewrap", "duration_ms": 12 })
}

fn promoted(stdout: &str) -> Value {
    json!({ "disposition": "promoted_to_task", "task_id": "task_123", "stdout": stream(stdout),
            "stderr": stream(""), "sandbox": "bubblewrap", "duration_ms": 12 })
}

/// The whole canonical result, byte for byte once both are printed alike.
#[track_caller]
fn canonical(mapped: &MappedResult, example: &str) {
    let example: Value = serde_json::from_str(example).unwrap();
    assert_eq!(serde_json::to_string_pretty(&mapped.canonical).unwrap(), format!("{example:#}"));
}

/// A part of `result`: the keys of the example, in its order.
#[track_caller]
fn part_of_result(mapped: &MappedResult, example: &str) {
    let example: Map<String, Value> = serde_json::from_str(example).unwrap();
    let result = mapped.canonical.result.as_ref().unwrap().as_object().unwrap();
    let part: Map<String, Value> = result
        .iter()
        .filter(|(key, _)| example.contains_key(*key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    assert_eq!(serde_json::to_string_pretty(&part).unwrap(), serde_json::to_string_pretty(&example).unwrap());
}

fn receipt(mapped: &MappedResult, expect: Expect) {
    expect.assert_eq(&mapped.receipt);
}

// Conformance: result 1.1
//     Every result has one canonical structured form, owned by the runtime, and one separate rendering that the model
//     reads; the second is derived from the first.
//     In: receipts/families/mod.rs
// Conformance: result 2.1
//     `tool_name`, `status`, `summary_text`, `result`, `error`, the same for success and failure; exactly one of the
//     last two is not null.
//     In: envelope/outcome.rs, receipts/families/mod.rs
// Conformance: result 2.2
//     `status` is `success` or `error`, so nobody has to read prose to know.
//     In: envelope/outcome.rs
// Conformance: result 5.1
//     Truncation is part of the result of families that need it; small confirmations carry no such fields.
//     In: receipts/families/mutation.rs
// Conformance: result 6.1
//     A command that ends: `disposition`, `exit_status`, the two previews, `truncated`.
//     In: receipts/families/command.rs
#[test]
fn an_immediate_success() {
    let mapped = mapped("ExecCommand", &exited("short output preview", ""), 2_000, &Files::default());
    canonical(
        &mapped,
        r#"{
            "tool_name": "ExecCommand",
            "status": "success",
            "summary_text": "command exited with status 0",
            "result": {
                "disposition": "completed",
                "exit_status": 0,
                "stdout_preview": "short output preview",
                "stderr_preview": null,
                "truncated": false
            },
            "error": null
        }"#,
    );
    receipt(
        &mapped,
        expect![[r"
        Process exited with code 0
        stdout:
        short output preview"]],
    );
}

// Conformance: result 2.3
//     `summary_text` is there for both, and short.
//     In: toolkit/tool.rs
// Conformance: result 6.2
//     A command that goes on: a `task_handle` and its first output.
//     In: receipts/families/command.rs
#[test]
fn a_promoted_command() {
    let mapped = mapped("ExecCommand", &promoted("short output preview"), 2_000, &Files::default());
    canonical(
        &mapped,
        r#"{
            "tool_name": "ExecCommand",
            "status": "success",
            "summary_text": "command promoted to managed task",
            "result": {
                "disposition": "promoted_to_task",
                "task_handle": {
                    "task_id": "task_123",
                    "kind": "command_task"
                },
                "initial_output_preview": "short output preview",
                "initial_output_truncated": false
            },
            "error": null
        }"#,
    );
    receipt(
        &mapped,
        expect![[r"
        Command promoted to background task
        Task: task_123
        Initial output:
        short output preview"]],
    );
}

// Conformance: result 5.4
//     Commands and tasks have textual receipts; output that is JSON is shown as readable text.
//     In: receipts/families/command.rs, receipts/preview/json.rs
#[test]
fn receipts_of_a_listing_and_of_a_server() {
    let listing = exited("src/runtime/turn.rs\nsrc/runtime/lifecycle.rs\n", "");
    receipt(
        &mapped("ExecCommand", &listing, 2_000, &Files::default()),
        expect![[r"
        Process exited with code 0
        stdout:
        src/runtime/turn.rs
        src/runtime/lifecycle.rs"]],
    );
    let server = promoted("Starting server on :3000\n");
    receipt(
        &mapped("ExecCommand", &server, 2_000, &Files::default()),
        expect![[r"
        Command promoted to background task
        Task: task_123
        Initial output:
        Starting server on :3000"]],
    );
}

/// Enough words that no two lines fold into one.
fn log(name: &str) -> String {
    let word = |n: usize| ["red", "green", "blue", "grey", "black"][n % 5].repeat(1 + n % 7);
    (0..3_000).map(|n| format!("{name} {} says {}\n", word(n), word(n / 5))).collect()
}

fn kept(name: &str) -> Value {
    let text = log(name);
    json!({ "text": &text[..100], "complete": false, "from": 0, "bytes": text.len(), "lines": 3_000,
            "digest": Hash::of(text.as_bytes()), "artifact": format!("artifacts/{name}.log") })
}

fn logs() -> Files {
    Files::default()
        .with("artifacts/stdout.log", &log("stdout"))
        .with("artifacts/stderr.log", &log("stderr"))
        .with("artifacts/output.log", &log("output"))
}

// Conformance: result 3.3
//     A field over its budget is written to an artifact, replaced by a preview, and marked by a flag and an index of
//     the family.
//     In: receipts/families/streams.rs, receipts/families/process_output.rs
// Conformance: result 4.1
//     References are paths only, relative to the run; which is which is said by an index field.
//     In: receipts/families/process_output.rs
// Conformance: result 4.3
//     A payload that is in an artifact is not repeated in `result`.
//     In: receipts/families/streams.rs
#[test]
fn artifacts_of_two_streams_are_named_by_index() {
    let data = json!({ "disposition": "completed", "exit_status": 1, "stdout": kept("stdout"),
                       "stderr": kept("stderr"), "sandbox": "bubblewrap", "duration_ms": 12 });
    let mapped = mapped("ExecCommand", &data, 300, &logs());
    part_of_result(
        &mapped,
        r#"{
            "stdout_truncated": true,
            "stderr_truncated": true,
            "stdout_artifact": 0,
            "stderr_artifact": 1,
            "artifacts": [
                { "path": "artifacts/stdout.log" },
                { "path": "artifacts/stderr.log" }
            ]
        }"#,
    );
    part_of_result(&mapped, r#"{ "truncated": true }"#);
    let result = mapped.canonical.result.as_ref().unwrap();
    let (first, last) = ("stdout red says red\n", "\n...\n[output truncated: showing first ");
    for text in [result["stdout_preview"].as_str().unwrap(), mapped.receipt.as_str()] {
        assert!(text.contains(first) && text.contains(last), "{text}");
    }
    assert_eq!(result["stdout_digest"], json!(Hash::of(log("stdout").as_bytes())));
    assert_eq!(
        (&result["stdout_bytes"], &result["stdout_lines"]),
        (&json!(log("stdout").len()), &json!(3_000))
    );
    assert!(
        mapped
            .receipt
            .starts_with("Process exited with code 1\nFull stdout: artifacts/stdout.log (3000 lines")
    );
}

// Conformance: result 4.1
#[test]
fn one_combined_artifact_is_named_by_index() {
    let data = json!({ "disposition": "completed", "exit_status": 0, "stdout": kept("output"),
                       "sandbox": "bubblewrap", "duration_ms": 12 });
    let mapped = mapped("ExecCommand", &data, 300, &logs());
    part_of_result(
        &mapped,
        r#"{
            "combined_output_truncated": true,
            "combined_output_artifact": 0,
            "artifacts": [
                { "path": "artifacts/output.log" }
            ]
        }"#,
    );
    assert!(mapped.canonical.result.as_ref().unwrap()["combined_output_preview"].is_string());
}

#[test]
fn a_promoted_command_names_the_artifact_of_what_was_cut() {
    let data = json!({ "disposition": "promoted_to_task", "task_id": "task_1", "stdout": kept("stdout"),
                       "stderr": stream(""), "sandbox": "none", "duration_ms": 12 });
    let mapped = mapped("ExecCommand", &data, 300, &logs());
    part_of_result(
        &mapped,
        r#"{ "initial_output_truncated": true, "stdout_artifact": 0,
             "artifacts": [{ "path": "artifacts/stdout.log" }], "sandbox": "none" }"#,
    );
    let head = "Command promoted to background task (no sandbox)\nTask: task_1\nFull stdout: artifacts/stdout.log (3000 lines";
    assert!(mapped.receipt.starts_with(head), "{}", mapped.receipt);
}

// Conformance: result 6.3
//     `TaskOutput` has the same envelope, with `retrieval_status` and a snapshot of what is new.
//     In: receipts/families/task.rs
#[test]
fn output_of_a_task_has_the_same_envelope() {
    let data = json!({
        "retrieval_status": "success", "reason": "exited",
        "task": { "task_id": "task_123", "command": "cargo run", "status": "exited", "exit_status": 101,
                  "runtime_ms": 5000, "bytes": 9 },
        "stdout": stream(""), "stderr": stream("panicked\n")
    });
    let mapped = mapped("TaskOutput", &data, 2_000, &Files::default());
    canonical(
        &mapped,
        r#"{
            "tool_name": "TaskOutput",
            "status": "success",
            "summary_text": "task task_123 exited with status 101",
            "result": {
                "retrieval_status": "success",
                "reason": "exited",
                "task": {
                    "task_id": "task_123",
                    "kind": "command_task",
                    "status": "exited",
                    "exit_status": 101
                },
                "stdout_preview": null,
                "stderr_preview": "panicked",
                "truncated": false
            },
            "error": null
        }"#,
    );
    receipt(
        &mapped,
        expect![[r"
        Task task_123 exited with code 101
        stderr:
        panicked"]],
    );
}

// Conformance: result 5.4
#[test]
fn json_on_standard_output_is_readable() {
    let text = r#"{"name":"notes","tags":["a","b"],"nested":{"path":"Notes/a.md","ok":true}}"#;
    let mapped = mapped("ExecCommand", &exited(text, ""), 2_000, &Files::default());
    assert!(!mapped.receipt.contains("\\\""), "{}", mapped.receipt);
    receipt(
        &mapped,
        expect![[r#"
        Process exited with code 0
        stdout:
        name: notes
        tags: [a, b]
        nested: {path: Notes/a.md, ok: true}"#]],
    );
}
