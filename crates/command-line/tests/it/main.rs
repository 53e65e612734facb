//! Tests of the parser of command lines.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod corpus;
mod parity;
mod reading;
