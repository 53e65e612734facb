//! The tools of a vault through the MCP clients that people use, unmodified, from npm and PyPI, on the real binary.
//!
//! The clients are in `target/clients`, where `cargo xtask clients` installs them; the scripts that use them are in
//! `tests/clients`. Each takes the same steps, and every line that it prints is known beforehand. What it did is then
//! looked up in the records of the vault.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a test stops at the first surprise, says when it is skipped, and drives programs as a person would"
)]

mod codex;
mod inspector;
#[path = "../support/installed.rs"]
mod installed;
mod pipes;
mod proxy;
mod records;
mod sdks;
mod serving;
mod stopping;
mod suites;
#[path = "../support/mod.rs"]
mod support;
