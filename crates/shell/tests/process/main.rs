//! A command while it runs: what it prints is kept, and nothing of it survives its end.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod rig;
mod output;
mod disk;
mod shapes;
mod tasks;
mod terminal;
