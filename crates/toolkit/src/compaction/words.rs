//! A reduced canonical result as text: the outcome first, then handles and artifacts, then what is left of previews.

use std::fmt::Write as _;

use envelope::{CanonicalError, CanonicalResult, CanonicalStatus};
use serde_json::{Map, Value};

use super::fields::{ARTIFACT_INDEX, ARTIFACTS, HANDLE_START, Kind, is_id, kind};
use super::reduce::{preview_tokens, reduce};
use super::{Entry, Level};
use crate::families::{self, one_line};

/// What a trimmed text may have besides its preview: the outcome, and how to get the rest.
const WORDS: usize = 100;

/// The text of a call at this level.
pub(super) fn of(level: Level, entry: &Entry<'_>) -> String {
    let reduced = reduce(level, entry.family, entry.canonical);
    match level {
        Level::Exact => entry.receipt.to_owned(),
        Level::Trimmed => trimmed(entry, &reduced),
        Level::Bare => bare(entry, &reduced),
        Level::Recap => recap(entry.id, &reduced),
    }
}

/// As the family words it, with what it leaves unsaid.
fn trimmed(entry: &Entry<'_>, reduced: &CanonicalResult) -> String {
    let worded = families::render(entry.family, reduced, preview_tokens(entry.family) + WORDS);
    let text = match &reduced.error {
        // Failures are worded the same for all families; all that they leave out is whether to try again.
        Some(error) => format!("{}\n[{}]", worded.trim_end(), retryable(error)),
        // A receipt often begins with the summary, which the outcome says.
        None => match worded.strip_prefix(&reduced.summary_text) {
            Some(rest) => format!("{}{rest}", named(entry.call, reduced)),
            None => below(named(entry.call, reduced), &worded),
        },
    };
    // Ids and artifacts are not lost in any case. How to go on is said for what is shown, not for what was.
    let mut handles = facts(&reduce(Level::Recap, entry.family, entry.canonical));
    handles.retain(|(name, _)| !name.starts_with(HANDLE_START));
    let unsaid = unsaid(handles, &text);
    below(text, &unsaid)
}

fn bare(entry: &Entry<'_>, reduced: &CanonicalResult) -> String {
    let text = named(entry.call, reduced);
    let known = unsaid(facts(reduced), &text);
    below(text, &known)
}

fn below(mut text: String, line: &str) -> String {
    if !line.is_empty() {
        let _infallible = write!(text, "\n{line}");
    }
    text
}

fn recap(id: &str, reduced: &CanonicalResult) -> String {
    let mut text = format!("{} {} {}", one_line(id), reduced.tool_name, outcome(reduced));
    let known = unsaid(facts(reduced), &text);
    if !known.is_empty() {
        let _infallible = write!(text, " [{known}]");
    }
    text
}

/// The outcome under the line that names the call. The tool is named if that line does not.
fn named(call: &str, reduced: &CanonicalResult) -> String {
    let outcome = outcome(reduced);
    if call.contains(&reduced.tool_name) { outcome } else { format!("{} {outcome}", reduced.tool_name) }
}

/// One line: how it ended, and of a failure all that is never left out.
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

/// What is known by a name, with its values.
type Facts = Vec<(String, Vec<String>)>;

/// What is left of `result` or of the details.
fn facts(reduced: &CanonicalResult) -> Facts {
    let mut facts = Facts::new();
    let details = reduced.error.as_ref().and_then(|error| error.details.as_ref());
    let fields = details.or_else(|| reduced.result.as_ref().and_then(Value::as_object));
    if let Some(fields) = fields {
        gather("", fields, &mut facts);
    }
    facts
}

/// On one line, as far as it was not said before.
fn unsaid(facts: Facts, said: &str) -> String {
    let parts = facts.into_iter().filter_map(|(name, mut values)| {
        values.retain(|value| !says(said, value));
        (!values.is_empty()).then(|| format!("{name}: {}", values.join(", ")))
    });
    parts.collect::<Vec<_>>().join("; ")
}

/// Whether a text has this as a word of its own. A digit or two may be part of anything.
fn says(text: &str, word: &str) -> bool {
    let apart = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    word.len() > 2
        && text.match_indices(word).any(|(at, _)| {
            apart(text[..at].chars().next_back()) && apart(text[at + word.len()..].chars().next())
        })
}

/// Lists fields with their values. Where several have the same name, their values are listed together.
fn gather(within: &str, fields: &Map<String, Value>, facts: &mut Facts) {
    for (name, value) in fields {
        match (kind(name, value), value) {
            (Kind::Artifact, Value::Array(artifacts)) => {
                for (index, artifact) in artifacts.iter().enumerate() {
                    note(role(fields, index), artifact.get("path").unwrap_or(artifact), facts);
                }
            }
            // Said with the artifact itself; and what speaks of previews is not said without them.
            (Kind::Artifact | Kind::Remark, _) => {}
            (_, Value::Object(inner)) => gather(name, inner, facts),
            (_, Value::Array(items)) => items.iter().for_each(|item| match item.as_object() {
                Some(inner) => gather("", inner, facts),
                None => note(name, item, facts),
            }),
            // An id says what it is; a number needs to be told of what.
            (_, scalar) if within.is_empty() || is_id(name, scalar) => note(name, scalar, facts),
            (_, scalar) => note(&format!("{within}.{name}"), scalar, facts),
        }
    }
}

/// What the artifact at this index is, by the field that points at it.
fn role(fields: &Map<String, Value>, index: usize) -> &str {
    let points_here = |value: &Value| value.as_u64().is_some_and(|at| usize::try_from(at) == Ok(index));
    fields
        .iter()
        .filter(|(_, value)| points_here(value))
        .find_map(|(name, _)| name.strip_suffix(ARTIFACT_INDEX))
        .unwrap_or(ARTIFACTS)
}

fn note(name: &str, value: &Value, facts: &mut Facts) {
    let value = match value {
        // What is not there and what is not so need no word.
        Value::Null | Value::Bool(false) => return,
        Value::String(text) => one_line(text).into_owned(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    };
    match facts.iter_mut().find(|(known, _)| known == name) {
        Some((_, values)) => values.push(value),
        None => facts.push((one_line(name).into_owned(), vec![value])),
    }
}
