//! The process table of this system, read from `/proc`.

use std::fs::{self, File};
use std::io::Read;

use crate::platform::ProcessInfo;

/// More than any line of `stat` has: a name of 16 bytes and some fifty numbers. One read gets the whole line, which
/// matters because supervisors read all of them many times.
const STAT_BYTES: usize = 2048;

/// Returns every process that is visible.
pub(crate) fn processes() -> impl Iterator<Item = ProcessInfo> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| find_process(entry.file_name().to_str()?.parse().ok()?))
}

pub(crate) fn find_process(pid: i32) -> Option<ProcessInfo> {
    let mut line = [0; STAT_BYTES];
    let length = File::open(format!("/proc/{pid}/stat")).and_then(|mut file| file.read(&mut line)).ok()?;
    parse_stat(pid, line.get(..length)?)
}

/// Returns the first processes of the PID namespaces right below a process. Killing one of them ends its whole
/// namespace at once. Empty if the kernel does not list children.
pub(crate) fn namespace_inits(pid: i32) -> Vec<ProcessInfo> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let pids = children.split_ascii_whitespace().filter_map(|pid| pid.parse().ok());
    let is_init = |pid: &i32| {
        fs::read_to_string(format!("/proc/{pid}/status")).is_ok_and(|status| is_namespace_init(&status))
    };
    pids.filter(is_init).filter_map(find_process).collect()
}

/// Whether a process was started with this entry, `NAME=value`, in its environment.
pub(crate) fn has_environment_entry(pid: i32, entry: &str) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|variable| variable == entry.as_bytes())
}

/// Whether a process has the number 1 in a PID namespace below ours: `NSpid` lists its number here and in each
/// namespace below.
fn is_namespace_init(status: &str) -> bool {
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:")).unwrap_or_default();
    numbers.split_ascii_whitespace().skip(1).last() == Some("1")
}

/// Parses `pid (name) state ppid pgrp session ...`. The name can hold spaces and brackets, so the last bracket ends it.
fn parse_stat(pid: i32, stat: &[u8]) -> Option<ProcessInfo> {
    let after_name = stat.iter().rposition(|byte| *byte == b')')? + 1;
    let rest = std::str::from_utf8(stat.get(after_name..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let mut id = || fields.next()?.parse().ok();
    let (parent, group, session) = (id()?, id()?, id()?);
    // Fields 20 and 22 of the line. Six have been read, the first two with the name.
    let threads = fields.nth(13)?.parse().ok()?;
    let start = fields.nth(1)?.parse().ok()?;
    let (dead, asleep) = (matches!(state, "Z" | "X"), state == "S");
    Some(ProcessInfo { pid, parent, group, session, start, dead, asleep, threads })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::{is_namespace_init, parse_stat, processes};

    #[test]
    fn the_first_of_a_table_below_ours_is_known_by_its_numbers() {
        let status = |numbers: &str| format!("Name:\tsh\nPid:\t1\nNSpid:\t{numbers}\nNSpgid:\t1\n");
        let first =
            ["4711\t1", "4711\t3\t1", "1", "4711", "4711\t2", ""].map(|it| is_namespace_init(&status(it)));
        assert_eq!(first, [true, true, false, false, false, false]);
    }

    #[test]
    fn a_name_with_brackets_and_spaces_moves_no_field() {
        let line = b"4711 (a ) Z 1 2 (x) S 12 13 14 34816 99 4194304 1 2 3 4 5 6 7 8 20 0 17 0 123456 1000 5";
        expect![[r#"
            Some(
                ProcessInfo {
                    pid: 4711,
                    parent: 12,
                    group: 13,
                    session: 14,
                    start: 123456,
                    dead: false,
                    asleep: true,
                    threads: 17,
                },
            )
        "#]]
        .assert_debug_eq(&parse_stat(4711, line));
        assert_eq!(parse_stat(1, b"1 (short) S 1 2"), None);
    }

    #[test]
    fn this_process_is_among_all() {
        let own = i32::try_from(std::process::id()).unwrap();
        assert!(processes().any(|process| process.pid == own && process.threads > 0));
    }
}
