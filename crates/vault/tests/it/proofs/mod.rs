//! Properties of the vault that hold for any arguments, any content and any concurrent program.
//!
//! Every tool that takes a path is called through the registry, as the engine calls it. The default run is small;
//! `RUN_SLOW_TESTS` makes it thorough, and a number in it makes it longer by that factor.
#![allow(clippy::disallowed_methods, reason = "the tests are about other programs that write to the vault")]

mod calls;
mod crash;
mod seeded_random;
pub(crate) mod call_runner;
mod link_model;
mod histories;
mod hostile_paths;
mod folder_store;
mod linked_vault;
mod model;
mod other_process;
mod races;
mod read_only;
mod rename;
mod resolver;
mod foreign_writer;
mod tree;
mod writers;

/// Returns the amount of work: `quick` in the default run, `slow` times the number in `RUN_SLOW_TESTS` otherwise.
fn scaled(quick: u32, slow: u32) -> u32 {
    match std::env::var("RUN_SLOW_TESTS") {
        Ok(factor) => slow * factor.parse::<u32>().unwrap_or(1).max(1),
        Err(_) => quick,
    }
}
