//! Integration tests of the MCP server, from the messages of a client to the journal.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a test panics on failure, reports skipped suites, and starts processes"
)]

#[allow(dead_code, reason = "the tests of the edge use the rest")]
#[path = "../../../http-edge/tests/it/cells.rs"]
mod cells;
#[allow(dead_code, reason = "the tests of the edge use the rest")]
#[path = "../../../http-edge/tests/it/http_test_server.rs"]
mod http_test_server;

mod approval;
mod attacks;
mod bounds;
mod changes;
mod client;
mod clients;
mod conformance;
mod endings;
mod http_changes;
mod http_client;
mod http_guard;
mod http_rounds;
mod order;
mod progress;
mod resources;
mod results;
mod test_server;
mod tools;
