//! The transcript of a run as a model sees it: each call with its receipt, with older ones shortened if they do not all
//! fit.
//!
//! Reads only receipts and canonical results. Complete outputs and artifacts are never read.

use std::collections::{BTreeMap, HashMap};

use envelope::{
    CallId, CanonicalError, CanonicalResult, CanonicalStatus, EventType, ExecutionEvent, ReceiptFamily,
    RunId, ToolCall, ToolName, ToolResult,
};
use journal::{JournalRecord, RunFolder};
use receipts::compaction::{CallEntry, CallRound, CompactedHistory, CompactionRules, DetailLevel, compact};
use receipts::families;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::display_text::{count, escape_line, escape_text, truncate_line};
use crate::error::AppError;

/// Number of calls at the end that are never shortened. A round is one call, because a step can have a thousand.
const EXACT_CALLS: usize = 3;
/// Characters of the arguments shown with a call.
const ARGUMENTS_CHARS: usize = 160;
/// Characters of one text in the arguments, and items of one list.
const TEXT_CHARS: usize = 60;
const LIST_ITEMS: usize = 3;

/// The calls of a run in the order of their results.
pub struct Transcript {
    run_id: RunId,
    goal: String,
    status: String,
    calls: Vec<TranscriptCall>,
}

/// One call with its result.
struct TranscriptCall {
    id: String,
    call: String,
    family: ReceiptFamily,
    canonical: CanonicalResult,
    receipt: String,
}

/// The answer of `show --as-model --json`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TranscriptAnswer<'a> {
    run_id: &'a RunId,
    goal: &'a str,
    status: &'a str,
    budget: usize,
    #[serde(flatten)]
    seen: CompactedHistory<'a>,
}

impl Transcript {
    /// Reads a run as far as its records can be trusted.
    pub fn read(folder: &RunFolder, running: bool) -> Result<Transcript, AppError> {
        let header = folder.header();
        let families = header.tools.iter().map(|tool| (tool.name().clone(), tool.family())).collect();
        let mut details =
            TranscriptBuilder { families, open: BTreeMap::new(), calls: Vec::new(), status: None };
        for entry in folder.records()? {
            match entry.map(|entry| entry.record) {
                Ok(JournalRecord::Call(call)) => drop(details.open.insert(call.call_id.clone(), *call)),
                Ok(JournalRecord::Result(result)) => details.result(*result),
                Ok(JournalRecord::Event(event)) => details.event(&event),
                Err(_named_by_the_verification) => break,
            }
        }
        details.add_open_calls(running);
        let unfinished = if running { "running" } else { "interrupted" };
        Ok(Transcript {
            run_id: header.run_id.clone(),
            goal: header.plan.get("goal").and_then(Value::as_str).unwrap_or("?").to_owned(),
            status: details.status.unwrap_or_else(|| unfinished.to_owned()),
            calls: details.calls,
        })
    }

    fn within(&self, budget: usize) -> CompactedHistory<'_> {
        let rounds: Vec<CallRound<'_>> =
            self.calls.iter().map(|seen| CallRound { calls: vec![seen.entry()] }).collect();
        compact(&rounds, budget, &CompactionRules { keep_exact_rounds: EXACT_CALLS })
    }

    pub fn json(&self, budget: usize) -> impl Serialize {
        let (run_id, goal, status) = (&self.run_id, self.goal.as_str(), self.status.as_str());
        TranscriptAnswer { run_id, goal, status, budget, seen: self.within(budget) }
    }

    /// Returns the transcript for a terminal. Receipts are escaped; only the JSON has them byte for byte.
    pub fn text(&self, budget: usize) -> String {
        let seen = self.within(budget);
        let mut text = format!("{} ({})\n", escape_line(&self.goal), escape_line(&self.status));
        let mut before = None;
        for shown in &seen.entries {
            // Recaps are lines of one list; other entries are separated.
            if shown.level != DetailLevel::Recap || before != Some(DetailLevel::Recap) {
                text.push('\n');
            }
            before = Some(shown.level);
            for line in shown.call.into_iter().chain([&*shown.text]) {
                text.push_str(&escape_text(line));
                text.push('\n');
            }
        }
        text.push('\n');
        text.push_str(&usage_line(&seen, budget));
        text
    }
}

