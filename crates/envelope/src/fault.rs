//! A failure with the details of one occurrence.

use serde_json::{Map, Value};

use crate::{CanonicalError, Failure, ToolError};

/// One occurrence of a failure: its kind, message and details.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    pub failure: Failure,
    pub message: String,
    /// Facts for programs; becomes `error.details`. Boxed because faults are part of every `Result`.
    pub details: Option<Box<Map<String, Value>>>,
    /// A hint that is more specific than the failure's own.
    pub hint: Option<String>,
    /// Overrides the failure's default if the failing code knows better.
    pub retryable: Option<bool>,
}

impl Fault {
    #[cold]
    pub fn new(failure: Failure, message: impl Into<String>) -> Fault {
        Fault { failure, message: message.into(), details: None, hint: None, retryable: None }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Fault {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub fn detail(mut self, name: &str, value: impl Into<Value>) -> Fault {
        self.details.get_or_insert_default().insert(name.to_owned(), value.into());
        self
    }

    #[must_use]
    pub fn retryable(mut self, retryable: bool) -> Fault {
        self.retryable = Some(retryable);
        self
    }

    pub fn is_retryable(&self) -> bool {
        self.retryable.unwrap_or(self.failure.retryable())
    }

    pub fn recovery_hint(&self) -> &str {
        self.hint.as_deref().unwrap_or(self.failure.recovery_hint())
    }

    /// Converts to the error of the result envelope.
    pub fn to_tool_error(&self) -> ToolError {
        ToolError {
            code: self.failure.code().to_owned(),
            message: self.message.clone(),
            details: self.details.as_deref().cloned(),
            retryable: Some(self.is_retryable()),
            kind: Some(self.failure),
            recovery_hint: Some(self.recovery_hint().to_owned()),
        }
    }

    /// Converts to the error of the canonical result.
    pub fn to_canonical_error(&self) -> CanonicalError {
        CanonicalError {
            kind: self.failure,
            message: self.message.clone(),
            details: self.details.as_deref().cloned(),
            recovery_hint: Some(self.recovery_hint().to_owned()),
            retryable: self.is_retryable(),
        }
    }
}
