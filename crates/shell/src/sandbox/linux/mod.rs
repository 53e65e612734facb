//! The walls of Linux, and the way through them to the command.
//!
//! Whatever must happen between the start of the process and the start of the command (limits, rules for files and
//! system calls) happens in our own binary, which is started in between as `LAUNCHER __launch ROLE SPEC -- COMMAND`:
//! Rust code between `fork` and `exec` would be unsafe code.

mod mending;
mod beneath;
mod prepare;
mod spec;
mod environment;
mod limits;
mod cgroup;
mod launcher;
mod probe;
mod top;
mod nested;
mod system;
mod placeholder;
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

use super::{Launch, Limits, Reach, Wall, Walls};
use crate::process::Enclosure;

pub(super) use beneath::beneath;
pub use launcher::{LAUNCH, launcher_main};
pub use prepare::{Leftovers, Prepared, command};
pub use probe::probe;
pub use threshold::{Doorbell, Threshold};
pub(crate) use threshold::{not_run, threshold};

impl From<Wall> for Enclosure {
    fn from(wall: Wall) -> Enclosure {
        match wall {
            Wall::Bubblewrap => Enclosure::Namespace,
            Wall::Landlock | Wall::Open => Enclosure::Supervised,
        }
    }
}
