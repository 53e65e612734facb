//! A step whose predecessors are settled: skip it, expand its foreach, or let it run.

use std::borrow::Cow;

use envelope::{Concurrency, Failure, Fault};
use serde_json::Value;

use super::call::{Unstarted, unresolved};
use super::step::{Expansion, Stage, StepState};
use super::work::{Items, Work};
use super::{Asked, Machine, Question, SiblingPolicy, events};
use crate::template::kind;
use crate::{Bindings, CheckedForeach};

impl Machine {
    pub(super) fn schedule(&mut self, at: usize) {
        if let Some(blame) = self.failed_predecessor(at).or_else(|| self.ends_before(at)) {
            self.skip_because_of(at, blame);
            return;
        }
        let plan = self.spec.plan.clone();
        let step = &plan.steps[at];
        let Some(foreach) = &step.foreach else {
            self.tell(events::scheduled(step, 1));
            self.steps[at].stage = Stage::Working(Work::one(step.keep_output));
            self.note_startable(at);
            return;
        };
        match self.expand(foreach) {
            Ok(expansion) if expansion.total > self.spec.limits.max_foreach_items => {
                let question = Question::Expansion {
                    step: step.id.clone(),
                    items: expansion.total,
                    limit: self.spec.limits.max_foreach_items,
                };
                self.steps[at].stage = Stage::Asking(expansion);
                self.ask(Asked { question, step: Some(at) });
            }
            Ok(expansion) => self.run_items(at, expansion),
            Err(fault) => {
                let result = self.unstarted(at, None, Unstarted::Refused(fault));
                self.step_failed(at, &result);
            }
        }
    }

    pub(super) fn expansion_confirmed(&mut self, at: usize) {
        match std::mem::replace(&mut self.steps[at].stage, Stage::Blocked) {
            Stage::Asking(expansion) => self.run_items(at, expansion),
            other @ (Stage::Blocked | Stage::Working(_) | Stage::Settled(_)) => self.steps[at].stage = other,
        }
    }

    /// The first step before this one that has no output to go on with.
    fn failed_predecessor(&self, at: usize) -> Option<usize> {
        let status = |before: usize| self.steps.get(before).and_then(StepState::status);
        let has_none = |before: &usize| status(*before).is_some_and(|status| !status.has_output());
        self.spec.plan.steps[at].after.iter().copied().find(has_none)
    }

    /// The first step before this one that ended the run, whether or not this one reads its output.
    pub(super) fn ends_before(&self, at: usize) -> Option<usize> {
        let step = &self.spec.plan.steps[at];
        let ends_run = |before: &usize| self.steps.get(*before).is_some_and(|state| state.ends_run);
        step.after.iter().chain(&step.follows).copied().find(ends_run)
    }

    /// Finds the list of a foreach and counts it; the items themselves are looked up one by one later.
    fn expand(&self, foreach: &CheckedForeach) -> Result<Expansion, Fault> {
        let bindings = Bindings { values: &self.store, item: None, index: None };
        let from = foreach.from.lend(&bindings).map_err(|dangling| unresolved("foreach/from", &dangling))?;
        match from {
            Cow::Borrowed(Value::Array(list)) => Ok(Expansion { items: Items::InPlace, total: count(list) }),
            Cow::Owned(Value::Array(list)) => Ok(Expansion { total: count(&list), items: Items::Own(list) }),
            other @ (Cow::Borrowed(_) | Cow::Owned(_)) => Err(Fault::new(
                Failure::InvalidArguments,
                format!("`foreach.from` must be a list, but it is {}", kind(&other)),
            )
            .hint("refer to a field that is a list")
            .detail("pointer", "/foreach/from")),
        }
    }

    fn run_items(&mut self, at: usize, expansion: Expansion) {
        let plan = self.spec.plan.clone();
        let step = &plan.steps[at];
        let Expansion { items, total } = expansion;
        let limit = step.foreach.as_ref().and_then(|foreach| foreach.concurrency);
        let stop_on_error = step.foreach.as_ref().is_some_and(|foreach| foreach.stop_on_error)
            || self.spec.sibling == SiblingPolicy::CancelSiblings;
        let limit = match step.decl.concurrency {
            // The next one is looked at when the one before it is done, not before.
            Concurrency::Serial => 1,
            Concurrency::Parallel if stop_on_error => 1,
            Concurrency::Parallel => limit.unwrap_or(self.spec.limits.max_parallel).into(),
        };
        self.tell(events::scheduled(step, total));
        let work = Work::of(items, total, limit, step.keep_output);
        self.steps[at].stage = Stage::Working(if stop_on_error { work.stopping_on_error() } else { work });
        if total == 0 {
            self.tell(events::nothing_to_do(step));
            self.settle_if_complete(at);
        } else {
            self.note_startable(at);
        }
    }
}

fn count(list: &[Value]) -> u64 {
    u64::try_from(list.len()).unwrap_or(u64::MAX)
}
