//! The official conformance suites for clients, played through the program that people have: settings, trust, approval
//! of the tools, calls.
//!
//! Left out are scenarios in which a server asks the user (`elicitation-*`, `sep-2322-*`): a server gets no capability of
//! the client. `http-custom-headers` wants a call with `null` where the schema of the tool says `string`; such a call is
//! refused before it is sent. The `auth/*` scenarios are about OAuth, which is not supported.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use expect_test::expect;

use crate::mcp_clients::suites::suite::{Suite, suites_are_missing};

/// Writes a program that the suite can start, which knows the binary and the script.
fn client(folder: &Path) -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/servers/conformance_client.py");
    let client = folder.join("client");
    let program = env!("CARGO_BIN_EXE_tollgate");
    let text =
        format!("#!/bin/sh\nTOLLGATE_PROGRAM='{program}' exec python3 -B '{}' \"$@\"\n", script.display());
    std::fs::write(&client, text).unwrap();
    std::fs::set_permissions(&client, std::fs::Permissions::from_mode(0o755)).unwrap();
    client
}

#[test]
fn a_server_of_the_settings_is_called_as_the_older_suite_wants_it() {
    if suites_are_missing() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let scenarios = ["initialize", "tools_call", "sse-retry"];
    let report = Suite::Of2025.play(&client(folder.path()), &scenarios, &[]);
    expect![[r#"
        3 scenarios, 5 checks passed
    "#]]
    .assert_eq(&report.text());
}

#[test]
fn a_server_of_the_settings_is_called_as_the_newer_suite_wants_it() {
    if suites_are_missing() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let scenarios = [
        "tools_call",
        "request-metadata",
        "http-standard-headers",
        "http-invalid-tool-headers",
        "json-schema-ref-no-deref",
        "json-schema-2020-12-preservation",
    ];
    let report = Suite::Of2026.play(&client(folder.path()), &scenarios, &["--spec-version", "2026-07-28"]);
    let text = report.text();
    let without_skipped: String =
        text.lines().filter(|line| !line.starts_with("SKIPPED")).map(|line| format!("{line}\n")).collect();
    expect![[r#"
        6 scenarios, 32 checks passed
    "#]]
    .assert_eq(&without_skipped);
}
