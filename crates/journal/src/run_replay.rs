//! Rebuilds the state of a run by feeding its record to a fresh state machine.
//!
//! The machine is pure, and results are recorded in the order in which the run handles them, so this restores
//! a run exactly: its started calls, its pending waits and the outputs that were not recorded. A replay
//! compares the derived calls with the recorded ones; a resume continues from the restored state.

use std::collections::BTreeMap;

use envelope::{
    CallId, Confirmation, ConfirmationId, Effects, EventType, ExecutionEvent, StepId, Timestamp, ToolCall,
    ToolResult, canonical_hash,
};
use plan::{MachineInput, MachineOutput, RunMachine, RunOutcome, RunQuestion, RunSpec, TimerId};
use serde_json::{Map, Value};

use crate::divergence::{Divergence, DivergenceKind, ReplayReport};
use crate::error::JournalError;
use crate::log_kind::Seq;
use crate::run_folder::{JournalEntry, JournalRecord, RunFolder};

/// The state of a run at the end of its record.
pub struct RunReplay {
    pub machine: RunMachine,
    /// Calls that were started and have no result.
    pub open: BTreeMap<CallId, OpenCall>,
    /// Timers that have not fired.
    pub timers: Vec<(TimerId, u64)>,
    /// The unanswered question.
    pub question: Option<RunQuestion>,
    /// Decisions of the machine that the record lacks, in order.
    pub unrecorded_outputs: Vec<MachineOutput>,
    /// Results of calls whose end event was not recorded yet.
    pub unreported_results: BTreeMap<CallId, ToolResult>,
    /// All confirmations that were given.
    pub confirmations: Vec<ConfirmationId>,
    /// Context that calls set for later ones.
    pub context: Map<String, Value>,
    pub effects: Effects,
    /// Differences between the record and the plan. Empty for an unmodified run.
    pub divergences: Vec<Divergence>,
    calls: u64,
    outcome: Option<RunOutcome>,
    recorded_end: Option<(Seq, Option<String>)>,
}

/// A call that the machine has started.
pub struct OpenCall {
    /// The call as derived from the plan.
    pub derived: ToolCall,
    /// The call as recorded, if it was recorded.
    pub recorded: Option<ToolCall>,
    /// True if the run was cancelled while the call was open.
    pub cancelled: bool,
}

impl RunReplay {
    /// Feeds the whole record of a run to a machine.
    ///
    /// Fails if the record is unreadable or damaged.
    pub fn rebuild(folder: &RunFolder, spec: RunSpec) -> Result<RunReplay, JournalError> {
        let mut machine = RunMachine::new(spec);
        let first = machine.begin(folder.header().created_at);
        let mut replay = RunReplay {
            machine,
            open: BTreeMap::new(),
            timers: Vec::new(),
            question: None,
            unrecorded_outputs: Vec::new(),
            unreported_results: BTreeMap::new(),
            confirmations: Vec::new(),
            context: Map::new(),
            effects: Effects::default(),
            divergences: Vec::new(),
            calls: 0,
            outcome: None,
            recorded_end: None,
        };
        let mut owed = ExpectedRecords::default();
        replay.apply_outputs(&mut owed, first);
        for entry in folder.records()? {
            replay.record(folder, &mut owed, entry?)?;
        }
        replay.unrecorded_outputs = owed.outputs();
        Ok(replay)
    }

    /// Whether the record includes the end of the run.
    pub fn is_finished(&self) -> bool {
        self.recorded_end.is_some()
    }

    fn record(
        &mut self,
        folder: &RunFolder,
        owed: &mut ExpectedRecords,
        entry: JournalEntry,
    ) -> Result<(), JournalError> {
        let JournalEntry { seq, record } = entry;
        match record {
            JournalRecord::Call(call) => self.call(seq, *call),
            JournalRecord::Event(event) => self.event(owed, seq, *event),
            JournalRecord::Result(mut result) => {
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
                let message = format!("the plan does not derive this call of {} here", call.tool);
                found.push((DivergenceKind::UnexpectedCall, message));
            }
            Some(open) => {
                // A call that was open when the run was interrupted is recorded again on resume.
                self.calls += u64::from(open.recorded.is_none());
                if open.derived.args_hash.is_some_and(|derived| derived != args_hash) {
                    let message = "other arguments follow from the plan and the recorded results".to_owned();
                    found.push((DivergenceKind::Args, message));
                }
                found.extend(call_differences(&open.derived, &call));
                open.recorded = Some(call.clone());
            }
        }
        for (what, message) in found {
            self.add_divergence(what, Some(seq), &call.step_id, &call.call_id, message);
        }
    }

