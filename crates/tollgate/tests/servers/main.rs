//! Servers of others behind the gate, through the binary: hostile ones that do no harm, and real ones that work.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a test stops at the first surprise, says when it is skipped, and drives programs as a person would"
)]

#[path = "../support/mod.rs"]
mod support;

mod approving;
mod hostile;
mod published;
mod rig;
mod serving;
mod sharing;
