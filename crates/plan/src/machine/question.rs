//! Questions to the user, one at a time, and the effects of the answers.

use envelope::Confirmation;

use super::run_end::EarlyStop;
use super::{MachineOutput, RunMachine, RunQuestion, RunStatus, events};

/// A question and the step it concerns; `None` for the whole plan.
pub(super) struct PendingQuestion {
    pub(super) question: RunQuestion,
    pub(super) step: Option<usize>,
}

impl RunMachine {
    pub(super) fn ask(&mut self, asked: PendingQuestion) {
        self.questions.push_back(asked);
        if self.questions.len() == 1 {
            self.ask_next();
        }
    }

    /// Asks the first question.
    fn ask_next(&mut self) {
        if let Some(PendingQuestion { question, step }) = self.questions.front() {
            let step = step.map(|step| &self.spec.plan.steps[step]);
            let (telling, question) = (events::question_asked(question, step), question.clone());
            self.emit_event(telling);
            self.out.push(MachineOutput::AskConfirm(question));
        }
    }

    pub(super) fn handle_confirmation(&mut self, confirmation: &Confirmation) {
        let Some(PendingQuestion { step, .. }) = self.questions.pop_front() else {
            return;
        };
        let about = step.map(|step| &self.spec.plan.steps[step]);
        self.emit_event(events::confirmed(confirmation, about));
        let id = confirmation.confirmation_id.clone();
        if let Some(step) = step {
            self.steps[step].confirmation = Some(id);
            self.expansion_confirmed(step);
        } else {
            self.confirmation = Some(id);
            self.unblock_roots();
        }
        self.ask_next();
    }

    pub(super) fn handle_decline(&mut self, reason: String) {
        if self.questions.is_empty() {
            return;
        }
        self.emit_event(events::declined(&reason, self.open.len()));
        self.stop_early(EarlyStop { status: RunStatus::Declined, reason });
    }
}
