//! Renders a failure in as few tokens as possible.

use std::fmt::Write as _;

use envelope::{CanonicalError, CanonicalResult};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{ALREADY_DONE, PREVIEWS};
use crate::families::external::has_word;
use crate::families::process_output::{StreamFacts, section};
use crate::families::receipt_writer::{escape_text, one_line};
use crate::preview::tokenizer::estimate;

/// Token budget for details, besides the output of a command.
const DETAILS_TOKENS: usize = 400;
/// Number of listed problems and paths; further ones are counted.
const MAX_LISTED: usize = 20;
/// Longest value that is shown; longer ones are for programs.
const MAX_VALUE: usize = 200;
const PROBLEMS: &str = "problems";

/// Renders a failure for the model. The outcome and the hint are always included, details as far as they fit.
pub(in crate::families) fn render(
    canonical: &CanonicalResult,
    error: &CanonicalError,
    budget: usize,
) -> String {
    let name = one_line(&canonical.tool_name);
    let mut text = format!("{name} failed ({}): {}", error.kind, indented(&error.message));
    let hint = error.recovery_hint.as_deref().unwrap_or_default();
    let nothing = Map::new();
    let details = error.details.as_ref().unwrap_or(&nothing);
    let known = FailureText { tool: &canonical.tool_name, message: &error.message, hint };
    let kept = StreamFacts::deserialize(&Value::Object(details.clone())).unwrap_or_default();
    let mut room = budget.min(DETAILS_TOKENS);
    for line in known.problems(details).into_iter().chain(known.facts(details)) {
        let cost = estimate(&line) + 1;
        if cost > room {
            text.push_str("\n[more details are in the record of the call]");
            break;
        }
        room -= cost;
        text.push('\n');
        text.push_str(&line);
    }
    if let Some(Value::Array(done)) = details.get(ALREADY_DONE) {
        let _infallible = write!(text, "\nAlready done and not undone: {}", join_listed(done));
    }
    if !hint.is_empty() {
        let _infallible = write!(text, "\nNext: {}", indented(hint));
    }
    kept.render(&mut text);
    for (field, stream) in PREVIEWS {
        let printed = details.get(field).and_then(Value::as_str).filter(|printed| !printed.is_empty());
        section(&mut text, stream, printed.map(escape_text).as_deref());
    }
    text
}

/// The texts that the receipt contains anyway.
struct FailureText<'a> {
    tool: &'a str,
    message: &'a str,
    hint: &'a str,
}

impl FailureText<'_> {
    fn mentions(&self, word: &str) -> bool {
        has_word(self.message, word) || has_word(self.hint, word) || self.tool == word
    }

    /// Returns `- /pointer: message` for each problem that the message does not contain.
    fn problems(&self, details: &Map<String, Value>) -> Vec<String> {
        let problems = details.get(PROBLEMS).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let mut lines = Vec::new();
        for problem in problems {
            let part = |name: &str| problem.get(name).and_then(Value::as_str).unwrap_or_default();
            let (pointer, message) = (one_line(part("pointer")), one_line(part("message")).into_owned());
            let hint = one_line(part("hint")).into_owned();
            let hint = Some(hint).filter(|hint| !hint.is_empty() && !self.mentions(hint));
            let problem_text = match (self.mentions(&message), hint) {
                (true, None) => continue,
                (true, Some(hint)) => hint,
                (false, None) => message,
                (false, Some(hint)) => format!("{message} ({hint})"),
            };
            lines.push(if pointer.is_empty() {
                format!("- {problem_text}")
            } else {
                format!("- {pointer}: {problem_text}")
            });
        }
        if lines.len() > MAX_LISTED {
            let more = lines.len() - MAX_LISTED;
            lines.truncate(MAX_LISTED);
            lines.push(format!("- and {more} more"));
        }
        lines
    }

    /// Returns `name: value` for small values that the message does not contain.
    fn facts(&self, details: &Map<String, Value>) -> Vec<String> {
        let has_other_words = |name: &str| {
            name == PROBLEMS
                || name == ALREADY_DONE
                || StreamFacts::has_field(name)
                || PREVIEWS.iter().any(|(field, _)| *field == name)
        };
        let mut lines = Vec::new();
        for (name, value) in details.iter().filter(|(name, _)| !has_other_words(name)) {
            let text = match value {
                Value::Null => continue,
                Value::Bool(value) => value.to_string(),
                Value::Number(number) => number.to_string(),
                Value::String(text) => text.clone(),
                Value::Array(items) if items.iter().all(|item| item.is_string() || item.is_number()) => {
                    join_listed(items)
                }
                Value::Array(_) | Value::Object(_) => value.to_string(),
            };
            let stated = !value.is_boolean() && self.mentions(&text);
            if !text.is_empty() && !stated && text.len() <= MAX_VALUE {
                lines.push(format!("{}: {}", one_line(name), one_line(&text)));
            }
        }
        lines
    }
}

/// Joins items as "a, b, c and 4 more".
fn join_listed(items: &[Value]) -> String {
    let words = items.iter().take(MAX_LISTED).map(|item| match item.as_str() {
        Some(text) => one_line(text).into_owned(),
        None => item.to_string(),
    });
    let mut text = words.collect::<Vec<_>>().join(", ");
    if items.len() > MAX_LISTED {
        let _infallible = write!(text, " and {} more", items.len() - MAX_LISTED);
    }
    text
}

/// Indents the lines of a text, so that none of them can be mistaken for a line of the receipt.
fn indented(text: &str) -> String {
    escape_text(text.trim_end()).replace('\n', "\n  ")
}
