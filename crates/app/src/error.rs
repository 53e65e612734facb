//! The error of every operation of this library.
//!
//! A kind for the caller to decide by, a stable code for programs, a message and a hint for people. A front end turns
//! the kind into its own terms, such as an exit code or an HTTP status.

use std::fmt;

use envelope::Failure;
use serde_json::Value;

/// Kind of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The input cannot be used.
    BadInput,
    /// The machine, a file or a call failed.
    Failed,
    /// A rule, a mode, a hook, missing trust or the user refused it.
    Denied,
    /// A record of a run was changed after it was written.
    Damaged,
    Cancelled,
}

impl ErrorKind {
    /// Returns the kind of a failed call.
    pub const fn of_failure(failure: Failure) -> ErrorKind {
        match failure {
            Failure::UnknownTool | Failure::SchemaValidationFailed | Failure::InvalidArguments => {
                ErrorKind::BadInput
            }
            Failure::BlockedTool
            | Failure::SandboxViolation
            | Failure::HookBlocked
            | Failure::PermissionDenied
            | Failure::ApprovalRejected
            | Failure::PolicyBlocked => ErrorKind::Denied,
            Failure::Canceled => ErrorKind::Cancelled,
            Failure::SchemaNotLoaded
            | Failure::SetupRequired
            | Failure::InputMutationFailed
            | Failure::HookFailed
            | Failure::SiblingCanceled
            | Failure::NotFound
            | Failure::Conflict
            | Failure::PreconditionFailed
            | Failure::ExecutionFailed
            | Failure::Timeout
            | Failure::DependencyUnavailable
            | Failure::ResultMappingFailed
            | Failure::PostHookFailed
            | Failure::ResultTooLarge => ErrorKind::Failed,
        }
    }
}

/// Error of an operation.
#[derive(Debug)]
pub struct AppError {
    pub kind: ErrorKind,
    /// Stable code, for programs.
    pub code: &'static str,
    pub message: String,
    /// How the user can fix it.
    pub hint: Option<String>,
    /// Further facts, for programs.
    pub details: Option<Box<Value>>,
}

impl AppError {
    pub fn new(kind: ErrorKind, code: &'static str, message: impl Into<String>) -> AppError {
        AppError { kind, code, message: message.into(), hint: None, details: None }
    }

    pub fn bad_input(code: &'static str, message: impl Into<String>) -> AppError {
        AppError::new(ErrorKind::BadInput, code, message)
    }

    /// Returns the error `cannot {doing}: {error}`.
    pub fn io(doing: impl fmt::Display, error: impl fmt::Display) -> AppError {
        AppError::new(ErrorKind::Failed, "io", format!("cannot {doing}: {error}"))
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> AppError {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub fn details(mut self, details: Value) -> AppError {
        self.details = Some(Box::new(details));
        self
    }
}

impl fmt::Display for AppError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for AppError {}

impl From<journal::JournalError> for AppError {
    fn from(error: journal::JournalError) -> AppError {
        use journal::JournalError as E;
        let (kind, code) = match &error {
            E::Damaged(_)
            | E::BadHeader { .. }
            | E::ObjectMissing { .. }
            | E::ObjectChanged { .. }
            | E::ArtifactMissing { .. }
            | E::ArtifactChanged { .. }
            | E::PlanRejected { .. } => (ErrorKind::Damaged, "journal_damaged"),
            E::NotARun { .. } => (ErrorKind::BadInput, "no_such_run"),
            E::LinkedMeanwhile { .. } => (ErrorKind::BadInput, "linked_meanwhile"),
            E::LinkedRunGone { .. } => (ErrorKind::BadInput, "no_such_run"),
            E::PruneRunning { .. } => (ErrorKind::Failed, "prune_running"),
            E::OtherVault { .. } => (ErrorKind::Denied, "other_vault"),
            E::Link { .. } => (ErrorKind::Denied, "runs_behind_a_link"),
            E::Io { .. }
            | E::Stopped { .. }
            | E::Closed
            | E::Exists { .. }
            | E::Locked { .. }
            | E::TooLarge { .. }
            | E::NotJson(_) => (ErrorKind::Failed, "journal"),
        };
        let made = AppError::new(kind, code, error.to_string());
        match (kind, &error) {
            (ErrorKind::Damaged, _) => made.hint("`tollgate verify RUN` lists every problem with its place"),
            (_, E::Io { .. } | E::Stopped { .. }) => made.hint(
                "make room where the runs are kept, or fix that disk; `state` in .tollgate/config.toml names \
                 another place",
            ),
            (ErrorKind::Failed | ErrorKind::BadInput | ErrorKind::Denied | ErrorKind::Cancelled, _) => made,
        }
    }
}

impl From<journal::FindError> for AppError {
    fn from(error: journal::FindError) -> AppError {
        let message = error.to_string();
        match error {
            journal::FindError::None { wanted } => {
                AppError::bad_input("no_such_run", format!("no run is named `{wanted}`"))
                    .hint("`tollgate runs` lists them; name one by its id, the beginning of it, or `last`")
            }
            journal::FindError::Ambiguous { wanted, matches } => {
                let listed = matches.join("\n  ");
                AppError::bad_input(
                    "ambiguous_run",
                    format!("`{wanted}` is the beginning of {} runs:\n  {listed}", matches.len()),
                )
                .hint("give more of the id")
            }
            journal::FindError::Foreign { .. } => AppError::new(ErrorKind::Denied, "other_vault", message)
                .hint("name the vault that the run was made in with --vault DIR"),
            journal::FindError::Journal(error) => AppError { message, ..AppError::from(error) },
        }
    }
}

impl From<engine::RunError> for AppError {
    fn from(error: engine::RunError) -> AppError {
        match error {
            engine::RunError::Journal(error) => AppError::from(error),
        }
    }
}
