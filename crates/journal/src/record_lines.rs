//! The JSON of a record in its log: the envelope without what `run.json` or the rest of the line says.
//!
//! A small run is a few lines, and most of their bytes were the same in each: the id of the run, its versions, the
//! policy of its calls, the names of the twelve phases. A line leaves out a field only if a reader fills in the value
//! that it has, so every record is read exactly as it was written, and the chain covers what is filled in: it starts
//! from the hash of `run.json`. Runs of formats 1 and 2 have whole envelopes, and are continued so.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use envelope::{
    Artifact, CallId, Cancellation, CanonicalError, CanonicalResult, CanonicalStatus, ConfirmationId,
    ContextModifier, DataRef, Effects, EventLevel, EventType, ExecutionEvent, Hash, Iteration, Mutation,
    Phase, PhaseFact, PhaseOutcome, PolicySnapshot, Risk, RunId, Status, StepId, Timestamp, ToolCall,
    ToolError, ToolName, ToolResult, VaultChange,
};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::log_kind::LogKind;
use crate::repeated_text::{RepeatedPart, WithoutRepeats, leave_out, put_back};
use crate::run_folder::JournalRecord;
use crate::run_header::RunHeader;

/// The form of the lines of a run.
pub(crate) enum LineForm {
    /// Whole envelopes.
    Whole,
    /// Envelopes without what the run says for all of them.
    Short(Box<RunConstants>),
}

/// The values that a short line leaves out.
pub(crate) struct RunConstants {
    run_id: RunId,
    executor_version: Arc<str>,
    registry_version: Arc<str>,
    call_policy: Option<Arc<PolicySnapshot>>,
    /// The tool of each step of the plan.
    tools: HashMap<String, ToolName>,
}

impl LineForm {
    /// Returns the form of the lines of a run with this header.
    pub(crate) fn of(header: &RunHeader) -> LineForm {
        if header.format < RunHeader::SHORT_LINES {
            return LineForm::Whole;
        }
        let steps = header.plan.get("steps").and_then(Value::as_array);
        let tool = |step: &Value| {
            let tool = ToolName::parse(step.get("tool")?.as_str()?).ok()?;
            Some((step.get("id")?.as_str()?.to_owned(), tool))
        };
        LineForm::Short(Box::new(RunConstants {
            run_id: header.run_id.clone(),
            executor_version: header.executor_version.as_str().into(),
            registry_version: header.registry_version.as_str().into(),
            call_policy: header.call_policy_snapshot().map(Arc::new),
            tools: steps.into_iter().flatten().filter_map(tool).collect(),
        }))
    }

    /// Parses a line, whose chain fields are ignored.
    pub(crate) fn read(&self, kind: LogKind, line: &[u8]) -> serde_json::Result<JournalRecord> {
        let record = match (self, kind) {
            (LineForm::Whole, LogKind::Call) => JournalRecord::Call(serde_json::from_slice(line)?),
            (LineForm::Whole, LogKind::Result) => JournalRecord::Result(serde_json::from_slice(line)?),
            (LineForm::Whole, LogKind::Event) => JournalRecord::Event(serde_json::from_slice(line)?),
            (LineForm::Short(run), LogKind::Call) => {
                JournalRecord::Call(Box::new(run.call(serde_json::from_slice(line)?)?))
            }
            (LineForm::Short(run), LogKind::Result) => {
                JournalRecord::Result(Box::new(run.result(serde_json::from_slice(line)?)?))
            }
            (LineForm::Short(run), LogKind::Event) => {
                JournalRecord::Event(Box::new(run.event(serde_json::from_slice(line)?)))
            }
        };
        Ok(record)
    }
}

/// A call without the fields of its run.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CallLine<'a> {
    call_id: Cow<'a, CallId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run_id: Option<Cow<'a, RunId>>,
    step_id: Cow<'a, StepId>,
    tool: Cow<'a, ToolName>,
    #[serde(default = "first_attempt", skip_serializing_if = "is_first_attempt")]
    attempt: u32,
    args: Cow<'a, Map<String, Value>>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    filled_in: Cow<'a, [String]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    args_hash: Option<Hash>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deadline_at: Option<Timestamp>,
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    cancellable: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    iteration: Option<Cow<'a, Iteration>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    loop_id: Option<Cow<'a, str>>,
    created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    planner_version: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    executor_version: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool_registry_version: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    preview: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    request_id: Option<Cow<'a, str>>,
    risk_level: Risk,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    category: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    policy: Option<Cow<'a, PolicySnapshot>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    confirmation_id: Option<Cow<'a, ConfirmationId>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    called_with: Option<Cow<'a, Map<String, Value>>>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    intent: Cow<'a, [VaultChange]>,
}

