//! The command sandbox on Linux: namespaces through bubblewrap, Landlock, seccomp, control groups and resource limits.
//!
//! Limits, file rules and system call filters have to be applied between the start of the process and the start of the
//! command. That happens in our own binary, which is started in between as `LAUNCHER __launch ROLE SPEC -- COMMAND`:
//! Rust code between `fork` and `exec` would be unsafe code.

mod setup_hint;
mod resolve_beneath;
mod prepare;
mod launcher_spec;
mod environment;
mod limits;
mod control_group;
mod launcher;
mod probe;
mod top_level;
mod nested_entries;
mod system_folders;
mod placeholder;
mod bubblewrap;
mod landlock_rules;
mod seccomp;
mod capabilities;
mod start_signal;
mod supervisor_process;
mod namespace_init;
mod process_counter;
mod descendants;
mod probe_command;

use crate::process::ProcessContainment;
use crate::sandbox::{AvailableSandboxes, LaunchSpec, ResourceLimits, SandboxKind, SandboxProfile};

pub use launcher::{LAUNCH, launcher_main};
pub use prepare::{PreparedCommand, SandboxResources, prepare_command};
pub use probe::probe_sandboxes;
pub(crate) use resolve_beneath::resolve_beneath;
pub use start_signal::{StartNotifier, StartSignal};
pub(crate) use start_signal::{sandbox_failure, start_signal};

impl From<SandboxKind> for ProcessContainment {
    fn from(kind: SandboxKind) -> ProcessContainment {
        match kind {
            SandboxKind::Bubblewrap => ProcessContainment::Namespace,
            SandboxKind::Landlock | SandboxKind::Unsandboxed => ProcessContainment::Supervised,
        }
    }
}
