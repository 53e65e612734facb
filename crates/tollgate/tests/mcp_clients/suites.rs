//! The conformance suites against `tollgate serve` itself.
//!
//! Most scenarios need tools, prompts and resources that are there for them alone, and the product has none of these:
//! with them, the suites run in the tests of the gateway. Here is what passes on the server that people start.

#[path = "../../../gateway/tests/conformance/suite.rs"]
#[allow(dead_code, reason = "each test file uses its own part")]
mod suite;

use expect_test::expect;
use suite::{Report, Suite, suites_are_missing};

use crate::proxy::Proxy;
use crate::serving::{Serving, vault};

fn run(suite: Suite, which: &[&str]) -> Report {
    let sandbox = vault();
    let proxy = Proxy::new();
    let name = format!("127.0.0.1:{}", proxy.port);
    let names = [name.clone(), format!("localhost:{}", proxy.port)];
    let origins = names.clone().map(|name| format!("http://{name}"));
    let [first, second] = &names;
    let [page, other] = &origins;
    let serving =
        Serving::start(&sandbox, &["--name", first, "--name", second, "--origin", page, "--origin", other]);
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
            prompts-list
            resources-list
            server-initialize
            server-sse-multiple-streams
            tools-list
            and 24 others that want more
        "#]]
        .assert_eq(&run(Suite::Of2025, &["--suite", "all"]).passed());
    }
}

#[test]
fn the_server_that_people_start_passes_what_needs_nothing_of_its_own_in_the_newer_era() {
    if !suites_are_missing() {
        expect![[r#"
            caching
            completion-complete
            dns-rebinding-protection
            http-header-validation
            input-required-result-unsupported-methods
            input-required-result-validate-input
            prompts-list
            resources-list
            sep-2164-resource-not-found
            server-sse-multiple-streams
            tasks-status-notifications
            tools-list
            and 38 others that want more
        "#]]
        .assert_eq(&run(Suite::Of2026, &["--requirements", "2026-07-28"]).passed());
    }
}
