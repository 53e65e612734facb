//! How a run comes to its end: by itself, by a failure, by a no, or by a cancel.

use serde_json::{Map, Value};

use super::step::Stage;
use super::{Machine, Output, RunOutcome, RunStatus, StepStatus, StepSummary, events};
use crate::{Bindings, Template};

pub(super) enum Mode {
    NotBegun {
        /// A cancel that came before the beginning.
        cancelled: Option<String>,
    },
    Running,
    /// Nothing starts any more; what is open comes to its end.
    Ending(Ending),
    Finished,
}

pub(super) struct Ending {
    pub(super) status: RunStatus,
    pub(super) reason: String,
}

impl Mode {
    pub(super) fn is_running(&self) -> bool {
        matches!(self, Mode::Running)
    }
}

impl Machine {
    /// A cancel or a no: from here on nothing starts, no item, no retry, no question.
    pub(super) fn end(&mut self, ending: Ending) {
        self.mode = Mode::Ending(ending);
        self.timers.clear();
        self.questions.clear();
        self.ready.clear();
        self.startable.clear();
        for state in &mut self.steps {
            if let Stage::Working(work) = &mut state.stage {
                work.abandon_retries();
            }
        }
    }

    /// A person wants the run to end. Wins over every other way to end; asked twice, it is asked once.
    pub(super) fn cancel(&mut self, reason: String) {
        if let Mode::Ending(Ending { status: RunStatus::Cancelled, .. }) = self.mode {
            return;
        }
        self.tell(events::cancelled(&reason, self.open.len()));
        self.end(Ending { status: RunStatus::Cancelled, reason });
        if !self.open.is_empty() {
            self.out.push(Output::CancelOpenCalls);
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
        let ending = match std::mem::replace(&mut self.mode, Mode::Finished) {
            Mode::Ending(ending) => Some(ending),
            Mode::NotBegun { .. } | Mode::Running | Mode::Finished => None,
        };
        self.settle_the_rest(ending.as_ref());
        let (status, reason) = match ending {
            Some(ending) => (ending.status, Some(ending.reason)),
            None if self.steps.iter().all(|step| step.status() == Some(StepStatus::Ok)) => {
                (RunStatus::Ok, None)
            }
            None => (RunStatus::Failed, Some(self.why_failed())),
        };
        let (outputs, missing) = self.outputs();
        let outcome = RunOutcome { status, steps: self.summaries(), outputs, reason };
        self.tell(events::finished(&outcome, missing));
        self.out.push(Output::Finish(outcome));
    }

    /// The first step in the order of the plan whose failure kept others from running, whoever failed first.
    fn why_failed(&self) -> String {
        let ends_run =
            |state: &super::StepState| state.ends_run && state.status() != Some(StepStatus::Skipped);
        let Some(at) = self.steps.iter().position(ends_run) else {
            return "finished with failures".to_owned();
        };
        let id = &self.spec.plan.steps[at].id;
        match &self.steps[at].error {
            Some(error) => format!("step `{id}` failed: {}", error.message),
            None => format!("step `{id}` failed"),
        }
    }

    /// Settles what a cancel or a no left over, in plan order.
    fn settle_the_rest(&mut self, ending: Option<&Ending>) {
        let plan = self.spec.plan.clone();
        let reason = match ending {
            Some(Ending { status: RunStatus::Declined, reason, .. }) => format!("declined: {reason}"),
            Some(Ending { reason, .. }) => format!("the run was cancelled: {reason}"),
            // Only steps that wait for each other in a ring are left over here, and no checked plan has any.
            None => "the steps it waits for never ended".to_owned(),
        };
        for (at, step) in plan.steps.iter().enumerate() {
            let (status, done, total) = match &self.steps[at].stage {
                Stage::Settled(_) => continue,
                Stage::Working(work) if self.steps[at].calls > 0 || work.done > 0 => {
                    (work.status(), work.done, work.total)
                }
                Stage::Blocked | Stage::Asking(_) | Stage::Working(_) => {
                    self.skip(at, reason.clone());
                    continue;
                }
            };
            let state = &mut self.steps[at];
            state.error = state.error.take().or(state.retried_error.take());
            self.tell(events::cut_short(step, status, done, total));
            self.settle(at, status);
        }
    }

    fn summaries(&self) -> Vec<StepSummary> {
        let steps = self.spec.plan.steps.iter().zip(&self.steps);
        let summary = |(step, state): (&crate::CheckedStep, &super::StepState)| StepSummary {
            id: step.id.clone(),
            status: state.status().unwrap_or(StepStatus::Skipped),
            calls: state.calls,
            failed: state.failed,
            error: state.error.clone(),
        };
        steps.map(summary).collect()
    }

    /// The plan's outputs, and why some of them have no value.
    fn outputs(&self) -> (Map<String, Value>, Map<String, Value>) {
        let (mut outputs, mut missing) = (Map::new(), Map::new());
        match &self.spec.plan.outputs {
            Template::Object(entries) => {
                let bindings = Bindings { values: &self.store, item: None, index: None };
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