/// A result without the fields of its run, and without what its other fields say.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResultLine<'a> {
    call_id: Cow<'a, CallId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run_id: Option<Cow<'a, RunId>>,
    step_id: Cow<'a, StepId>,
    /// Left out if it is the tool of the step in the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool: Option<Cow<'a, ToolName>>,
    #[serde(default = "first_attempt", skip_serializing_if = "is_first_attempt")]
    attempt: u32,
    status: Status,
    ok: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data: Option<Cow<'a, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data_hash: Option<Hash>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data_ref: Option<Cow<'a, DataRef>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<Cow<'a, ToolError>>,
    started_at: Timestamp,
    ended_at: Timestamp,
    /// Left out if it is the time between the other two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    effects: Option<Cow<'a, Effects>>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    changes: Cow<'a, [VaultChange]>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    artifacts: Cow<'a, [Artifact]>,
    /// Left out if it is the summary of the canonical result; null if there is none although that has one.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    user_message: Option<Option<Cow<'a, str>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    debug_message: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    canonical: Option<CanonicalLine<'a>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    receipt: Option<Cow<'a, str>>,
    /// Parts of `data` that the two texts above leave out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    repeats: Vec<RepeatedPart>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    phases: Vec<PhaseItem<'a>>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    mutations: Cow<'a, [Mutation]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cancellation: Option<Cow<'a, Cancellation>>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    context_modifiers: Cow<'a, [ContextModifier]>,
    #[serde(default, skip_serializing_if = "is_no")]
    reconciled: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    incomplete: Option<Cow<'a, str>>,
}

/// A canonical result without the tool and the status of its result.
#[derive(Serialize, Deserialize)]
struct CanonicalLine<'a> {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool_name: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<CanonicalStatus>,
    summary_text: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    result: Option<Cow<'a, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<Cow<'a, CanonicalError>>,
}

/// The fact of one phase.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum PhaseItem<'a> {
    /// Microseconds of the phase that follows the phase before it in [`Phase::ALL`]; it passed without a detail.
    Passed(u64),
    Fact(Cow<'a, PhaseFact>),
}

/// An event without the fields of its run.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EventLine<'a> {
    #[serde(rename = "type")]
    event_type: EventType,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run_id: Option<Cow<'a, RunId>>,
    timestamp: Timestamp,
    #[serde(default = "info", skip_serializing_if = "is_info")]
    level: EventLevel,
    message: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    call_id: Option<Cow<'a, CallId>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    step_id: Option<Cow<'a, StepId>>,
    /// Left out if it is the tool of the step in the plan; null if there is none although the step has one.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    tool: Option<Option<Cow<'a, ToolName>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    payload: Option<Cow<'a, Value>>,
}

