//! Everything below a process, and how to end all of it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, kill_process, wait};

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
        let mut stopped = BTreeSet::new();
        for _ in 0..ROUNDS {
            let fresh: Vec<i32> = living().into_iter().filter(|pid| stopped.insert(*pid)).collect();
            if fresh.is_empty() {
                break;
            }
            send(&fresh, Signal::STOP);
        }
        let reached = send(&stopped.into_iter().collect::<Vec<_>>(), Signal::KILL);
        // Orphans are our own children by now, or will be when those in between are collected.
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
        if reached == 0 {
            return;
        }
        std::thread::sleep(DYING);
    }
}

/// Everything below this process that is not dead, nearest first.
pub(super) fn living() -> Vec<i32> {
    let mut children: BTreeMap<i32, Vec<(i32, bool)>> = BTreeMap::new();
    for stat in Stat::all() {
        children.entry(stat.parent).or_default().push((stat.pid, stat.dead));
    }
    let mut living = Vec::new();
    let mut above = vec![i32::try_from(std::process::id()).unwrap_or_default()];
    while let Some(one) = above.pop() {
        for (pid, dead) in children.remove(&one).unwrap_or_default() {
            above.push(pid);
            if !dead {
                living.push(pid);
            }
        }
    }
    living
}

/// Sends a signal to each, and says how many it reached.
fn send(to: &[i32], signal: Signal) -> usize {
    to.iter().filter(|pid| Pid::from_raw(**pid).is_some_and(|pid| kill_process(pid, signal).is_ok())).count()
}
