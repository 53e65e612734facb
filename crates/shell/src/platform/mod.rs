//! Everything in this crate that depends on the operating system.
//!
//! `linux` has the command sandbox (namespaces, Landlock, seccomp, control groups), descriptors for events, timers and
//! processes, and the process table of `/proc`. `portable` has the same interface for other Unix systems: pipes and
//! threads in place of the descriptors, an empty process table, and no sandbox, so commands are refused unless the
//! settings turn the sandbox off. `--cfg tollgate_portable` selects it on Linux too, for a compile check. No other
//! module of this crate asks which system it runs on.

mod process_info;
#[cfg(all(target_os = "linux", not(tollgate_portable)))]
mod linux;
#[cfg(any(test, tollgate_portable, not(target_os = "linux")))]
mod portable;

#[cfg(all(target_os = "linux", not(tollgate_portable)))]
use linux as selected;
#[cfg(any(tollgate_portable, not(target_os = "linux")))]
use portable as selected;

pub(crate) use process_info::ProcessInfo;
pub(crate) use selected::{
    EventDescriptor, TimerDescriptor, drop_cached_pages, find_process, has_environment_entry,
    namespace_inits, open_direct, open_terminal, open_terminal_peer, pipe, processes, resolve_beneath,
    sandbox_failure, send_signal, set_pipe_size, start_signal, wait_for_exit, watch_process,
};
pub use selected::{
    LAUNCH, PreparedCommand, SandboxResources, StartNotifier, StartSignal, launcher_main, prepare_command,
    probe_sandboxes,
};
