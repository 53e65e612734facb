//! Renders a reduced canonical result: the outcome first, then handles and artifacts, then the rest of the
//! previews.

use std::fmt::Write as _;

use envelope::{CanonicalError, CanonicalResult, CanonicalStatus};
use serde_json::{Map, Value};

use super::fields::{ARTIFACT_INDEX, ARTIFACTS, FieldKind, HANDLE_START, field_kind, is_id};
use super::reduce::{preview_tokens, reduce};
use super::{CallEntry, DetailLevel};
use crate::families::{self, one_line};

/// Budget of a trimmed text besides its preview: the outcome, and how to get the rest.
const WORDS: usize = 100;

/// Renders a call at this level.
pub(super) fn render_call(level: DetailLevel, entry: &CallEntry<'_>) -> String {
    let reduced = reduce(level, entry.family, entry.canonical);
    match level {
        DetailLevel::Exact => entry.receipt.to_owned(),
        DetailLevel::Trimmed => render_trimmed(entry, &reduced),
        DetailLevel::Bare => render_bare(entry, &reduced),
        DetailLevel::Recap => render_recap(entry.id, &reduced),
    }
}

/// Renders the call with its family's renderer, and adds the facts that this text does not mention.
fn render_trimmed(entry: &CallEntry<'_>, reduced: &CanonicalResult) -> String {
    let worded = families::render(entry.family, reduced, preview_tokens(entry.family) + WORDS);
    let text = match &reduced.error {
        // Failures are rendered the same way for all families; only the retryable flag is missing.
        Some(error) => format!("{}\n[{}]", worded.trim_end(), retryable(error)),
        // A receipt often begins with the summary, which the outcome contains.
        None => match worded.strip_prefix(&reduced.summary_text) {
            Some(rest) => format!("{}{rest}", outcome_with_tool(entry.call, reduced)),
            None => append_line(outcome_with_tool(entry.call, reduced), &worded),
        },
    };
    // Ids and artifacts are always kept. Fields that continue the original result do not apply to the trimmed one.
    let mut handles = facts(&reduce(DetailLevel::Recap, entry.family, entry.canonical));
    handles.retain(|(name, _)| !name.starts_with(HANDLE_START));
    let rest = unmentioned(handles, &text);
    append_line(text, &rest)
}

fn render_bare(entry: &CallEntry<'_>, reduced: &CanonicalResult) -> String {
    let text = outcome_with_tool(entry.call, reduced);
    let known = unmentioned(facts(reduced), &text);
    append_line(text, &known)
}

fn append_line(mut text: String, line: &str) -> String {
    if !line.is_empty() {
        let _infallible = write!(text, "\n{line}");
    }
    text
}

fn render_recap(id: &str, reduced: &CanonicalResult) -> String {
    let mut text = format!("{} {} {}", one_line(id), reduced.tool_name, outcome(reduced));
    let known = unmentioned(facts(reduced), &text);
    if !known.is_empty() {
        let _infallible = write!(text, " [{known}]");
    }
    text
}

/// Returns the outcome for use below the line of the call. Names the tool if that line does not.
fn outcome_with_tool(call: &str, reduced: &CanonicalResult) -> String {
    let outcome = outcome(reduced);
    if call.contains(&reduced.tool_name) { outcome } else { format!("{} {outcome}", reduced.tool_name) }
}

/// Returns the outcome on one line, with the parts of a failure that are never dropped.
fn outcome(canonical: &CanonicalResult) -> String {
    let summary = one_line(&canonical.summary_text);
    let Some(error) = &canonical.error else {
        let status = match canonical.status {
            CanonicalStatus::Success => "success",
            CanonicalStatus::Error => "error",
        };
        return format!("{status}: {summary}");
    };
    let message = one_line(&error.message);
    let mut text = format!("error ({}, {}): {message}", error.kind, retryable(error));
    if !message.contains(&*summary) {
        let _infallible = write!(text, " ({summary})");
    }
    if let Some(hint) = &error.recovery_hint {
        let _infallible = write!(text, "; next: {}", one_line(hint));
    }
    text
}

fn retryable(error: &CanonicalError) -> &'static str {
    if error.retryable { "retryable" } else { "not retryable" }
}

/// Fields by name, with their values.
type FieldFacts = Vec<(String, Vec<String>)>;

/// Collects the fields of `result` or of the error details.
fn facts(reduced: &CanonicalResult) -> FieldFacts {
    let mut facts = FieldFacts::new();
    let details = reduced.error.as_ref().and_then(|error| error.details.as_ref());
    let fields = details.or_else(|| reduced.result.as_ref().and_then(Value::as_object));
    if let Some(fields) = fields {
        collect_facts("", fields, &mut facts);
    }
    facts
}

/// Returns the facts that `said` does not mention, on one line.
fn unmentioned(facts: FieldFacts, text: &str) -> String {
    let parts = facts.into_iter().filter_map(|(name, mut values)| {
        values.retain(|value| !mentions(text, value));
        (!values.is_empty()).then(|| format!("{name}: {}", values.join(", ")))
    });
    parts.collect::<Vec<_>>().join("; ")
}

/// Returns true if the text contains the word on its own. One or two characters could be part of anything.
fn mentions(text: &str, word: &str) -> bool {
    let apart = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    word.len() > 2
        && text.match_indices(word).any(|(at, _)| {
            apart(text[..at].chars().next_back()) && apart(text[at + word.len()..].chars().next())
        })
}

/// Collects fields with their values. Values of the same name are joined.
fn collect_facts(within: &str, fields: &Map<String, Value>, facts: &mut FieldFacts) {
    for (name, value) in fields {
        match (field_kind(name, value), value) {
            (FieldKind::Artifact, Value::Array(artifacts)) => {
                for (index, artifact) in artifacts.iter().enumerate() {
                    add_fact(artifact_role(fields, index), artifact.get("path").unwrap_or(artifact), facts);
                }
            }
            // Reported with the artifact itself; remarks about previews are dropped with them.
            (FieldKind::Artifact | FieldKind::Remark, _) => {}
            (_, Value::Object(inner)) => collect_facts(name, inner, facts),
            (_, Value::Array(items)) => items.iter().for_each(|item| match item.as_object() {
                Some(inner) => collect_facts("", inner, facts),
                None => add_fact(name, item, facts),
            }),
            // An id is clear by its name; another number needs the name of its object.
            (_, scalar) if within.is_empty() || is_id(name, scalar) => add_fact(name, scalar, facts),
            (_, scalar) => add_fact(&format!("{within}.{name}"), scalar, facts),
        }
    }
}

/// Returns the role of an artifact by the field that refers to its index.
fn artifact_role(fields: &Map<String, Value>, index: usize) -> &str {
    let points_here = |value: &Value| value.as_u64().is_some_and(|at| usize::try_from(at) == Ok(index));
    fields
        .iter()
        .filter(|(_, value)| points_here(value))
        .find_map(|(name, _)| name.strip_suffix(ARTIFACT_INDEX))
        .unwrap_or(ARTIFACTS)
}

fn add_fact(name: &str, value: &Value, facts: &mut FieldFacts) {
    let value = match value {
        // Absent and false values are not worth a word.
        Value::Null | Value::Bool(false) => return,
        Value::String(text) => one_line(text).into_owned(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    };
    match facts.iter_mut().find(|(known, _)| known == name) {
        Some((_, values)) => values.push(value),
        None => facts.push((one_line(name).into_owned(), vec![value])),
    }
}
