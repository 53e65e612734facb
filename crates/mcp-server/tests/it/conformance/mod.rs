//! The official conformance suites for servers, from npm, against the server as the product runs it.
//!
//! The suites are in `target/clients`, where `cargo xtask clients` installs them. Each writes its checks into a
//! folder, one file per scenario; these files are evaluated here, so that an empty run fails.

mod server;
#[allow(dead_code, reason = "the tests of the binary use the rest")]
mod suite;

use expect_test::expect;
use server::Server;
use suite::{Suite, suites_are_missing};

/// Clients with an `initialize` handshake.
#[test]
fn every_scenario_of_the_older_suite_passes() {
    if suites_are_missing() {
        return;
    }
    let report = Suite::Of2025.run(&Server::start().url, &["--suite", "all"]);
    expect![[r#"
        32 scenarios, 46 checks passed
    "#]]
    .assert_eq(&report.text());
}

#[test]
fn every_scenario_that_2025_11_25_requires_passes() {
    if suites_are_missing() {
        return;
    }
    let report = Suite::Of2026.run(&Server::start().url, &["--requirements", "2025-11-25"]);
    expect![[r#"
        33 scenarios, 83 checks passed
    "#]]
    .assert_eq(&report.text());
}

/// Stateless clients. A single answer is a JSON object, so the one check of concurrent streams is skipped.
#[test]
fn every_scenario_that_2026_07_28_requires_passes() {
    if suites_are_missing() {
        return;
    }
    let report = Suite::Of2026.run(&Server::start().url, &["--requirements", "2026-07-28"]);
    expect![[r#"
        50 scenarios, 195 checks passed
        SKIPPED server-stateless sep-2575-server-sends-prompts-list-changed-on-subscription: Server did not declare prompts.listChanged capability in server/discover
        SKIPPED tasks-status-notifications tasks-status-notifications: Skipped: SEP-2663 delivers notifications/tasks via the SEP-2575 subscriptions/listen stream, not via the tools/call POST SSE response that the prior harness observed. The harness needs a rewrite against the new channel; tracked as a follow-up.
    "#]].assert_eq(&report.text());
}
