//! Everything that a command started, and how to end it.
//!
//! A process group is not enough: a descendant can leave it, and the session with it. So members are looked
//! for by parentage, by group and session, and by a mark in their environment, until none is found.

use std::collections::{HashMap, HashSet};
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::process::{Pid, Signal, getpid, kill_process_group};

use super::event::{Timer, wait};
use super::family::Family;
use super::table::{MARK, Process};

/// How long a supervisor may take to end everything, before it is helped.
const SUPERVISOR: Duration = Duration::from_millis(400);

/// What holds the descendants of a command together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enclosure {
    /// What is started is a wall with a process table of its own: when it is killed, everything behind it is.
    Namespace,
    /// What is started is a supervisor: told to end, it ends everything first. Killed, it does not; then orphans
    /// are nobody's, and have to be looked for.
    Supervised,
    /// What is started is the command itself. What it leaves behind has to be looked for.
    Loose,
}

/// How often everyone is stopped before everyone is killed.
const HOLDS: usize = 8;

/// The processes of one command.
#[derive(Debug, Clone)]
pub(super) struct Tree {
    id: Pid,
    root: Process,
    enclosure: Enclosure,
    mark: String,
    /// Everyone found so far, by id with its start: something of theirs may be left when they are gone.
    known: HashMap<i32, u64>,
}

impl Tree {
    /// `marker` is the value of the mark in the command's environment.
    pub(super) fn new(id: Pid, enclosure: Enclosure, marker: &str) -> Tree {
        let pid = id.as_raw_pid();
        // It cannot be gone: nobody has collected it. Without `/proc` there is its group and nothing more.
        let unseen = Process { pid, parent: 0, group: pid, session: 0, start: 0, dead: false };
        let root = Process::look_up(pid).unwrap_or(unseen);
        Tree {
            id,
            root,
            enclosure,
            mark: format!("{MARK}={marker}"),
            known: HashMap::from([(pid, root.start)]),
        }
    }

    pub(super) fn root(&self) -> Pid {
        self.id
    }

    /// Asks everyone to end, the oldest first, until `grace` has passed: they may multiply faster than they can be
    /// asked. What holds them is not asked: it would end the others before they have tidied up.
    pub(super) fn terminate(&mut self, grace: &Timer) {
        let mut members = self.members();
        if members.is_empty() {
            // Where nobody can be seen there is the group.
            self.send_to_group(Signal::TERM);
        }
        members.sort_unstable_by_key(|it| (it.start, it.pid));
        let held = self.enclosure != Enclosure::Loose && members.iter().any(|it| !self.is_root(it));
        let asked = members.iter().filter(|it| !(held && self.is_root(it)));
        for member in asked.take_while(|_| !grace.has_passed()) {
            // One that was stopped would otherwise never hear of it.
            let _ended = member.send(&[Signal::TERM, Signal::CONT]);
        }
    }

    /// Ends everyone, and gives back those who are still there `limit` after they were killed.
    pub(super) fn kill(&mut self, limit: Duration) -> io::Result<Vec<i32>> {
        let tables = self.root.tables_below();
        if self.enclosure == Enclosure::Supervised
            && let Some(end) = self.root.send(&[Signal::TERM, Signal::CONT])
        {
            wait([end.as_fd(), Timer::after(SUPERVISOR)?.as_fd()])?;
        }
        // One that multiplies leaves no time to look for its children, and here nobody has to.
        let ends: Vec<_> = tables.iter().filter_map(|first| first.send(&[Signal::KILL])).collect();
        let timer = Timer::after(limit)?;
        for end in &ends {
            wait([end.as_fd(), timer.as_fd()])?;
        }
        self.hold();
        self.send_to_group(Signal::KILL);
        // From here: however slow the system is, everyone is killed at least once.
        let timer = Timer::after(limit)?;
        loop {
            let members = self.members();
            // All of them first: one that lives can start others while we wait for one that dies.
            let ends: Vec<_> = members.iter().filter_map(|member| member.send(&[Signal::KILL])).collect();
            for end in &ends {
                wait([end.as_fd(), timer.as_fd()])?;
            }
            if members.is_empty() || timer.has_passed() {
                return Ok(self.members().iter().map(|member| member.pid).collect());
            }
        }
    }

    /// Stops everyone where they are: who is stopped starts no others, and while parents live, their children
    /// are known by them. Says how many there were.
    fn hold(&mut self) -> usize {
        let mut held = HashSet::new();
        for _ in 0..HOLDS {
            let fresh: Vec<Process> = self.members().into_iter().filter(|it| held.insert(it.pid)).collect();
            if fresh.is_empty() {
                break;
            }
            for member in fresh.iter().filter(|it| !self.supervises(it)) {
                let _end = member.send(&[Signal::STOP]);
            }
        }
        held.len()
    }

    /// To the whole group at once, before anyone in it can start others.
    fn send_to_group(&self, signal: Signal) {
        let alive = Process::look_up(self.root.pid).is_some_and(|now| now.start == self.root.start);
        if alive || self.root.start == 0 {
            // There is no such group if the command has made its own.
            let _none = kill_process_group(self.id, signal);
        }
    }

    /// Everyone who is alive now.
    fn members(&mut self) -> Vec<Process> {
        let all = Process::all();
        let mut family = Family::among(&all, getpid().as_raw_pid());
        let known = |process: &Process| self.known.get(&process.pid);
        let taken_over = all.iter().filter(|it| known(it).is_some_and(|start| *start != it.start));
        taken_over.for_each(|it| family.is_strange(it.pid));
        all.iter().filter(|it| known(it) == Some(&it.start)).for_each(|it| family.add(it));
        self.known.keys().for_each(|pid| family.add_relatives_of(*pid));
        if self.enclosure != Enclosure::Namespace {
            // Nobody strays out of a namespace. Elsewhere those are asked for the mark who are no relatives: a process
            // that starts others all the time hardly ever answers.
            let younger = all.iter().filter(|it| it.start >= self.root.start);
            let strays: Vec<_> = younger.filter(|it| !family.has(it.pid) && it.carries(&self.mark)).collect();
            strays.into_iter().for_each(|it| family.add(it));
        }
        self.known.extend(family.members().map(|process| (process.pid, process.start)));
        family.members().filter(|process| !process.dead).copied().collect()
    }

    fn supervises(&self, process: &Process) -> bool {
        self.enclosure == Enclosure::Supervised && self.is_root(process)
    }

    fn is_root(&self, process: &Process) -> bool {
        process.pid == self.root.pid && process.start == self.root.start
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::os::fd::AsFd;
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use rustix::process::{Pid, PidfdFlags, pidfd_open};

    use super::{Enclosure, Tree};
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
        Tree::new(Pid::from_child(&root), Enclosure::Loose, "none").kill(Duration::ZERO).unwrap();
        let late = Timer::after(Duration::from_secs(5)).unwrap();
        assert_eq!(wait([stray.as_fd(), late.as_fd()]).unwrap(), [true, false]);
        root.wait().unwrap();
    }
}