impl RunConstants {
    pub(crate) fn call_line<'a>(&self, call: &'a ToolCall) -> CallLine<'a> {
        let ToolCall {
            call_id,
            run_id,
            step_id,
            tool,
            attempt,
            args,
            filled_in,
            args_hash,
            timeout_ms,
            deadline_at,
            cancellable,
            iteration,
            loop_id,
            created_at,
            planner_version,
            executor_version,
            tool_registry_version,
            preview,
            note,
            request_id,
            risk_level,
            category,
            policy,
            confirmation_id,
            called_with,
            intent,
        } = call;
        CallLine {
            call_id: Cow::Borrowed(call_id),
            run_id: self.other_run(run_id),
            step_id: Cow::Borrowed(step_id),
            tool: Cow::Borrowed(tool),
            attempt: *attempt,
            args: Cow::Borrowed(args),
            filled_in: Cow::Borrowed(filled_in),
            args_hash: *args_hash,
            timeout_ms: *timeout_ms,
            deadline_at: *deadline_at,
            cancellable: *cancellable,
            iteration: iteration.as_ref().map(Cow::Borrowed),
            loop_id: loop_id.as_deref().map(Cow::Borrowed),
            created_at: *created_at,
            planner_version: planner_version.as_deref().map(Cow::Borrowed),
            executor_version: other_text(executor_version, &self.executor_version),
            tool_registry_version: other_text(tool_registry_version, &self.registry_version),
            preview: preview.as_deref().map(Cow::Borrowed),
            note: note.as_deref().map(Cow::Borrowed),
            request_id: request_id.as_deref().map(Cow::Borrowed),
            risk_level: *risk_level,
            category: category.as_deref().map(Cow::Borrowed),
            policy: (self.call_policy.as_ref() != Some(policy)).then_some(Cow::Borrowed(&**policy)),
            confirmation_id: confirmation_id.as_ref().map(Cow::Borrowed),
            called_with: called_with.as_ref().map(Cow::Borrowed),
            intent: Cow::Borrowed(intent),
        }
    }

    fn call(&self, line: CallLine<'_>) -> serde_json::Result<ToolCall> {
        let policy = match (line.policy, &self.call_policy) {
            (Some(own), _) => Arc::new(own.into_owned()),
            (None, Some(common)) => Arc::clone(common),
            (None, None) => return Err(serde_json::Error::missing_field("policy")),
        };
        Ok(ToolCall {
            call_id: line.call_id.into_owned(),
            run_id: self.run_id(line.run_id),
            step_id: line.step_id.into_owned(),
            tool: line.tool.into_owned(),
            attempt: line.attempt,
            args: line.args.into_owned(),
            filled_in: line.filled_in.into_owned(),
            args_hash: line.args_hash,
            timeout_ms: line.timeout_ms,
            deadline_at: line.deadline_at,
            cancellable: line.cancellable,
            iteration: line.iteration.map(Cow::into_owned),
            loop_id: line.loop_id.map(Cow::into_owned),
            created_at: line.created_at,
            planner_version: line.planner_version.map(Cow::into_owned),
            executor_version: line
                .executor_version
                .map_or_else(|| Arc::clone(&self.executor_version), Arc::from),
            tool_registry_version: line
                .tool_registry_version
                .map_or_else(|| Arc::clone(&self.registry_version), Arc::from),
            preview: line.preview.map(Cow::into_owned),
            note: line.note.map(Cow::into_owned),
            request_id: line.request_id.map(Cow::into_owned),
            risk_level: line.risk_level,
            category: line.category.map(Arc::from),
            policy,
            confirmation_id: line.confirmation_id.map(Cow::into_owned),
            called_with: line.called_with.map(Cow::into_owned),
            intent: line.intent.into_owned(),
        })
    }

    pub(crate) fn result_line<'a>(&self, result: &'a ToolResult) -> ResultLine<'a> {
        let ToolResult {
            call_id,
            run_id,
            step_id,
            tool,
            attempt,
            status,
            ok,
            data,
            data_hash,
            data_ref,
            error,
            started_at,
            ended_at,
            duration_ms,
            effects,
            changes,
            artifacts,
            user_message,
            debug_message,
            canonical,
            receipt,
            phases,
            mutations,
            cancellation,
            context_modifiers,
            reconciled,
            incomplete,
        } = result;
        let summary = canonical.as_ref().map(|canonical| canonical.summary_text.as_str());
        let projected = canonical.as_ref().and_then(|canonical| canonical.result.as_ref());
        let without = data.as_ref().map(|data| leave_out(data, projected, receipt.as_deref()));
        let WithoutRepeats { canonical: projected_left, receipt: receipt_left, parts } =
            without.unwrap_or_default();
        ResultLine {
            call_id: Cow::Borrowed(call_id),
            run_id: self.other_run(run_id),
            step_id: Cow::Borrowed(step_id),
            tool: (self.tool_of(Some(step_id)) != Some(tool)).then_some(Cow::Borrowed(tool)),
            attempt: *attempt,
            status: *status,
            ok: *ok,
            data: data.as_ref().map(Cow::Borrowed),
            data_hash: *data_hash,
            data_ref: data_ref.as_ref().map(Cow::Borrowed),
            error: error.as_ref().map(Cow::Borrowed),
            started_at: *started_at,
            ended_at: *ended_at,
            duration_ms: (millis_between(*started_at, *ended_at) != *duration_ms).then_some(*duration_ms),
            effects: effects.as_ref().map(Cow::Borrowed),
            changes: Cow::Borrowed(changes),
            artifacts: Cow::Borrowed(artifacts),
            user_message: (summary != user_message.as_deref())
                .then(|| user_message.as_deref().map(Cow::Borrowed)),
            debug_message: debug_message.as_deref().map(Cow::Borrowed),
            canonical: canonical.as_ref().map(|canonical| {
                let line = canonical_line(canonical, tool, *status);
                CanonicalLine { result: projected_left.map(Cow::Owned).or(line.result), ..line }
            }),
            receipt: receipt_left.map(Cow::Owned).or(receipt.as_deref().map(Cow::Borrowed)),
            repeats: parts,
            phases: phase_items(phases),
            mutations: Cow::Borrowed(mutations),
            cancellation: cancellation.as_ref().map(Cow::Borrowed),
            context_modifiers: Cow::Borrowed(context_modifiers),
            reconciled: *reconciled,
            incomplete: incomplete.as_deref().map(Cow::Borrowed),
        }
    }

    fn result(&self, line: ResultLine<'_>) -> serde_json::Result<ToolResult> {
        let status = line.status;
        let tool = match (line.tool, self.tool_of(Some(&line.step_id))) {
            (Some(own), _) => own.into_owned(),
            (None, Some(planned)) => planned.clone(),
            (None, None) => return Err(serde_json::Error::missing_field("tool")),
        };
        let mut canonical = line.canonical.map(|canonical| canonical_result(canonical, &tool, status));
        let data = line.data.map(Cow::into_owned);
        let mut receipt = line.receipt.map(Cow::into_owned);
        let projected = canonical.as_mut().and_then(|canonical| canonical.result.as_mut());
        put_back(&line.repeats, data.as_ref(), projected, receipt.as_mut())
            .map_err(serde_json::Error::custom)?;
        let summary = canonical.as_ref().map(|canonical| &canonical.summary_text);
        Ok(ToolResult {
            call_id: line.call_id.into_owned(),
            run_id: self.run_id(line.run_id),
            step_id: line.step_id.into_owned(),
            attempt: line.attempt,
            ok: line.ok,
            data,
            data_hash: line.data_hash,
            data_ref: line.data_ref.map(Cow::into_owned),
            error: line.error.map(Cow::into_owned),
            started_at: line.started_at,
            ended_at: line.ended_at,
            duration_ms: line.duration_ms.unwrap_or_else(|| millis_between(line.started_at, line.ended_at)),
            effects: line.effects.map(Cow::into_owned),
            changes: line.changes.into_owned(),
            artifacts: line.artifacts.into_owned(),
            user_message: line.user_message.map_or_else(|| summary.cloned(), |own| own.map(Cow::into_owned)),
            debug_message: line.debug_message.map(Cow::into_owned),
            canonical,
            receipt,
            phases: phase_facts(line.phases)?,
            mutations: line.mutations.into_owned(),
            cancellation: line.cancellation.map(Cow::into_owned),
            context_modifiers: line.context_modifiers.into_owned(),
            reconciled: line.reconciled,
            incomplete: line.incomplete.map(Cow::into_owned),
            tool,
            status,
        })
    }

    pub(crate) fn event_line<'a>(&self, event: &'a ExecutionEvent) -> EventLine<'a> {
        let ExecutionEvent { event_type, run_id, timestamp, level, message, call_id, step_id, tool, payload } =
            event;
        EventLine {
            event_type: *event_type,
            run_id: self.other_run(run_id),
            timestamp: *timestamp,
            level: *level,
            message: Cow::Borrowed(message),
            call_id: call_id.as_ref().map(Cow::Borrowed),
            step_id: step_id.as_ref().map(Cow::Borrowed),
            tool: (self.tool_of(step_id.as_ref()) != tool.as_ref()).then(|| tool.as_ref().map(Cow::Borrowed)),
            payload: payload.as_ref().map(Cow::Borrowed),
        }
    }

    fn event(&self, line: EventLine<'_>) -> ExecutionEvent {
        ExecutionEvent {
            event_type: line.event_type,
            run_id: self.run_id(line.run_id),
            timestamp: line.timestamp,
            level: line.level,
            message: line.message.into_owned(),
            call_id: line.call_id.map(Cow::into_owned),
            tool: match line.tool {
                Some(own) => own.map(Cow::into_owned),
                None => self.tool_of(line.step_id.as_deref()).cloned(),
            },
            step_id: line.step_id.map(Cow::into_owned),
            payload: line.payload.map(Cow::into_owned),
        }
    }

    /// Returns the tool of a step in the plan; `None` for a step of a session.
    fn tool_of(&self, step: Option<&StepId>) -> Option<&ToolName> {
        step.and_then(|step| self.tools.get(step.as_str()))
    }

    fn other_run<'a>(&self, run: &'a RunId) -> Option<Cow<'a, RunId>> {
        (*run != self.run_id).then_some(Cow::Borrowed(run))
    }

    fn run_id(&self, other: Option<Cow<'_, RunId>>) -> RunId {
        other.map_or_else(|| self.run_id.clone(), Cow::into_owned)
    }
}

