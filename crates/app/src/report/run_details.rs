//! Collects the details of a run in one pass over its records, in bounded memory.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use envelope::{
    CallId, Confirmation, Effects, EventLevel, EventType, ExecutionEvent, Hash, RunId, SessionId, StepId,
    Timestamp, ToolCall, ToolName,
};
use journal::{ChainHead, JournalRecord, RunFolder, RunKind, Verification};
use serde::Serialize;
use serde_json::Value;

use super::call::{CallDetails, CallStart};
use super::step::{StepBuilder, StepReport};
use crate::error::AppError;

/// Details of a run, as `tollgate show --json` prints them.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunDetails {
    pub run_id: RunId,
    pub kind: RunKind,
    /// Runs that it undid.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub undoes: Vec<RunId>,
    /// The session that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The run that it continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continues: Option<RunId>,
    /// The run that continues it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continued_by: Option<RunId>,
    /// The run that undid it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undone_by: Option<RunId>,
    pub goal: String,
    pub created_at: Timestamp,
    pub finished: bool,
    pub state: RunPhase,
    /// As recorded in `run.finished`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ending: Option<String>,
    pub mode: String,
    pub plan_hash: Hash,
    /// True if the user was to be asked before the first call.
    pub confirmation_required: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<Confirmation>,
    /// Events of the run as a whole: questions, answers, cancellation, interruption.
    pub notes: Vec<RunNote>,
    pub steps: Vec<StepReport>,
    pub effects: Effects,
    pub records: u64,
    pub chain_head: ChainHead,
    pub damaged: bool,
    pub run_dir: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunPhase {
    /// A process is writing to it.
    Running,
    Interrupted,
    Finished,
}

#[derive(Debug, Serialize)]
pub struct RunNote {
    pub at: Timestamp,
    pub text: String,
}

impl RunDetails {
    /// Reads a run. A damaged one is read as far as its records can be trusted.
    ///
    /// `running`: whether a process was writing to it just before.
    pub fn read(
        folder: &RunFolder,
        verification: &Verification,
        running: bool,
        all: bool,
    ) -> Result<RunDetails, AppError> {
        let mut details = RunDetailsBuilder::new(folder, all);
        for entry in folder.records()? {
            match entry {
                Ok(entry) => details.take(entry.record),
                Err(_named_by_the_verification) => break,
            }
        }
        let header = folder.header();
        let text =
            |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or("?").to_owned();
        for call in std::mem::take(&mut details.open).into_values() {
            details.step(&call.step_id, &call.tool).take(CallDetails::open(call));
        }
        Ok(RunDetails {
            run_id: header.run_id.clone(),
            kind: header.kind,
            undoes: header.undoes.clone(),
            session: header.session.clone(),
            continues: header.continues.as_ref().map(|run| run.run_id.clone()),
            continued_by: None,
            undone_by: None,
            goal: text(&header.plan, "goal"),
            created_at: header.created_at,
            finished: details.ending.is_some(),
            state: match (&details.ending, running) {
                (Some(_), _) => RunPhase::Finished,
                (None, true) => RunPhase::Running,
                (None, false) => RunPhase::Interrupted,
            },
            status: details.status,
            ending: details.ending,
            // A policy that cannot be read is named by the verification.
            mode: folder.policy().map_or_else(|_missing| "?".to_owned(), |policy| text(&policy, "mode")),
            plan_hash: header.plan_hash,
            confirmation_required: header.confirm,
            confirmation: folder.confirmation().cloned(),
            notes: details.notes,
            steps: details.steps.into_iter().map(StepBuilder::end).collect(),
            effects: details.effects,
            records: verification.records,
            chain_head: verification.head,
            damaged: !verification.is_intact(),
            run_dir: folder.path().to_owned(),
        })
    }
}

/// Builder of the details while the records are read.
struct RunDetailsBuilder {
    all: bool,
    steps: Vec<StepBuilder>,
    places: HashMap<StepId, usize>,
    /// Calls without a result so far; never more than run at the same time.
    open: BTreeMap<CallId, ToolCall>,
    effects: Effects,
    notes: Vec<RunNote>,
    status: Option<String>,
    ending: Option<String>,
}

impl RunDetailsBuilder {
    /// Starts with the steps of the plan, so that steps that were never reached are listed.
    fn new(folder: &RunFolder, all: bool) -> RunDetailsBuilder {
        let mut details = RunDetailsBuilder {
            all,
            steps: Vec::new(),
            places: HashMap::new(),
            open: BTreeMap::new(),
            effects: Effects::default(),
            notes: Vec::new(),
            status: None,
            ending: None,
        };
        let carried = folder.header().carried_calls();
        let steps =
            folder.header().plan.get("steps").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for step in steps {
            let word = |name: &str| step.get(name).and_then(Value::as_str).unwrap_or_default();
            if let (Ok(id), Ok(tool)) = (StepId::parse(word("id")), ToolName::parse(word("tool"))) {
                details.step(&id, &tool).counts.carried = carried.count(&id);
            }
        }
        details
    }

    fn step(&mut self, id: &StepId, tool: &ToolName) -> &mut StepBuilder {
        let place = *self.places.entry(id.clone()).or_insert_with(|| {
            self.steps.push(StepBuilder::new(id.clone(), tool.clone(), self.all));
            self.steps.len() - 1
        });
        &mut self.steps[place]
    }

    fn take(&mut self, record: JournalRecord) {
        match record {
            JournalRecord::Call(call) => {
                self.open.insert(call.call_id.clone(), *call);
            }
            JournalRecord::Result(result) => {
                let call = self.open.remove(&result.call_id);
                if let Some(effects) = &result.effects {
                    self.effects.merge(effects);
                }
                let report = CallDetails::ended(call.as_ref().map(CallStart::of), (*result).clone());
                self.step(&result.step_id, &result.tool).take(report);
            }
            JournalRecord::Event(event) => self.event(&event),
        }
    }

    fn event(&mut self, event: &ExecutionEvent) {
        let payload = |name: &str| event.payload.as_ref().and_then(|payload| payload.get(name));
        match event.event_type {
            EventType::StepScheduled => {
                let total = payload("calls").and_then(Value::as_u64);
                if let (Some(id), Some(tool)) = (&event.step_id, &event.tool) {
                    self.step(id, tool).total = total;
                }
            }
            EventType::RunConfirmationRequested | EventType::RunConfirmed | EventType::RunCancelled => {
                self.note(event);
            }
            EventType::RunStarted if event.level >= EventLevel::Warn => self.note(event),
            EventType::RunFinished => {
                self.status = payload("status").and_then(Value::as_str).map(str::to_owned);
                self.ending = Some(event.message.clone());
            }
            EventType::RunStarted
            | EventType::StepStarted
            | EventType::StepProgress
            | EventType::StepFinished
            | EventType::StepFailed => {}
        }
    }

    fn note(&mut self, event: &ExecutionEvent) {
        let step = event.step_id.as_ref().map(|step| format!("{step}: ")).unwrap_or_default();
        self.notes.push(RunNote { at: event.timestamp, text: format!("{step}{}", event.message) });
    }
}
