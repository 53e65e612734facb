//! The worked examples of the result contract, compared as JSON text with the order of the keys.
//!
//! The words for kinds of errors are those of one closed list, so the two that the examples spell otherwise are
//! spelled as there.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

use envelope::{CanonicalResult, Failure, Family, Fault};
use expect_test::{Expect, expect};
use serde_json::Value;
use toolkit::families::{failed, render};

/// How the examples spell kinds of errors, and how we do.
const KINDS: [(&str, &str); 2] =
    [("invalid_tool_input", "schema_validation_failed"), ("execution_root_violation", "sandbox_violation")];

/// Compares a result with an example, byte for byte once both are printed alike, and its receipt line for line.
#[track_caller]
fn check(family: Family, canonical: &CanonicalResult, example: &str, receipt: &Expect) {
    let mut example = example.to_owned();
    for (theirs, ours) in KINDS {
        example = example.replace(&format!("\"{theirs}\""), &format!("\"{ours}\""));
    }
    let example: Value = serde_json::from_str(&example).unwrap();
    assert_eq!(serde_json::to_string_pretty(canonical).unwrap(), format!("{example:#}"));
    receipt.assert_eq(&render(family, canonical, 2_000));
}

#[test]
fn input_that_does_not_match_the_schema() {
    let message = "input for ExecCommand does not match the tool schema";
    let fault = Fault::new(Failure::SchemaValidationFailed, message)
        .detail("tool_name", "ExecCommand")
        .detail("parse_error", "missing field `cmd`")
        .hint("provide input for ExecCommand that matches the published tool schema");
    check(
        Family::Command,
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

#[test]
fn a_working_directory_outside_of_the_root() {
    let message = "requested working directory is outside the current execution root";
    let fault = Fault::new(Failure::SandboxViolation, message)
        .detail("workdir", "../other-repo")
        .hint("omit workdir or use a relative path inside the active workspace");
    check(
        Family::Command,
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
