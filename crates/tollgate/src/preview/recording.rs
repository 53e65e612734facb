//! Follows a run over the overlay and records what a forecast needs of it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use engine::{
    Answer, ApprovalRequest, Approver, ConfirmRequest, ForecastCall, ForecastOutcome, Observer,
    UncertainCall, UncertainVerdict, Verdict,
};
use envelope::{CallId, Channel, EventType, ExecutionEvent, Risk, StepId, ToolCall, ToolError, ToolResult};
use serde_json::Value;
use toolkit::BoxFuture;

use crate::visible::{count, one_line, short};

/// Calls of one step that are told by name; a loop over a thousand notes must not fill the screen.
const TOLD: usize = 3;
const TOLD_CHARS: usize = 160;

/// Says yes to everything, since nothing happens, and remembers what was asked.
#[derive(Default)]
pub(super) struct RecordingObserver {
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// What the first calls of each step would do, in words.
    told: HashMap<StepId, Vec<String>>,
    /// Questions about the size of a loop.
    loops: Vec<String>,
    /// Reasons to ask about calls besides the yes to the plan, and about how many.
    calls: BTreeMap<String, u64>,
    /// Whether somebody would be asked about anything.
    asked: bool,
    /// The full lines of commands, each once.
    commands: Vec<String>,
    links: Links,
    /// Every call that was made, in the order in which they were made.
    made: Vec<(CallId, ForecastCall)>,
}

/// Whether a call was not made because only making it tells what it does.
pub(super) fn is_unknown(error: &ToolError) -> bool {
    error.details.as_ref().and_then(|details| details.get("unforeseen")) == Some(&Value::Bool(true))
}

/// Links that moves of notes would rewrite.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Links {
    pub(super) links: u64,
    pub(super) notes: u64,
}

impl RecordingObserver {
    pub(super) fn told(&self, step: &StepId) -> Vec<String> {
        self.seen().told.get(step).cloned().unwrap_or_default()
    }

    pub(super) fn links(&self) -> Links {
        self.seen().links
    }

    pub(super) fn questions(&self) -> Vec<String> {
        let seen = self.seen();
        let calls = seen.calls.iter().map(|(why, calls)| {
            format!("{} would need a yes of their own: {}", count(*calls, "call"), one_line(why))
        });
        seen.loops.iter().cloned().chain(calls).collect()
    }

    pub(super) fn commands(&self) -> Vec<String> {
        self.seen().commands.clone()
    }

    /// Whether every call would run without a question.
    pub(super) fn runs_unasked(&self) -> bool {
        let seen = self.seen();
        !seen.asked && seen.made.iter().all(|(_, call)| call.outcome != ForecastOutcome::Unknown)
    }

    /// Every call, in the order of steps and items.
    pub(super) fn calls(&self, order: &[StepId]) -> Vec<ForecastCall> {
        let mut calls: Vec<ForecastCall> = self.seen().made.iter().map(|(_, call)| call.clone()).collect();
        let place = |step: &StepId| order.iter().position(|other| other == step);
        calls.sort_by_key(|call| (place(&call.step), call.index));
        calls
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for RecordingObserver {
    fn event(&self, event: &ExecutionEvent) {
        let (EventType::StepStarted, Some(step)) = (event.event_type, &event.step_id) else { return };
        let mut seen = self.seen();
        let told = seen.told.entry(step.clone()).or_default();
        if told.len() < TOLD {
            told.push(short(&event.message, TOLD_CHARS));
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
                    false => ForecastOutcome::Fails { message: one_line(&error.message) },
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
    fn confirm<'a>(&'a self, request: &'a ConfirmRequest) -> BoxFuture<'a, Answer> {
        if !request.whole_plan {
            let question = request.text.lines().next().unwrap_or_default();
            self.seen().loops.push(one_line(question));
        }
        Box::pin(std::future::ready(Answer::Yes { channel: Channel::Embedder }))
    }

    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Verdict> {
        let mut seen = self.seen();
        seen.asked = true;
        if !request.covered_by_plan {
            *seen.calls.entry(request.why.clone()).or_default() += 1;
        }
        let line = one_line(&request.preview);
        if request.risk == Risk::Commands && !seen.commands.contains(&line) {
            seen.commands.push(line);
        }
        drop(seen);
        Box::pin(std::future::ready(Verdict::Once { channel: Channel::Embedder }))
    }

    fn settle<'a>(&'a self, _: &'a UncertainCall) -> BoxFuture<'a, UncertainVerdict> {
        Box::pin(std::future::ready(UncertainVerdict::Leave))
    }
}
