//! A command while it runs.
//!
//! Its output is kept while it is produced, in memory that does not grow; its end is the end of everything it
//! started. Nothing here decides whether it may run or what it can reach: it gets a command that is ready, and
//! the times and names it works with come from outside as well.

mod alive;
mod capture;
mod child;
mod disk;
mod event;
mod exit;
mod family;
mod feed;
mod finished;
mod flow;
mod input;
mod job;
mod keeper;
mod piece;
mod pty;
mod run;
mod spawner;
mod spool;
#[cfg(test)]
mod spool_tests;
mod table;
mod tasks;
mod tree;
mod wires;
#[cfg(any(test, not(target_os = "linux")))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod linux;

#[cfg(not(target_os = "linux"))]
use elsewhere as system;
#[cfg(target_os = "linux")]
use linux as system;

pub(crate) use alive::{Alive, Mouths};
pub use child::Running;
pub use exit::Exit;
pub use feed::{Fresh, Progress};
pub use finished::{Cause, Cursor, End, Finished, NewOutput};
pub use input::Input;
pub use job::{CommandResources, Job, Limits};
pub use pty::Window;
pub use run::{Outcome, run};
pub use spawner::Spawner;
pub(crate) use spawner::unavailable;
pub use spool::{HEAD_BYTES, Stream};
pub use table::MARK;
pub use tasks::{RetrievalStatus, Retrieved, Taken, TaskId, TaskInfo, TaskState, Tasks};
pub use tree::Enclosure;
