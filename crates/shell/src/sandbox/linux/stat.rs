//! What the kernel says about each process in one line.

use std::fs::{self, File};
use std::io::Read;

/// Longer than any such line: a name of 16 bytes and some fifty numbers.
const LINE: usize = 2048;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) pid: i32,
    pub(super) parent: i32,
    pub(super) group: i32,
    /// It has ended and waits to be collected.
    pub(super) dead: bool,
    /// It waits for something to happen.
    pub(super) asleep: bool,
    pub(super) threads: u64,
}

impl Stat {
    /// Everyone who can be seen.
    pub(super) fn all() -> impl Iterator<Item = Stat> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        entries.filter_map(|entry| Stat::of(entry.file_name().to_str()?.parse().ok()?))
    }

    /// One read: a supervisor looks at all of them many times.
    pub(super) fn of(pid: i32) -> Option<Stat> {
        let mut line = [0; LINE];
        let length =
            File::open(format!("/proc/{pid}/stat")).and_then(|mut file| file.read(&mut line)).ok()?;
        Stat::parse(pid, line.get(..length)?)
    }

    /// Reads `pid (name) state parent ...`. The name may hold anything, so the last bracket closes it.
    fn parse(pid: i32, line: &[u8]) -> Option<Stat> {
        let after_name = line.iter().rposition(|byte| *byte == b')')? + 1;
        let mut fields = std::str::from_utf8(line.get(after_name..)?).ok()?.split_ascii_whitespace();
        let state = fields.next()?;
        let (dead, asleep) = (matches!(state, "Z" | "X"), state == "S");
        let parent = fields.next()?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        let threads = fields.nth(14)?.parse().ok()?;
        Some(Stat { pid, parent, group, dead, asleep, threads })
    }
}

#[cfg(test)]
mod tests {
    use super::Stat;

    #[test]
    fn a_name_with_brackets_moves_no_field() {
        let line = b"4711 (a ) Z 1) S 12 13 14 34816 99 4194304 1 2 3 4 5 6 7 8 20 0 17 0 123456 1000 5";
        let expected = Stat { pid: 4711, parent: 12, group: 13, dead: false, asleep: true, threads: 17 };
        assert_eq!(Stat::parse(4711, line), Some(expected));
        assert_eq!(Stat::parse(1, b"1 (short) S 1 2"), None);
    }

    #[test]
    fn this_process_is_among_all() {
        let own = i32::try_from(std::process::id()).unwrap();
        assert!(Stat::all().any(|stat| stat.pid == own && stat.threads > 0));
    }
}
