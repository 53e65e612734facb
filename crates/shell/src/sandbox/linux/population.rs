//! How many processes a command has, where the kernel does not hold it to a number: that of root.
//!
//! Processes that multiply take the time that counting them needs. So the count is done only when the system as a
//! whole has grown by about as many as the command may have, which is one number to read, and can be read often.

use std::fs;

use super::Wall;
use super::descendants;
use super::spec::Spec;

pub(super) struct Population {
    limit: u64,
    wall: Wall,
    /// The fewest that the whole system had since the command was started.
    fewest: Option<u64>,
}

impl Population {
    pub(super) fn new(spec: &Spec) -> Population {
        Population { limit: spec.reach.limits.processes, wall: spec.wall, fewest: on_system() }
    }

    pub(super) fn is_too_large(&mut self) -> bool {
        self.may_be_too_large(on_system()) && self.count() > self.limit
    }

    /// Half of the limit: meanwhile others may have ended.
    fn may_be_too_large(&mut self, now: Option<u64>) -> bool {
        let (Some(now), Some(fewest)) = (now, self.fewest) else { return true };
        self.fewest = Some(fewest.min(now));
        now.saturating_sub(fewest) > self.limit / 2
    }

    fn count(&self) -> u64 {
        let count = match self.wall {
            // The process table is the command's, but for the one that bubblewrap leaves in it, and ourselves.
            Wall::Bubblewrap => listed().saturating_sub(2),
            Wall::Landlock | Wall::Open => descendants::living().len(),
        };
        count as u64
    }
}

/// The processes and threads of the whole system.
fn on_system() -> Option<u64> {
    tasks_in(&fs::read_to_string("/proc/loadavg").ok()?)
}

/// Reads the fourth field of `0.20 0.18 0.12 1/80 11206`: those that run, and all there are.
fn tasks_in(load: &str) -> Option<u64> {
    load.split_ascii_whitespace().nth(3)?.split_once('/')?.1.parse().ok()
}

/// The processes that can be seen. Only their names are looked at.
fn listed() -> usize {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit)).count()
}

#[cfg(test)]
mod tests {
    use super::{Population, Wall, listed, on_system, tasks_in};

    #[test]
    fn everyone_is_counted_only_when_the_system_has_grown_by_half_of_the_limit() {
        let mut population = Population { limit: 100, wall: Wall::Open, fewest: Some(1000) };
        let seen = [Some(1050), Some(1051), Some(900), Some(950), Some(951), None, Some(900)];
        let counted = seen.map(|now| population.may_be_too_large(now));
        assert_eq!(counted, [false, true, false, false, true, true, false]);
    }

    #[test]
    fn the_number_of_the_system_is_read_where_the_kernel_tells_it() {
        assert_eq!(tasks_in("0.20 0.18 0.12 1/80 11206\n"), Some(80));
        assert_eq!(tasks_in("0.20 0.18"), None);
        assert!(on_system().unwrap() as usize >= 2 && listed() >= 1);
    }
}