fn other_text<'a>(own: &'a str, common: &str) -> Option<Cow<'a, str>> {
    (own != common).then_some(Cow::Borrowed(own))
}

fn canonical_line<'a>(canonical: &'a CanonicalResult, tool: &ToolName, status: Status) -> CanonicalLine<'a> {
    let CanonicalResult { tool_name, status: own_status, summary_text, result, error } = canonical;
    CanonicalLine {
        tool_name: other_text(tool_name, tool.as_str()),
        status: (*own_status != canonical_status(status)).then_some(*own_status),
        summary_text: Cow::Borrowed(summary_text),
        result: result.as_ref().map(Cow::Borrowed),
        error: error.as_ref().map(Cow::Borrowed),
    }
}

fn canonical_result(line: CanonicalLine<'_>, tool: &ToolName, status: Status) -> CanonicalResult {
    CanonicalResult {
        tool_name: line.tool_name.map_or_else(|| tool.to_string(), Cow::into_owned),
        status: line.status.unwrap_or_else(|| canonical_status(status)),
        summary_text: line.summary_text.into_owned(),
        result: line.result.map(Cow::into_owned),
        error: line.error.map(Cow::into_owned),
    }
}

/// Returns the canonical status that nearly every result of this status has.
fn canonical_status(status: Status) -> CanonicalStatus {
    match status {
        Status::Ok => CanonicalStatus::Success,
        Status::Error | Status::Timeout | Status::Cancelled | Status::Skipped => CanonicalStatus::Error,
    }
}

