//! The sentinel scanner, its judge and whole answers, fed with what models write: well, badly, and on purpose against
//! them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod adversaries;
mod answers;
mod cases;
mod drawing;
mod flow;
mod fragments;
mod generated;
mod grammar;
mod judged;
mod naive;
mod outputs;
mod properties;
mod reading;
mod splits;
