//! The order of steps: dependencies between steps, and cycles in them.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use envelope::ToolDecl;

use super::draft::DraftStep;
use crate::{FindingCode, PlanFinding};

/// How a step uses what all steps share: the vault and the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SharedAccess {
    Nothing,
    Looks,
    Changes,
}

impl SharedAccess {
    pub(super) fn of(decl: &ToolDecl) -> SharedAccess {
        match (decl.availability.is_empty(), decl.risk_level.has_effects()) {
            (_, true) => SharedAccess::Changes,
            // Needs nothing that other steps can change.
            (true, false) => SharedAccess::Nothing,
            (false, false) => SharedAccess::Looks,
        }
    }
}

/// For each step, the steps it waits for: ascending, without duplicates, never itself.
pub(super) struct DependencyGraph(pub(super) Vec<Vec<usize>>);

impl DependencyGraph {
    pub(super) fn new(edges: Vec<Vec<usize>>) -> DependencyGraph {
        let tidy = |(step, mut before): (usize, Vec<usize>)| {
            before.retain(|other| *other != step);
            before.sort_unstable();
            before.dedup();
            before
        };
        DependencyGraph(edges.into_iter().enumerate().map(tidy).collect())
    }

    fn of(&self, step: usize) -> &[usize] {
        self.0.get(step).map(Vec::as_slice).unwrap_or_default()
    }

    /// Adds dependencies between steps that share something without naming it, such as the active note. They
    /// then run in plan order, unless the existing dependencies say otherwise. Never creates a cycle.
    pub(super) fn add_shared_dependencies(&mut self, shares: impl Fn(usize) -> bool) {
        let mut last = None;
        for step in self.topological_order() {
            if shares(step)
                && let Some(last) = last.replace(step)
                && let Err(place) = self.0[step].binary_search(&last)
            {
                self.0[step].insert(place, last);
            }
        }
    }

    /// Returns for each step the steps that must finish before it although it does not read their output. The
    /// calls of a plan must not depend on timing. So a step that changes something runs after every step
    /// before it, because each of them may end the run, and a step that only reads runs after all steps that
    /// changed something. Steps that only read run in parallel.
    pub(super) fn effect_order(&self, touch: impl Fn(usize) -> SharedAccess) -> Vec<Vec<usize>> {
        let mut turns = vec![Vec::new(); self.0.len()];
        let (mut changed, mut since) = (None, Vec::new());
        for step in self.topological_order() {
            let before: Vec<usize> = match touch(step) {
                SharedAccess::Nothing => {
                    since.push(step);
                    continue;
                }
                SharedAccess::Looks => {
                    since.push(step);
                    changed.into_iter().collect()
                }
                SharedAccess::Changes => {
                    let before = changed.replace(step).into_iter().chain(since.drain(..));
                    before.collect()
                }
            };
            turns[step] = before.into_iter().filter(|other| !self.of(step).contains(other)).collect();
            turns[step].sort_unstable();
        }
        turns
    }

    /// Returns the steps sorted so that each comes after all its dependencies, otherwise in plan order. Steps
    /// in a cycle are left out.
    fn topological_order(&self) -> Vec<usize> {
        let mut waiting: Vec<usize> = self.0.iter().map(Vec::len).collect();
        let mut followers = vec![Vec::new(); self.0.len()];
        for (step, before) in self.0.iter().enumerate() {
            for &other in before {
                followers[other].push(step);
            }
        }
        let free = waiting.iter().enumerate().filter(|(_, count)| **count == 0);
        let mut free: BinaryHeap<Reverse<usize>> = free.map(|(step, _)| Reverse(step)).collect();
        let mut order = Vec::with_capacity(self.0.len());
        while let Some(Reverse(step)) = free.pop() {
            order.push(step);
            for &follower in &followers[step] {
                waiting[follower] -= 1;
                if waiting[follower] == 0 {
                    free.push(Reverse(follower));
                }
            }
        }
        order
    }

