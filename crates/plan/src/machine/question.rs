//! What a person is asked, one question at a time, and what the answer does.

use envelope::Confirmation;

use super::ending::Ending;
use super::{Machine, Output, Question, RunStatus, events};

/// A question and the step that it is about; `None` for the whole plan.
pub(super) struct Asked {
    pub(super) question: Question,
    pub(super) step: Option<usize>,
}

impl Machine {
    pub(super) fn ask(&mut self, asked: Asked) {
        self.questions.push_back(asked);
        if self.questions.len() == 1 {
            self.put_question();
        }
    }

    /// Puts the first question to the person.
    fn put_question(&mut self) {
        if let Some(Asked { question, step }) = self.questions.front() {
            let step = step.map(|step| &self.spec.plan.steps[step]);
            let (telling, question) = (events::asked(question, step), question.clone());
            self.tell(telling);
            self.out.push(Output::AskConfirm(question));
        }
    }

    pub(super) fn confirmed(&mut self, confirmation: &Confirmation) {
        let Some(Asked { step, .. }) = self.questions.pop_front() else {
            return;
        };
        let about = step.map(|step| &self.spec.plan.steps[step]);
        self.tell(events::confirmed(confirmation, about));
        let id = confirmation.confirmation_id.clone();
        if let Some(step) = step {
            self.steps[step].confirmation = Some(id);
            self.expansion_confirmed(step);
        } else {
            self.confirmation = Some(id);
            self.unblock_roots();
        }
        self.put_question();
    }

    pub(super) fn declined(&mut self, reason: String) {
        if self.questions.is_empty() {
            return;
        }
        self.tell(events::declined(&reason, self.open.len()));
        self.end(Ending { status: RunStatus::Declined, reason });
    }
}
