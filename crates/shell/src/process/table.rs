//! The processes of this system, as `/proc` shows them.

use std::fs;

use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};
use std::os::fd::OwnedFd;

/// The variable that every process of a command inherits, however far it strays.
pub const MARK: &str = "TOLLGATE_TASK";

/// One process. Its id alone may be given to another later; id and start together are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Process {
    pub(super) pid: i32,
    pub(super) parent: i32,
    pub(super) group: i32,
    pub(super) session: i32,
    /// In ticks since the system started.
    pub(super) start: u64,
    /// It has ended and waits to be collected by its parent.
    pub(super) dead: bool,
}

impl Process {
    /// Every process that can be seen. Nothing where there is no `/proc`.
    pub(super) fn all() -> Vec<Process> {
        let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
        let ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        ids.filter_map(Process::look_up).collect()
    }

    pub(super) fn look_up(pid: i32) -> Option<Process> {
        parse_stat(pid, &fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Whether it was started with this mark in its environment.
    pub(super) fn carries(&self, mark: &str) -> bool {
        let environment = fs::read(format!("/proc/{}/environ", self.pid)).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes())
    }

    /// Sends a signal to this process and to no other that may have got its id since. What comes back is ready
    /// when the process has ended; nothing comes back if it is gone, or if it cannot be watched.
    pub(super) fn send(&self, signals: &[Signal]) -> Option<OwnedFd> {
        let pid = Pid::from_raw(self.pid)?;
        let watched = pidfd_open(pid, PidfdFlags::empty());
        let same = Process::look_up(self.pid).is_some_and(|now| now.start == self.start);
        if !same {
            return None;
        }
        for signal in signals {
            // It may end, or be somebody else's, between the look and the signal; the next look tells.
            let _gone = match &watched {
                Ok(process) => pidfd_send_signal(process, *signal),
                Err(_) => kill_process(pid, *signal),
            };
        }
        watched.ok()
    }
}

/// Reads `pid (name) state ppid pgrp session ...`. The name may hold spaces and brackets: the last one closes it.
fn parse_stat(pid: i32, stat: &[u8]) -> Option<Process> {
    let after_name = stat.iter().rposition(|byte| *byte == b')')? + 1;
    let rest = std::str::from_utf8(stat.get(after_name..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let mut number = || fields.next()?.parse().ok();
    let (parent, group, session) = (number()?, number()?, number()?);
    // The start is field 22 of the line; six have been read, the first two with the name.
    let start = fields.nth(15)?.parse().ok()?;
    Some(Process { pid, parent, group, session, start, dead: matches!(state, "Z" | "X") })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::parse_stat;

    #[test]
    fn a_name_with_brackets_and_spaces_moves_no_field() {
        let line = b"4711 (a ) Z 1 2 (x) S 12 13 14 34816 99 4194304 1 2 3 4 5 6 7 8 20 0 1 0 123456 1000 5";
        expect![[r#"
            Some(
                Process {
                    pid: 4711,
                    parent: 12,
                    group: 13,
                    session: 14,
                    start: 123456,
                    dead: false,
                },
            )
        "#]]
        .assert_debug_eq(&parse_stat(4711, line));
        assert_eq!(parse_stat(1, b"1 (short) S 1 2"), None);
    }
}
