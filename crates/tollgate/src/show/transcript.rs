//! A run as a model sees it: each call with the receipt that was returned, and less of the older ones once they
//! do not all fit.
//!
//! Only what was recorded for a model is read: receipts and canonical results. Complete outputs and artifacts stay
//! where they are, however small they may be.

use std::collections::{BTreeMap, HashMap};

use envelope::{
    CallId, CanonicalError, CanonicalResult, CanonicalStatus, EventType, ExecutionEvent, Family, RunId,
    ToolCall, ToolName, ToolResult,
};
use journal::{Record, RunFolder};
use serde::Serialize;
use serde_json::{Map, Value};
use toolkit::compaction::{Compacted, Entry, Level, Round, Rules, compact};
use toolkit::families;

use crate::stop::Stop;
use crate::visible::{count, one_line, short, visible};

/// A round is one call here, because a step may have a thousand of them. So many at the end are never touched.
const EXACT_CALLS: usize = 3;
/// Characters of the arguments that are shown with a call.
const ARGUMENTS: usize = 160;
/// Characters of one text among them, and items of one list.
const ARGUMENT: usize = 60;
const ITEMS: usize = 3;

/// The calls of a run in the order in which their results count.
pub(crate) struct Transcript {
    run_id: RunId,
    goal: String,
    status: String,
    calls: Vec<Seen>,
}

/// One call with what came back.
struct Seen {
    id: String,
    call: String,
    family: Family,
    canonical: CanonicalResult,
    receipt: String,
}

/// The answer of `show --as-model --json`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    run_id: &'a RunId,
    goal: &'a str,
    status: &'a str,
    budget: usize,
    #[serde(flatten)]
    seen: Compacted<'a>,
}

impl Transcript {
    /// Reads a run as far as its records can be trusted.
    pub(crate) fn read(folder: &RunFolder, running: bool) -> Result<Transcript, Stop> {
        let header = folder.header();
        let families = header.tools.iter().map(|tool| (tool.name.clone(), tool.family)).collect();
        let mut draft = Draft { families, open: BTreeMap::new(), calls: Vec::new(), status: None };
        for entry in folder.records()? {
            match entry.map(|entry| entry.record) {
                Ok(Record::Call(call)) => drop(draft.open.insert(call.call_id.clone(), *call)),
                Ok(Record::Result(result)) => draft.result(*result),
                Ok(Record::Event(event)) => draft.event(&event),
                Err(_named_by_the_verification) => break,
            }
        }
        draft.still_open(running);
        let unfinished = if running { "running" } else { "interrupted" };
        Ok(Transcript {
            run_id: header.run_id.clone(),
            goal: header.plan.get("goal").and_then(Value::as_str).unwrap_or("?").to_owned(),
            status: draft.status.unwrap_or_else(|| unfinished.to_owned()),
            calls: draft.calls,
        })
    }

    fn within(&self, budget: usize) -> Compacted<'_> {
        let rounds: Vec<Round<'_>> =
            self.calls.iter().map(|seen| Round { calls: vec![seen.entry()] }).collect();
        compact(&rounds, budget, &Rules { keep_exact_rounds: EXACT_CALLS })
    }

    pub(crate) fn json(&self, budget: usize) -> impl Serialize {
        let (run_id, goal, status) = (&self.run_id, self.goal.as_str(), self.status.as_str());
        Answer { run_id, goal, status, budget, seen: self.within(budget) }
    }

    /// The same for a terminal. A receipt that could act on it is spelled out; only JSON has it to the byte.
    pub(crate) fn text(&self, budget: usize) -> String {
        let seen = self.within(budget);
        let mut text = format!("{} ({})\n", one_line(&self.goal), one_line(&self.status));
        let mut before = None;
        for shown in &seen.entries {
            // Recaps are lines of one list; everything else stands for itself.
            if shown.level != Level::Recap || before != Some(Level::Recap) {
                text.push('\n');
            }
            before = Some(shown.level);
            for line in shown.call.into_iter().chain([&*shown.text]) {
                text.push_str(&visible(line));
                text.push('\n');
            }
        }
        text.push('\n');
        text.push_str(&used(&seen, budget));
        text
    }
}

/// What it costs, and how much of it is shown how.
fn used(seen: &Compacted<'_>, budget: usize) -> String {
    let levels = Level::ALL.into_iter().filter_map(|level| {
        let number = seen.entries.iter().filter(|shown| shown.level == level).count();
        (number > 0).then(|| format!("{number} {}", level.name()))
    });
    let levels = levels.collect::<Vec<_>>().join(", ");
    let calls = count(seen.entries.len() as u64, "call");
    let mut line = format!("{calls}, {} of {budget} tokens", seen.tokens);
    if !levels.is_empty() {
        line = format!("{line}: {levels}");
    }
    if seen.over_budget {
        line.push_str("; over the budget, because no call is left out and the last ones stay exact");
    }
    line
}

