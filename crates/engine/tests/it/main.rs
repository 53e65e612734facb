//! The engine from outside: calls, plans, sessions, drivers, and whatever tries to get past the rules.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod command_bypass;
mod commands;
mod driver;
mod failures;
mod forecast;
mod hooks;
mod permissions;
mod pipeline;
mod resume;
mod retry_failed;
mod runs;
mod session;
mod support;
mod undo;
