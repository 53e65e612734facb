//! Everything below a process, and how to end all of it.
//!
//! Looked for from the top, parent by parent: a system has many processes, a command has few, and a supervisor
//! looks often. When many commands are ended at once on a busy system, that decides whether they end in time.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, kill_process_group, wait};

use super::stat::Stat;

/// How often everything is stopped before it is killed. A process that is stopped starts no others.
const ROUNDS: usize = 8;

/// How long the killed are given before the next look.
const DYING: Duration = Duration::from_millis(1);

/// Ends everything below this process, which must be the one that orphans are handed to.
///
/// Comes back when nothing is left, or when only processes are left that no signal reaches.
pub(super) fn end_all() {
    loop {
        kill_groups(&living());
        let mut stopped = BTreeSet::new();
        for _ in 0..ROUNDS {
            let living = living().into_iter().map(|stat| stat.pid);
            let fresh: Vec<i32> = living.filter(|pid| stopped.insert(*pid)).collect();
            if fresh.is_empty() {
                break;
            }
            send(&fresh, Signal::STOP);
        }
        let reached = send(&stopped.into_iter().collect::<Vec<_>>(), Signal::KILL);
        if collect_all() == Left::Nobody || reached == 0 {
            return;
        }
        std::thread::sleep(DYING);
    }
}

/// Whether anyone is left below this process, dead or alive.
#[derive(Debug, PartialEq, Eq)]
enum Left {
    Nobody,
    Somebody,
}

/// Collects everyone who has ended. Orphans are our own children, or will be when those in between are collected;
/// so when we have none, there is nobody.
fn collect_all() -> Left {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Err(Errno::CHILD) => return Left::Nobody,
            Ok(None) | Err(_) => return Left::Somebody,
        }
    }
}

/// Kills the groups that these are in, each at once: nobody in a group can start another while it is killed.
///
/// Most that multiply stay in one group; the rest is looked for one by one.
fn kill_groups(living: &[Stat]) {
    let Some(own) = Stat::of(own_pid()).map(|ourselves| ourselves.group) else { return };
    let groups: BTreeSet<i32> = living.iter().map(|stat| stat.group).filter(|group| *group != own).collect();
    for group in groups.into_iter().filter_map(Pid::from_raw) {
        // Gone already, or somebody's that no signal of ours reaches.
        let _none = kill_process_group(group, Signal::KILL);
    }
}

/// Everything below this process that is not dead, nearest first.
pub(super) fn living() -> Vec<Stat> {
    let own = own_pid();
    match told_children(own) {
        Some(_) => below(own, |parent| {
            let children = told_children(parent).unwrap_or_default();
            children.into_iter().filter_map(Stat::of).collect()
        }),
        None => {
            let mut children: BTreeMap<i32, Vec<Stat>> = BTreeMap::new();
            for stat in Stat::all() {
                children.entry(stat.parent).or_default().push(stat);
            }
            below(own, |parent| children.remove(&parent).unwrap_or_default())
        }
    }
}

fn own_pid() -> i32 {
    getpid().as_raw_pid()
}

/// The living below one, given how to find the children of each.
fn below(top: i32, mut children: impl FnMut(i32) -> Vec<Stat>) -> Vec<Stat> {
    let (mut living, mut above, mut seen) = (Vec::new(), vec![top], BTreeSet::new());
    while let Some(one) = above.pop() {
        for child in children(one) {
            // What moves while it is looked at may be met twice.
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

/// The children of a process, as the kernel lists them by thread. None where it does not.
fn told_children(pid: i32) -> Option<Vec<i32>> {
    let mut children = Vec::new();
    for thread in fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
        let listed = fs::read_to_string(thread.path().join("children")).ok()?;
        children.extend(listed.split_ascii_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
    }
    Some(children)
}

/// Sends a signal to each, and says how many it reached.
fn send(to: &[i32], signal: Signal) -> usize {
    to.iter().filter(|pid| Pid::from_raw(**pid).is_some_and(|pid| kill_process(pid, signal).is_ok())).count()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::{Stat, below, living, told_children};

    #[test]
    #[allow(clippy::disallowed_methods, reason = "a test starts its own processes")]
    fn both_ways_to_look_find_the_same_family() {
        let mut child = Command::new("/bin/sh")
            .args(["-c", "sleep 60 & (sleep 60 & echo; wait) & wait"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // It says something when all of them are there.
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        let top = i32::try_from(child.id()).unwrap();
        let pids = |stats: Vec<Stat>| {
            let mut pids: Vec<i32> = stats.into_iter().map(|stat| stat.pid).collect();
            pids.sort_unstable();
            pids
        };
        let by_parent = |parent: i32| Stat::all().filter(|stat| stat.parent == parent).collect();
        let scanned = pids(below(top, by_parent));
        let by_word = |parent| told_children(parent).unwrap_or_default();
        let told = pids(below(top, |parent| by_word(parent).into_iter().filter_map(Stat::of).collect()));
        assert_eq!((scanned.len(), &scanned), (3, &told));
        let all = pids(living());
        assert!(told.iter().chain([&top]).all(|pid| all.contains(pid)));
        for pid in told {
            let pid = rustix::process::Pid::from_raw(pid).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        }
        child.wait().unwrap();
    }
}
