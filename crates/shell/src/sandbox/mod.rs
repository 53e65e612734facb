//! The command sandbox: what a command can reach.
//!
//! A command runs in the best [`SandboxKind`] that the system has: bubblewrap, or Landlock alone. It runs without a
//! sandbox only if the settings say so. A sandbox that cannot be built is an error, never a fallback to a weaker
//! one. Both kinds need Linux; the code that builds them is in `crate::platform`.

mod exec_policy;
mod kind;
mod profile;
mod scratch_folder;
mod workdir;

pub use crate::platform::{
    LAUNCH, PreparedCommand, SandboxResources, StartNotifier, StartSignal, launcher_main, prepare_command,
    probe_sandboxes,
};
pub(crate) use crate::platform::{sandbox_failure, start_signal};
pub use exec_policy::{ExecPolicy, VaultFiles, program_files};
pub(crate) use kind::sandbox_unavailable;
pub use kind::{AvailableSandboxes, SandboxKind};
pub use profile::{CommandWorkdir, LaunchSpec, ResourceLimits, SandboxProfile};
pub(crate) use scratch_folder::ScratchFolder;
pub use workdir::resolve_workdir;
