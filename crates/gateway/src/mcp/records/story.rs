//! A run or a call in JSON, within bounds, told from its records alone.

use std::collections::VecDeque;

use envelope::{CallId, Effects, ToolCall, ToolResult, is_invisible};
use journal::{JournalError, Record, RunFolder, RunSummary};
use serde_json::{Map, Value, json};

use super::address::Address;

/// The calls of a run that are listed: the last ones.
const CALLS: usize = 200;
/// The effects of each kind that are listed.
const EFFECTS: usize = 200;
/// A line of words.
const LINE_CHARS: usize = 300;
/// The longest value that is told as it is.
const VALUE_BYTES: usize = 64 * 1024;

/// A run. One that is damaged is told as far as its records can be trusted.
pub(super) fn run(folder: &RunFolder, summary: &RunSummary) -> Result<Value, JournalError> {
    let header = folder.header();
    let mut calls = Calls::default();
    let mut effects = Effects::default();
    let (mut left_out, mut damage) = (0, None);
    let mut records = folder.records()?;
    for entry in records.by_ref() {
        match entry {
            Ok(entry) => match entry.record {
                Record::Call(call) => calls.begin(&call),
                Record::Result(result) => {
                    if let Some(seen) = &result.effects {
                        effects.absorb(seen);
                        left_out += trim(&mut effects);
                    }
                    calls.end(&result);
                }
                Record::Event(_) => {}
            },
            Err(error) => damage = Some(error.to_string()),
        }
    }
    let mut told = json!({
        "runId": header.run_id,
        "kind": header.kind,
        "goal": line(header.plan.get("goal").and_then(Value::as_str).unwrap_or_default()),
        "client": header.planner_version.as_deref().map(line),
        "createdAt": header.created_at,
        "undoes": header.undoes,
        "calls": calls.listed,
        "callsBefore": calls.before,
        "effects": effects,
        "effectsLeftOut": left_out,
        "chainHead": records.head(),
    });
    if let (Value::Object(told), Ok(Value::Object(state))) = (&mut told, serde_json::to_value(&summary.state))
    {
        told.extend(state);
        if let Some(damage) = damage {
            told.insert("damage".to_owned(), json!(damage));
        }
    }
    Ok(told)
}

/// One call with what became of it, if the run has it.
pub(super) fn call(folder: &RunFolder, wanted: &str) -> Result<Option<Value>, JournalError> {
    let Ok(wanted) = CallId::parse(wanted) else { return Ok(None) };
    let (mut call, mut result) = (None, None);
    for entry in folder.records()? {
        match entry?.record {
            Record::Call(found) if found.call_id == wanted => call = Some(found),
            Record::Result(found) if found.call_id == wanted => result = Some(found),
            Record::Call(_) | Record::Result(_) | Record::Event(_) => {}
        }
    }
    // A call that was refused before it could be made has a result and no call.
    if call.is_none() && result.is_none() {
        return Ok(None);
    }
    let run = folder.header().run_id.as_str();
    let mut told = Map::from_iter([
        ("runId".to_owned(), json!(run)),
        ("callId".to_owned(), json!(wanted)),
        ("result".to_owned(), Value::Null),
    ]);
    if let Some(call) = call {
        told.insert("tool".to_owned(), json!(call.tool));
        told.insert("createdAt".to_owned(), json!(call.created_at));
        told.insert("args".to_owned(), bounded(Value::Object(call.args)));
        told.insert("calledWith".to_owned(), bounded(call.called_with.map_or(Value::Null, Value::Object)));
    }
    if let Some(result) = result {
        told.insert("tool".to_owned(), json!(result.tool));
        told.insert("result".to_owned(), ending(run, *result));
    }
    Ok(Some(Value::Object(told)))
}

/// Whether a result of the run names this artifact.
pub(super) fn has_artifact(folder: &RunFolder, path: &str) -> Result<bool, JournalError> {
    for entry in folder.records()? {
        if let Record::Result(result) = entry?.record
            && result.artifacts.iter().any(|artifact| artifact.path == path)
        {
            return Ok(true);
        }
    }
    Ok(false)
}

fn ending(run: &str, result: ToolResult) -> Value {
    let artifacts: Vec<Value> = result
        .artifacts
        .iter()
        .take(EFFECTS)
        .map(|artifact| json!({ "uri": Address::artifact_uri(run, &artifact.path), "bytes": artifact.bytes }))
        .collect();
    let mut effects = result.effects.unwrap_or_default();
    let left_out = trim(&mut effects);
    json!({
        "status": result.status,
        "ok": result.ok,
        "startedAt": result.started_at,
        "endedAt": result.ended_at,
        "receipt": bounded(json!(result.receipt)),
        "canonical": bounded(json!(result.canonical)),
        "error": bounded(json!(result.error)),
        "effects": effects,
        "effectsLeftOut": left_out,
        "artifacts": artifacts,
        "phases": result.phases,
    })
}

/// The last calls of a run, in the order in which they were made.
#[derive(Default)]
struct Calls {
    listed: VecDeque<Value>,
    before: u64,
}

impl Calls {
    fn begin(&mut self, call: &ToolCall) {
        self.listed.push_back(json!({
            "uri": Address::call_uri(call.run_id.as_str(), call.call_id.as_str()),
            "callId": call.call_id,
            "tool": call.tool,
            "status": "open",
        }));
        if self.listed.len() > CALLS {
            self.listed.pop_front();
            self.before += 1;
        }
    }

    fn end(&mut self, result: &ToolResult) {
        let summary = match (&result.canonical, &result.error) {
            (Some(canonical), _) => line(&canonical.summary_text),
            (None, Some(error)) => line(&error.message),
            (None, None) => String::new(),
        };
        let told = json!({
            "uri": Address::call_uri(result.run_id.as_str(), result.call_id.as_str()),
            "callId": result.call_id,
            "tool": result.tool,
            "status": result.status,
            "summary": summary,
        });
        let is_it = |call: &Value| call["callId"] == json!(result.call_id);
        // It is among the last that were begun, as a rule the last.
        match self.listed.iter().rposition(is_it) {
            Some(place) => self.listed[place] = told,
            None if self.before == 0 => self.listed.push_back(told),
            None => {}
        }
    }
}

/// Keeps the first of each kind; returns how many went.
fn trim(effects: &mut Effects) -> usize {
    fn cut<T>(list: &mut Vec<T>) -> usize {
        let over = list.len().saturating_sub(EFFECTS);
        list.truncate(EFFECTS);
        over
    }
    cut(&mut effects.created)
        + cut(&mut effects.modified)
        + cut(&mut effects.deleted)
        + cut(&mut effects.renamed)
}

/// A value as it is, or how long it is.
fn bounded(value: Value) -> Value {
    let bytes = value.to_string().len();
    if bytes <= VALUE_BYTES { value } else { json!({ "leftOutBytes": bytes }) }
}

fn line(text: &str) -> String {
    text.chars().map(|c| if is_invisible(c) { ' ' } else { c }).take(LINE_CHARS).collect()
}
