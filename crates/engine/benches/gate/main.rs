//! The cost of a call through the engine, beside the cost of its parts alone.
//!
//! Short work is measured as the minimum wall time over many small batches, the disk as a mean over
//! interleaved rounds; every figure comes with the ratio to a floor or a peer measured in the same run.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark prints, and stops at the first surprise"
)]
#![allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

mod calls;
mod durable;
mod hashing;
mod plans;
mod rig;

fn main() {
    let only: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let wanted = |name: &str| only.is_empty() || only.iter().any(|arg| arg == name);
    if wanted("hashing") {
        hashing::measure();
    }
    if wanted("calls") {
        calls::measure();
    }
    if wanted("durable") {
        durable::measure();
    }
    if wanted("plans") {
        plans::measure();
    }
}
