//! Tests of commands and artifacts through the public interface of the crate.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod artifact_read;
mod process;
mod seed_examples;
