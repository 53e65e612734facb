//! A fresh state machine, fed with what was recorded until it stands where the record ends.
//!
//! The machine is pure and results are recorded in the order in which the run takes note of them, so this
//! brings a run back exactly: what it has started, what it waits for, what it owes. A replay compares what the
//! machine asks for with what was recorded; a resume goes on from where it stands.

use std::collections::BTreeMap;

use envelope::{
    CallId, Confirmation, ConfirmationId, Effects, EventType, ExecutionEvent, StepId, Timestamp, ToolCall,
    ToolResult, canonical_hash,
};
use plan::{Input, Machine, Output, Question, RunOutcome, RunSpec, TimerId};
use serde_json::{Map, Value};

use crate::divergence::{Divergence, DivergenceKind, Replay};
use crate::error::JournalError;
use crate::folder::{Entry, Record, RunFolder};
use crate::kind::Seq;

/// Where a run stands at the end of its record.
pub struct Rehearsal {
    pub machine: Machine,
    /// Calls that are started and have no result.
    pub open: BTreeMap<CallId, OpenCall>,
    /// Waits that are not over.
    pub timers: Vec<(TimerId, u64)>,
    /// A question that nobody has answered.
    pub question: Option<Question>,
    /// What the machine decided by itself and the record lacks, in order.
    pub owed: Vec<Output>,
    /// Results of calls whose end was not told yet.
    pub untold: BTreeMap<CallId, ToolResult>,
    /// Every yes that was given.
    pub confirmations: Vec<ConfirmationId>,
    /// What calls left for later ones.
    pub context: Map<String, Value>,
    pub effects: Effects,
    /// Where the record is not what follows from the plan. Empty for an honest run.
    pub divergences: Vec<Divergence>,
    calls: u64,
    outcome: Option<RunOutcome>,
    recorded_end: Option<(Seq, Option<String>)>,
}

/// A call that the machine has started.
pub struct OpenCall {
    /// As it follows from the plan.
    pub derived: ToolCall,
    /// As it stands in the record, if it got that far.
    pub recorded: Option<ToolCall>,
    /// Whether the run was cancelled while it was open.
    pub cancelled: bool,
}

impl Rehearsal {
    /// Feeds a machine the whole record of a run.
    pub fn of(folder: &RunFolder, spec: RunSpec) -> Result<Rehearsal, JournalError> {
        let mut machine = Machine::new(spec);
        let first = machine.begin(folder.header().created_at);
        let mut rehearsal = Rehearsal {
            machine,
            open: BTreeMap::new(),
            timers: Vec::new(),
            question: None,
            owed: Vec::new(),
            untold: BTreeMap::new(),
            confirmations: Vec::new(),
            context: Map::new(),
            effects: Effects::default(),
            divergences: Vec::new(),
            calls: 0,
            outcome: None,
            recorded_end: None,
        };
        let mut owed = Owed::default();
        rehearsal.take(&mut owed, first);
        for entry in folder.records()? {
            rehearsal.record(folder, &mut owed, entry?)?;
        }
        rehearsal.owed = owed.outputs();
        Ok(rehearsal)
    }

    /// Whether the record goes to the end of the run.
    pub fn finished(&self) -> bool {
        self.recorded_end.is_some()
    }

    fn record(&mut self, folder: &RunFolder, owed: &mut Owed, entry: Entry) -> Result<(), JournalError> {
        let Entry { seq, record } = entry;
        match record {
            Record::Call(call) => self.call(seq, *call),
            Record::Event(event) => self.event(owed, seq, *event),
            Record::Result(mut result) => {
                result.data = folder.data(&result)?;
                self.result(owed, seq, *result);
            }
        }
        Ok(())
    }

    fn call(&mut self, seq: Seq, call: ToolCall) {
        let args_hash = canonical_hash(&Value::Object(call.args.clone()));
        let mut found = Vec::new();
        if call.args_hash.is_some_and(|recorded| recorded != args_hash) {
            let message = format!("the recorded arguments have the hash {args_hash}, not the recorded one");
            found.push((DivergenceKind::ArgsHash, message));
        }
        match self.open.get_mut(&call.call_id) {
            None => {
                let message = format!("the plan does not ask for this call of {} here", call.tool);
                found.push((DivergenceKind::UnexpectedCall, message));
            }
            Some(open) => {
                // A call that was open when the run was interrupted is recorded again when it goes on.
                self.calls += u64::from(open.recorded.is_none());
                if open.derived.args_hash.is_some_and(|derived| derived != args_hash) {
                    let message = "other arguments follow from the plan and the recorded results".to_owned();
                    found.push((DivergenceKind::Args, message));
                }
                found.extend(differences(&open.derived, &call));
                open.recorded = Some(call.clone());
            }
        }
        for (what, message) in found {
            self.differ(what, Some(seq), &call.step_id, &call.call_id, message);
        }
    }