impl Seen {
    fn entry(&self) -> Entry<'_> {
        let Seen { id, call, family, canonical, receipt } = self;
        Entry { call, id, family: *family, canonical, receipt }
    }
}

/// A transcript while the records are read.
struct Draft {
    families: HashMap<ToolName, Family>,
    /// Calls without a result so far.
    open: BTreeMap<CallId, ToolCall>,
    calls: Vec<Seen>,
    status: Option<String>,
}

impl Draft {
    fn result(&mut self, result: ToolResult) {
        let call = self.open.remove(&result.call_id);
        let index = call.as_ref().and_then(|call| call.iteration.as_ref()).map(|iteration| iteration.index);
        let id = id(result.step_id.as_str(), index, result.attempt);
        let line = line(&id, &result.tool, call.as_ref().map(|call| &call.args));
        let family = self.families.get(&result.tool).copied().unwrap_or_default();
        let canonical = result.canonical.clone().unwrap_or_else(|| settled(&result));
        let receipt = result.receipt.unwrap_or_else(|| families::render(family, &canonical, usize::MAX));
        self.calls.push(Seen { id, call: line, family, canonical, receipt });
    }

    fn event(&mut self, event: &ExecutionEvent) {
        if event.event_type == EventType::RunFinished {
            let status = event.payload.as_ref().and_then(|payload| payload.get("status"));
            self.status = status.and_then(Value::as_str).map(str::to_owned);
        }
    }

    /// Calls that were started and have no result: a model would still wait for them.
    fn still_open(&mut self, running: bool) {
        let what = if running { "under way" } else { "started, and no result is recorded" };
        for call in std::mem::take(&mut self.open).into_values() {
            let id = id(call.step_id.as_str(), call.iteration.map(|iteration| iteration.index), call.attempt);
            self.calls.push(Seen {
                call: line(&id, &call.tool, Some(&call.args)),
                id,
                family: Family::default(),
                canonical: CanonicalResult {
                    tool_name: call.tool.as_str().to_owned(),
                    status: CanonicalStatus::Error,
                    summary_text: what.to_owned(),
                    result: None,
                    error: None,
                },
                receipt: what.to_owned(),
            });
        }
    }
}

/// The canonical result of a call that never came to the gate, or of a record that has none.
fn settled(result: &ToolResult) -> CanonicalResult {
    let error = result.error.as_ref();
    let said = result.user_message.as_deref().or(error.map(|error| error.message.as_str()));
    CanonicalResult {
        tool_name: result.tool.as_str().to_owned(),
        status: if result.ok { CanonicalStatus::Success } else { CanonicalStatus::Error },
        summary_text: said.unwrap_or(result.status.name()).to_owned(),
        result: None,
        error: error.and_then(|error| {
            Some(CanonicalError {
                kind: error.kind?,
                message: error.message.clone(),
                details: error.details.clone(),
                recovery_hint: error.recovery_hint.clone(),
                retryable: error.retryable.unwrap_or_default(),
            })
        }),
    }
}

/// `notes[2]`, and which attempt it is from the second on.
fn id(step: &str, index: Option<u64>, attempt: u32) -> String {
    let index = index.map(|index| format!("[{index}]")).unwrap_or_default();
    let attempt = if attempt > 1 { format!("#{attempt}") } else { String::new() };
    format!("{step}{index}{attempt}")
}

fn line(id: &str, tool: &ToolName, args: Option<&Map<String, Value>>) -> String {
    let args = args.map(|args| Value::Object(in_short(args)).to_string()).unwrap_or_default();
    format!("{id} {tool} {}", short(&args, ARGUMENTS)).trim_end().to_owned()
}

fn in_short(args: &Map<String, Value>) -> Map<String, Value> {
    args.iter().map(|(name, value)| (name.clone(), shortened(value))).collect()
}

fn shortened(value: &Value) -> Value {
    match value {
        Value::String(text) => match text.char_indices().nth(ARGUMENT) {
            Some((end, _)) => format!("{}…", &text[..end]).into(),
            None => value.clone(),
        },
        Value::Array(items) => {
            let more = (items.len() > ITEMS).then(|| Value::from(format!("… {} more", items.len() - ITEMS)));
            items.iter().take(ITEMS).map(shortened).chain(more).collect()
        }
        Value::Object(fields) => in_short(fields).into(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}
