//! The run as a state machine, from outside: inputs in, outputs compared.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod world;
mod script;
mod order;
mod foreach;
mod failures;
mod retries;
mod questions;
mod cancels;
mod strays;
mod sketch;
mod simulation;
mod properties;
