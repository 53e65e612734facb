//! The words of a run's events.
//!
//! Only what the run itself decides is told here. That a call started or ended is told by whoever runs it.

use envelope::{
    CallId, Confirmation, EventType, ExecutionEvent, Level, RunId, StepId, Timestamp, ToolName, ToolResult,
};
use serde_json::{Map, Value, json};

use super::{Question, RunOutcome, StepStatus};
use crate::{CheckedPlan, CheckedStep};

/// What an event says; the machine adds which run and when.
pub(super) struct Telling {
    event_type: EventType,
    level: Level,
    message: String,
    payload: Value,
    step: Option<(StepId, ToolName)>,
    call_id: Option<CallId>,
}

impl Telling {
    fn new(event_type: EventType, level: Level, message: String, payload: Value) -> Telling {
        Telling { event_type, level, message, payload, step: None, call_id: None }
    }

    fn of(mut self, step: &CheckedStep) -> Telling {
        self.step = Some((step.id.clone(), step.decl.name.clone()));
        self
    }

    fn call(mut self, id: &CallId) -> Telling {
        self.call_id = Some(id.clone());
        self
    }

    pub(super) fn event(self, run_id: &RunId, timestamp: Timestamp) -> ExecutionEvent {
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

pub(super) fn started(plan: &CheckedPlan) -> Telling {
    let payload = json!({ "planHash": plan.hash, "steps": plan.steps.len() });
    Telling::new(EventType::RunStarted, Level::Info, plan.plan.goal.clone(), payload)
}

pub(super) fn asked(question: &Question, step: Option<&CheckedStep>) -> Telling {
    let kind = EventType::RunConfirmationRequested;
    match question {
        Question::Plan => {
            Telling::new(kind, Level::Info, "may this plan run?".to_owned(), json!({ "question": "plan" }))
        }
        Question::Expansion { step: id, items, limit } => {
            let message = format!("may step `{id}` run for {items} items? Up to {limit} would go unasked");
            let payload = json!({ "question": "expansion", "items": items, "limit": limit });
            let telling = Telling::new(kind, Level::Warn, message, payload);
            match step {
                Some(step) => telling.of(step),
                None => telling,
            }
        }
    }
}

/// The payload is the yes itself, so that the journal can prove what it was bound to.
pub(super) fn confirmed(confirmation: &Confirmation, step: Option<&CheckedStep>) -> Telling {
    let payload = serde_json::to_value(confirmation).unwrap_or(Value::Null);
    let telling = Telling::new(EventType::RunConfirmed, Level::Info, "confirmed".to_owned(), payload);
    match step {
        Some(step) => telling.of(step),
        None => telling,
    }
}

pub(super) fn cancelled(reason: &str, open: usize) -> Telling {
    let payload = json!({ "reason": reason, "openCalls": open });
    Telling::new(EventType::RunCancelled, Level::Warn, format!("cancelled: {reason}"), payload)
}

/// A no. Recorded where it was said, since what is open may still end after it and must start nothing.
pub(super) fn declined(reason: &str, open: usize) -> Telling {
    let payload = json!({ "reason": reason, "openCalls": open, "declined": true });
    Telling::new(EventType::RunCancelled, Level::Warn, format!("declined: {reason}"), payload)
}

pub(super) fn scheduled(step: &CheckedStep, calls: u64) -> Telling {
    let mut payload = Map::new();
    payload.insert("calls".to_owned(), calls.into());
    if !step.tags.is_empty() {
        payload.insert("tags".to_owned(), step.tags.clone().into());
    }
    let message = match step.foreach {
        Some(_) => format!("{calls} items"),
        None => "next".to_owned(),
    };
    Telling::new(EventType::StepScheduled, Level::Info, message, Value::Object(payload)).of(step)
}

pub(super) fn progress(step: &CheckedStep, done: u64, total: u64, failed: u64) -> Telling {
    let payload = json!({ "done": done, "total": total, "failed": failed });
    Telling::new(EventType::StepProgress, Level::Info, format!("{done} of {total}"), payload).of(step)
}

/// A retry as people follow it: attempt `attempt` of `of`.
#[derive(Clone, Copy)]
pub(super) struct Try {
    pub(super) attempt: u32,
    pub(super) of: u32,
}

pub(super) fn retry_waits(step: &CheckedStep, failed: &ToolResult, tried: Try, wait_ms: u64) -> Telling {
    let Try { attempt, of } = tried;
    let why = failed.error.as_ref().map_or_else(|| failed.status.to_string(), |error| error.message.clone());
    let message = format!("attempt {attempt} of {of} failed ({why}); the next follows in {wait_ms} ms");
    let payload = json!({ "attempt": attempt, "of": of, "retry": "waits", "afterMs": wait_ms });
    Telling::new(EventType::StepProgress, Level::Warn, message, payload).of(step).call(&failed.call_id)
}

/// Recorded before the attempt starts: with it, a replay knows when the timer fired.
pub(super) fn retry_is_due(step: &CheckedStep, next: &CallId, due: Try) -> Telling {
    let Try { attempt, of } = due;
    let payload = json!({ "attempt": attempt, "of": of, "retry": "due" });
    let message = format!("attempt {attempt} of {of}");
    Telling::new(EventType::StepProgress, Level::Info, message, payload).of(step).call(next)
}

/// The end of a call that never started.
pub(super) fn unstarted(step: &CheckedStep, result: &ToolResult) -> Telling {
    let message = result.user_message.clone().unwrap_or_default();
    let (kind, level, payload) = match &result.error {
        Some(error) => (
            EventType::StepFailed,
            Level::Error,
            json!({ "status": result.status, "code": error.code, "kind": error.kind }),
        ),
        None => (EventType::StepFinished, Level::Warn, json!({ "status": result.status })),
    };
    Telling::new(kind, level, message, payload).of(step).call(&result.call_id)
}

/// A foreach over nothing: no call will ever tell that the step is done.
pub(super) fn nothing_to_do(step: &CheckedStep) -> Telling {
    let payload = json!({ "status": StepStatus::Ok, "calls": 0 });
    Telling::new(EventType::StepFinished, Level::Info, "the list is empty".to_owned(), payload).of(step)
}

/// A step that was cut short: some of its items never ran.
pub(super) fn cut_short(step: &CheckedStep, status: StepStatus, done: u64, total: u64) -> Telling {
    let payload = json!({ "status": status, "done": done, "total": total });
    let message = format!("cut short after {done} of {total}");
    let (kind, level) = match status {
        StepStatus::Failed => (EventType::StepFailed, Level::Error),
        StepStatus::Ok | StepStatus::Partial | StepStatus::Skipped | StepStatus::Cancelled => {
            (EventType::StepFinished, Level::Warn)
        }
    };
    Telling::new(kind, level, message, payload).of(step)
}

pub(super) fn finished(outcome: &RunOutcome, missing: Map<String, Value>) -> Telling {
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
        super::RunStatus::Ok => Level::Info,
        super::RunStatus::Cancelled | super::RunStatus::Declined => Level::Warn,
        super::RunStatus::Failed => Level::Error,
    };
    let message = match &outcome.reason {
        Some(reason) => format!("{}: {reason}", outcome.status),
        None => outcome.status.to_string(),
    };
    Telling::new(EventType::RunFinished, level, message, Value::Object(payload))
}
