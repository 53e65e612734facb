//! The edge, over real sockets and raw bytes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod bodies;
mod capacity;
mod clients;
mod cells;
mod shutdown;
mod heads;
mod keep_alive;
mod matrix;
mod origins;
mod panics;
mod http_test_server;
mod routes;
mod secrets;
mod settings;
mod slow;
mod streams;
mod token_file;
mod web_socket;
