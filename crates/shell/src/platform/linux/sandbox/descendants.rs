//! The descendants of a process, and how to kill all of them.
//!
//! They are found from the top, parent by parent: a system has many processes, a command has few, and a supervisor
//! looks often. When many commands are ended at once on a busy system, that decides whether they end in time.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, kill_process_group, wait};

use crate::platform::{ProcessInfo, find_process, processes};

/// Rounds of stopping processes before they are killed. A stopped process starts no others.
const ROUNDS: usize = 8;

/// Time that killed processes get before the next round.
const DYING: Duration = Duration::from_millis(1);

/// Kills all descendants of this process, which must be a subreaper.
///
/// Returns when none is left, or when only processes are left that no signal reaches.
pub(super) fn kill_all() {
    loop {
        kill_groups(&living_descendants());
        let mut stopped = BTreeSet::new();
        for _ in 0..ROUNDS {
            let living = living_descendants().into_iter().map(|stat| stat.pid);
            let fresh: Vec<i32> = living.filter(|pid| stopped.insert(*pid)).collect();
            if fresh.is_empty() {
                break;
            }
            send(&fresh, Signal::STOP);
        }
        let reached = send(&stopped.into_iter().collect::<Vec<_>>(), Signal::KILL);
        if !has_remaining_children() || reached == 0 {
            return;
        }
        std::thread::sleep(DYING);
    }
}

/// Collects all children that have ended. Returns whether any are left, dead or alive. Orphans are our children, or
/// become our children when their parents are collected; so a process without children has no descendants.
fn has_remaining_children() -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Err(Errno::CHILD) => return false,
            Ok(None) | Err(_) => return true,
        }
    }
}

/// Kills whole groups, each at once: no member can start another while it is killed.
///
/// Most fork bombs stay in one group; the other processes are found one by one.
fn kill_groups(living: &[ProcessInfo]) {
    let Some(own) = find_process(own_pid()).map(|ourselves| ourselves.group) else { return };
    let groups: BTreeSet<i32> = living.iter().map(|stat| stat.group).filter(|group| *group != own).collect();
    for group in groups.into_iter().filter_map(Pid::from_raw) {
        // The group is gone, or belongs to another user.
        let _none = kill_process_group(group, Signal::KILL);
    }
}

/// Returns all living descendants of this process, nearest first.
pub(super) fn living_descendants() -> Vec<ProcessInfo> {
    let own = own_pid();
    match listed_children(own) {
        Some(_) => collect_descendants(own, |parent| {
            let children = listed_children(parent).unwrap_or_default();
            children.into_iter().filter_map(find_process).collect()
        }),
        None => {
            let mut children: BTreeMap<i32, Vec<ProcessInfo>> = BTreeMap::new();
            for stat in processes() {
                children.entry(stat.parent).or_default().push(stat);
            }
            collect_descendants(own, |parent| children.remove(&parent).unwrap_or_default())
        }
    }
}

fn own_pid() -> i32 {
    getpid().as_raw_pid()
}

/// Returns the living descendants of a process, given how to find the children of each.
fn collect_descendants(top: i32, mut children: impl FnMut(i32) -> Vec<ProcessInfo>) -> Vec<ProcessInfo> {
    let (mut living, mut above, mut seen) = (Vec::new(), vec![top], BTreeSet::new());
    while let Some(one) = above.pop() {
        for child in children(one) {
            // A process that gets another parent meanwhile may be seen twice.
            if seen.insert(child.pid) {
                above.push(child.pid);
                if !child.dead {
                    living.push(child);
                }
            }
        }
    }
    living
}

/// Returns the children of a process as the kernel lists them by thread, or `None` if it does not list them.
fn listed_children(pid: i32) -> Option<Vec<i32>> {
    let mut children = Vec::new();
    for thread in fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
        let listed = fs::read_to_string(thread.path().join("children")).ok()?;
        children.extend(listed.split_ascii_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
    }
    Some(children)
}

/// Sends a signal to each process. Returns how many it reached.
fn send(to: &[i32], signal: Signal) -> usize {
    to.iter().filter(|pid| Pid::from_raw(**pid).is_some_and(|pid| kill_process(pid, signal).is_ok())).count()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::{
        ProcessInfo, collect_descendants, find_process, listed_children, living_descendants, processes,
    };

    #[test]
    #[allow(clippy::disallowed_methods, reason = "a test starts its own processes")]
    fn both_ways_to_look_find_the_same_family() {
        let mut child = Command::new("/bin/sh")
            .args(["-c", "sleep 60 & (sleep 60 & echo; wait) & wait"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // It prints a line when all of them are there.
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        let top = i32::try_from(child.id()).unwrap();
        let pids = |stats: Vec<ProcessInfo>| {
            let mut pids: Vec<i32> = stats.into_iter().map(|stat| stat.pid).collect();
            pids.sort_unstable();
            pids
        };
        let by_parent = |parent: i32| processes().filter(|stat| stat.parent == parent).collect();
        let scanned = pids(collect_descendants(top, by_parent));
        let by_word = |parent| listed_children(parent).unwrap_or_default();
        let spec = pids(collect_descendants(top, |parent| {
            by_word(parent).into_iter().filter_map(find_process).collect()
        }));
        assert_eq!((scanned.len(), &scanned), (3, &spec));
        let all = pids(living_descendants());
        assert!(spec.iter().chain([&top]).all(|pid| all.contains(pid)));
        for pid in spec {
            let pid = rustix::process::Pid::from_raw(pid).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        }
        child.wait().unwrap();
    }
}
