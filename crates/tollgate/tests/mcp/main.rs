//! `tollgate mcp` as a client starts it: the real binary, a scripted client at its pipes, and the record afterwards.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a test stops at the first surprise, says what it skips, and drives the binary as a client would"
)]

mod approvals;
mod listing;
mod pipe;
mod plans;
mod settings;
#[path = "../support/mod.rs"]
mod support;
mod trust;
