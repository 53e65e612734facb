//! The conformance suites against `tollgate serve` itself.
//!
//! Most scenarios call tools, prompts and resources that exist for the suite only, and the product has none of these:
//! they all pass in the tests of `mcp-server`, which has them. Here are those that pass on the real server. Of the
//! others, `prompts-list` and `caching` need prompts, `logging-set-level` needs logging, `resources-subscribe` and
//! `resources-unsubscribe` need notifications about single resources; the product has none of these and promises them
//! to no client.

#[path = "../../../../mcp-server/tests/it/conformance/suite.rs"]
#[allow(dead_code, reason = "each test file uses its own part")]
pub(crate) mod suite;

use expect_test::expect;
use suite::{Report, Suite, suites_are_missing};

use crate::mcp_clients::proxy::StdioProxy;
use crate::mcp_clients::serving::{McpHttpServer, vault};

fn run(suite: Suite, which: &[&str]) -> Report {
    let sandbox = vault();
    let proxy = StdioProxy::new();
    let name = format!("127.0.0.1:{}", proxy.port);
    let names = [name.clone(), format!("localhost:{}", proxy.port)];
    let origins = names.clone().map(|name| format!("http://{name}"));
    let [first, second] = &names;
    let [page, other] = &origins;
    let serving = McpHttpServer::start(
        &sandbox,
        &["--name", first, "--name", second, "--origin", page, "--origin", other],
    );
    let address = serving.url.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();
    proxy.lead_to(address.to_owned(), serving.token.clone());
    let report = suite.run(&format!("http://{name}/mcp"), which);
    serving.stop();
    report
}

#[test]
fn the_server_that_people_start_passes_what_needs_nothing_of_its_own_in_the_older_era() {
    if !suites_are_missing() {
        expect![[r#"
            completion-complete
            dns-rebinding-protection
            ping
            resources-list
            server-initialize
            server-sse-multiple-streams
            tools-list
            and 25 others that want more
        "#]]
        .assert_eq(&run(Suite::Of2025, &["--suite", "all"]).passed());
    }
}

#[test]
fn the_server_that_people_start_passes_what_needs_nothing_of_its_own_in_the_newer_era() {
    if !suites_are_missing() {
        expect![[r#"
            completion-complete
            dns-rebinding-protection
            http-header-validation
            input-required-result-unsupported-methods
            input-required-result-validate-input
            resources-list
            sep-2164-resource-not-found
            server-sse-multiple-streams
            tasks-status-notifications
            tools-list
            and 40 others that want more
        "#]]
        .assert_eq(&run(Suite::Of2026, &["--requirements", "2026-07-28"]).passed());
    }
}