    /// Reports every group of steps that wait for each other, once and with one cycle as the example.
    pub(super) fn report_cycles(&self, steps: &[DraftStep<'_>], findings: &mut Vec<PlanFinding>) {
        for group in self.cyclic_groups() {
            let Some(way) = self.shortest_cycle(&group) else {
                continue;
            };
            let first = group.first().and_then(|index| steps.get(*index));
            let names: Vec<&str> = way
                .iter()
                .map(|index| steps.get(*index).and_then(|step| step.label).unwrap_or("(a step without id)"))
                .collect();
            let pointer = first.map(|step| step.pointer.clone()).unwrap_or_default();
            let message = format!("steps wait for each other in a cycle: {}", names.join(" -> "));
            findings.push(
                PlanFinding::error(FindingCode::Cycle, pointer, message)
                    .hint("remove one `dependsOn` entry or reference, so that one of them can start first")
                    .in_step(first.and_then(|step| step.label)),
            );
        }
    }

    /// Returns the groups of two or more steps that can reach each other (Tarjan's algorithm, without
    /// recursion, because a plan can be long).
    fn cyclic_groups(&self) -> Vec<Vec<usize>> {
        const NEW: usize = usize::MAX;
        let count = self.0.len();
        let (mut number, mut low) = (vec![NEW; count], vec![0; count]);
        let mut on_stack = vec![false; count];
        let (mut stack, mut groups, mut next) = (Vec::new(), Vec::new(), 0);
        for start in 0..count {
            if number[start] != NEW {
                continue;
            }
            let mut work = vec![(start, 0)];
            while let Some((step, edge)) = work.pop() {
                if edge == 0 {
                    number[step] = next;
                    low[step] = next;
                    next += 1;
                    stack.push(step);
                    on_stack[step] = true;
                }
                if let Some(&other) = self.of(step).get(edge) {
                    work.push((step, edge + 1));
                    if number[other] == NEW {
                        work.push((other, 0));
                    } else if on_stack[other] {
                        low[step] = low[step].min(number[other]);
                    }
                    continue;
                }
                if let Some(&(parent, _)) = work.last() {
                    low[parent] = low[parent].min(low[step]);
                }
                if low[step] == number[step] {
                    let at = stack.iter().rposition(|other| *other == step).unwrap_or_default();
                    let mut group = stack.split_off(at);
                    for other in &group {
                        on_stack[*other] = false;
                    }
                    if group.len() > 1 {
                        group.sort_unstable();
                        groups.push(group);
                    }
                }
            }
        }
        groups.sort_unstable();
        groups
    }

    /// Returns the shortest path from the group's first step back to itself.
    fn shortest_cycle(&self, group: &[usize]) -> Option<Vec<usize>> {
        let start = *group.first()?;
        let mut came_from = vec![None; self.0.len()];
        let mut queue = VecDeque::from([start]);
        while let Some(step) = queue.pop_front() {
            for &other in self.of(step) {
                if other == start {
                    let mut way = vec![start];
                    let mut at = step;
                    while at != start {
                        way.push(at);
                        at = came_from.get(at).copied().flatten()?;
                    }
                    way.push(start);
                    way.reverse();
                    return Some(way);
                }
                if group.binary_search(&other).is_ok() && came_from.get(other) == Some(&None) {
                    came_from[other] = Some(step);
                    queue.push_back(other);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::DependencyGraph;

    fn lined_up(edges: &[&[usize]], shares: &[usize]) -> String {
        let mut waits = DependencyGraph::new(edges.iter().map(|before| before.to_vec()).collect());
        waits.add_shared_dependencies(|step| shares.contains(&step));
        format!("{:?}", waits.0)
    }

    #[test]
    fn steps_that_share_something_follow_each_other_in_plan_order() {
        let none: &[usize] = &[];
        assert_eq!(lined_up(&[none; 4], &[0, 2, 3]), "[[], [], [0], [2]]");
        assert_eq!(lined_up(&[none; 2], &[1]), "[[], []]");
        // An existing dependency is not added twice.
        assert_eq!(lined_up(&[none, &[0]], &[0, 1]), "[[], [0]]");
    }

    #[test]
    fn what_changes_takes_its_turn_and_what_looks_goes_side_by_side() {
        use super::SharedAccess::{Changes, Looks, Nothing};
        let turns = |edges: &[&[usize]], touch: &[super::SharedAccess]| {
            let waits = DependencyGraph::new(edges.iter().map(|before| before.to_vec()).collect());
            format!("{:?}", waits.effect_order(|step| touch[step]))
        };
        let none: &[usize] = &[];
        assert_eq!(turns(&[none; 4], &[Looks, Looks, Changes, Looks]), "[[], [], [0, 1], [2]]");
        assert_eq!(turns(&[none; 3], &[Changes, Nothing, Changes]), "[[], [], [0, 1]]");
        // An existing dependency is not added twice, and an order given by the plan is kept.
        assert_eq!(turns(&[none, &[0]], &[Changes, Changes]), "[[], []]");
        assert_eq!(turns(&[&[1], &[]], &[Changes, Changes]), "[[], []]");
        assert_eq!(turns(&[&[2], &[], &[]], &[Changes, Changes, Changes]), "[[], [], [1]]");
    }

    #[test]
    fn an_order_that_the_plan_gives_is_kept_and_no_circle_is_made() {
        assert_eq!(lined_up(&[&[2], &[], &[]], &[0, 1, 2]), "[[2], [], [1]]");
        assert_eq!(lined_up(&[&[1], &[2], &[]], &[0, 2]), "[[1, 2], [2], []]");
        // A cycle in the plan is reported elsewhere; here it only must not hang.
        assert_eq!(lined_up(&[&[1], &[0]], &[0, 1]), "[[1], [0]]");
    }
}
