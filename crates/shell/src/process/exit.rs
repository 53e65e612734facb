//! How a process ended.

use std::io;
use std::os::fd::BorrowedFd;

use rustix::process::Pid;

use super::system;

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
}

impl Exit {
    /// Collects a child that has ended, so that nothing of it is left. Waits for its end if need be.
    pub(super) fn collect(child: Pid, watched: BorrowedFd<'_>) -> io::Result<Option<Exit>> {
        let status = system::collect(child, watched)?;
        Ok(status.and_then(|status| {
            status.exit_status().map(Exit::Code).or(status.terminating_signal().map(Exit::Signal))
        }))
    }
}
