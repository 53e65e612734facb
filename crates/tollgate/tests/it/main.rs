//! The integration tests of the binary: each starts the real program, as a user, a client or a server would.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a test stops at the first surprise, says what it skips, and plays the other programs itself"
)]

mod approve;
mod artifact_read;
mod as_model;
mod cancel;
mod checks;
mod commands;
mod common_args;
mod connect;
mod disk_full;
mod documents;
mod exec_cases;
mod forecast;
mod fork_bombs;
mod help;
mod history;
mod hooks;
mod hundred_commands;
mod kill_and_resume;
#[cfg(target_os = "linux")]
mod kill_at_system_calls;
mod leftovers;
mod mcp;
mod mcp_clients;
mod odd_names;
mod preview;
mod prompts;
mod prune;
mod receipts;
mod refusals;
mod responses_clients;
mod retry_failed;
mod round_trip;
mod sandbox;
mod serve;
mod servers;
mod support;
mod token;
mod trust;
mod undo;
mod undo_links;
mod undo_parts;
mod undo_after_kill;
