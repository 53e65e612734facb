//! The official conformance suites for clients, from npm, with the HTTP transport of the product.
//!
//! The client is `examples/conformance_client.rs`. The `auth/*` scenarios are left out: they test clients that sign
//! in with OAuth, which this client does not support. A server is configured together with its token.

#[path = "../../../mcp-server/tests/it/conformance/suite.rs"]
#[allow(dead_code, reason = "the tests of servers use the rest")]
mod suite;

use std::path::PathBuf;

use expect_test::expect;
use suite::{Suite, suites_are_missing};

/// Built with the tests, unless only some of them were selected.
fn client() -> PathBuf {
    let me = std::env::current_exe().unwrap();
    let client = me.ancestors().nth(2).unwrap().join("examples/conformance_client");
    assert!(client.is_file(), "there is no {}: cargo build -p mcp-client --examples", client.display());
    client
}

#[test]
fn every_scenario_of_the_older_suite_passes_that_needs_no_sign_in() {
    if suites_are_missing() {
        return;
    }
    let scenarios = ["initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry"];
    let report = Suite::Of2025.play(&client(), &scenarios, &[]);
    expect![[r#"
        4 scenarios, 10 checks passed
    "#]]
    .assert_eq(&report.text());
}

/// The skipped checks are about requests and capabilities that this client does not use.
#[test]
fn every_scenario_of_2026_07_28_passes_that_needs_no_sign_in() {
    if suites_are_missing() {
        return;
    }
    let scenarios = [
        "tools_call",
        "request-metadata",
        "sep-2322-client-request-state",
        "http-standard-headers",
        "http-custom-headers",
        "http-invalid-tool-headers",
        "json-schema-ref-no-deref",
        "json-schema-2020-12-preservation",
    ];
    let report = Suite::Of2026.play(&client(), &scenarios, &["--spec-version", "2026-07-28"]);
    expect![[r#"
        8 scenarios, 56 checks passed
        SKIPPED http-standard-headers sep-2243-client-includes-standard-headers: Client did not send a initialize request; Mcp-Method header was not exercised for this method.
        SKIPPED http-standard-headers sep-2243-client-includes-standard-headers: Client did not send a notifications/initialized request; Mcp-Method header was not exercised for this method.
        SKIPPED http-standard-headers sep-2243-client-includes-standard-headers: Client did not send a resources/list request; Mcp-Method header was not exercised for this method.
        SKIPPED http-standard-headers sep-2243-client-includes-standard-headers: Client did not send a resources/read request; Mcp-Method header was not exercised for this method.
        SKIPPED http-standard-headers sep-2243-client-includes-standard-headers: Client did not send a prompts/list request; Mcp-Method header was not exercised for this method.
        SKIPPED http-standard-headers sep-2243-client-includes-standard-headers: Client did not send a prompts/get request; Mcp-Method header was not exercised for this method.
        SKIPPED http-standard-headers sep-2243-client-includes-standard-headers: Client did not send a resources/read request; Mcp-Name header was not exercised for this method.
        SKIPPED http-standard-headers sep-2243-client-includes-standard-headers: Client did not send a prompts/get request; Mcp-Name header was not exercised for this method.
        SKIPPED request-metadata sep-2575-client-declares-roots-capability: 
        SKIPPED request-metadata sep-2575-client-declares-sampling-capability: 
    "#]].assert_eq(&report.text());
}
