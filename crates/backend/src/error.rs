//! Why a turn could not be started or did not end well.
//!
//! A message is written for the person behind the client. It names neither the address of an upstream nor
//! anything secret: what a backend prints goes to the log at most.

use std::fmt;

/// A turn that failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct BackendError {
    pub kind: ErrorKind,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// It cannot be reached, or is being restarted.
    Unavailable,
    /// It has more to do than it can.
    Overloaded,
    RateLimited,
    /// The history is longer than the model can take.
    ContextTooLong,
    /// The backend refuses what it was given.
    BadRequest,
    UnknownModel,
    /// The backend's own credentials are missing or wrong.
    Unauthorized,
    Timeout,
    /// It ended in the middle of a turn.
    Died,
    /// It said something that it should not say.
    Protocol,
    /// Everything else that the model's service reports.
    Upstream,
}

impl BackendError {
    #[cold]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> BackendError {
        BackendError { kind, message: message.into() }
    }
}

impl ErrorKind {
    /// Its name in logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorKind::Unavailable => "unavailable",
            ErrorKind::Overloaded => "overloaded",
            ErrorKind::RateLimited => "rate_limited",
            ErrorKind::ContextTooLong => "context_too_long",
            ErrorKind::BadRequest => "bad_request",
            ErrorKind::UnknownModel => "unknown_model",
            ErrorKind::Unauthorized => "unauthorized",
            ErrorKind::Timeout => "timeout",
            ErrorKind::Died => "died",
            ErrorKind::Protocol => "protocol",
            ErrorKind::Upstream => "upstream",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
