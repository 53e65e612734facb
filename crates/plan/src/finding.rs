//! What is wrong, or odd, about a plan, in words its author can act on.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Whether a plan with this finding may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The plan cannot run.
    Error,
    /// The plan can run, but perhaps not as its author meant.
    Warning,
}

/// One finding of the checker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub severity: Severity,
    pub code: FindingCode,
    /// The id of the step it is about, as the plan spells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// JSON pointer into the plan text.
    pub pointer: String,
    pub message: String,
    /// What to write instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// The stable code of a finding: interfaces and tests go by it, people by the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingCode {
    /// The text is not JSON, or not only JSON.
    NotJson,
    /// An object spells the same key twice.
    DuplicateKey,
    /// A number has more digits than can be kept.
    NumberNotExact,
    /// The plan sits inside another object.
    WrappedPlan,
    UnknownField,
    MissingField,
    WrongType,
    /// The type is right, the value is not one of those allowed.
    BadValue,
    /// A value beyond what the settings allow; it is lowered when the plan runs.
    OverLimit,
    DuplicateId,
    UnknownTool,
    BlockedTool,
    UnknownStep,
    UnknownVariable,
    /// A reference asks for a field that its source never has.
    UnknownPath,
    /// A reference asks for a field that its source may lack.
    MaybeAbsent,
    /// A value can never have the type its place asks for.
    TypeMismatch,
    /// A value may have a type its place does not take.
    MaybeMismatch,
    /// A text that was meant as a reference but is none.
    BadReference,
    /// A placeholder in the spelling of another template language.
    ForeignTemplate,
    /// A word in braces that names nothing in scope and so stays as it is.
    UnscopedBrace,
    /// A list or an object where only a text, a number or a boolean can be printed.
    TemplateNotScalar,
    Cycle,
    SelfReference,
    DuplicateDependency,
    /// A literal argument that the tool does not take.
    Schema,
    RiskTooLow,
    RiskTooHigh,
    DuplicateCapture,
    ShadowedName,
    /// A text to be filled in, left as it was.
    Placeholder,
    /// A text that announces content instead of being it.
    Promise,
    UnusedForeach,
    RetryWithoutOnerror,
    /// A field that another field of the same object makes useless.
    NoEffect,
    IgnoredContextRequest,
}

impl Finding {
    /// A finding that keeps the plan from running.
    pub(crate) fn error(
        code: FindingCode,
        pointer: impl Into<String>,
        message: impl Into<String>,
    ) -> Finding {
        Finding::new(Severity::Error, code, pointer.into(), message.into())
    }

    /// A finding that the author should see and may leave.
    pub(crate) fn warning(
        code: FindingCode,
        pointer: impl Into<String>,
        message: impl Into<String>,
    ) -> Finding {
        Finding::new(Severity::Warning, code, pointer.into(), message.into())
    }

    fn new(severity: Severity, code: FindingCode, pointer: String, message: String) -> Finding {
        Finding { severity, code, step: None, pointer, message, hint: None }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Finding {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn in_step(mut self, step: Option<&str>) -> Finding {
        self.step = step.map(str::to_owned);
        self
    }
}

/// `error s2 /steps/1/args/path: message (hint)`
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, "{severity}")?;
        if let Some(step) = &self.step {
            write!(f, " {step}")?;
        }
        // The pointer to the whole plan is the empty text, which would read as a slip of the pen.
        let pointer = if self.pointer.is_empty() { "(plan)" } else { &self.pointer };
        write!(f, " {pointer}: {}", self.message)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}
