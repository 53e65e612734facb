//! Why a command could not do its work, in words that name the thing and the way out.
//!
//! Errors go to standard error as text. With `--json` they are one object on standard output instead,
//! `{"error": {"code", "message", "hint"}}`, so that a program reads one stream and always finds JSON.

use std::fmt::Display;

use serde_json::{Value, json};

use crate::exit::Exit;
use crate::screen::{self, Paint};
use crate::visible::visible;

/// A command that ends early.
#[derive(Debug)]
pub(crate) struct Stop {
    pub(crate) exit: Exit,
    /// Stable, for programs.
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    /// More for programs, beside `error`; people were told already.
    pub(crate) details: Option<Box<Value>>,
}

/// What every command returns.
pub(crate) type Outcome = Result<Exit, Stop>;

impl Stop {
    pub(crate) fn new(exit: Exit, code: &'static str, message: impl Into<String>) -> Stop {
        Stop { exit, code, message: message.into(), hint: None, details: None }
    }

    pub(crate) fn bad_input(code: &'static str, message: impl Into<String>) -> Stop {
        Stop::new(Exit::BadInput, code, message)
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Stop {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub(crate) fn details(mut self, details: Value) -> Stop {
        self.details = Some(Box::new(details));
        self
    }

    /// Something of the machine, not of the person, went wrong.
    pub(crate) fn io(doing: impl Display, error: impl Display) -> Stop {
        Stop::new(Exit::Failures, "io", format!("cannot {doing}: {error}"))
    }

    pub(crate) fn show(&self, json: bool) {
        if json {
            let mut error = json!({ "code": self.code, "message": self.message });
            if let (Some(hint), Some(fields)) = (&self.hint, error.as_object_mut()) {
                fields.insert("hint".to_owned(), hint.as_str().into());
            }
            let mut answer = json!({ "error": error });
            if let (Some(Value::Object(details)), Some(fields)) =
                (self.details.as_deref(), answer.as_object_mut())
            {
                fields.extend(details.clone());
            }
            screen::json(&answer);
        } else {
            let paint = Paint::stderr();
            screen::note(format_args!("{} {}", paint.bad("error:"), visible(&self.message)));
            if let Some(hint) = &self.hint {
                screen::note(format_args!("{} {}", paint.dim("hint:"), visible(hint)));
            }
        }
    }
}

impl From<journal::JournalError> for Stop {
    fn from(error: journal::JournalError) -> Stop {
        use journal::JournalError as E;
        let (exit, code) = match &error {
            E::Damaged(_)
            | E::BadHeader { .. }
            | E::ObjectMissing { .. }
            | E::ObjectChanged { .. }
            | E::ArtifactMissing { .. }
            | E::ArtifactChanged { .. }
            | E::PlanRejected { .. } => (Exit::Damaged, "journal_damaged"),
            E::NotARun { .. } => (Exit::BadInput, "no_such_run"),
            E::OtherVault { .. } => (Exit::Denied, "other_vault"),
            E::Link { .. } => (Exit::Denied, "runs_behind_a_link"),
            E::Io { .. }
            | E::Stopped { .. }
            | E::Closed
            | E::Exists { .. }
            | E::Locked { .. }
            | E::TooLarge { .. }
            | E::NotJson(_) => (Exit::Failures, "journal"),
        };
        let stop = Stop::new(exit, code, error.to_string());
        match (exit, &error) {
            (Exit::Damaged, _) => stop.hint("`tollgate verify RUN` lists every problem with its place"),
            (_, E::Io { .. } | E::Stopped { .. }) => stop.hint(
                "make room where the runs are kept, or mend that disk; `state` in .tollgate/config.toml names \
                 another place",
            ),
            (Exit::Done | Exit::Failures | Exit::BadInput | Exit::Denied | Exit::Cancelled, _) => stop,
        }
    }
}

impl From<journal::FindError> for Stop {
    fn from(error: journal::FindError) -> Stop {
        let message = error.to_string();
        match error {
            journal::FindError::None { wanted } => {
                Stop::bad_input("no_such_run", format!("no run is named `{wanted}`"))
                    .hint("`tollgate runs` lists them; name one by its id, the beginning of it, or `last`")
            }
            journal::FindError::Ambiguous { wanted, matches } => {
                let listed = matches.join("\n  ");
                Stop::bad_input(
                    "ambiguous_run",
                    format!("`{wanted}` is the beginning of {} runs:\n  {listed}", matches.len()),
                )
                .hint("give more of the id")
            }
            journal::FindError::Foreign { .. } => Stop::new(Exit::Denied, "other_vault", message)
                .hint("name the vault that the run was made in with --vault DIR"),
            journal::FindError::Journal(error) => Stop { message, ..Stop::from(error) },
        }
    }
}
