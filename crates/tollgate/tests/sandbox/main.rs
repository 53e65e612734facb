//! What holds around a command: what it tries and must not reach, what it needs and must have, and how it ends.
//!
//! Every probe is run behind each wall and must break nothing. The same probes are run without a wall, where
//! they must break something: a probe that cannot succeed proves nothing. The files play the part of a person's
//! system in a temporary folder; perl makes the calls for which there is no command.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a test stops at the first surprise, says what it skips, and plays the other programs itself"
)]

mod ends;
mod executes;
mod links;
mod other_user;
mod probes;
mod tries;
mod works;
mod world;
