//! `tollgate serve` as people run it: the real binary, real sockets, and runs that are looked at afterwards.
//!
//! No client library stands between, so every byte of an answer is seen. No test waits for time to pass: each waits
//! for an event of a stream, a line of the log or the end of a process.

mod answers;
mod backend_dies;
mod clients;
#[cfg(target_os = "linux")]
mod codex_dies;
mod guard;
#[cfg(target_os = "linux")]
mod many;
pub(crate) mod server;
mod stopping;
mod tools;
mod trust;
mod upstream;
pub(crate) mod wire;
