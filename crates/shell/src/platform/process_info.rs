//! One entry of the process table.

use std::os::fd::OwnedFd;

use rustix::process::{Pid, Signal};

use super::{find_process, send_signal, watch_process};

/// A process at one moment. Its id alone can be given to another process later; id and start together cannot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ProcessInfo {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    pub(crate) group: i32,
    pub(crate) session: i32,
    /// In ticks since the system started.
    pub(crate) start: u64,
    /// It has ended and waits to be collected by its parent.
    pub(crate) dead: bool,
    /// It waits for an event.
    pub(crate) asleep: bool,
    pub(crate) threads: u64,
}

impl ProcessInfo {
    /// Sends signals to this process, and never to a later process with the same id. Returns a descriptor that is ready
    /// when the process has ended, or `None` if the process is gone or cannot be watched.
    pub(crate) fn send(&self, signals: &[Signal]) -> Option<OwnedFd> {
        let pid = Pid::from_raw(self.pid)?;
        let watched = watch_process(pid).ok();
        let same = find_process(self.pid).is_some_and(|now| now.start == self.start);
        if !same {
            return None;
        }
        for signal in signals {
            send_signal(pid, watched.as_ref(), *signal);
        }
        watched
    }
}
