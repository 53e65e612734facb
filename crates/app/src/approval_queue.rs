//! The approval queue as files: questions, answers, their folder and their text.
//!
//! [`approvals`](crate::approvals) asks, `tollgate approve` answers.

mod folder;
mod question;
mod question_text;

use std::path::{Path, PathBuf};
use std::time::Duration;

pub use self::folder::{QuestionFolder, new_id, new_nonce};
pub use self::question::{ApprovalAnswer, ApprovalQuestion, QuestionReply, QuestionSubject, QuestionTopic};
pub use self::question_text::{
    choices, choices_of, format_local_time, parse_answer, question_json, render_question,
};
use crate::error::AppError;
use crate::trust;

/// Default time that a call waits for its answer. Clients give up after a minute.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(45);

/// Time in which a question can be answered.
pub const QUESTION_DEADLINE: Duration = Duration::from_mins(10);

/// Returns the folder of questions: `$XDG_STATE_HOME/tollgate/approvals`. Fails if that is inside the vault.
pub fn folder(vault: Option<&Path>) -> Result<PathBuf, AppError> {
    Ok(trust::state_folder(vault)?.join("approvals"))
}
