//! The process tree of a command, and how to end it.
//!
//! A process group is not enough, because a descendant can leave the group and the session. So members are found by
//! parentage, by group and session, and by a mark in their environment, until no new one is found.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::process::{Pid, Signal, getpid, kill_process_group};

use super::event::{Timer, wait};
use crate::platform::{self, ProcessInfo};

/// The variable that every process of a command inherits.
pub const MARK: &str = "TOLLGATE_TASK";

/// Time for a supervisor process to end everything before it is helped.
const SUPERVISOR: Duration = Duration::from_millis(400);

/// What keeps the descendants of a command together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessContainment {
    /// The started process has its own PID namespace: killing it kills everything inside.
    Namespace,
    /// The started process is a supervisor, which ends everything before it ends on `SIGTERM`. After `SIGKILL` its
    /// orphans have to be found.
    Supervised,
    /// The started process is the command itself. Its descendants have to be found.
    Uncontained,
}

/// Rounds of stopping processes before they are killed.
const STOP_ROUNDS: usize = 8;

/// The processes of one command.
#[derive(Debug, Clone)]
pub(super) struct ProcessTree {
    id: Pid,
    root: ProcessInfo,
    containment: ProcessContainment,
    mark: String,
    /// All processes found so far, by id with their start: their relatives can outlive them.
    known: HashMap<i32, u64>,
}

impl ProcessTree {
    /// `marker` is the value of [`MARK`] in the command's environment.
    pub(super) fn new(id: Pid, containment: ProcessContainment, marker: &str) -> ProcessTree {
        let pid = id.as_raw_pid();
        // It exists, since it was not collected. Without a process table only its group is known.
        let unseen = ProcessInfo {
            pid,
            parent: 0,
            group: pid,
            session: 0,
            start: 0,
            dead: false,
            asleep: false,
            threads: 1,
        };
        let root = platform::find_process(pid).unwrap_or(unseen);
        ProcessTree {
            id,
            root,
            containment,
            mark: format!("{MARK}={marker}"),
            known: HashMap::from([(pid, root.start)]),
        }
    }

    pub(super) fn root(&self) -> Pid {
        self.id
    }

    /// Asks all processes to end, the oldest first, until `grace` has passed: they may multiply faster than they can be
    /// asked. The supervisor is not asked, because it would end the others before they have cleaned up.
    pub(super) fn terminate(&mut self, grace: &Timer) {
        let mut members = self.members();
        if members.is_empty() {
            // Without a process table there is only the group.
            self.send_to_group(Signal::TERM);
        }
        members.sort_unstable_by_key(|it| (it.start, it.pid));
        let held =
            self.containment != ProcessContainment::Uncontained && members.iter().any(|it| !self.is_root(it));
        let asked = members.iter().filter(|it| !(held && self.is_root(it)));
        for member in asked.take_while(|_| !grace.has_passed()) {
            // A stopped process gets the signal only when it continues.
            let _ended = member.send(&[Signal::TERM, Signal::CONT]);
        }
    }

    /// Kills all processes. Returns those that are still alive `limit` after the kill.
    pub(super) fn kill(&mut self, limit: Duration) -> io::Result<Vec<i32>> {
        let tables = platform::namespace_inits(self.root.pid);
        if self.containment == ProcessContainment::Supervised
            && let Some(end) = self.root.send(&[Signal::TERM, Signal::CONT])
        {
            wait([end.as_fd(), Timer::after(SUPERVISOR)?.as_fd()])?;
        }
        // A fork bomb leaves no time to find its children, and killing the first process of a namespace does not need
        // them.
        let ends: Vec<_> = tables.iter().filter_map(|first| first.send(&[Signal::KILL])).collect();
        let timer = Timer::after(limit)?;
        for end in &ends {
            wait([end.as_fd(), timer.as_fd()])?;
        }
        self.stop_members();
        self.send_to_group(Signal::KILL);
        // The timer starts here, so that everything is killed at least once, however slow the system is.
        let timer = Timer::after(limit)?;
        loop {
            let members = self.members();
            // All are killed before the wait: a living one could start others meanwhile.
            let ends: Vec<_> = members.iter().filter_map(|member| member.send(&[Signal::KILL])).collect();
            for end in &ends {
                wait([end.as_fd(), timer.as_fd()])?;
            }
            if members.is_empty() || timer.has_passed() {
                return Ok(self.members().iter().map(|member| member.pid).collect());
            }
        }
    }

