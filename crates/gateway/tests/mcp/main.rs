//! The face for MCP clients, from the lines that a client writes to the record that is left.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

#[allow(dead_code, reason = "the tests of the edge use the rest")]
#[path = "../edge/cells.rs"]
mod cells;
#[allow(dead_code, reason = "the tests of the edge use the rest")]
#[path = "../edge/rig.rs"]
mod rig;

mod approval;
mod attacks;
mod bounds;
mod changes;
mod client;
mod clients;
mod endings;
mod house;
mod http_changes;
mod http_client;
mod http_guard;
mod http_rounds;
mod order;
mod progress;
mod resources;
mod results;
mod tools;
