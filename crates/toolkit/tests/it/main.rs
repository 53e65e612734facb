//! Tests of the tool contract through its public interface.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test panics on failure")]

mod author;
mod common_args;
mod conventions;
mod foreign;
mod integers;
mod schema_screen;
mod schema_words;
mod surface;
