//! What a command can reach.
//!
//! A command runs behind a [`Wall`]: bubblewrap where it can be built, else Landlock, and no wall only where
//! a policy says so. Both walls need Linux. On other systems commands are refused, or run without a wall.
//!
//! What is absent on purpose: a way down. A wall that cannot be built is a fault, never the next lower wall.

mod exec_policy;
mod reach;
mod scratch;
mod wall;
mod workdir;
#[cfg(any(test, not(target_os = "linux")))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod linux;

#[cfg(not(target_os = "linux"))]
use elsewhere as here;
#[cfg(target_os = "linux")]
use linux as here;

pub use exec_policy::{ExecPolicy, VaultFiles, program_files};
pub use here::{Doorbell, LAUNCH, Leftovers, Prepared, Threshold, command, launcher_main, probe};
pub(crate) use here::{not_run, threshold};
pub use reach::{Launch, Limits, Reach, Workdir};
pub use wall::{Wall, Walls};
pub use workdir::resolve_workdir;
