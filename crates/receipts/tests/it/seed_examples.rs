//! The examples of the result contract, compared as JSON text with the order of the keys.
//!
//! Two kinds of errors have other names in the examples than in the closed list; they are mapped here.

use envelope::{CanonicalResult, Failure, Fault, ReceiptFamily};
use expect_test::{Expect, expect};
use receipts::families::{failed, render};
use serde_json::Value;

/// Error kinds in the examples, and in this crate.
const KINDS: [(&str, &str); 2] =
    [("invalid_tool_input", "schema_validation_failed"), ("execution_root_violation", "sandbox_violation")];

/// Compares a result with an example, as formatted JSON, and its receipt line by line.
#[track_caller]
fn check(family: ReceiptFamily, canonical: &CanonicalResult, example: &str, receipt: &Expect) {
    let mut example = example.to_owned();
    for (theirs, ours) in KINDS {
        example = example.replace(&format!("\"{theirs}\""), &format!("\"{ours}\""));
    }
    let example: Value = serde_json::from_str(&example).unwrap();
    assert_eq!(serde_json::to_string_pretty(canonical).unwrap(), format!("{example:#}"));
    receipt.assert_eq(&render(family, canonical, 2_000));
}

// Conformance: result 2.1
// Conformance: result 2.3
// Conformance: result 2.4
//     `error` has `kind`, `message`, optional `details` and `recovery_hint`, and `retryable`.
//     In: receipts/families/failed/mod.rs
#[test]
fn input_that_does_not_match_the_schema() {
    let message = "input for ExecCommand does not match the tool schema";
    let fault = Fault::new(Failure::SchemaValidationFailed, message)
        .detail("tool_name", "ExecCommand")
        .detail("parse_error", "missing field `cmd`")
        .hint("provide input for ExecCommand that matches the published tool schema");
    check(
        ReceiptFamily::Command,
        &failed::canonical("ExecCommand", &fault, Vec::new()),
        r#"{
          "tool_name": "ExecCommand",
          "status": "error",
          "summary_text": "input for ExecCommand does not match the tool schema",
          "result": null,
          "error": {
            "kind": "invalid_tool_input",
            "message": "input for ExecCommand does not match the tool schema",
            "details": {
              "tool_name": "ExecCommand",
              "parse_error": "missing field `cmd`"
            },
            "recovery_hint": "provide input for ExecCommand that matches the published tool schema",
            "retryable": false
          }
        }"#,
        &expect![[r#"
            ExecCommand failed (schema_validation_failed): input for ExecCommand does not match the tool schema
            parse_error: missing field `cmd`
            Next: provide input for ExecCommand that matches the published tool schema"#]],
    );
}

// Conformance: result 2.2
// Conformance: result 6.4
//     A working directory outside of the execution root is refused in the words of the contract.
//     In: shell/sandbox/workdir.rs
#[test]
fn a_working_directory_outside_of_the_root() {
    let message = "requested working directory is outside the current execution root";
    let fault = Fault::new(Failure::SandboxViolation, message)
        .detail("workdir", "../other-repo")
        .hint("omit workdir or use a relative path inside the active workspace");
    check(
        ReceiptFamily::Command,
        &failed::canonical("ExecCommand", &fault, Vec::new()),
        r#"{
          "tool_name": "ExecCommand",
          "status": "error",
          "summary_text": "requested working directory is outside the current execution root",
          "result": null,
          "error": {
            "kind": "execution_root_violation",
            "message": "requested working directory is outside the current execution root",
            "details": {
              "workdir": "../other-repo"
            },
            "recovery_hint": "omit workdir or use a relative path inside the active workspace",
            "retryable": false
          }
        }"#,
        &expect![[r#"
            ExecCommand failed (sandbox_violation): requested working directory is outside the current execution root
            workdir: ../other-repo
            Next: omit workdir or use a relative path inside the active workspace"#]],
    );
}
