//! One way through a recorded run: feeds the state machine and compares what it asks for.

use std::collections::{BTreeMap, HashMap};

use envelope::{
    CallId, Confirmation, ConfirmationId, EventType, ExecutionEvent, Hash, Status, StepId, Timestamp,
    ToolCall, ToolName, ToolResult, canonical_hash,
};
use plan::{Input, Machine, Output, RunSpec, RunStatus, TimerId};
use serde_json::Value;

use crate::divergence::{Divergence, DivergenceKind, Replay};
use crate::error::JournalError;
use crate::folder::{Entry, Record, RunFolder};
use crate::kind::Seq;
use crate::replay::Later;

/// A difference that would vanish if `result` had been taken note of only behind record `behind`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hint {
    pub result: CallId,
    pub behind: Seq,
}

/// A derived call that is open.
struct Expected {
    step: StepId,
    tool: ToolName,
    attempt: u32,
    args_hash: Option<Hash>,
    confirmation: Option<ConfirmationId>,
    recorded: bool,
    /// The result that led to it, and where that was recorded.
    because_of: Option<(CallId, Seq)>,
}

pub(crate) struct Pass<'a> {
    machine: Machine,
    later: &'a Later,
    open: HashMap<CallId, Expected>,
    /// Results that the machine gave by itself and that are not found in the record yet.
    settled: HashMap<CallId, StepId>,
    /// Results that wait for their turn.
    waiting: BTreeMap<Seq, Vec<(Seq, ToolResult)>>,
    /// The first failure since anything was started: perhaps the one that ended the run.
    ended_by: Option<CallId>,
    /// Where failures and cancels were recorded.
    ends: Vec<Seq>,
    calls: u64,
    divergences: Vec<Divergence>,
    hint: Option<Hint>,
    status: Option<RunStatus>,
    recorded_status: Option<(Seq, Option<String>)>,
}

