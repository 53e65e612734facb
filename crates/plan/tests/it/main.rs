//! Tests of the crate from outside: the plan checker and the state machine of a run.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod checker;
mod machine;
