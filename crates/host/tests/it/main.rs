//! The integration tests of the host: its tools over the headless host and over a remote one.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod commands;
mod open_notes;
mod receipts;
mod record;
mod remote;
mod support;
mod tools;