    fn result(&mut self, owed: &mut Owed, seq: Seq, result: ToolResult) {
        let (id, step) = (result.call_id.clone(), result.step_id.clone());
        if owed.settled(&id) {
            return;
        }
        match self.open.remove(&id) {
            Some(open) if open.recorded.is_none() => {
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
        if let Some(effects) = &result.effects {
            self.effects.absorb(effects);
        }
        let applied = result.context_modifiers.iter().filter(|change| change.applied);
        self.context.extend(applied.map(|change| (change.key.clone(), change.value.clone())));
        self.untold.insert(id, ToolResult { data: None, canonical: None, ..result.clone() });
        let at = result.ended_at;
        self.feed(owed, at, Input::Done(result));
    }

    fn event(&mut self, owed: &mut Owed, seq: Seq, event: ExecutionEvent) {
        let payload = |name: &str| event.payload.as_ref().and_then(|payload| payload.get(name));
        let text = |name: &str| payload(name).and_then(Value::as_str).map(str::to_owned);
        let input = match event.event_type {
            EventType::RunConfirmed => {
                let given = event.payload.clone().and_then(|payload| serde_json::from_value(payload).ok());
                given.map(|given: Confirmation| {
                    self.confirmations.push(given.confirmation_id.clone());
                    Input::Confirmed(given)
                })
            }
            EventType::RunCancelled => {
                let reason = text("reason").unwrap_or_default();
                let declined = payload("declined").and_then(Value::as_bool) == Some(true);
                Some(if declined { Input::Declined { reason } } else { Input::CancelRequested { reason } })
            }
            EventType::StepProgress if payload("retry").and_then(Value::as_str) == Some("due") => {
                event.call_id.clone().map(|next| Input::TimerFired(TimerId(next)))
            }
            EventType::StepFinished | EventType::StepFailed => {
                if let Some(id) = &event.call_id {
                    self.untold.remove(id);
                    owed.told(id);
                }
                None
            }
            EventType::RunFinished => {
                self.recorded_end = Some((seq, text("status")));
                None
            }
            EventType::RunStarted
            | EventType::RunConfirmationRequested
            | EventType::StepScheduled
            | EventType::StepStarted
            | EventType::StepProgress => None,
        };
        if let Some(input) = input {
            self.feed(owed, event.timestamp, input);
        }
    }

    fn feed(&mut self, owed: &mut Owed, at: Timestamp, input: Input) {
        match &input {
            Input::Confirmed(_) | Input::Declined { .. } | Input::CancelRequested { .. } => {
                self.question = None;
            }
            Input::TimerFired(fired) => self.timers.retain(|(timer, _)| timer != fired),
            Input::Done(_) => {}
        }
        let outputs = self.machine.handle(at, input);
        self.take(owed, outputs);
    }

    fn take(&mut self, owed: &mut Owed, outputs: Vec<Output>) {
        for output in outputs {
            match output {
                Output::Start(call) => {
                    let open = OpenCall { derived: *call, recorded: None, cancelled: false };
                    self.open.insert(open.derived.call_id.clone(), open);
                }
                Output::SetTimer { id, after_ms } => self.timers.push((id, after_ms)),
                Output::AskConfirm(question) => self.question = Some(question),
                Output::CancelOpenCalls => self.cancel(),
                Output::Settled(result) => owed.settle(*result),
                Output::Event(event) => owed.tell(event),
                Output::Finish(outcome) => {
                    self.timers.clear();
                    self.outcome = Some(outcome.clone());
                    owed.finish(outcome);
                }
            }
        }
    }

    /// A run that was cancelled waits for nothing any more.
    fn cancel(&mut self) {
        for open in self.open.values_mut() {
            open.cancelled = true;
        }
        self.timers.clear();
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

    /// The report of a replay.
    pub(crate) fn into_replay(mut self) -> Replay {
        if let Some((seq, recorded)) = self.recorded_end.take() {
            self.compare_ends(seq, recorded.as_deref());
            let complete = self.machine.finished();
            return self.replayed(complete);
        }
        self.replayed(false)
    }

    fn replayed(self, complete: bool) -> Replay {
        let status = self.outcome.map(|outcome| outcome.status);
        Replay { calls: self.calls, divergences: self.divergences, complete, status }
    }

    /// In a run that says it is finished, nothing may be left over.
    fn compare_ends(&mut self, seq: Seq, recorded: Option<&str>) {
        for (id, open) in std::mem::take(&mut self.open) {
            if open.recorded.is_none() {
                let message = format!(
                    "the plan asks for this call of {}, but it was never recorded",
                    open.derived.tool
                );
                self.differ(DivergenceKind::MissingCall, None, &open.derived.step_id, &id, message);
            }
        }
        for output in std::mem::take(&mut self.owed) {
            if let Output::Settled(result) = output {
                let message = "the run settles this step by itself, but that was never recorded".to_owned();
                self.differ(DivergenceKind::MissingResult, None, &result.step_id, &result.call_id, message);
            }
        }
        let derived =
            self.outcome.as_ref().map_or_else(|| "open".to_owned(), |outcome| outcome.status.to_string());
        if let Some(recorded) = recorded.filter(|recorded| *recorded != derived) {
            let message = format!("the run ends as {derived}, but {recorded} was recorded");
            let what = DivergenceKind::Status;
            self.divergences.push(Divergence { what, seq: Some(seq), step: None, call_id: None, message });
        }
    }
}

/// Everything but the arguments.
fn differences(derived: &ToolCall, recorded: &ToolCall) -> Vec<(DivergenceKind, String)> {
    let mut found = Vec::new();
    if derived.tool != recorded.tool {
        let message = format!("the plan calls {}, not {}", derived.tool, recorded.tool);
        found.push((DivergenceKind::Tool, message));
    }
    if derived.attempt != recorded.attempt {
        let message = format!("this is attempt {}, not {}", derived.attempt, recorded.attempt);
        found.push((DivergenceKind::Attempt, message));
    }
    if derived.confirmation_id != recorded.confirmation_id {
        let message = "the call does not bear the confirmation that was given for it".to_owned();
        found.push((DivergenceKind::Confirmation, message));
    }
    found
}

/// What the machine decided by itself, until it is found in the record.
#[derive(Default)]
struct Owed {
    /// In the order in which the machine said it; the number only keeps that order.
    results: BTreeMap<CallId, (u64, ToolResult)>,
    events: BTreeMap<CallId, (u64, ExecutionEvent)>,
    end: Vec<Output>,
    next: u64,
}

impl Owed {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn settle(&mut self, result: ToolResult) {
        let number = self.number();
        self.results.insert(result.call_id.clone(), (number, result));
    }

    fn tell(&mut self, event: ExecutionEvent) {
        match (event.event_type, &event.call_id) {
            (EventType::RunFinished, _) => self.end.push(Output::Event(event)),
            (EventType::StepFinished | EventType::StepFailed, Some(id)) => {
                let (number, id) = (self.number(), id.clone());
                self.events.insert(id, (number, event));
            }
            // Told at the time or not worth telling later.
            (_, _) => {}
        }
    }

    fn finish(&mut self, outcome: RunOutcome) {
        self.end.push(Output::Finish(outcome));
    }

    /// Whether this is the result of a call that never started; it is in the record now.
    fn settled(&mut self, id: &CallId) -> bool {
        self.results.remove(id).is_some()
    }

    fn told(&mut self, id: &CallId) {
        self.events.remove(id);
    }

    fn outputs(self) -> Vec<Output> {
        let results = self.results.into_values().map(|(at, result)| (at, Output::Settled(Box::new(result))));
        let events = self.events.into_values().map(|(at, event)| (at, Output::Event(event)));
        let mut owed: Vec<(u64, Output)> = results.chain(events).collect();
        owed.sort_by_key(|(at, _)| *at);
        owed.into_iter().map(|(_, output)| output).chain(self.end).collect()
    }
}
