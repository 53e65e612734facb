//! Unix without Linux: no sandbox, no process table, and pipes and threads in place of Linux's descriptors.
#![cfg_attr(
    all(target_os = "linux", not(tollgate_portable)),
    allow(dead_code, unused_imports, unreachable_pub, reason = "on Linux it is compiled for its tests")
)]

mod descriptors;
mod process_table;
mod sandbox;

pub(crate) use descriptors::{
    EventDescriptor, TimerDescriptor, drop_cached_pages, open_direct, open_terminal, open_terminal_peer,
    pipe, send_signal, set_pipe_size, wait_for_exit, watch_process,
};
pub(crate) use process_table::{find_process, has_environment_entry, namespace_inits, processes};
pub use sandbox::{
    LAUNCH, PreparedCommand, SandboxResources, StartNotifier, StartSignal, launcher_main, prepare_command,
    probe_sandboxes,
};
pub(crate) use sandbox::{resolve_beneath, sandbox_failure, start_signal};
