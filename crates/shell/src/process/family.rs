//! Who belongs to whom among the processes of a system: by parentage, group and session.

use std::collections::{HashMap, HashSet, VecDeque};

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
    /// `own` is our process id. Our group and session are taken from the table as well: they have the id 0 where
    /// their leader stands outside our process table, as in many a container.
    pub(super) fn among(all: &'a [Process], own: i32) -> Family<'a> {
        let mut kin: HashMap<i32, Vec<&Process>> = HashMap::new();
        for process in all.iter().filter(|it| it.pid != 1 && it.pid != own) {
            for relative in [process.parent, process.group, process.session] {
                kin.entry(relative).or_default().push(process);
            }
        }
        let mut visited = HashSet::from([0, 1, own]);
        for ourselves in all.iter().filter(|it| it.pid == own) {
            visited.extend([ourselves.group, ourselves.session]);
        }
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

#[cfg(test)]
mod tests {
    use super::{Family, Process};

    fn process([pid, parent, group, session]: [i32; 4]) -> Process {
        Process { pid, parent, group, session, start: 0, dead: false }
    }

    fn relatives_of(pid: i32, all: &[Process], own: i32) -> Vec<i32> {
        let mut family = Family::among(all, own);
        all.iter().filter(|it| it.pid == pid).for_each(|it| family.add(it));
        let mut found: Vec<i32> = family.members().map(|it| it.pid).collect();
        found.sort_unstable();
        found
    }

    #[test]
    fn a_command_is_related_by_parent_group_and_session_but_not_to_our_own() {
        let ours = [[1, 0, 1, 1], [10, 1, 7, 5], [11, 1, 7, 5], [12, 1, 12, 5]];
        let its = [[20, 10, 20, 20], [21, 20, 20, 20], [22, 1, 20, 20], [23, 1, 23, 20], [24, 21, 24, 24]];
        let all: Vec<Process> = ours.into_iter().chain(its).map(process).collect();
        assert_eq!(relatives_of(20, &all, 10), [20, 21, 22, 23, 24]);
    }

    #[test]
    fn where_group_and_session_are_led_from_outside_nobody_is_taken_for_a_relative() {
        let all = [[1, 0, 0, 0], [10, 1, 0, 0], [11, 1, 0, 0], [20, 10, 0, 0], [21, 20, 0, 0]].map(process);
        assert_eq!(relatives_of(20, &all, 10), [20, 21]);
    }
}
