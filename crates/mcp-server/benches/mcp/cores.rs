//! Which cores a process may use.
//!
//! Whether a client and its server share a core is decided by the scheduler when they start, and costs or saves as much
//! as a whole call. Two servers that were placed differently cannot be compared.

#[cfg(target_os = "linux")]
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Those of this process.
#[cfg(target_os = "linux")]
pub(crate) fn mine() -> Vec<usize> {
    let set = sched_getaffinity(None).unwrap();
    (0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).collect()
}

/// Other systems have no affinity; the aim is not judged there.
#[cfg(not(target_os = "linux"))]
pub(crate) fn mine() -> Vec<usize> {
    (0..std::thread::available_parallelism().unwrap().get()).collect()
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn stay_on(_: &[usize]) {}

/// Keeps the thread that calls it, and those that it starts, on these cores.
#[cfg(target_os = "linux")]
pub(crate) fn stay_on(cores: &[usize]) {
    let mut set = CpuSet::new();
    for core in cores {
        set.set(*core);
    }
    sched_setaffinity(None, &set).unwrap();
}

/// As an argument of a process.
pub(crate) fn list(cores: &[usize]) -> String {
    cores.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
}

pub(crate) fn parse(list: &str) -> Vec<usize> {
    list.split(',').map(|core| core.parse().unwrap()).collect()
}
