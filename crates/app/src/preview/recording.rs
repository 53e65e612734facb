//! Follows a run over the overlay and records what a forecast needs of it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use engine::{
    ApprovalDecision, ApprovalRequest, Approver, ConfirmAnswer, ConfirmRequest, ForecastCall,
    ForecastOutcome, Observer, UncertainCall, UncertainDecision,
};
use envelope::{
    ApprovalChannel, CallId, EventType, ExecutionEvent, Risk, StepId, ToolCall, ToolError, ToolResult,
};
use serde_json::Value;
use toolkit::BoxFuture;

use crate::display_text::{count, escape_line, truncate_line};

/// Calls of one step that are described; a loop over a thousand notes must not fill the screen.
const DESCRIBED_CALLS: usize = 3;
const DESCRIPTION_CHARS: usize = 160;

/// Approves everything, because nothing happens, and records what was asked.
#[derive(Default)]
pub(super) struct RecordingObserver {
    seen: Mutex<RecordedCalls>,
}

#[derive(Default)]
struct RecordedCalls {
    /// Descriptions of the first calls of each step.
    descriptions: HashMap<StepId, Vec<String>>,
    /// Questions about the size of a loop.
    loops: Vec<String>,
    /// Reasons to ask about calls besides the question about the plan, each with the number of calls.
    calls: BTreeMap<String, u64>,
    /// True if a question would be asked.
    asked: bool,
    /// Full lines of commands, each once.
    commands: Vec<String>,
    links: RewrittenLinks,
    /// Every call, in the order in which they were made.
    made: Vec<(CallId, ForecastCall)>,
}

/// Returns true if a call was not made because its effect cannot be forecast.
pub(super) fn is_unknown(error: &ToolError) -> bool {
    error.details.as_ref().and_then(|details| details.get("unforeseen")) == Some(&Value::Bool(true))
}

/// Links that moves of notes would rewrite.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct RewrittenLinks {
    pub(super) links: u64,
    pub(super) notes: u64,
}

impl RecordingObserver {
    pub(super) fn descriptions(&self, step: &StepId) -> Vec<String> {
        self.seen().descriptions.get(step).cloned().unwrap_or_default()
    }

    pub(super) fn links(&self) -> RewrittenLinks {
        self.seen().links
    }

    pub(super) fn questions(&self) -> Vec<String> {
        let seen = self.seen();
        let calls = seen.calls.iter().map(|(why, calls)| {
            format!("{} would need their own approval: {}", count(*calls, "call"), escape_line(why))
        });
        seen.loops.iter().cloned().chain(calls).collect()
    }

    pub(super) fn commands(&self) -> Vec<String> {
        self.seen().commands.clone()
    }

    /// Returns true if every call would run without a question.
    pub(super) fn runs_unasked(&self) -> bool {
        let seen = self.seen();
        !seen.asked && seen.made.iter().all(|(_, call)| call.outcome != ForecastOutcome::Unknown)
    }

    /// Returns every call, in the order of steps and items.
    pub(super) fn calls(&self, order: &[StepId]) -> Vec<ForecastCall> {
        let mut calls: Vec<ForecastCall> = self.seen().made.iter().map(|(_, call)| call.clone()).collect();
        let place = |step: &StepId| order.iter().position(|other| other == step);
        calls.sort_by_key(|call| (place(&call.step), call.index));
        calls
    }

    fn seen(&self) -> MutexGuard<'_, RecordedCalls> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for RecordingObserver {
    fn event(&self, event: &ExecutionEvent) {
        let (EventType::StepStarted, Some(step)) = (event.event_type, &event.step_id) else { return };
        let mut seen = self.seen();
        let descriptions = seen.descriptions.entry(step.clone()).or_default();
        if descriptions.len() < DESCRIBED_CALLS {
            descriptions.push(truncate_line(&event.message, DESCRIPTION_CHARS));
        }
    }

    fn call(&self, call: &ToolCall) {
        let expected = ForecastCall::of(call, ForecastOutcome::Works);
        self.seen().made.push((call.call_id.clone(), expected));
    }

    fn result(&self, result: &ToolResult) {
        if let Some(error) = &result.error {
            let mut seen = self.seen();
            let made = seen.made.iter_mut().rev().find(|(id, _)| *id == result.call_id);
            if let Some((_, call)) = made {
                call.outcome = match is_unknown(error) {
                    true => ForecastOutcome::Unknown,
                    false => ForecastOutcome::Fails { message: escape_line(&error.message) },
                };
            }
        }
        let Some(data) = result.data.as_ref().filter(|data| data.get("dryRun") != Some(&Value::Bool(true)))
        else {
            return;
        };
        let number = |key: &str| data.get(key).and_then(Value::as_u64);
        if let Some(links) = number("linksUpdated").filter(|links| *links > 0) {
            let mut seen = self.seen();
            seen.links.links += links;
            seen.links.notes += number("filesUpdated").unwrap_or_default();
        }
    }
}

impl Approver for RecordingObserver {
    fn confirm<'a>(&'a self, request: &'a ConfirmRequest) -> BoxFuture<'a, ConfirmAnswer> {
        if !request.whole_plan {
            let question = request.text.lines().next().unwrap_or_default();
            self.seen().loops.push(escape_line(question));
        }
        Box::pin(std::future::ready(ConfirmAnswer::Approved { channel: ApprovalChannel::Embedder }))
    }

    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalDecision> {
        let mut seen = self.seen();
        seen.asked = true;
        if !request.covered_by_plan {
            *seen.calls.entry(request.why.clone()).or_default() += 1;
        }
        let line = escape_line(&request.preview);
        if request.risk == Risk::Commands && !seen.commands.contains(&line) {
            seen.commands.push(line);
        }
        drop(seen);
        Box::pin(std::future::ready(ApprovalDecision::ApproveOnce { channel: ApprovalChannel::Embedder }))
    }

    fn settle<'a>(&'a self, _: &'a UncertainCall) -> BoxFuture<'a, UncertainDecision> {
        Box::pin(std::future::ready(UncertainDecision::Leave))
    }
}