/// Returns the tokens used, and the number of calls at each level of detail.
fn usage_line(seen: &CompactedHistory<'_>, budget: usize) -> String {
    let levels = DetailLevel::ALL.into_iter().filter_map(|level| {
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

impl TranscriptCall {
    fn entry(&self) -> CallEntry<'_> {
        let TranscriptCall { id, call, family, canonical, receipt } = self;
        CallEntry { call, id, family: *family, canonical, receipt }
    }
}

/// Builder of a transcript while the records are read.
struct TranscriptBuilder {
    families: HashMap<ToolName, ReceiptFamily>,
    /// Calls without a result so far.
    open: BTreeMap<CallId, ToolCall>,
    calls: Vec<TranscriptCall>,
    status: Option<String>,
}

impl TranscriptBuilder {
    fn result(&mut self, result: ToolResult) {
        let call = self.open.remove(&result.call_id);
        let index = call.as_ref().and_then(|call| call.iteration.as_ref()).map(|iteration| iteration.index);
        let id = id(result.step_id.as_str(), index, result.attempt);
        let line = call_line(&id, &result.tool, call.as_ref().map(|call| &call.args));
        let family = self.families.get(&result.tool).copied().unwrap_or_default();
        let canonical = result.canonical.clone().unwrap_or_else(|| canonical_result(&result));
        let receipt = result.receipt.unwrap_or_else(|| families::render(family, &canonical, usize::MAX));
        self.calls.push(TranscriptCall { id, call: line, family, canonical, receipt });
    }

    fn event(&mut self, event: &ExecutionEvent) {
        if event.event_type == EventType::RunFinished {
            let status = event.payload.as_ref().and_then(|payload| payload.get("status"));
            self.status = status.and_then(Value::as_str).map(str::to_owned);
        }
    }

    /// Adds calls without a result: a model would still wait for them.
    fn add_open_calls(&mut self, running: bool) {
        let what = if running { "under way" } else { "started, and no result is recorded" };
        for call in std::mem::take(&mut self.open).into_values() {
            let id = id(call.step_id.as_str(), call.iteration.map(|iteration| iteration.index), call.attempt);
            self.calls.push(TranscriptCall {
                call: call_line(&id, &call.tool, Some(&call.args)),
                id,
                family: ReceiptFamily::default(),
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

/// Returns the canonical result of a call that never reached the engine, or of a record without one.
fn canonical_result(result: &ToolResult) -> CanonicalResult {
    let error = result.error.as_ref();
    let message = result.user_message.as_deref().or(error.map(|error| error.message.as_str()));
    CanonicalResult {
        tool_name: result.tool.as_str().to_owned(),
        status: if result.ok { CanonicalStatus::Success } else { CanonicalStatus::Error },
        summary_text: message.unwrap_or(result.status.name()).to_owned(),
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

/// Returns an id such as `notes[2]`, with the attempt from the second on.
fn id(step: &str, index: Option<u64>, attempt: u32) -> String {
    let index = index.map(|index| format!("[{index}]")).unwrap_or_default();
    let attempt = if attempt > 1 { format!("#{attempt}") } else { String::new() };
    format!("{step}{index}{attempt}")
}

fn call_line(id: &str, tool: &ToolName, args: Option<&Map<String, Value>>) -> String {
    let args = args.map(|args| Value::Object(shorten_arguments(args)).to_string()).unwrap_or_default();
    format!("{id} {tool} {}", truncate_line(&args, ARGUMENTS_CHARS)).trim_end().to_owned()
}

fn shorten_arguments(args: &Map<String, Value>) -> Map<String, Value> {
    args.iter().map(|(name, value)| (name.clone(), shorten_value(value))).collect()
}

fn shorten_value(value: &Value) -> Value {
    match value {
        Value::String(text) => match text.char_indices().nth(TEXT_CHARS) {
            Some((end, _)) => format!("{}…", &text[..end]).into(),
            None => value.clone(),
        },
        Value::Array(items) => {
            let more = (items.len() > LIST_ITEMS)
                .then(|| Value::from(format!("… {} more", items.len() - LIST_ITEMS)));
            items.iter().take(LIST_ITEMS).map(shorten_value).chain(more).collect()
        }
        Value::Object(fields) => shorten_arguments(fields).into(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}