    /// Stops all processes: a stopped process starts no others, and as long as parents live, they identify their
    /// children. Returns the number of processes.
    fn stop_members(&mut self) -> usize {
        let mut held = HashSet::new();
        for _ in 0..STOP_ROUNDS {
            let fresh: Vec<ProcessInfo> =
                self.members().into_iter().filter(|it| held.insert(it.pid)).collect();
            if fresh.is_empty() {
                break;
            }
            for member in fresh.iter().filter(|it| !self.is_supervisor(it)) {
                let _end = member.send(&[Signal::STOP]);
            }
        }
        held.len()
    }

    /// Signals the whole group at once, before a member can start others.
    fn send_to_group(&self, signal: Signal) {
        let alive = platform::find_process(self.root.pid).is_some_and(|now| now.start == self.root.start);
        if alive || self.root.start == 0 {
            // The group is gone if the command has made its own.
            let _none = kill_process_group(self.id, signal);
        }
    }

    /// Returns all living processes of the tree.
    fn members(&mut self) -> Vec<ProcessInfo> {
        let all: Vec<ProcessInfo> = platform::processes().collect();
        let mut relations = ProcessRelations::in_table(&all, getpid().as_raw_pid());
        let known = |process: &ProcessInfo| self.known.get(&process.pid);
        let taken_over = all.iter().filter(|it| known(it).is_some_and(|start| *start != it.start));
        taken_over.for_each(|it| relations.exclude(it.pid));
        all.iter().filter(|it| known(it) == Some(&it.start)).for_each(|it| relations.add(it));
        self.known.keys().for_each(|pid| relations.add_relatives_of(*pid));
        if self.containment != ProcessContainment::Namespace {
            // No process leaves a namespace. Elsewhere every process that is not a relative is checked for the mark;
            // relatives are not, because reading the environment of a process that forks all the time hardly ever
            // succeeds.
            let younger = all.iter().filter(|it| it.start >= self.root.start);
            let strays: Vec<_> = younger
                .filter(|it| {
                    !relations.contains(it.pid) && platform::has_environment_entry(it.pid, &self.mark)
                })
                .collect();
            strays.into_iter().for_each(|it| relations.add(it));
        }
        self.known.extend(relations.members().map(|process| (process.pid, process.start)));
        relations.members().filter(|process| !process.dead).copied().collect()
    }

    fn is_supervisor(&self, process: &ProcessInfo) -> bool {
        self.containment == ProcessContainment::Supervised && self.is_root(process)
    }

    fn is_root(&self, process: &ProcessInfo) -> bool {
        process.pid == self.root.pid && process.start == self.root.start
    }
}

/// Finds relatives in a process table. It stops at ourselves: our own group and session do not belong to the command.
pub(super) struct ProcessRelations<'a> {
    /// Processes by each id that makes them a relative.
    relatives: HashMap<i32, Vec<&'a ProcessInfo>>,
    /// Ids that are ignored, or whose relatives were found.
    visited: HashSet<i32>,
    found: HashMap<i32, &'a ProcessInfo>,
}

