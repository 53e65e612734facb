//! A disk that is full, or that fails, while a run is recorded: the run ends by itself, says why and what to do,
//! does nothing more, and has kept everything that it called done.
//!
//! The disk is played in three ways: a small file system of its own for the state folder, a limit on the size of
//! files, and single system calls that fail. Wherever it strikes, the same things are asked of the run, in
//! [`rig::Stage::holds`].
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a test stops at the first surprise, says what it skips, and drives the binary as a person would"
)]

#[path = "../support/mod.rs"]
mod support;

mod failing;
mod limited;
mod plans;
mod rig;
mod small;
mod way;
