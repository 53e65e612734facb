//! Counts the processes of a command where the kernel does not limit them: for root.
//!
//! A fork bomb leaves no time for counting. So the processes are counted only when the system as a whole has grown by
//! about as many as the command may have. That is one number to read, and can be read often.

use std::fs;

use super::SandboxKind;
use super::descendants;
use super::launcher_spec::LauncherSpec;

pub(super) struct ProcessCounter {
    limit: u64,
    kind: SandboxKind,
    /// The fewest processes of the whole system since the command was started.
    fewest: Option<u64>,
}

impl ProcessCounter {
    pub(super) fn new(spec: &LauncherSpec) -> ProcessCounter {
        ProcessCounter { limit: spec.profile.limits.processes, kind: spec.kind, fewest: system_task_count() }
    }

    pub(super) fn exceeds_limit(&mut self) -> bool {
        self.may_exceed_limit(system_task_count()) && self.count() > self.limit
    }

    /// Half of the limit, because other processes may have ended meanwhile.
    fn may_exceed_limit(&mut self, now: Option<u64>) -> bool {
        let (Some(now), Some(fewest)) = (now, self.fewest) else { return true };
        self.fewest = Some(fewest.min(now));
        now.saturating_sub(fewest) > self.limit / 2
    }

    fn count(&self) -> u64 {
        let count = match self.kind {
            // The PID namespace is the command's, except for bubblewrap's init process and ourselves.
            SandboxKind::Bubblewrap => visible_processes().saturating_sub(2),
            SandboxKind::Landlock | SandboxKind::Unsandboxed => descendants::living_descendants().len(),
        };
        count as u64
    }
}

/// Returns the number of processes and threads of the whole system.
fn system_task_count() -> Option<u64> {
    parse_loadavg(&fs::read_to_string("/proc/loadavg").ok()?)
}

/// Parses the fourth field of `0.20 0.18 0.12 1/80 11206`: running and all.
fn parse_loadavg(load: &str) -> Option<u64> {
    load.split_ascii_whitespace().nth(3)?.split_once('/')?.1.parse().ok()
}

/// Returns the number of visible processes. Only directory entries are read.
fn visible_processes() -> usize {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit)).count()
}

#[cfg(test)]
mod tests {
    use super::{ProcessCounter, SandboxKind, parse_loadavg, system_task_count, visible_processes};

    #[test]
    fn everyone_is_counted_only_when_the_system_has_grown_by_half_of_the_limit() {
        let mut population =
            ProcessCounter { limit: 100, kind: SandboxKind::Unsandboxed, fewest: Some(1000) };
        let seen = [Some(1050), Some(1051), Some(900), Some(950), Some(951), None, Some(900)];
        let counted = seen.map(|now| population.may_exceed_limit(now));
        assert_eq!(counted, [false, true, false, false, true, true, false]);
    }

    #[test]
    fn the_number_of_the_system_is_read_where_the_kernel_tells_it() {
        assert_eq!(parse_loadavg("0.20 0.18 0.12 1/80 11206\n"), Some(80));
        assert_eq!(parse_loadavg("0.20 0.18"), None);
        assert!(system_task_count().unwrap() as usize >= 2 && visible_processes() >= 1);
    }
}
