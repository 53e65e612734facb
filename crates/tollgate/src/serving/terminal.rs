//! Shows questions on the server's own terminal and takes the answers.
//!
//! One question at a time, clients in turn. A question that is answered elsewhere, cancelled or expired is withdrawn,
//! and input typed afterwards answers nothing. Log lines are held back meanwhile.

use std::sync::Arc;

use crate::logging;
use crate::prompt::{self, LineReader};
use crate::runtime::InterruptSignal;
use crate::screen::{self};
use app::approval_queue::{self, ApprovalQuestion};
use app::approvals::ApprovalBroker;

const WITHDRAWN: &str = "This question is withdrawn: its call was cancelled, or it has been answered elsewhere or has \
                         expired. What you type now answers nothing.";
const TOO_LATE: &str = "Too late: this question has been withdrawn, or it was answered elsewhere.";

/// Shows questions until the terminal is closed.
pub(crate) async fn answer_questions(broker: Arc<ApprovalBroker>, interrupts: InterruptSignal) {
    let reader = LineReader::default();
    loop {
        let question = broker.next_to_show().await;
        if interrupts.is_interrupted() {
            // The server is stopping, and cancels all calls that ask.
            return;
        }
        if !show(&broker, &reader, &question).await {
            return;
        }
    }
}

/// Shows one question. Returns false if the terminal was closed.
async fn show(broker: &ApprovalBroker, reader: &LineReader, question: &ApprovalQuestion) -> bool {
    let (Some(terminal), Some(read_from)) = (prompt::open_terminal(), prompt::open_terminal()) else {
        return false;
    };
    let _held_back = logging::hold_lines();
    let paint = screen::stderr_paint();
    let choices = paint.bold(approval_queue::choices_of(&question.subject.about));
    let text = format!("{}\n{choices}", approval_queue::render_question(question, paint));
    let typed = reader.next_line(
        || prompt::discard_input(&terminal),
        || screen::notice(&text),
        move || prompt::read_answer(&read_from),
    );
    tokio::select! {
        biased;
        () = broker.wait_until_ended(&question.id) => screen::notice(WITHDRAWN),
        line = typed => {
            let Some(line) = line else { return false };
            if !broker.answer(&question.id, approval_queue::parse_answer(&line, &question.subject.about)) {
                screen::notice(TOO_LATE);
            }
        }
    }
    true
}
