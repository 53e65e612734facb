//! Integration tests of the MCP client.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a test panics on failure, reports skipped suites, and starts processes"
)]

mod conformance;
mod http;