impl<'a> ProcessRelations<'a> {
    /// `own` is our process id. Our group and session come from the table: they are 0 if their leader is outside of our
    /// PID namespace, as in many containers.
    pub(super) fn in_table(all: &'a [ProcessInfo], own: i32) -> ProcessRelations<'a> {
        let mut relatives: HashMap<i32, Vec<&ProcessInfo>> = HashMap::new();
        for process in all.iter().filter(|it| it.pid != 1 && it.pid != own) {
            for relative in [process.parent, process.group, process.session] {
                relatives.entry(relative).or_default().push(process);
            }
        }
        let mut visited = HashSet::from([0, 1, own]);
        for ourselves in all.iter().filter(|it| it.pid == own) {
            visited.extend([ourselves.group, ourselves.session]);
        }
        ProcessRelations { relatives, visited, found: HashMap::new() }
    }

    /// Ignores an id that belongs to another process by now.
    pub(super) fn exclude(&mut self, pid: i32) {
        self.visited.insert(pid);
    }

    pub(super) fn contains(&self, pid: i32) -> bool {
        self.found.contains_key(&pid)
    }

    /// Adds a member with all its relatives.
    pub(super) fn add(&mut self, member: &'a ProcessInfo) {
        self.found.insert(member.pid, member);
        self.follow([member.pid, member.group, member.session].into());
    }

    /// Adds the relatives of a process that may be gone.
    pub(super) fn add_relatives_of(&mut self, pid: i32) {
        self.follow([pid].into());
    }

    fn follow(&mut self, mut ids: VecDeque<i32>) {
        while let Some(id) = ids.pop_front() {
            if self.visited.insert(id) {
                for relative in self.relatives.get(&id).into_iter().flatten() {
                    self.found.insert(relative.pid, relative);
                    ids.extend([relative.pid, relative.group, relative.session]);
                }
            }
        }
    }

    pub(super) fn members(&self) -> impl Iterator<Item = &'a ProcessInfo> {
        self.found.values().copied()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::os::fd::AsFd;
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use rustix::process::{Pid, PidfdFlags, pidfd_open};

    use super::{ProcessContainment, ProcessInfo, ProcessRelations, ProcessTree};
    use crate::process::event::{Timer, wait};

    #[test]
    #[allow(clippy::disallowed_methods, reason = "a test starts its own processes")]
    fn everyone_is_killed_even_if_there_is_no_time_to_wait_for_it() {
        let script = "setsid sleep 1000 & echo $!; wait";
        let mut root = Command::new("/bin/sh").args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(root.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let stray = pidfd_open(Pid::from_raw(line.trim().parse().unwrap()).unwrap(), PidfdFlags::empty());
        let stray = stray.unwrap();
        ProcessTree::new(Pid::from_child(&root), ProcessContainment::Uncontained, "none")
            .kill(Duration::ZERO)
            .unwrap();
        let late = Timer::after(Duration::from_secs(5)).unwrap();
        assert_eq!(wait([stray.as_fd(), late.as_fd()]).unwrap(), [true, false]);
        root.wait().unwrap();
    }

    fn process([pid, parent, group, session]: [i32; 4]) -> ProcessInfo {
        ProcessInfo { pid, parent, group, session, start: 0, dead: false, asleep: false, threads: 1 }
    }

    fn relatives_of(pid: i32, all: &[ProcessInfo], own: i32) -> Vec<i32> {
        let mut relations = ProcessRelations::in_table(all, own);
        all.iter().filter(|it| it.pid == pid).for_each(|it| relations.add(it));
        let mut found: Vec<i32> = relations.members().map(|it| it.pid).collect();
        found.sort_unstable();
        found
    }

    #[test]
    fn a_command_is_related_by_parent_group_and_session_but_not_to_our_own() {
        let ours = [[1, 0, 1, 1], [10, 1, 7, 5], [11, 1, 7, 5], [12, 1, 12, 5]];
        let its = [[20, 10, 20, 20], [21, 20, 20, 20], [22, 1, 20, 20], [23, 1, 23, 20], [24, 21, 24, 24]];
        let all: Vec<ProcessInfo> = ours.into_iter().chain(its).map(process).collect();
        assert_eq!(relatives_of(20, &all, 10), [20, 21, 22, 23, 24]);
    }

    #[test]
    fn where_group_and_session_are_led_from_outside_nobody_is_taken_for_a_relative() {
        let all = [[1, 0, 0, 0], [10, 1, 0, 0], [11, 1, 0, 0], [20, 10, 0, 0], [21, 20, 0, 0]].map(process);
        assert_eq!(relatives_of(20, &all, 10), [20, 21]);
    }
}
