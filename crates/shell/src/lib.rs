//! Commands: run to their end or as background tasks, in a sandbox.
//!
//! This crate does not know the engine: the engine decides whether a command may run, this crate decides what it can
//! access.

mod artifact;
mod platform;
pub mod process;
pub mod sandbox;
mod server_process;
mod shell_session;
mod settings;
mod text_pattern;
mod tools;

pub use artifact::{PastRuns, register_artifact_read};
pub use process::StdioPipes;
pub use server_process::{ServerProcess, ServerSpec};
pub use settings::{CommandSettings, SandboxRequirement};
pub use shell_session::{ProcessLifetime, SessionParts, SharedSession, ShellSession};
pub use tools::register;
