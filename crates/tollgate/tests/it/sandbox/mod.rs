//! The command sandbox: what a command tries and must not reach, what it needs and must have, and how it ends.
//!
//! Every probe is run in each sandbox and must break nothing. The same probes are run without one, where they must
//! break something: a probe that cannot succeed proves nothing. Files in a temporary folder play the user's system;
//! perl makes system calls for which there is no command.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod ends;
mod executes;
mod links;
mod other_user;
mod probes;
mod tries;
mod works;
mod world;
