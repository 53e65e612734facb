//! The order of the steps: who must wait for whom, and who waits for itself.

use std::collections::VecDeque;

use super::draft::DraftStep;
use crate::{Finding, FindingCode};

/// For each step, the steps it waits for: ascending, each once, never itself.
pub(super) struct Waits(pub(super) Vec<Vec<usize>>);

impl Waits {
    pub(super) fn new(edges: Vec<Vec<usize>>) -> Waits {
        let tidy = |(step, mut before): (usize, Vec<usize>)| {
            before.retain(|other| *other != step);
            before.sort_unstable();
            before.dedup();
            before
        };
        Waits(edges.into_iter().enumerate().map(tidy).collect())
    }

    fn of(&self, step: usize) -> &[usize] {
        self.0.get(step).map(Vec::as_slice).unwrap_or_default()
    }

    /// Every group of steps that wait for each other, reported once with one way around.
    pub(super) fn cycles(&self, steps: &[DraftStep<'_>], findings: &mut Vec<Finding>) {
        for group in self.groups() {
            let Some(way) = self.way_around(&group) else {
                continue;
            };
            let first = group.first().and_then(|index| steps.get(*index));
            let names: Vec<&str> = way
                .iter()
                .map(|index| steps.get(*index).and_then(|step| step.label).unwrap_or("(a step without id)"))
                .collect();
            let pointer = first.map(|step| step.pointer.clone()).unwrap_or_default();
            let message = format!("steps wait for each other in a circle: {}", names.join(" -> "));
            findings.push(
                Finding::error(FindingCode::Cycle, pointer, message)
                    .hint("remove one `dependsOn` entry or reference, so that one of them can start first")
                    .in_step(first.and_then(|step| step.label)),
            );
        }
    }

    /// Steps that can reach each other, two or more (Tarjan, without recursion: a plan may be long).
    fn groups(&self) -> Vec<Vec<usize>> {
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

    /// The shortest way from the group's first step back to itself.
    fn way_around(&self, group: &[usize]) -> Option<Vec<usize>> {
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
