//! Problems of a plan, in words that its author can act on.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Whether a plan with this finding may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The plan cannot run.
    Error,
    /// The plan can run, but perhaps not as intended.
    Warning,
}

/// One finding of the checker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanFinding {
    pub severity: Severity,
    pub code: FindingCode,
    /// The id of the step concerned, as written in the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// JSON pointer into the plan text.
    pub pointer: String,
    pub message: String,
    /// A suggestion what to write instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// The stable code of a finding. Interfaces and tests use the code; people read the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingCode {
    /// The text is not JSON, or has other text around the JSON.
    NotJson,
    /// An object has the same key twice.
    DuplicateKey,
    /// A number has more digits than can be kept.
    NumberNotExact,
    /// The plan is inside another object.
    WrappedPlan,
    UnknownField,
    MissingField,
    WrongType,
    /// The type is right, but the value is not allowed.
    BadValue,
    /// A value exceeds a limit of the settings; the limit applies when the plan runs.
    OverLimit,
    DuplicateId,
    UnknownTool,
    BlockedTool,
    UnknownStep,
    UnknownVariable,
    /// A reference names a field that its source never has.
    UnknownPath,
    /// A reference names a field that its source may lack.
    MaybeAbsent,
    /// A value can never have the type that its target accepts.
    TypeMismatch,
    /// A value may have a type that its target does not accept.
    MaybeMismatch,
    /// A text that was meant as a reference but is not a valid one.
    BadReference,
    /// A placeholder in the syntax of another template language.
    ForeignTemplate,
    /// A word in braces that names nothing in scope and so stays text.
    UnscopedBrace,
    /// A list or an object in a text, where only a string, a number or a boolean can be printed.
    TemplateNotScalar,
    Cycle,
    SelfReference,
    DuplicateDependency,
    /// A literal argument that the tool does not accept.
    Schema,
    RiskTooLow,
    RiskTooHigh,
    DuplicateCapture,
    ShadowedName,
    /// A placeholder that was not filled in.
    Placeholder,
    /// A text that announces content instead of being content.
    Promise,
    UnusedForeach,
    RetryWithoutOnerror,
    /// A field without effect because of another field of the same object.
    NoEffect,
    IgnoredContextRequest,
    /// The plan sets `requestId`, which is for the program that runs the plan.
    RequestIdInPlan,
}

impl PlanFinding {
    /// Creates a finding that prevents the plan from running.
    pub(crate) fn error(
        code: FindingCode,
        pointer: impl Into<String>,
        message: impl Into<String>,
    ) -> PlanFinding {
        PlanFinding::new(Severity::Error, code, pointer.into(), message.into())
    }

    /// Creates a finding that the author can ignore.
    pub(crate) fn warning(
        code: FindingCode,
        pointer: impl Into<String>,
        message: impl Into<String>,
    ) -> PlanFinding {
        PlanFinding::new(Severity::Warning, code, pointer.into(), message.into())
    }

    fn new(severity: Severity, code: FindingCode, pointer: String, message: String) -> PlanFinding {
        PlanFinding { severity, code, step: None, pointer, message, hint: None }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> PlanFinding {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn in_step(mut self, step: Option<&str>) -> PlanFinding {
        self.step = step.map(str::to_owned);
        self
    }
}

/// Prints `error s2 /steps/1/args/path: message (hint)`.
impl fmt::Display for PlanFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, "{severity}")?;
        if let Some(step) = &self.step {
            write!(f, " {step}")?;
        }
        // The pointer to the whole plan is empty, which would look like a mistake in the message.
        let pointer = if self.pointer.is_empty() { "(plan)" } else { &self.pointer };
        write!(f, " {pointer}: {}", self.message)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}
