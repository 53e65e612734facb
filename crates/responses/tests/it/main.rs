//! The Responses protocol from outside: what is read and written, and what untrusted text cannot forge.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod injection;
mod wire;
