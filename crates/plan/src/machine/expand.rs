//! Handles a step whose predecessors are settled: skips it, expands its foreach, or runs it.

use std::borrow::Cow;

use envelope::{Concurrency, Failure, Fault};
use serde_json::Value;

use super::call_draft::{NotStartedReason, unresolved_fault};
use super::step_state::{ForeachExpansion, StepStage, StepState};
use super::step_work::{ItemSource, StepWork};
use super::{PendingQuestion, RunMachine, RunQuestion, SiblingPolicy, events};
use crate::template::type_name;
use crate::{CheckedForeach, CheckedStep, TemplateBindings};

impl RunMachine {
    pub(super) fn schedule(&mut self, at: usize) {
        if let Some(blame) = self.failed_predecessor(at).or_else(|| self.ending_predecessor(at)) {
            self.skip_because_of(at, blame);
            return;
        }
        let plan = self.spec.plan.clone();
        let step = &plan.steps[at];
        let Some(foreach) = &step.foreach else {
            self.emit_event(events::scheduled(step, 1));
            self.steps[at].stage = StepStage::Working(StepWork::single(step.keep_output));
            self.update_startable(at);
            return;
        };
        match self.expand(foreach) {
            Ok(expansion) if self.items_left(step, &expansion) > self.spec.limits.max_foreach_items => {
                let question = RunQuestion::Expansion {
                    step: step.id.clone(),
                    items: self.items_left(step, &expansion),
                    limit: self.spec.limits.max_foreach_items,
                };
                self.steps[at].stage = StepStage::Asking(expansion);
                self.ask(PendingQuestion { question, step: Some(at) });
            }
            Ok(expansion) => self.run_items(at, expansion),
            Err(fault) => {
                let result = self.record_not_started(at, None, NotStartedReason::Refused(fault));
                self.step_failed(at, &result);
            }
        }
    }

    /// Returns the number of items for which calls would be made.
    fn items_left(&self, step: &CheckedStep, expansion: &ForeachExpansion) -> u64 {
        expansion.total.saturating_sub(self.spec.carried.count(&step.id))
    }

    pub(super) fn expansion_confirmed(&mut self, at: usize) {
        match std::mem::replace(&mut self.steps[at].stage, StepStage::Blocked) {
            StepStage::Asking(expansion) => self.run_items(at, expansion),
            other @ (StepStage::Blocked | StepStage::Working(_) | StepStage::Settled(_)) => {
                self.steps[at].stage = other;
            }
        }
    }

    /// Returns the first predecessor that has no output for this step.
    fn failed_predecessor(&self, at: usize) -> Option<usize> {
        let status = |before: usize| self.steps.get(before).and_then(StepState::status);
        let has_none = |before: &usize| status(*before).is_some_and(|status| !status.has_output());
        self.spec.plan.steps[at].after.iter().copied().find(has_none)
    }

    /// Returns the first predecessor that ended the run, whether or not this step reads its output.
    pub(super) fn ending_predecessor(&self, at: usize) -> Option<usize> {
        let step = &self.spec.plan.steps[at];
        let ends_run = |before: &usize| self.steps.get(*before).is_some_and(|state| state.ends_run);
        step.after.iter().chain(&step.follows).copied().find(ends_run)
    }

    /// Resolves the list of a foreach and counts it; the items themselves are looked up one by one later.
    fn expand(&self, foreach: &CheckedForeach) -> Result<ForeachExpansion, Fault> {
        let bindings = TemplateBindings { values: &self.store, item: None, index: None };
        let from = foreach
            .from
            .resolve_borrowed(&bindings)
            .map_err(|dangling| unresolved_fault("foreach/from", &dangling))?;
        match from {
            Cow::Borrowed(Value::Array(list)) => {
                Ok(ForeachExpansion { items: ItemSource::InPlace, total: count(list) })
            }
            Cow::Owned(Value::Array(list)) => {
                Ok(ForeachExpansion { total: count(&list), items: ItemSource::Own(list) })
            }
            other @ (Cow::Borrowed(_) | Cow::Owned(_)) => Err(Fault::new(
                Failure::InvalidArguments,
                format!("`foreach.from` must be a list, but it is {}", type_name(&other)),
            )
            .hint("refer to a field that is a list")
            .detail("pointer", "/foreach/from")),
        }
    }

    fn run_items(&mut self, at: usize, expansion: ForeachExpansion) {
        let plan = self.spec.plan.clone();
        let step = &plan.steps[at];
        let ForeachExpansion { items, total } = expansion;
        let limit = step.foreach.as_ref().and_then(|foreach| foreach.concurrency);
        let stop_on_error = step.foreach.as_ref().is_some_and(|foreach| foreach.stop_on_error)
            || self.spec.sibling == SiblingPolicy::CancelSiblings;
        let limit = match step.decl.concurrency {
            // The next item is looked up after the one before it is done, not earlier.
            Concurrency::Serial => 1,
            Concurrency::Parallel if stop_on_error => 1,
            Concurrency::Parallel => limit.unwrap_or(self.spec.limits.max_parallel).into(),
        };
        self.emit_event(events::scheduled(step, total));
        let work = StepWork::for_items(items, total, limit, step.keep_output);
        self.steps[at].stage =
            StepStage::Working(if stop_on_error { work.stopping_on_error() } else { work });
        if total == 0 {
            self.emit_event(events::empty_foreach(step));
            self.settle_if_complete(at);
        } else {
            self.update_startable(at);
        }
    }
}

fn count(list: &[Value]) -> u64 {
    u64::try_from(list.len()).unwrap_or(u64::MAX)
}
