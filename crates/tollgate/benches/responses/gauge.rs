//! CPU and memory of processes, as the kernel counts them.

use std::path::Path;

/// A process and everything that it started.
#[derive(Clone)]
pub(crate) struct ProcessUsage(pub(crate) u32);

impl ProcessUsage {
    fn pids(&self) -> Vec<u32> {
        let mut found = vec![self.0];
        let mut at = 0;
        while at < found.len() {
            let tasks = std::fs::read_dir(format!("/proc/{}/task", found[at]));
            for task in tasks.into_iter().flatten().flatten() {
                let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
                found.extend(children.split_whitespace().map(|pid| pid.parse::<u32>().unwrap()));
            }
            at += 1;
        }
        found
    }

    /// Seconds of both kinds.
    pub(crate) fn cpu(&self) -> f64 {
        const TICKS: f64 = 100.0;
        let of = |pid: &u32| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let after = stat.rsplit_once(')').map_or("", |(_, after)| after).to_owned();
            let fields: Vec<u64> =
                after.split_whitespace().skip(11).take(2).map(|field| field.parse().unwrap()).collect();
            fields.iter().sum::<u64>()
        };
        self.pids().iter().map(of).sum::<u64>() as f64 / TICKS
    }

    pub(crate) fn pss_mib(&self) -> f64 {
        let of = |pid: &u32| {
            let path = format!("/proc/{pid}/smaps_rollup");
            let rollup = std::fs::read_to_string(Path::new(&path)).unwrap_or_default();
            let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"));
            line.map_or(0, |line| line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap())
        };
        self.pids().iter().map(of).sum::<u64>() as f64 / 1024.0
    }
}
