//! Integration tests of the backends, in one binary.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]
#![allow(clippy::print_stderr, reason = "a test that is passed over says so")]

mod codex_real;
mod provider;
