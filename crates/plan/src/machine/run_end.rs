//! The end of a run: by itself, by a failure, by a declined question, or by a cancel.

use serde_json::{Map, Value};

use super::step_state::StepStage;
use super::{MachineOutput, RunMachine, RunOutcome, RunStatus, StepStatus, StepSummary, events};
use crate::{Template, TemplateBindings};

pub(super) enum MachineState {
    NotBegun {
        /// A cancel request from before the begin.
        cancelled: Option<String>,
    },
    Running,
    /// Nothing starts any more; open calls still finish.
    Stopping(EarlyStop),
    Finished,
}

pub(super) struct EarlyStop {
    pub(super) status: RunStatus,
    pub(super) reason: String,
}

impl MachineState {
    pub(super) fn is_running(&self) -> bool {
        matches!(self, MachineState::Running)
    }
}

impl RunMachine {
    /// Stops the run after a cancel or a declined question. From here on nothing starts: no item, no retry,
    /// no question.
    pub(super) fn stop_early(&mut self, ending: EarlyStop) {
        self.state = MachineState::Stopping(ending);
        self.timers.clear();
        self.questions.clear();
        self.ready.clear();
        self.startable.clear();
        for state in &mut self.steps {
            if let StepStage::Working(work) = &mut state.stage {
                work.abandon_retries();
            }
        }
    }

    /// Cancels the run on request of the user. Takes precedence over every other way to end; a second request
    /// has no effect.
    pub(super) fn cancel(&mut self, reason: String) {
        if let MachineState::Stopping(EarlyStop { status: RunStatus::Cancelled, .. }) = self.state {
            return;
        }
        self.emit_event(events::cancelled(&reason, self.open.len()));
        self.stop_early(EarlyStop { status: RunStatus::Cancelled, reason });
        if !self.open.is_empty() {
            self.out.push(MachineOutput::CancelOpenCalls);
        }
    }

    pub(super) fn finish_if_idle(&mut self) {
        let nothing_comes = self.open.is_empty()
            && self.timers.is_empty()
            && self.questions.is_empty()
            && self.ready.is_empty()
            && self.startable.is_empty();
        if nothing_comes {
            self.finish();
        }
    }

    fn finish(&mut self) {
        let ending = match std::mem::replace(&mut self.state, MachineState::Finished) {
            MachineState::Stopping(ending) => Some(ending),
            MachineState::NotBegun { .. } | MachineState::Running | MachineState::Finished => None,
        };
        self.settle_remaining(ending.as_ref());
        let (status, reason) = match ending {
            Some(ending) => (ending.status, Some(ending.reason)),
            None if self.steps.iter().all(|step| step.status() == Some(StepStatus::Ok)) => {
                (RunStatus::Ok, None)
            }
            None => (RunStatus::Failed, Some(self.failure_reason())),
        };
        let (outputs, missing) = self.outputs();
        let outcome = RunOutcome { status, steps: self.summaries(), outputs, reason };
        self.emit_event(events::finished(&outcome, missing));
        self.out.push(MachineOutput::Finish(outcome));
    }

    /// Names the first step in plan order whose failure prevented others from running, whichever failed
    /// first.
    fn failure_reason(&self) -> String {
        let ends_run =
            |state: &super::StepState| state.ends_run && state.status() != Some(StepStatus::Skipped);
        let Some(at) = self.steps.iter().position(ends_run) else {
            let incomplete = self.steps.iter().position(|state| state.incomplete.is_some());
            let is_failed = self.steps.iter().any(|state| state.failed > 0);
            return match incomplete.filter(|_| !is_failed) {
                Some(at) => format!("step `{}` is not complete", self.spec.plan.steps[at].id),
                None => "finished with failures".to_owned(),
            };
        };
        let id = &self.spec.plan.steps[at].id;
        match &self.steps[at].error {
            Some(error) => format!("step `{id}` failed: {}", error.message),
            None => format!("step `{id}` failed"),
        }
    }

    /// Settles the steps that a cancel or a declined question left over, in plan order.
    fn settle_remaining(&mut self, ending: Option<&EarlyStop>) {
        let plan = self.spec.plan.clone();
        let reason = match ending {
            Some(EarlyStop { status: RunStatus::Declined, reason, .. }) => format!("declined: {reason}"),
            Some(EarlyStop { reason, .. }) => format!("the run was cancelled: {reason}"),
            // Only steps in a dependency cycle are left over here, and a checked plan has no cycle.
            None => "the steps it waits for never ended".to_owned(),
        };
        for (at, step) in plan.steps.iter().enumerate() {
            let (status, done, total) = match &self.steps[at].stage {
                StepStage::Settled(_) => continue,
                StepStage::Working(work) if self.steps[at].calls > 0 || work.done > 0 => {
                    (work.status(), work.done, work.total)
                }
                StepStage::Blocked | StepStage::Asking(_) | StepStage::Working(_) => {
                    self.skip(at, reason.clone());
                    continue;
                }
            };
            let state = &mut self.steps[at];
            state.error = state.error.take().or(state.retried_error.take());
            self.emit_event(events::cut_short(step, status, done, total));
            self.settle(at, status);
        }
    }

    fn summaries(&self) -> Vec<StepSummary> {
        let steps = self.spec.plan.steps.iter().zip(&self.steps);
        let summary = |(step, state): (&crate::CheckedStep, &super::StepState)| StepSummary {
            id: step.id.clone(),
            status: state.status().unwrap_or(StepStatus::Skipped),
            calls: state.calls,
            carried: state.carried,
            failed: state.failed,
            incomplete: state.incomplete.clone(),
            error: state.error.clone(),
        };
        steps.map(summary).collect()
    }

    /// Returns the plan's outputs, and the reasons why some of them have no value.
    fn outputs(&self) -> (Map<String, Value>, Map<String, Value>) {
        let (mut outputs, mut missing) = (Map::new(), Map::new());
        match &self.spec.plan.outputs {
            Template::Object(entries) => {
                let bindings = TemplateBindings { values: &self.store, item: None, index: None };
                for (name, template) in entries {
                    match template.resolve(&bindings) {
                        Ok(value) => outputs.insert(name.clone(), value),
                        Err(dangling) => missing.insert(name.clone(), dangling.to_string().into()),
                    };
                }
            }
            Template::Literal(Value::Object(entries)) => outputs.clone_from(entries),
            Template::Literal(_) | Template::Whole(_) | Template::Text(_) | Template::List(_) => {}
        }
        (outputs, missing)
    }
}
