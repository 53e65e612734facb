//! The sentinel scanner and its judge, fed with what models write: well, badly, and on purpose against them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod adversaries;
mod cases;
mod flow;
mod grammar;
mod judged;
mod naive;
mod properties;
mod reading;
mod splits;
