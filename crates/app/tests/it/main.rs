//! The library alone, without the binary: a plan is checked, forecast, run, reported and undone.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

mod common_args;
mod known_failures;
mod plan_to_undo;
mod prune;
mod session_undo;
