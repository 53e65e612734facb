//! The server's own terminal: one more place where questions are shown and answered.
//!
//! One question at a time, clients in turn. A question that is answered elsewhere, cancelled or too old is taken back,
//! and what is typed afterwards answers nothing. Log lines are held back meanwhile.

use std::sync::Arc;

use crate::approvals::Broker;
use crate::ask::{self, Lines};
use crate::desk::{self, Question};
use crate::drive::Interrupts;
use crate::logging;
use crate::screen::{self, Paint};

const WITHDRAWN: &str = "This question is withdrawn: its call was cancelled, or it has been answered elsewhere or has \
                         expired. What you type now answers nothing.";
const TOO_LATE: &str = "Too late: this question has been withdrawn, or somebody else has answered it.";

/// Shows questions and takes answers until the terminal is gone.
pub(crate) async fn answer_questions(broker: Arc<Broker>, interrupts: Interrupts) {
    let lines = Lines::default();
    loop {
        let question = broker.next_to_show().await;
        if interrupts.were_heard() {
            // The server is stopping, and with it all calls that ask.
            return;
        }
        if !show(&broker, &lines, &question).await {
            return;
        }
    }
}

/// Returns whether there is still a terminal.
async fn show(broker: &Broker, lines: &Lines, question: &Question) -> bool {
    let (Some(terminal), Some(read_from)) = (ask::terminal(), ask::terminal()) else { return false };
    let _held_back = logging::hold();
    let paint = Paint::stderr();
    let choices = paint.bold(desk::choices_of(&question.subject.about));
    let text = format!("{}\n{choices}", desk::asked(question, paint));
    let typed =
        lines.next(|| ask::discard_typed(&terminal), || screen::note(&text), move || ask::typed(&read_from));
    tokio::select! {
        biased;
        () = broker.ended(&question.id) => screen::note(WITHDRAWN),
        line = typed => {
            let Some(line) = line else { return false };
            if !broker.answer(&question.id, desk::word(&line, &question.subject.about)) {
                screen::note(TOO_LATE);
            }
        }
    }
    true
}
