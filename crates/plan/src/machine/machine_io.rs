//! Inputs and outputs of the state machine.

use envelope::{CallId, Confirmation, ExecutionEvent, StepId, ToolCall, ToolResult};

use super::RunOutcome;

/// Identifies a wait before another attempt by the call that will follow it.
///
/// So a journal with that call, or with the event that announces it, also shows which timer had fired.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimerId(pub CallId);

/// An event from outside.
#[allow(clippy::large_enum_variant, reason = "handed over once and taken apart at once, never kept")]
#[derive(Debug, Clone, PartialEq)]
pub enum MachineInput {
    /// The last question was confirmed.
    Confirmed(Confirmation),
    /// The last question was declined.
    Declined {
        reason: String,
    },
    /// A call ended. `data` must be in the result even if a record stores it elsewhere.
    Done(ToolResult),
    TimerFired(TimerId),
    CancelRequested {
        reason: String,
    },
}

/// An action for the driver; actions are executed in order.
#[derive(Debug, Clone, PartialEq)]
pub enum MachineOutput {
    /// Ask the user. There is at most one unanswered question.
    AskConfirm(RunQuestion),
    /// Run this call; its end is reported as `Done`.
    Start(Box<ToolCall>),
    /// Record the result of a call that never starts, because it was skipped or its arguments could not be
    /// filled in.
    Settled(Box<ToolResult>),
    SetTimer {
        id: TimerId,
        after_ms: u64,
    },
    /// Signal every open call that the run was cancelled.
    CancelOpenCalls,
    Event(ExecutionEvent),
    /// The last output of every run.
    Finish(RunOutcome),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunQuestion {
    /// Confirm the whole plan.
    Plan,
    /// Confirm a step with more items than the policy allows without a question.
    Expansion { step: StepId, items: u64, limit: u64 },
}
