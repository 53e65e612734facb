//! The tools of a vault through the MCP clients that people use, unmodified, from npm and PyPI, on the real binary.
//!
//! The clients are in `target/clients`, where `cargo xtask clients` installs them; the scripts that use them are in
//! `tests/clients`. Each takes the same steps, and every line that it prints is known beforehand. What it did is then
//! looked up in the records of the vault.

mod codex;
mod inspector;
mod pipes;
mod proxy;
mod records;
mod sdks;
mod serving;
mod stopping;
pub(crate) mod suites;
