//! Errors of commands: what failed, and what to do about it.
//!
//! Errors go to standard error as text. With `--json` they are one object on standard output instead,
//! `{"error": {"code", "message", "hint"}}`, so that a program reads one stream and always finds JSON.

use std::fmt::Display;

use app::AppError;
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::screen::{self};
use app::display_text::escape_text;

/// The error that ends a command.
#[derive(Debug)]
pub(crate) struct CliError {
    pub(crate) exit: Exit,
    /// Stable error code for programs.
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    /// More fields for programs, beside `error`. They were printed already where people read.
    pub(crate) details: Option<Box<Value>>,
}

/// The result of every command.
pub(crate) type CommandResult = Result<Exit, CliError>;

impl CliError {
    pub(crate) fn new(exit: Exit, code: &'static str, message: impl Into<String>) -> CliError {
        CliError { exit, code, message: message.into(), hint: None, details: None }
    }

    pub(crate) fn bad_input(code: &'static str, message: impl Into<String>) -> CliError {
        CliError::new(Exit::BadInput, code, message)
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> CliError {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub(crate) fn details(mut self, details: Value) -> CliError {
        self.details = Some(Box::new(details));
        self
    }

    /// An error of the machine, not of the user's input.
    pub(crate) fn io(doing: impl Display, error: impl Display) -> CliError {
        CliError::new(Exit::Failures, "io", format!("cannot {doing}: {error}"))
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
            let paint = screen::stderr_paint();
            screen::notice(format_args!("{} {}", paint.bad("error:"), escape_text(&self.message)));
            if let Some(hint) = &self.hint {
                screen::notice(format_args!("{} {}", paint.dim("hint:"), escape_text(hint)));
            }
        }
    }
}

impl From<AppError> for CliError {
    fn from(error: AppError) -> CliError {
        let AppError { kind, code, message, hint, details } = error;
        CliError { exit: Exit::of_kind(kind), code, message, hint, details }
    }
}

impl From<journal::JournalError> for CliError {
    fn from(error: journal::JournalError) -> CliError {
        AppError::from(error).into()
    }
}
