//! The init process of a PID namespace: it adopts orphans, and when it ends, the kernel kills the rest.
//!
//! A supervisor that finds processes and kills them loses against a fork bomb. A namespace ends at once, however many
//! processes are in it. So where bubblewrap does not make one and the kernel allows it, which is for commands of root,
//! the supervisor makes one.

use std::ffi::OsString;

use nix::sched::{CloneFlags, unshare};
use rustix::io::Errno;
use rustix::process::{Signal, WaitOptions, set_parent_process_death_signal, wait};

use super::SandboxKind;
use super::launcher_spec::{LauncherRole, LauncherSpec};
use super::supervisor_process::{exit_code_of, start};

/// Makes a PID namespace for the next process that is started. Returns whether it did.
///
/// Not without a sandbox: the command would see all processes of the system under wrong ids. Under Landlock it does not
/// see them.
pub(super) fn enter_pid_namespace(spec: &LauncherSpec) -> bool {
    spec.kind == SandboxKind::Landlock && unshare(CloneFlags::CLONE_NEWPID).is_ok()
}

/// Runs the command to its end. Returns the exit code.
pub(super) fn run_namespace_init(spec: &LauncherSpec, argv: &[OsString]) -> Result<u8, String> {
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|error| error.to_string())?;
    let command = start(spec, argv, LauncherRole::Inner)?;
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == command => return Ok(exit_code_of(status)),
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.to_string()),
        }
    }
}
