//! Gathers the records of a run, one pass, in memory that does not grow with the run.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use envelope::{
    CallId, Confirmation, Effects, EventType, ExecutionEvent, Hash, Level, RunId, StepId, Timestamp,
    ToolCall, ToolName,
};
use journal::{ChainHead, Record, RunFolder, RunKind, RunSummary, Verification};
use serde::Serialize;
use serde_json::Value;

use super::call::{CallStory, Pending};
use super::step::{StepDraft, StepStory};
use crate::stop::Stop;

/// Everything `show` tells about a run; `--json` is this, printed.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Story {
    pub(super) run_id: RunId,
    pub(super) kind: RunKind,
    /// The runs that it took back.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) undoes: Vec<RunId>,
    /// The run that took it back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) undone_by: Option<RunId>,
    pub(super) goal: String,
    pub(super) created_at: Timestamp,
    pub(super) finished: bool,
    pub(super) state: State,
    /// As `run.finished` tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ending: Option<String>,
    pub(super) mode: String,
    pub(super) plan_hash: Hash,
    /// Whether a person was to be asked before the first call.
    pub(super) confirmation_required: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) confirmation: Option<Confirmation>,
    /// What happened to the run as a whole: questions, answers, cancellation, interruption.
    pub(super) notes: Vec<Note>,
    pub(super) steps: Vec<StepStory>,
    pub(super) effects: Effects,
    pub(super) records: u64,
    pub(super) chain_head: ChainHead,
    pub(super) damaged: bool,
    pub(super) run_dir: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    /// A process is writing to it.
    Running,
    Interrupted,
    Finished,
}

#[derive(Debug, Serialize)]
pub(super) struct Note {
    pub(super) at: Timestamp,
    pub(super) text: String,
}

impl Story {
    /// Reads a run. One that is damaged is told as far as its records can be trusted.
    ///
    /// `running`: whether a process was writing to it just before.
    pub(crate) fn read(
        folder: &RunFolder,
        verification: &Verification,
        running: bool,
        all: bool,
    ) -> Result<Story, Stop> {
        let mut draft = Draft::new(folder, all);
        for entry in folder.records()? {
            match entry {
                Ok(entry) => draft.take(entry.record),
                Err(_named_by_the_verification) => break,
            }
        }
        let header = folder.header();
        let text =
            |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or("?").to_owned();
        for call in std::mem::take(&mut draft.open).into_values() {
            draft.step(&call.step_id, &call.tool).take(CallStory::open(call));
        }
        Ok(Story {
            run_id: header.run_id.clone(),
            kind: header.kind,
            undoes: header.undoes.clone(),
            undone_by: None,
            goal: text(&header.plan, "goal"),
            created_at: header.created_at,
            finished: draft.ending.is_some(),
            state: match (&draft.ending, running) {
                (Some(_), _) => State::Finished,
                (None, true) => State::Running,
                (None, false) => State::Interrupted,
            },
            status: draft.status,
            ending: draft.ending,
            mode: text(&header.policy, "mode"),
            plan_hash: header.plan_hash,
            confirmation_required: header.confirm,
            confirmation: folder.confirmation().cloned(),
            notes: draft.notes,
            steps: draft.steps.into_iter().map(StepDraft::end).collect(),
            effects: draft.effects,
            records: verification.records,
            chain_head: verification.head,
            damaged: !verification.intact(),
            run_dir: folder.path().to_owned(),
        })
    }

    /// Takes note of the run that took this one back, which its own record cannot know.
    pub(crate) fn undone_by(&mut self, undo: Option<&RunSummary>) {
        self.undone_by = undo.map(|undo| undo.run_id.clone());
    }

    pub(crate) fn is_damaged(&self) -> bool {
        self.damaged
    }
}

/// A story while its records are read.
struct Draft {
    all: bool,
    steps: Vec<StepDraft>,
    places: HashMap<StepId, usize>,
    /// Calls without a result so far; never more than run at the same time.
    open: BTreeMap<CallId, ToolCall>,
    effects: Effects,
    notes: Vec<Note>,
    status: Option<String>,
    ending: Option<String>,
}

impl Draft {
    /// Starts with the steps of the plan, so that one that was never reached is told too.
    fn new(folder: &RunFolder, all: bool) -> Draft {
        let mut draft = Draft {
            all,
            steps: Vec::new(),
            places: HashMap::new(),
            open: BTreeMap::new(),
            effects: Effects::default(),
            notes: Vec::new(),
            status: None,
            ending: None,
        };
        let steps =
            folder.header().plan.get("steps").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for step in steps {
            let word = |name: &str| step.get(name).and_then(Value::as_str).unwrap_or_default();
            if let (Ok(id), Ok(tool)) = (StepId::parse(word("id")), ToolName::parse(word("tool"))) {
                draft.step(&id, &tool);
            }
        }
        draft
    }

    fn step(&mut self, id: &StepId, tool: &ToolName) -> &mut StepDraft {
        let place = *self.places.entry(id.clone()).or_insert_with(|| {
            self.steps.push(StepDraft::new(id.clone(), tool.clone(), self.all));
            self.steps.len() - 1
        });
        &mut self.steps[place]
    }

    fn take(&mut self, record: Record) {
        match record {
            Record::Call(call) => {
                self.open.insert(call.call_id.clone(), *call);
            }
            Record::Result(result) => {
                let call = self.open.remove(&result.call_id);
                if let Some(effects) = &result.effects {
                    self.effects.absorb(effects);
                }
                let story = CallStory::ended(call.as_ref().map(Pending::of), (*result).clone());
                self.step(&result.step_id, &result.tool).take(story);
            }
            Record::Event(event) => self.event(&event),
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
            EventType::RunStarted if event.level >= Level::Warn => self.note(event),
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
        self.notes.push(Note { at: event.timestamp, text: format!("{step}{}", event.message) });
    }
}
