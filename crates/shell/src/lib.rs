//! Commands: one that runs and ends, one that goes on as a background task, and the walls around both.
//!
//! Knows no engine: the gate decides whether a command may run, this crate decides what it can reach.

mod artifact;
mod companion;
pub mod process;
pub mod sandbox;
mod session;
mod settings;
mod tools;

pub use artifact::{PastRuns, register_artifact_read};
pub use companion::{Companion, Companionship, Streams};
pub use session::{Lifetime, Session, SessionParts, Shell};
pub use settings::{CommandSettings, Demand};
pub use tools::register;
