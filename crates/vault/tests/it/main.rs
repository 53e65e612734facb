//! Tests of the vault through its public interface.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test stops at the first surprise, and prints its figures"
)]

mod write_fixture;
mod overwriting;
mod support;

mod deleting;
mod editing;
mod forecast;
mod hostile;
mod hostile_links;
mod listing;
mod odd_names;
mod overlay_listing;
mod proofs;
mod race;
mod receipts;
mod record;
mod renaming;
mod search;
mod tools;
