//! The first process of a process table of its own: orphans come to it, and when it ends, the kernel ends the rest.
//!
//! A supervisor that looks for processes and kills them loses against one that multiplies faster. A table does not:
//! it ends at once, however many are in it. So where bubblewrap does not make one and the kernel lets us, which is
//! where root's commands run, the supervisor makes it.

use std::ffi::OsString;

use nix::sched::{CloneFlags, unshare};
use rustix::io::Errno;
use rustix::process::{Signal, WaitOptions, set_parent_process_death_signal, wait};

use super::Wall;
use super::spec::{Role, Spec};
use super::supervise::{code_of, start};

/// Whether the next process that is started is the first of its own table.
///
/// Not without a wall: the command would see the processes of everyone under other numbers than its own. Behind
/// Landlock it does not see them.
pub(super) fn begins_table(spec: &Spec) -> bool {
    spec.wall == Wall::Landlock && unshare(CloneFlags::CLONE_NEWPID).is_ok()
}

/// Runs the command to its end. Gives the code to end with.
pub(super) fn first(spec: &Spec, argv: &[OsString]) -> Result<u8, String> {
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|error| error.to_string())?;
    let command = start(spec, argv, Role::Inner)?;
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == command => return Ok(code_of(status)),
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.to_string()),
        }
    }
}
