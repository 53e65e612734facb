//! The processes of this system, as `/proc` shows them.

use std::fs::{self, File};
use std::io::Read;
use std::os::fd::OwnedFd;

use rustix::process::{Pid, Signal};

use super::system;

/// The variable that every process of a command inherits, however far it strays.
pub const MARK: &str = "TOLLGATE_TASK";

/// Longer than any line of `stat`: one read gets it, which counts when there are many and time is short.
const STAT_BYTES: usize = 2048;

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
        let mut line = [0; STAT_BYTES];
        let length =
            File::open(format!("/proc/{pid}/stat")).and_then(|mut file| file.read(&mut line)).ok()?;
        parse_stat(pid, line.get(..length)?)
    }

    /// The first processes of process tables that begin right below this one. Who kills one of them ends its whole
    /// table at once. None where the kernel does not tell.
    pub(super) fn tables_below(&self) -> Vec<Process> {
        let path = format!("/proc/{0}/task/{0}/children", self.pid);
        let children = fs::read_to_string(path).unwrap_or_default();
        let pids = children.split_ascii_whitespace().filter_map(|pid| pid.parse().ok());
        let begins_table = |pid: &i32| {
            fs::read_to_string(format!("/proc/{pid}/status")).is_ok_and(|status| is_first(&status))
        };
        pids.filter(begins_table).filter_map(Process::look_up).collect()
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
        let watched = system::watch(pid).ok();
        let same = Process::look_up(self.pid).is_some_and(|now| now.start == self.start);
        if !same {
            return None;
        }
        for signal in signals {
            system::send(pid, watched.as_ref(), *signal);
        }
        watched
    }
}

/// Whether a process has the number 1 in a table below ours: `NSpid` is its number here and in each table below.
fn is_first(status: &str) -> bool {
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:")).unwrap_or_default();
    numbers.split_ascii_whitespace().skip(1).last() == Some("1")
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

    use super::{is_first, parse_stat};

    #[test]
    fn the_first_of_a_table_below_ours_is_known_by_its_numbers() {
        let status = |numbers: &str| format!("Name:\tsh\nPid:\t1\nNSpid:\t{numbers}\nNSpgid:\t1\n");
        let first = ["4711\t1", "4711\t3\t1", "1", "4711", "4711\t2", ""].map(|it| is_first(&status(it)));
        assert_eq!(first, [true, true, false, false, false, false]);
    }

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
