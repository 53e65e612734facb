//! Builds the events of a run.
//!
//! Only decisions of the run itself are events here. The driver reports that a call started or ended.

use envelope::{
    CallId, Confirmation, EventLevel, EventType, ExecutionEvent, RunId, StepId, Timestamp, ToolName,
    ToolResult,
};
use serde_json::{Map, Value, json};

use super::{RunOutcome, RunQuestion, StepStatus};
use crate::{CheckedPlan, CheckedStep};

/// The content of an event; the machine adds run id and time.
pub(super) struct EventBuilder {
    event_type: EventType,
    level: EventLevel,
    message: String,
    payload: Value,
    step: Option<(StepId, ToolName)>,
    call_id: Option<CallId>,
}

impl EventBuilder {
    fn new(event_type: EventType, level: EventLevel, message: String, payload: Value) -> EventBuilder {
        EventBuilder { event_type, level, message, payload, step: None, call_id: None }
    }

    fn for_step(mut self, step: &CheckedStep) -> EventBuilder {
        self.step = Some((step.id.clone(), step.decl.name.clone()));
        self
    }

    fn call(mut self, id: &CallId) -> EventBuilder {
        self.call_id = Some(id.clone());
        self
    }

    pub(super) fn build(self, run_id: &RunId, timestamp: Timestamp) -> ExecutionEvent {
        let (step_id, tool) = self.step.unzip();
        ExecutionEvent {
            event_type: self.event_type,
            run_id: run_id.clone(),
            timestamp,
            level: self.level,
            message: self.message,
            call_id: self.call_id,
            step_id,
            tool,
            payload: Some(self.payload),
        }
    }
}

pub(super) fn started(plan: &CheckedPlan) -> EventBuilder {
    let payload = json!({ "steps": plan.steps.len() });
    EventBuilder::new(EventType::RunStarted, EventLevel::Info, plan.plan.goal.clone(), payload)
}

pub(super) fn question_asked(question: &RunQuestion, step: Option<&CheckedStep>) -> EventBuilder {
    let kind = EventType::RunConfirmationRequested;
    match question {
        RunQuestion::Plan => EventBuilder::new(
            kind,
            EventLevel::Info,
            "may this plan run?".to_owned(),
            json!({ "question": "plan" }),
        ),
        RunQuestion::Expansion { step: id, items, limit } => {
            let message = format!("may step `{id}` run for {items} items? Up to {limit} would go unasked");
            let payload = json!({ "question": "expansion", "items": items, "limit": limit });
            let telling = EventBuilder::new(kind, EventLevel::Warn, message, payload);
            match step {
                Some(step) => telling.for_step(step),
                None => telling,
            }
        }
    }
}

/// The payload is the confirmation itself, so that the journal can prove what it was bound to.
pub(super) fn confirmed(confirmation: &Confirmation, step: Option<&CheckedStep>) -> EventBuilder {
    let payload = serde_json::to_value(confirmation).unwrap_or(Value::Null);
    let telling =
        EventBuilder::new(EventType::RunConfirmed, EventLevel::Info, "confirmed".to_owned(), payload);
    match step {
        Some(step) => telling.for_step(step),
        None => telling,
    }
}

pub(super) fn cancelled(reason: &str, open: usize) -> EventBuilder {
    let payload = json!({ "reason": reason, "openCalls": open });
    EventBuilder::new(EventType::RunCancelled, EventLevel::Warn, format!("cancelled: {reason}"), payload)
}

/// Recorded at the moment of the answer, because open calls can still end after it and must start nothing.
pub(super) fn declined(reason: &str, open: usize) -> EventBuilder {
    let payload = json!({ "reason": reason, "openCalls": open, "declined": true });
    EventBuilder::new(EventType::RunCancelled, EventLevel::Warn, format!("declined: {reason}"), payload)
}

pub(super) fn scheduled(step: &CheckedStep, calls: u64) -> EventBuilder {
    let mut payload = Map::new();
    payload.insert("calls".to_owned(), calls.into());
    if !step.tags.is_empty() {
        payload.insert("tags".to_owned(), step.tags.clone().into());
    }
    let message = match step.foreach {
        Some(_) => format!("{calls} items"),
        None => "next".to_owned(),
    };
    EventBuilder::new(EventType::StepScheduled, EventLevel::Info, message, Value::Object(payload))
        .for_step(step)
}

