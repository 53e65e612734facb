//! Tests of receipts through their public interface.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test panics on failure")]

mod compaction;
mod preview;
mod seed_examples;