    fn result(&mut self, owed: &mut ExpectedRecords, seq: Seq, result: ToolResult) {
        let (id, step) = (result.call_id.clone(), result.step_id.clone());
        if owed.take_expected_result(&id) {
            return;
        }
        match self.open.remove(&id) {
            Some(open) if open.recorded.is_none() => {
                let message = "the call has a result but was never recorded".to_owned();
                self.add_divergence(DivergenceKind::MissingCall, Some(seq), &step, &id, message);
            }
            Some(_) => {}
            None => {
                let message = "the plan does not derive a call that this could be the result of".to_owned();
                self.add_divergence(DivergenceKind::UnexpectedResult, Some(seq), &step, &id, message);
                return;
            }
        }
        if let Some(effects) = &result.effects {
            self.effects.merge(effects);
        }
        let applied = result.context_modifiers.iter().filter(|change| change.applied);
        self.context.extend(applied.map(|change| (change.key.clone(), change.value.clone())));
        self.unreported_results.insert(id, ToolResult { data: None, canonical: None, ..result.clone() });
        let at = result.ended_at;
        self.feed(owed, at, MachineInput::Done(result));
    }

    fn event(&mut self, owed: &mut ExpectedRecords, seq: Seq, event: ExecutionEvent) {
        let payload = |name: &str| event.payload.as_ref().and_then(|payload| payload.get(name));
        let text = |name: &str| payload(name).and_then(Value::as_str).map(str::to_owned);
        let input = match event.event_type {
            EventType::RunConfirmed => {
                let given = event.payload.clone().and_then(|payload| serde_json::from_value(payload).ok());
                given.map(|given: Confirmation| {
                    self.confirmations.push(given.confirmation_id.clone());
                    MachineInput::Confirmed(given)
                })
            }
            EventType::RunCancelled => {
                let reason = text("reason").unwrap_or_default();
                let declined = payload("declined").and_then(Value::as_bool) == Some(true);
                Some(if declined {
                    MachineInput::Declined { reason }
                } else {
                    MachineInput::CancelRequested { reason }
                })
            }
            EventType::StepProgress if payload("retry").and_then(Value::as_str) == Some("due") => {
                event.call_id.clone().map(|next| MachineInput::TimerFired(TimerId(next)))
            }
            EventType::StepFinished | EventType::StepFailed => {
                if let Some(id) = &event.call_id {
                    self.unreported_results.remove(id);
                    owed.remove_expected_event(id);
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

    fn feed(&mut self, owed: &mut ExpectedRecords, at: Timestamp, input: MachineInput) {
        match &input {
            MachineInput::Confirmed(_)
            | MachineInput::Declined { .. }
            | MachineInput::CancelRequested { .. } => {
                self.question = None;
            }
            MachineInput::TimerFired(fired) => self.timers.retain(|(timer, _)| timer != fired),
            MachineInput::Done(_) => {}
        }
        let outputs = self.machine.handle(at, input);
        self.apply_outputs(owed, outputs);
    }

    fn apply_outputs(&mut self, owed: &mut ExpectedRecords, outputs: Vec<MachineOutput>) {
        for output in outputs {
            match output {
                MachineOutput::Start(call) => {
                    let open = OpenCall { derived: *call, recorded: None, cancelled: false };
                    self.open.insert(open.derived.call_id.clone(), open);
                }
                MachineOutput::SetTimer { id, after_ms } => self.timers.push((id, after_ms)),
                MachineOutput::AskConfirm(question) => self.question = Some(question),
                MachineOutput::CancelOpenCalls => self.cancel(),
                MachineOutput::Settled(result) => owed.expect_result(*result),
                MachineOutput::Event(event) => owed.expect_event(event),
                MachineOutput::Finish(outcome) => {
                    self.timers.clear();
                    self.outcome = Some(outcome.clone());
                    owed.expect_finish(outcome);
                }
            }
        }
    }

    /// Marks open calls as cancelled; a cancelled run waits for no timer.
    fn cancel(&mut self) {
        for open in self.open.values_mut() {
            open.cancelled = true;
        }
        self.timers.clear();
    }

    fn add_divergence(
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

    /// Converts to the report of a replay.
    pub(crate) fn into_replay(mut self) -> ReplayReport {
        if let Some((seq, recorded)) = self.recorded_end.take() {
            self.compare_outcomes(seq, recorded.as_deref());
            let complete = self.machine.is_finished();
            return self.report(complete);
        }
        self.report(false)
    }

    fn report(self, complete: bool) -> ReplayReport {
        let status = self.outcome.map(|outcome| outcome.status);
        ReplayReport { calls: self.calls, divergences: self.divergences, complete, status }
    }

    /// Reports everything that is left over although the record says that the run finished.
    fn compare_outcomes(&mut self, seq: Seq, recorded: Option<&str>) {
        for (id, open) in std::mem::take(&mut self.open) {
            if open.recorded.is_none() {
                let message =
                    format!("the plan derives this call of {}, but it was never recorded", open.derived.tool);
                self.add_divergence(DivergenceKind::MissingCall, None, &open.derived.step_id, &id, message);
            }
        }
        for output in std::mem::take(&mut self.unrecorded_outputs) {
            if let MachineOutput::Settled(result) = output {
                let message = "the run settles this step by itself, but that was never recorded".to_owned();
                self.add_divergence(
                    DivergenceKind::MissingResult,
                    None,
                    &result.step_id,
                    &result.call_id,
                    message,
                );
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

/// Compares everything but the arguments.
fn call_differences(derived: &ToolCall, recorded: &ToolCall) -> Vec<(DivergenceKind, String)> {
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
        let message = "the call does not have the confirmation that was given for it".to_owned();
        found.push((DivergenceKind::Confirmation, message));
    }
    found
}

/// Decisions of the machine that were not found in the record yet.
#[derive(Default)]
struct ExpectedRecords {
    /// In the order of the machine's outputs; the number only keeps that order.
    results: BTreeMap<CallId, (u64, ToolResult)>,
    events: BTreeMap<CallId, (u64, ExecutionEvent)>,
    end: Vec<MachineOutput>,
    next: u64,
}

impl ExpectedRecords {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn expect_result(&mut self, result: ToolResult) {
        let number = self.number();
        self.results.insert(result.call_id.clone(), (number, result));
    }

    fn expect_event(&mut self, event: ExecutionEvent) {
        match (event.event_type, &event.call_id) {
            (EventType::RunFinished, _) => self.end.push(MachineOutput::Event(event)),
            (EventType::StepFinished | EventType::StepFailed, Some(id)) => {
                let (number, id) = (self.number(), id.clone());
                self.events.insert(id, (number, event));
            }
            // Recorded at the time, or not needed later.
            (_, _) => {}
        }
    }

    fn expect_finish(&mut self, outcome: RunOutcome) {
        self.end.push(MachineOutput::Finish(outcome));
    }

    /// Whether this is the expected result of a call that never started. If so, removes it.
    fn take_expected_result(&mut self, id: &CallId) -> bool {
        self.results.remove(id).is_some()
    }

    fn remove_expected_event(&mut self, id: &CallId) {
        self.events.remove(id);
    }

    fn outputs(self) -> Vec<MachineOutput> {
        let results =
            self.results.into_values().map(|(at, result)| (at, MachineOutput::Settled(Box::new(result))));
        let events = self.events.into_values().map(|(at, event)| (at, MachineOutput::Event(event)));
        let mut owed: Vec<(u64, MachineOutput)> = results.chain(events).collect();
        owed.sort_by_key(|(at, _)| *at);
        owed.into_iter().map(|(_, output)| output).chain(self.end).collect()
    }
}
