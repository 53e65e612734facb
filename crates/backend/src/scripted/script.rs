//! The file: one answer a line, each with the histories that it answers.
//!
//! ```text
//! {"match": {"last_contains": "files"}, "text": ["Let me ", "look.", "<tool_call>..."], "usage": {"output_tokens": 9}}
//! {"text": "Done."}
//! ```

use serde::Deserialize;

use crate::{Entry, ErrorKind, Part, Turn, Usage};

/// Answers in the order in which they are tried.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    pub(super) answers: Vec<Answer>,
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
pub(super) struct Answer {
    #[serde(default, rename = "match")]
    matching: Matching,
    /// Each string is one delta.
    #[serde(default)]
    pub(super) text: Deltas,
    /// Parts of the summary of its reasoning, one delta each, before the text.
    #[serde(default)]
    pub(super) reasoning: Vec<String>,
    #[serde(default)]
    pub(super) refusal: Option<String>,
    #[serde(default)]
    pub(super) usage: Option<Usage>,
    /// How often the deltas of the text are said, for long answers.
    #[serde(default = "once")]
    pub(super) repeat: u32,
    /// Before each delta of the text.
    #[serde(default)]
    pub(super) delay_ms: u64,
    /// Ends the turn in place of a finish.
    #[serde(default)]
    pub(super) error: Option<Failing>,
    #[serde(default)]
    pub(super) finish: Ending,
}

fn once() -> u32 {
    1
}

/// What a history must be like. Everything that is given must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Matching {
    /// Text of the last entry.
    last_contains: Option<String>,
    /// Text of any entry or of the instructions.
    any_contains: Option<String>,
    /// Text of none of them.
    none_contains: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(super) enum Deltas {
    One(String),
    Many(Vec<String>),
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Failing {
    pub(super) kind: FailingKind,
    pub(super) message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FailingKind {
    Unavailable,
    RateLimited,
    ContextTooLong,
    Died,
    Upstream,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Ending {
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
    pub(super) fn answer_to(&self, turn: &Turn) -> Option<usize> {
        self.answers.iter().position(|answer| answer.matching.holds(turn))
    }
}

impl Matching {
    fn holds(&self, turn: &Turn) -> bool {
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

fn says(entry: &Entry, wanted: &str) -> bool {
    let in_parts = |parts: &[Part]| {
        parts.iter().any(|part| match part {
            Part::Text(text) => text.contains(wanted),
            Part::Image { .. } => false,
        })
    };
    match entry {
        Entry::Message { parts, .. } | Entry::CallOutput { parts, .. } => in_parts(parts),
        Entry::Call(call) => call.arguments.contains(wanted),
        Entry::Reasoning { summary, .. } => summary.iter().any(|part| part.contains(wanted)),
    }
}

impl Deltas {
    pub(super) fn as_slice(&self) -> &[String] {
        match self {
            Deltas::One(text) => std::slice::from_ref(text),
            Deltas::Many(texts) => texts,
        }
    }
}

impl Default for Deltas {
    fn default() -> Deltas {
        Deltas::Many(Vec::new())
    }
}

impl From<FailingKind> for ErrorKind {
    fn from(kind: FailingKind) -> ErrorKind {
        match kind {
            FailingKind::Unavailable => ErrorKind::Unavailable,
            FailingKind::RateLimited => ErrorKind::RateLimited,
            FailingKind::ContextTooLong => ErrorKind::ContextTooLong,
            FailingKind::Died => ErrorKind::Died,
            FailingKind::Upstream => ErrorKind::Upstream,
        }
    }
}