fn phase_items<'facts>(facts: &'facts [PhaseFact]) -> Vec<PhaseItem<'facts>> {
    let mut before = None;
    let item = |fact: &'facts PhaseFact| {
        let PhaseFact { phase, outcome, micros, detail } = fact;
        let is_next = next_phase(before) == Some(*phase);
        before = Some(*phase);
        match outcome {
            PhaseOutcome::Ok if is_next && detail.is_none() => PhaseItem::Passed(*micros),
            PhaseOutcome::Ok | PhaseOutcome::Failed(_) => PhaseItem::Fact(Cow::Borrowed(fact)),
        }
    };
    facts.iter().map(item).collect()
}

/// Fails if a number follows the last phase.
fn phase_facts(items: Vec<PhaseItem<'_>>) -> serde_json::Result<Vec<PhaseFact>> {
    let mut facts: Vec<PhaseFact> = Vec::with_capacity(items.len());
    for item in items {
        let fact = match item {
            PhaseItem::Fact(fact) => fact.into_owned(),
            PhaseItem::Passed(micros) => {
                let phase = next_phase(facts.last().map(|fact| fact.phase));
                let phase =
                    phase.ok_or_else(|| serde_json::Error::custom("no phase follows the last one"))?;
                PhaseFact { phase, outcome: PhaseOutcome::Ok, micros, detail: None }
            }
        };
        facts.push(fact);
    }
    Ok(facts)
}

/// Returns the phase after this one; the first one after none.
fn next_phase(before: Option<Phase>) -> Option<Phase> {
    let at = match before {
        None => 0,
        Some(before) => Phase::ALL.iter().position(|phase| *phase == before)? + 1,
    };
    Phase::ALL.get(at).copied()
}

fn millis_between(start: Timestamp, end: Timestamp) -> u64 {
    u64::try_from(end.as_millisecond() - start.as_millisecond()).unwrap_or(0)
}

/// Keeps apart a field that is null and one that is left out.
pub(crate) fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(from).map(Some)
}