pub(super) fn progress(step: &CheckedStep, done: u64, total: u64, failed: u64) -> EventBuilder {
    let payload = json!({ "done": done, "total": total, "failed": failed });
    EventBuilder::new(EventType::StepProgress, EventLevel::Info, format!("{done} of {total}"), payload)
        .for_step(step)
}

/// A retry for progress messages: attempt `attempt` of `for_step`.
#[derive(Clone, Copy)]
pub(super) struct RetryAttempt {
    pub(super) attempt: u32,
    pub(super) of: u32,
}

pub(super) fn retry_waits(
    step: &CheckedStep,
    failed: &ToolResult,
    tried: RetryAttempt,
    wait_ms: u64,
) -> EventBuilder {
    let RetryAttempt { attempt, of } = tried;
    let why = failed.error.as_ref().map_or_else(|| failed.status.to_string(), |error| error.message.clone());
    let message = format!("attempt {attempt} of {of} failed ({why}); the next follows in {wait_ms} ms");
    let payload = json!({ "attempt": attempt, "of": of, "retry": "waits", "afterMs": wait_ms });
    EventBuilder::new(EventType::StepProgress, EventLevel::Warn, message, payload)
        .for_step(step)
        .call(&failed.call_id)
}

/// Recorded before the attempt starts, so that a replay knows when the timer fired.
pub(super) fn retry_is_due(step: &CheckedStep, next: &CallId, due: RetryAttempt) -> EventBuilder {
    let RetryAttempt { attempt, of } = due;
    let payload = json!({ "attempt": attempt, "of": of, "retry": "due" });
    let message = format!("attempt {attempt} of {of}");
    EventBuilder::new(EventType::StepProgress, EventLevel::Info, message, payload).for_step(step).call(next)
}

/// Reports the end of a call that never started.
pub(super) fn not_started(step: &CheckedStep, result: &ToolResult) -> EventBuilder {
    let message = result.user_message.clone().unwrap_or_default();
    let (kind, level, payload) = match &result.error {
        Some(error) => (
            EventType::StepFailed,
            EventLevel::Error,
            json!({ "status": result.status, "code": error.code, "kind": error.kind }),
        ),
        None => (EventType::StepFinished, EventLevel::Warn, json!({ "status": result.status })),
    };
    EventBuilder::new(kind, level, message, payload).for_step(step).call(&result.call_id)
}

/// Reports a foreach over an empty list: no call will report that the step is done.
pub(super) fn empty_foreach(step: &CheckedStep) -> EventBuilder {
    let payload = json!({ "status": StepStatus::Ok, "calls": 0 });
    EventBuilder::new(EventType::StepFinished, EventLevel::Info, "the list is empty".to_owned(), payload)
        .for_step(step)
}

/// Reports a step that was cut short: some of its items never ran.
pub(super) fn cut_short(step: &CheckedStep, status: StepStatus, done: u64, total: u64) -> EventBuilder {
    let payload = json!({ "status": status, "done": done, "total": total });
    let message = format!("cut short after {done} of {total}");
    let (kind, level) = match status {
        StepStatus::Failed => (EventType::StepFailed, EventLevel::Error),
        StepStatus::Ok | StepStatus::Partial | StepStatus::Skipped | StepStatus::Cancelled => {
            (EventType::StepFinished, EventLevel::Warn)
        }
    };
    EventBuilder::new(kind, level, message, payload).for_step(step)
}

pub(super) fn finished(outcome: &RunOutcome, missing: Map<String, Value>) -> EventBuilder {
    let mut counts = Map::new();
    for status in StepStatus::ALL {
        let count = outcome.steps.iter().filter(|step| step.status == status).count();
        if count > 0 {
            counts.insert(status.name().to_owned(), count.into());
        }
    }
    let mut payload = Map::new();
    payload.insert("status".to_owned(), outcome.status.name().into());
    payload.insert("steps".to_owned(), Value::Object(counts));
    if !missing.is_empty() {
        payload.insert("missingOutputs".to_owned(), Value::Object(missing));
    }
    let level = match outcome.status {
        super::RunStatus::Ok => EventLevel::Info,
        super::RunStatus::Cancelled | super::RunStatus::Declined => EventLevel::Warn,
        super::RunStatus::Failed => EventLevel::Error,
    };
    let message = match &outcome.reason {
        Some(reason) => format!("{}: {reason}", outcome.status),
        None => outcome.status.to_string(),
    };
    EventBuilder::new(EventType::RunFinished, level, message, Value::Object(payload))
}
