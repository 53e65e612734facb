//! Who belongs to whom among the processes of a system: by parentage, group and session.

use std::collections::{HashMap, HashSet, VecDeque};

use rustix::process::{getpgrp, getpid, getsid};

use super::table::Process;

/// Relatives that were found so far. It stops at ourselves: our own group and session are not the command's.
pub(super) struct Family<'a> {
    /// Everyone by each id that makes them somebody's relative.
    kin: HashMap<i32, Vec<&'a Process>>,
    /// Ids that are nobody's, or whose relatives are found already.
    visited: HashSet<i32>,
    found: HashMap<i32, &'a Process>,
}

impl<'a> Family<'a> {
    pub(super) fn among(all: &'a [Process]) -> Family<'a> {
        let own = getpid().as_raw_pid();
        let session = getsid(None).map_or(0, |session| session.as_raw_pid());
        let mut kin: HashMap<i32, Vec<&Process>> = HashMap::new();
        for process in all.iter().filter(|it| it.pid != 1 && it.pid != own) {
            for relative in [process.parent, process.group, process.session] {
                kin.entry(relative).or_default().push(process);
            }
        }
        let visited = HashSet::from([0, 1, own, getpgrp().as_raw_pid(), session]);
        Family { kin, visited, found: HashMap::new() }
    }

    /// Somebody else has this id by now. Its relatives are strangers.
    pub(super) fn is_strange(&mut self, pid: i32) {
        self.visited.insert(pid);
    }

    pub(super) fn has(&self, pid: i32) -> bool {
        self.found.contains_key(&pid)
    }

    /// Adds a member with all its relatives.
    pub(super) fn add(&mut self, member: &'a Process) {
        self.found.insert(member.pid, member);
        self.follow([member.pid, member.group, member.session].into());
    }

    /// Adds the relatives of one who may be gone.
    pub(super) fn add_relatives_of(&mut self, pid: i32) {
        self.follow([pid].into());
    }

    fn follow(&mut self, mut ids: VecDeque<i32>) {
        while let Some(id) = ids.pop_front() {
            if self.visited.insert(id) {
                for relative in self.kin.get(&id).into_iter().flatten() {
                    self.found.insert(relative.pid, relative);
                    ids.extend([relative.pid, relative.group, relative.session]);
                }
            }
        }
    }

    pub(super) fn members(&self) -> impl Iterator<Item = &'a Process> {
        self.found.values().copied()
    }
}
