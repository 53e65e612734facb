//! Runs and calls as bounded JSON, made from their journal records alone.

use std::collections::VecDeque;

use envelope::{CallId, Effects, ToolCall, ToolResult, is_invisible};
use journal::{JournalError, JournalRecord, RunFolder, RunSummary};
use serde_json::{Map, Value, json};

use super::address::ResourceAddress;

/// Number of calls listed for a run: the last ones.
const CALLS: usize = 200;
/// Number of effects listed for each kind.
const EFFECTS: usize = 200;
/// Longest line of text.
const LINE_CHARS: usize = 300;
/// Longest value that is included.
const VALUE_BYTES: usize = 64 * 1024;

/// Returns a run as JSON. A damaged run is included up to the damage.
pub(super) fn run_json(folder: &RunFolder, summary: &RunSummary) -> Result<Value, JournalError> {
    let header = folder.header();
    let mut calls = CallList::default();
    let mut effects = Effects::default();
    let (mut left_out, mut damage) = (0, None);
    let mut records = folder.records()?;
    for entry in records.by_ref() {
        match entry {
            Ok(entry) => match entry.record {
                JournalRecord::Call(call) => calls.begin(&call),
                JournalRecord::Result(result) => {
                    if let Some(seen) = &result.effects {
                        effects.merge(seen);
                        left_out += trim(&mut effects);
                    }
                    calls.end(&result);
                }
                JournalRecord::Event(_) => {}
            },
            Err(error) => damage = Some(error.to_string()),
        }
    }
    let mut report = json!({
        "runId": header.run_id,
        "kind": header.kind,
        "goal": single_line(header.plan.get("goal").and_then(Value::as_str).unwrap_or_default()),
        "client": header.planner_version.as_deref().map(single_line),
        "createdAt": header.created_at,
        "undoes": header.undoes,
        "calls": calls.listed,
        "callsBefore": calls.before,
        "effects": effects,
        "effectsLeftOut": left_out,
        "chainHead": records.head(),
    });
    if let (Value::Object(report), Ok(Value::Object(state))) =
        (&mut report, serde_json::to_value(&summary.state))
    {
        report.extend(state);
        if let Some(run) = &header.continues {
            report.insert("continues".to_owned(), json!(run.run_id));
        }
        if let Some(damage) = damage {
            report.insert("damage".to_owned(), json!(damage));
        }
    }
    Ok(report)
}

/// Returns a call with its result as JSON, if the run has it.
pub(super) fn call_json(folder: &RunFolder, call_id: &str) -> Result<Option<Value>, JournalError> {
    let Ok(call_id) = CallId::parse(call_id) else { return Ok(None) };
    let (mut call, mut result) = (None, None);
    for entry in folder.records()? {
        match entry?.record {
            JournalRecord::Call(found) if found.call_id == call_id => call = Some(found),
            JournalRecord::Result(found) if found.call_id == call_id => result = Some(found),
            JournalRecord::Call(_) | JournalRecord::Result(_) | JournalRecord::Event(_) => {}
        }
    }
    // A call that was rejected before it was logged has a result and no call record.
    if call.is_none() && result.is_none() {
        return Ok(None);
    }
    let run = folder.header().run_id.as_str();
    let mut report = Map::from_iter([
        ("runId".to_owned(), json!(run)),
        ("callId".to_owned(), json!(call_id)),
        ("result".to_owned(), Value::Null),
    ]);
    if let Some(call) = call {
        report.insert("tool".to_owned(), json!(call.tool));
        report.insert("createdAt".to_owned(), json!(call.created_at));
        report.insert("args".to_owned(), bounded_value(Value::Object(call.args)));
        report.insert(
            "calledWith".to_owned(),
            bounded_value(call.called_with.map_or(Value::Null, Value::Object)),
        );
    }
    if let Some(result) = result {
        report.insert("tool".to_owned(), json!(result.tool));
        report.insert("result".to_owned(), result_json(run, *result));
    }
    Ok(Some(Value::Object(report)))
}

/// Returns true if a result of the run names this artifact.
pub(super) fn has_artifact(folder: &RunFolder, path: &str) -> Result<bool, JournalError> {
    for entry in folder.records()? {
        if let JournalRecord::Result(result) = entry?.record
            && result.artifacts.iter().any(|artifact| artifact.path == path)
        {
            return Ok(true);
        }
    }
    Ok(false)
}

fn result_json(run: &str, result: ToolResult) -> Value {
    let artifacts: Vec<Value> = result
        .artifacts
        .iter()
        .take(EFFECTS)
        .map(|artifact| json!({ "uri": ResourceAddress::artifact_uri(run, &artifact.path), "bytes": artifact.bytes }))
        .collect();
    let mut effects = result.effects.unwrap_or_default();
    let left_out = trim(&mut effects);
    json!({
        "status": result.status,
        "ok": result.ok,
        "startedAt": result.started_at,
        "endedAt": result.ended_at,
        "receipt": bounded_value(json!(result.receipt)),
        "canonical": bounded_value(json!(result.canonical)),
        "error": bounded_value(json!(result.error)),
        "effects": effects,
        "effectsLeftOut": left_out,
        "artifacts": artifacts,
        "phases": result.phases,
    })
}

/// The last calls of a run, in order.
#[derive(Default)]
struct CallList {
    listed: VecDeque<Value>,
    before: u64,
}

impl CallList {
    fn begin(&mut self, call: &ToolCall) {
        self.listed.push_back(json!({
            "uri": ResourceAddress::call_uri(call.run_id.as_str(), call.call_id.as_str()),
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
            (Some(canonical), _) => single_line(&canonical.summary_text),
            (None, Some(error)) => single_line(&error.message),
            (None, None) => String::new(),
        };
        let report = json!({
            "uri": ResourceAddress::call_uri(result.run_id.as_str(), result.call_id.as_str()),
            "callId": result.call_id,
            "tool": result.tool,
            "status": result.status,
            "summary": summary,
        });
        let is_it = |call: &Value| call["callId"] == json!(result.call_id);
        // It is among the last calls, usually the last one.
        match self.listed.iter().rposition(is_it) {
            Some(place) => self.listed[place] = report,
            None if self.before == 0 => self.listed.push_back(report),
            None => {}
        }
    }
}

/// Truncates each list; returns the number of removed entries.
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

/// Returns the value, or its length if it is too long.
fn bounded_value(value: Value) -> Value {
    let bytes = value.to_string().len();
    if bytes <= VALUE_BYTES { value } else { json!({ "leftOutBytes": bytes }) }
}

fn single_line(text: &str) -> String {
    text.chars().map(|c| if is_invisible(c) { ' ' } else { c }).take(LINE_CHARS).collect()
}
