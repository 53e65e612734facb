//! What a command can reach.
//!
//! A command runs behind a [`Wall`]: bubblewrap where it can be built, else Landlock, and no wall only where
//! a policy says so. Whatever must happen between the start of the process and the start of the command
//! (limits, rules for files and system calls) happens in our own binary, which is started in between as
//! `LAUNCHER __launch ROLE SPEC -- COMMAND`: Rust code between `fork` and `exec` would be unsafe code.
//!
//! What is absent on purpose: a way down. A wall that cannot be built is a fault, never the next lower wall.

mod reach;
mod wall;
mod mending;
mod workdir;
mod prepare;
mod spec;
mod environment;
mod limits;
mod cgroup;
mod launcher;
mod probe;
mod top;
mod system;
mod placeholder;
mod scratch;
mod bubblewrap;
mod file_rules;
mod syscalls;
mod privileges;
mod threshold;
mod supervise;
mod first;
mod population;
mod descendants;
mod stat;
mod trial;

pub use launcher::{LAUNCH, launcher_main};
pub use prepare::{Leftovers, Prepared, command};
pub use probe::probe;
pub use reach::{Launch, Limits, Reach};
pub(crate) use threshold::not_run;
pub use threshold::{Doorbell, Threshold};
pub use wall::{Wall, Walls};
pub use workdir::resolve_workdir;
