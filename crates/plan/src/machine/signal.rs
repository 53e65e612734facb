//! What goes into a run and what comes out of it.

use envelope::{CallId, Confirmation, ExecutionEvent, StepId, ToolCall, ToolResult};

use super::RunOutcome;

/// A wait before another attempt, named by the call that will follow it.
///
/// So a journal that has the call, or the event that announces it, also tells which timer had fired.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimerId(pub CallId);

/// Something happened outside.
#[allow(clippy::large_enum_variant, reason = "handed over once and taken apart at once, never kept")]
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// A yes to the question that was asked last.
    Confirmed(Confirmation),
    /// A no to it.
    Declined {
        reason: String,
    },
    /// A call ended. `data` must be in the result even where a record keeps it elsewhere.
    Done(ToolResult),
    TimerFired(TimerId),
    CancelRequested {
        reason: String,
    },
}

/// Something is to be done outside, in this order.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// Ask a person. There is never more than one unanswered question.
    AskConfirm(Question),
    /// Run this call; its end comes back as `Done`.
    Start(Box<ToolCall>),
    /// Record the result of a call that never starts: skipped, or its arguments could not be filled in.
    Settled(Box<ToolResult>),
    SetTimer {
        id: TimerId,
        after_ms: u64,
    },
    /// Tell every open call that the run was cancelled.
    CancelOpenCalls,
    Event(ExecutionEvent),
    /// The last output of every run.
    Finish(RunOutcome),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// May this plan run?
    Plan,
    /// May this step run for more items than the policy lets pass unasked?
    Expansion { step: StepId, items: u64, limit: u64 },
}
