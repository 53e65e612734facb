//! Why a turn could not be started, or failed.
//!
//! A message is written for the user of the client. It contains neither the address of an upstream nor a secret: output
//! of a backend goes to the log at most.

use std::fmt;
use std::time::Duration;

/// A turn that failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct BackendError {
    pub kind: BackendErrorKind,
    pub message: String,
    /// How long the server asks clients to wait before they try again.
    pub retry_after: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BackendErrorKind {
    /// It cannot be reached, or is being restarted.
    Unavailable,
    /// It has more to do than it can.
    Overloaded,
    RateLimited,
    /// The history is longer than the model can take.
    ContextTooLong,
    /// The backend refuses the request.
    BadRequest,
    UnknownModel,
    /// The backend's own credentials are missing or wrong.
    Unauthorized,
    Timeout,
    /// It ended in the middle of a turn.
    Died,
    /// It broke its protocol.
    Protocol,
    /// Everything else that the model's service reports.
    Upstream,
}

impl BackendError {
    #[cold]
    pub fn new(kind: BackendErrorKind, message: impl Into<String>) -> BackendError {
        BackendError { kind, message: message.into(), retry_after: None }
    }
}

impl BackendErrorKind {
    /// Its name in logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            BackendErrorKind::Unavailable => "unavailable",
            BackendErrorKind::Overloaded => "overloaded",
            BackendErrorKind::RateLimited => "rate_limited",
            BackendErrorKind::ContextTooLong => "context_too_long",
            BackendErrorKind::BadRequest => "bad_request",
            BackendErrorKind::UnknownModel => "unknown_model",
            BackendErrorKind::Unauthorized => "unauthorized",
            BackendErrorKind::Timeout => "timeout",
            BackendErrorKind::Died => "died",
            BackendErrorKind::Protocol => "protocol",
            BackendErrorKind::Upstream => "upstream",
        }
    }
}

impl fmt::Display for BackendErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