fn first_attempt() -> u32 {
    1
}

fn is_first_attempt(attempt: &u32) -> bool {
    *attempt == first_attempt()
}

fn yes() -> bool {
    true
}

fn is_yes(value: &bool) -> bool {
    *value
}

fn is_no(value: &bool) -> bool {
    !value
}

fn info() -> EventLevel {
    EventLevel::Info
}

fn is_info(level: &EventLevel) -> bool {
    *level == EventLevel::Info
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use envelope::{
        CanonicalResult, CanonicalStatus, EventLevel, EventType, ExecutionEvent, Failure, Phase, PhaseFact,
        PhaseOutcome, RunId, Status, StepId, ToolCall, ToolName, ToolResult,
    };
    use expect_test::{Expect, expect};
    use proptest::prelude::{any, prop, proptest};
    use serde_json::{Value, json};

    use super::LineForm;
    use crate::log_kind::LogKind;
    use crate::run_folder::JournalRecord;
    use crate::run_header::RunHeader;
    use crate::samples;

    fn header() -> RunHeader {
        let plan = json!({ "steps": [{ "id": "s1", "tool": "vault.createFile" }] });
        RunHeader { plan_hash: envelope::canonical_hash(&plan), plan, ..samples::header("run-1") }
    }

    fn line(form: &LineForm, record: &JournalRecord) -> String {
        let json = match (form, record) {
            (LineForm::Whole, JournalRecord::Call(call)) => serde_json::to_string(call),
            (LineForm::Whole, JournalRecord::Result(result)) => serde_json::to_string(result),
            (LineForm::Whole, JournalRecord::Event(event)) => serde_json::to_string(event),
            (LineForm::Short(run), JournalRecord::Call(call)) => serde_json::to_string(&run.call_line(call)),
            (LineForm::Short(run), JournalRecord::Result(result)) => {
                serde_json::to_string(&run.result_line(result))
            }
            (LineForm::Short(run), JournalRecord::Event(event)) => {
                serde_json::to_string(&run.event_line(event))
            }
        };
        json.unwrap()
    }

    fn kind(record: &JournalRecord) -> LogKind {
        match record {
            JournalRecord::Call(_) => LogKind::Call,
            JournalRecord::Result(_) => LogKind::Result,
            JournalRecord::Event(_) => LogKind::Event,
        }
    }

    /// Compares the short line, and checks that both forms are read as the record that was written.
    #[track_caller]
    fn check(record: JournalRecord, expected: Expect) {
        expected.assert_eq(&reads_back(record));
    }

    /// Returns the short line.
    #[track_caller]
    fn reads_back(record: JournalRecord) -> String {
        let whole = LineForm::of(&RunHeader { format: 2, ..header() });
        let short = LineForm::of(&header());
        for form in [&whole, &short] {
            let line = line(form, &record);
            assert_eq!(form.read(kind(&record), line.as_bytes()).unwrap(), record, "{line}");
        }
        line(&short, &record)
    }

    fn call(change: impl FnOnce(&mut ToolCall)) -> JournalRecord {
        let mut call = samples::call(1);
        call.args_hash = None;
        change(&mut call);
        JournalRecord::Call(Box::new(call))
    }

    fn result(change: impl FnOnce(&mut ToolResult)) -> JournalRecord {
        let mut result = samples::result(1);
        result.data = None;
        result.canonical = Some(CanonicalResult {
            tool_name: "vault.createFile".to_owned(),
            status: CanonicalStatus::Success,
            summary_text: "Created".to_owned(),
            result: Some(json!({ "path": "a.md" })),
            error: None,
        });
        result.phases =
            Phase::ALL.into_iter().zip(10..).map(|(phase, micros)| passed(phase, micros)).collect();
        change(&mut result);
        JournalRecord::Result(Box::new(result))
    }

    fn event(change: impl FnOnce(&mut ExecutionEvent)) -> JournalRecord {
        let mut event = samples::event(EventType::StepStarted, None);
        event.step_id = StepId::parse("s1").ok();
        event.tool = ToolName::parse("vault.createFile").ok();
        change(&mut event);
        JournalRecord::Event(Box::new(event))
    }

    fn passed(phase: Phase, micros: u64) -> PhaseFact {
        PhaseFact { phase, outcome: PhaseOutcome::Ok, micros, detail: None }
    }

    #[test]
    fn a_line_leaves_out_what_the_run_says() {
        check(
            call(|_call| ()),
            expect![[
                r#"{"callId":"c3331b04-4d3a-5892-9e05-cac164ba27e2","stepId":"s1","tool":"vault.createFile","args":{"path":"Notes/1.md","content":"text “with” quotes\n"},"timeoutMs":30000,"createdAt":"2027-01-15T08:00:02Z","riskLevel":"writes","confirmationId":"yes-1"}"#
            ]],
        );
        check(
            result(|_result| ()),
            expect![[
                r#"{"callId":"c3331b04-4d3a-5892-9e05-cac164ba27e2","stepId":"s1","status":"ok","ok":true,"startedAt":"2027-01-15T08:00:02Z","endedAt":"2027-01-15T08:00:03Z","userMessage":"Created Notes/1.md","canonical":{"summary_text":"Created","result":{"path":"a.md"}},"phases":[10,11,12,13,14,15,16,17,18,19,20,21]}"#
            ]],
        );
        check(
            event(|_event| ()),
            expect![[
                r#"{"type":"step.started","timestamp":"2027-01-15T08:00:04Z","message":"message","stepId":"s1"}"#
            ]],
        );
    }

    #[test]
    fn what_differs_from_the_run_is_written_out() {
        let other = || RunId::parse("run-2").unwrap();
        let all = [
            call(|call| {
                (call.run_id, call.attempt, call.cancellable) = (other(), 2, false);
                (call.executor_version, call.tool_registry_version) = ("9".into(), "8".into());
                call.policy = Arc::new({
                    let mut policy = (*call.policy).clone();
                    policy.confirmations_required = false;
                    policy
                });
            }),
            result(|result| {
                (result.run_id, result.attempt, result.duration_ms) = (other(), 2, 7);
                if let Some(canonical) = &mut result.canonical {
                    canonical.tool_name = "other".to_owned();
                    canonical.status = CanonicalStatus::Error;
                }
                // The call failed in its second phase and was ended.
                result.phases = vec![passed(Phase::ResolveTool, 1), passed(Phase::EmitTerminal, 2)];
                if let Some(failed) = result.phases.first_mut() {
                    failed.outcome = PhaseOutcome::Failed(Failure::UnknownTool);
                    failed.detail = Some("why".to_owned());
                }
            }),
            event(|event| {
                (event.run_id, event.level) = (other(), EventLevel::Warn);
                event.tool = ToolName::parse("vault.rename").ok();
                event.payload = Some(json!({ "runId": "x" }));
            }),
            result(|result| (result.user_message, result.phases) = (None, Vec::new())),
            result(|result| (result.canonical, result.phases) = (None, Vec::new())),
            result(|result| {
                result.tool = ToolName::parse("vault.rename").unwrap();
                result.user_message = Some("Created".to_owned());
            }),
            event(|event| event.tool = None),
            event(|event| event.step_id = None),
        ];
        let lines: Vec<String> = all.into_iter().map(reads_back).collect();
        expect![[r#"
            {"callId":"c3331b04-4d3a-5892-9e05-cac164ba27e2","runId":"run-2","stepId":"s1","tool":"vault.createFile","attempt":2,"args":{"path":"Notes/1.md","content":"text “with” quotes\n"},"timeoutMs":30000,"cancellable":false,"createdAt":"2027-01-15T08:00:02Z","executorVersion":"9","toolRegistryVersion":"8","riskLevel":"writes","policy":{"confirmationsRequired":false,"sandbox":{"enabled":true,"allowedRoots":["/"],"denyPatterns":["..","://"]},"limits":{"maxConcurrency":4,"maxAttempts":3,"callTimeoutMs":600000,"maxForeachItems":100}},"confirmationId":"yes-1"}
            {"callId":"c3331b04-4d3a-5892-9e05-cac164ba27e2","runId":"run-2","stepId":"s1","attempt":2,"status":"ok","ok":true,"startedAt":"2027-01-15T08:00:02Z","endedAt":"2027-01-15T08:00:03Z","durationMs":7,"userMessage":"Created Notes/1.md","canonical":{"tool_name":"other","status":"error","summary_text":"Created","result":{"path":"a.md"}},"phases":[{"phase":"resolve_tool","outcome":{"failed":"unknown_tool"},"micros":1,"detail":"why"},{"phase":"emit_terminal","micros":2}]}
            {"type":"step.started","runId":"run-2","timestamp":"2027-01-15T08:00:04Z","level":"warn","message":"message","stepId":"s1","tool":"vault.rename","payload":{"runId":"x"}}
            {"callId":"c3331b04-4d3a-5892-9e05-cac164ba27e2","stepId":"s1","status":"ok","ok":true,"startedAt":"2027-01-15T08:00:02Z","endedAt":"2027-01-15T08:00:03Z","userMessage":null,"canonical":{"summary_text":"Created","result":{"path":"a.md"}}}
            {"callId":"c3331b04-4d3a-5892-9e05-cac164ba27e2","stepId":"s1","status":"ok","ok":true,"startedAt":"2027-01-15T08:00:02Z","endedAt":"2027-01-15T08:00:03Z","userMessage":"Created Notes/1.md"}
            {"callId":"c3331b04-4d3a-5892-9e05-cac164ba27e2","stepId":"s1","tool":"vault.rename","status":"ok","ok":true,"startedAt":"2027-01-15T08:00:02Z","endedAt":"2027-01-15T08:00:03Z","canonical":{"tool_name":"vault.createFile","summary_text":"Created","result":{"path":"a.md"}},"phases":[10,11,12,13,14,15,16,17,18,19,20,21]}
            {"type":"step.started","timestamp":"2027-01-15T08:00:04Z","message":"message","stepId":"s1","tool":null}
            {"type":"step.started","timestamp":"2027-01-15T08:00:04Z","message":"message","tool":"vault.createFile"}"#]].assert_eq(&lines.join("\n"));
    }

    #[test]
    fn the_text_of_a_note_is_in_a_line_once() {
        let text = "A line of a note that was read.\n".repeat(20);
        let written = reads_back(result(|result| {
            result.data = Some(json!({ "content": text }));
            result.receipt = Some(format!("Read a.md\n{}", text.trim_end()));
            if let Some(canonical) = &mut result.canonical {
                canonical.result = Some(json!({ "content_preview": text }));
            }
        }));
        assert_eq!(written.matches("A line of a note").count(), 20, "{written}");
    }

    #[test]
    fn a_number_after_the_last_phase_is_no_record() {
        let form = LineForm::of(&header());
        let short = line(&form, &result(|_result| ()));
        let more = short.replace("21]", "21,22]");
        assert_ne!(short, more);
        let error = form.read(LogKind::Result, more.as_bytes()).unwrap_err();
        expect!["no phase follows the last one"].assert_eq(&error.to_string());
    }

    #[test]
    fn a_whole_line_without_its_run_is_no_record() {
        let (whole, short) = (LineForm::of(&RunHeader { format: 2, ..header() }), LineForm::of(&header()));
        for record in [call(|_call| ()), result(|_result| ()), event(|_event| ())] {
            let line = line(&short, &record);
            assert!(whole.read(kind(&record), line.as_bytes()).is_err(), "{line}");
        }
    }

    proptest! {
        #[test]
        fn any_phases_are_read_as_they_were_written(
            facts in prop::collection::vec((0..Phase::ALL.len(), any::<bool>(), any::<Option<bool>>(), any::<u64>()), 0..20),
        ) {
            reads_back(result(|result| {
                result.phases = facts
                    .iter()
                    .map(|(phase, ok, detail, micros)| PhaseFact {
                        phase: Phase::ALL[*phase],
                        outcome: if *ok { PhaseOutcome::Ok } else { PhaseOutcome::Failed(Failure::Timeout) },
                        micros: *micros,
                        detail: detail.map(|detail| detail.to_string()),
                    })
                    .collect();
            }));
        }

        #[test]
        fn any_times_are_read_as_they_were_written(start in 0..4_000_000_000_i64, end in 0..4_000_000_000_i64, took: u64) {
            let at = |millis| envelope::Timestamp::from_millisecond(millis).unwrap();
            for took in [took, u64::try_from(end - start).unwrap_or(0)] {
                reads_back(result(|result| {
                    (result.started_at, result.ended_at, result.duration_ms) = (at(start), at(end), took);
                    (result.status, result.data) = (Status::Ok, Some(Value::from(took)));
                }));
            }
        }
    }
}
