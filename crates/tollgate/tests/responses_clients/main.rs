//! The Responses gateway with the clients that people use, unmodified, from npm and PyPI.
//!
//! The clients are in `target/clients`, where `cargo xtask clients` installs them; the scripts that use them are in
//! `tests/clients`. Each script has one conversation in several ways and prints a line about each: what the model
//! said, which calls the client took from it, and what it answered. The model is a script, too, so every line is
//! known beforehand.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a test stops at the first surprise, says when it is skipped, and drives programs as a person would"
)]

mod app_server;
mod client;
mod comply;
mod conversation;
mod gateway;
#[path = "../support/installed.rs"]
mod installed;
mod scripted;
