//! The file: one answer a line, each with the histories that it answers.
//!
//! ```text
//! {"match": {"last_contains": "files"}, "text": ["Let me ", "look.", "<tool_call>..."], "usage": {"output_tokens": 9}}
//! {"text": "Done."}
//! ```

use serde::Deserialize;

use crate::{BackendErrorKind, HistoryEntry, MessagePart, ModelTurn, TokenUsage};

/// Answers in the order in which they are tried.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    pub(super) answers: Vec<ScriptAnswer>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    #[error("{file} cannot be read: {error}")]
    Unreadable { file: String, error: String },
    #[error("line {line} of the script is not an answer: {problem}")]
    Malformed { line: usize, problem: String },
    #[error("the script has no answer; write one a line, such as {{\"text\": \"Hello.\"}}")]
    Empty,
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptAnswer {
    #[serde(default, rename = "match")]
    matching: HistoryMatch,
    /// Each string is one delta.
    #[serde(default)]
    pub(super) text: TextDeltas,
    /// Parts of the summary of its reasoning, one delta each, before the text.
    #[serde(default)]
    pub(super) reasoning: Vec<String>,
    #[serde(default)]
    pub(super) refusal: Option<String>,
    #[serde(default)]
    pub(super) usage: Option<TokenUsage>,
    /// Number of times that the deltas of the text are repeated, for long answers.
    #[serde(default = "once")]
    pub(super) repeat: u32,
    /// Before each delta of the text.
    #[serde(default)]
    pub(super) delay_ms: u64,
    /// Ends the turn in place of a finish.
    #[serde(default)]
    pub(super) error: Option<ScriptFailure>,
    #[serde(default)]
    pub(super) finish: FinishKind,
}

fn once() -> u32 {
    1
}

/// Conditions on a history. All that are given must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct HistoryMatch {
    /// Text of the last entry.
    last_contains: Option<String>,
    /// Text of any entry or of the instructions.
    any_contains: Option<String>,
    /// Text of none of them.
    none_contains: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(super) enum TextDeltas {
    One(String),
    Many(Vec<String>),
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptFailure {
    pub(super) kind: FailureKind,
    pub(super) message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FailureKind {
    Unavailable,
    RateLimited,
    ContextTooLong,
    Died,
    Upstream,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FinishKind {
    #[default]
    Stop,
    Length,
    ContentFilter,
}

impl Script {
    /// Reads a script. Empty lines and lines that begin with `#` are left out.
    pub fn parse(text: &str) -> Result<Script, ScriptError> {
        let mut answers = Vec::new();
        for (index, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let answer = serde_json::from_str(line)
                .map_err(|error| ScriptError::Malformed { line: index + 1, problem: error.to_string() })?;
            answers.push(answer);
        }
        if answers.is_empty() { Err(ScriptError::Empty) } else { Ok(Script { answers }) }
    }

    /// The number of the first answer whose conditions hold.
    pub(super) fn answer_to(&self, turn: &ModelTurn) -> Option<usize> {
        self.answers.iter().position(|answer| answer.matching.holds(turn))
    }
}

impl HistoryMatch {
    fn holds(&self, turn: &ModelTurn) -> bool {
        let anywhere = |wanted: &str| {
            turn.instructions.contains(wanted) || turn.history.iter().any(|entry| says(entry, wanted))
        };
        self.last_contains
            .as_deref()
            .is_none_or(|wanted| turn.history.last().is_some_and(|entry| says(entry, wanted)))
            && self.any_contains.as_deref().is_none_or(anywhere)
            && !self.none_contains.as_deref().is_some_and(anywhere)
    }
}

fn says(entry: &HistoryEntry, wanted: &str) -> bool {
    let in_parts = |parts: &[MessagePart]| {
        parts.iter().any(|part| match part {
            MessagePart::Text(text) => text.contains(wanted),
            MessagePart::Image { .. } => false,
        })
    };
    match entry {
        HistoryEntry::Message { parts, .. } | HistoryEntry::CallOutput { parts, .. } => in_parts(parts),
        HistoryEntry::Call(call) => call.arguments.contains(wanted),
        HistoryEntry::Reasoning { summary, .. } => summary.iter().any(|part| part.contains(wanted)),
    }
}

impl TextDeltas {
    pub(super) fn as_slice(&self) -> &[String] {
        match self {
            TextDeltas::One(text) => std::slice::from_ref(text),
            TextDeltas::Many(texts) => texts,
        }
    }
}

impl Default for TextDeltas {
    fn default() -> TextDeltas {
        TextDeltas::Many(Vec::new())
    }
}

impl From<FailureKind> for BackendErrorKind {
    fn from(kind: FailureKind) -> BackendErrorKind {
        match kind {
            FailureKind::Unavailable => BackendErrorKind::Unavailable,
            FailureKind::RateLimited => BackendErrorKind::RateLimited,
            FailureKind::ContextTooLong => BackendErrorKind::ContextTooLong,
            FailureKind::Died => BackendErrorKind::Died,
            FailureKind::Upstream => BackendErrorKind::Upstream,
        }
    }
}
