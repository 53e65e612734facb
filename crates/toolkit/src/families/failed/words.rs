//! The words of a failure, in as few tokens as the facts allow.

use std::fmt::Write as _;

use envelope::{CanonicalError, CanonicalResult};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{ALREADY_DONE, PREVIEWS};
use crate::families::external::has_word;
use crate::families::plain::{many_lines, one_line};
use crate::families::printed::{Kept, section};
use crate::preview::tokens::estimate;

/// Tokens that details may have, besides what a command printed.
const DETAILS_TOKENS: usize = 400;
/// Problems and paths beyond these are counted.
const MAX_LISTED: usize = 20;
/// A longer value is for programs, not for reading.
const MAX_VALUE: usize = 200;
const PROBLEMS: &str = "problems";

/// What the model reads of a failure. The outcome and the way out are always there; details as far as they fit.
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
    let known = Known { tool: &canonical.tool_name, message: &error.message, hint };
    let kept = Kept::deserialize(&Value::Object(details.clone())).unwrap_or_default();
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
        let _infallible = write!(text, "\nAlready done and not undone: {}", listed(done));
    }
    if !hint.is_empty() {
        let _infallible = write!(text, "\nNext: {}", indented(hint));
    }
    kept.render(&mut text);
    for (field, stream) in PREVIEWS {
        let printed = details.get(field).and_then(Value::as_str).filter(|printed| !printed.is_empty());
        section(&mut text, stream, printed.map(many_lines).as_deref());
    }
    text
}

/// What stands in the receipt anyway.
struct Known<'a> {
    tool: &'a str,
    message: &'a str,
    hint: &'a str,
}

impl Known<'_> {
    fn says(&self, word: &str) -> bool {
        has_word(self.message, word) || has_word(self.hint, word) || self.tool == word
    }

    /// `- /pointer: message`, for those problems that the message does not name.
    fn problems(&self, details: &Map<String, Value>) -> Vec<String> {
        let problems = details.get(PROBLEMS).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let mut lines = Vec::new();
        for problem in problems {
            let part = |name: &str| problem.get(name).and_then(Value::as_str).unwrap_or_default();
            let (pointer, message) = (one_line(part("pointer")), one_line(part("message")).into_owned());
            let hint = one_line(part("hint")).into_owned();
            let hint = Some(hint).filter(|hint| !hint.is_empty() && !self.says(hint));
            let told = match (self.says(&message), hint) {
                (true, None) => continue,
                (true, Some(hint)) => hint,
                (false, None) => message,
                (false, Some(hint)) => format!("{message} ({hint})"),
            };
            lines.push(if pointer.is_empty() { format!("- {told}") } else { format!("- {pointer}: {told}") });
        }
        if lines.len() > MAX_LISTED {
            let more = lines.len() - MAX_LISTED;
            lines.truncate(MAX_LISTED);
            lines.push(format!("- and {more} more"));
        }
        lines
    }

    /// `name: value`, for small values that the message does not say.
    fn facts(&self, details: &Map<String, Value>) -> Vec<String> {
        let has_other_words = |name: &str| {
            name == PROBLEMS
                || name == ALREADY_DONE
                || Kept::has_field(name)
                || PREVIEWS.iter().any(|(field, _)| *field == name)
        };
        let mut lines = Vec::new();
        for (name, value) in details.iter().filter(|(name, _)| !has_other_words(name)) {
            let said = match value {
                Value::Null => continue,
                Value::Bool(value) => value.to_string(),
                Value::Number(number) => number.to_string(),
                Value::String(text) => text.clone(),
                Value::Array(items) if items.iter().all(|item| item.is_string() || item.is_number()) => {
                    listed(items)
                }
                Value::Array(_) | Value::Object(_) => value.to_string(),
            };
            let stated = !value.is_boolean() && self.says(&said);
            if !said.is_empty() && !stated && said.len() <= MAX_VALUE {
                lines.push(format!("{}: {}", one_line(name), one_line(&said)));
            }
        }
        lines
    }
}

/// "a, b, c and 4 more".
fn listed(items: &[Value]) -> String {
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

/// Text that may have several lines, none of which can be taken for a line of ours.
fn indented(text: &str) -> String {
    many_lines(text.trim_end()).replace('\n', "\n  ")
}
