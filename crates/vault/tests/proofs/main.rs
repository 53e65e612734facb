//! What must hold for the vault whatever is sent, whatever stands in it and whatever happens meanwhile.
//!
//! Every tool that takes a path is called through the registry, as the gate calls it. The default run is small;
//! `RUN_SLOW_TESTS` makes it thorough, and a number there makes it longer by that factor.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test stops at the first surprise, and prints its figures"
)]
#![allow(clippy::disallowed_methods, reason = "the tests are about other programs that write to the vault")]

#[path = "../support/mod.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod support;

mod calls;
mod crash;
mod dice;
mod gate;
mod hostile_paths;
mod kept;
mod linked_vault;
mod model;
mod other_process;
mod races;
mod read_only;
mod rename;
mod resolver;
mod stranger;
mod tree;
mod writers;

/// How much work to do: `quick` in the default run, `slow` times the number in `RUN_SLOW_TESTS` otherwise.
fn scaled(quick: u32, slow: u32) -> u32 {
    match std::env::var("RUN_SLOW_TESTS") {
        Ok(factor) => slow * factor.parse::<u32>().unwrap_or(1).max(1),
        Err(_) => quick,
    }
}