impl<'a> Pass<'a> {
    pub(crate) fn new(spec: RunSpec, created_at: Timestamp, later: &'a Later) -> Pass<'a> {
        let mut machine = Machine::new(spec);
        let first = machine.begin(created_at);
        let mut pass = Pass {
            machine,
            later,
            open: HashMap::new(),
            settled: HashMap::new(),
            waiting: BTreeMap::new(),
            ended_by: None,
            ends: Vec::new(),
            calls: 0,
            divergences: Vec::new(),
            hint: None,
            status: None,
            recorded_status: None,
        };
        pass.take(first, None);
        pass
    }

    pub(crate) fn record(&mut self, folder: &RunFolder, entry: Entry) -> Result<(), JournalError> {
        let Entry { seq, record } = entry;
        match record {
            Record::Call(call) => self.call(seq, *call),
            Record::Event(event) => self.event(seq, &event),
            Record::Result(mut result) => {
                result.data = folder.data(&result)?;
                self.result(seq, *result);
            }
        }
        while let Some(waiting) = self.waiting.first_entry().filter(|first| *first.key() <= seq) {
            for (recorded, result) in waiting.remove() {
                self.feed(recorded, result);
            }
        }
        Ok(())
    }

    fn differ(
        &mut self,
        what: DivergenceKind,
        seq: Option<Seq>,
        step: &StepId,
        id: &CallId,
        message: String,
    ) {
        let (step, call_id) = (Some(step.clone()), Some(id.clone()));
        self.divergences.push(Divergence { what, seq, step, call_id, message });
    }

    fn call(&mut self, seq: Seq, mut call: ToolCall) {
        let args_hash = canonical_hash(&Value::Object(std::mem::take(&mut call.args)));
        if call.args_hash.is_some_and(|recorded| recorded != args_hash) {
            let message = format!("the recorded arguments have the hash {args_hash}, not the recorded one");
            self.differ(DivergenceKind::ArgsHash, Some(seq), &call.step_id, &call.call_id, message);
        }
        let Some(expected) = self.open.get_mut(&call.call_id) else {
            let message = format!("the plan does not ask for this call of {} here", call.tool);
            self.differ(DivergenceKind::UnexpectedCall, Some(seq), &call.step_id, &call.call_id, message);
            let hint = self.ended_by.clone().map(|result| Hint { result, behind: seq });
            self.hint = self.hint.take().or(hint);
            return;
        };
        // A call that was open when the run was interrupted is recorded again when it goes on.
        self.calls += u64::from(!expected.recorded);
        expected.recorded = true;
        let mut found = Vec::new();
        if expected.args_hash.is_some_and(|derived| derived != args_hash) {
            let message = "other arguments follow from the plan and the recorded results".to_owned();
            found.push((DivergenceKind::Args, message));
        }
        if expected.tool != call.tool {
            found
                .push((DivergenceKind::Tool, format!("the plan calls {}, not {}", expected.tool, call.tool)));
        }
        if expected.attempt != call.attempt {
            let message = format!("this is attempt {}, not {}", expected.attempt, call.attempt);
            found.push((DivergenceKind::Attempt, message));
        }
        if expected.confirmation != call.confirmation_id {
            let message = "the call does not bear the confirmation that was given for it".to_owned();
            found.push((DivergenceKind::Confirmation, message));
        }
        for (what, message) in found {
            self.differ(what, Some(seq), &call.step_id, &call.call_id, message);
        }
    }

    fn result(&mut self, seq: Seq, result: ToolResult) {
        if self.settled.remove(&result.call_id).is_some() {
            return;
        }
        if result.status != Status::Ok {
            self.ends.push(seq);
        }
        match self.later.get(&result.call_id) {
            Some(behind) if *behind > seq => self.waiting.entry(*behind).or_default().push((seq, result)),
            Some(_) | None => self.feed(seq, result),
        }
    }

    fn feed(&mut self, seq: Seq, result: ToolResult) {
        let (id, step) = (result.call_id.clone(), result.step_id.clone());
        match self.open.remove(&id) {
            Some(expected) if !expected.recorded => {
                let message = "the call has a result but was never recorded".to_owned();
                self.differ(DivergenceKind::MissingCall, Some(seq), &step, &id, message);
            }
            Some(_) => {}
            None => {
                let message = "the plan asks for no call that this could be the result of".to_owned();
                self.differ(DivergenceKind::UnexpectedResult, Some(seq), &step, &id, message);
                return;
            }
        }
        if result.status != Status::Ok && self.ended_by.is_none() {
            self.ended_by = Some(id.clone());
        }
        let outputs = self.machine.handle(result.ended_at, Input::Done(result));
        self.take(outputs, Some((id, seq)));
    }

    fn event(&mut self, seq: Seq, event: &ExecutionEvent) {
        let payload = |name: &str| event.payload.as_ref().and_then(|payload| payload.get(name));
        let text = |name: &str| payload(name).and_then(Value::as_str).map(str::to_owned);
        let input = match event.event_type {
            EventType::RunConfirmed => {
                let given = event.payload.clone().and_then(|payload| serde_json::from_value(payload).ok());
                given.map(|confirmation: Confirmation| Input::Confirmed(confirmation))
            }
            EventType::RunCancelled => {
                self.ends.push(seq);
                let reason = text("reason").unwrap_or_default();
                let declined = payload("declined").and_then(Value::as_bool) == Some(true);
                Some(if declined { Input::Declined { reason } } else { Input::CancelRequested { reason } })
            }
            EventType::StepProgress if payload("retry").and_then(Value::as_str) == Some("due") => {
                event.call_id.clone().map(|next| Input::TimerFired(TimerId(next)))
            }
            EventType::RunFinished => {
                self.recorded_status = Some((seq, text("status")));
                None
            }
            EventType::RunStarted
            | EventType::RunConfirmationRequested
            | EventType::StepScheduled
            | EventType::StepStarted
            | EventType::StepProgress
            | EventType::StepFinished
            | EventType::StepFailed => None,
        };
        if let Some(input) = input {
            let outputs = self.machine.handle(event.timestamp, input);
            self.take(outputs, None);
        }
    }

    fn take(&mut self, outputs: Vec<Output>, because_of: Option<(CallId, Seq)>) {
        for output in outputs {
            match output {
                Output::Start(call) => {
                    self.ended_by = None;
                    let expected = Expected {
                        step: call.step_id,
                        tool: call.tool,
                        attempt: call.attempt,
                        args_hash: call.args_hash,
                        confirmation: call.confirmation_id,
                        recorded: false,
                        because_of: because_of.clone(),
                    };
                    self.open.insert(call.call_id, expected);
                }
                Output::Settled(result) => {
                    self.settled.insert(result.call_id, result.step_id);
                }
                Output::Finish(outcome) => self.status = Some(outcome.status),
                // Nobody is asked, nothing is timed and nothing is cancelled here: the record has the answers.
                Output::AskConfirm(_)
                | Output::SetTimer { .. }
                | Output::CancelOpenCalls { .. }
                | Output::Event(_) => {}
            }
        }
    }

    pub(crate) fn end(mut self) -> (Replay, Option<Hint>) {
        let finished = self.recorded_status.take();
        if let Some((seq, recorded)) = &finished {
            self.end_of_finished(*seq, recorded.as_deref());
        }
        let complete = finished.is_some() && self.machine.finished();
        let Pass { calls, divergences, status, hint, .. } = self;
        (Replay { calls, divergences, complete, status }, hint)
    }

    /// In a run that says it is finished, nothing may be left over.
    fn end_of_finished(&mut self, seq: Seq, recorded: Option<&str>) {
        let mut left: Vec<(CallId, Expected)> =
            self.open.drain().filter(|(_, expected)| !expected.recorded).collect();
        left.sort_by(|a, b| (&a.1.step, &a.0).cmp(&(&b.1.step, &b.0)));
        for (id, expected) in left {
            let message =
                format!("the plan asks for this call of {}, but it was never recorded", expected.tool);
            self.differ(DivergenceKind::MissingCall, None, &expected.step, &id, message);
            if let Some((result, at)) = expected.because_of
                && let Some(end) = self.ends.iter().find(|end| **end > at)
            {
                self.hint = self.hint.take().or(Some(Hint { result, behind: *end }));
            }
        }
        let mut settled: Vec<(CallId, StepId)> = self.settled.drain().collect();
        settled.sort();
        for (id, step) in settled {
            let message = "the run settles this step by itself, but that was never recorded".to_owned();
            self.differ(DivergenceKind::MissingResult, None, &step, &id, message);
        }
        let derived = self.status.map(|status| status.to_string());
        if recorded.is_some() && derived.as_deref() != recorded {
            let (derived, recorded) =
                (derived.unwrap_or_else(|| "open".to_owned()), recorded.unwrap_or_default());
            let message = format!("the run ends as {derived}, but {recorded} was recorded");
            let what = DivergenceKind::Status;
            self.divergences.push(Divergence { what, seq: Some(seq), step: None, call_id: None, message });
        }
    }
}
