//! Strict JSON: reports everything that a lenient reader would change silently.
//!
//! With a duplicate key, or a number with more digits than can be kept, two readers of the same plan could
//! read two different plans. The plan that was confirmed and the plan that runs must be the same.

use envelope::{StrictJsonHandler, parse_strict};
use serde_json::Value;

use crate::{FindingCode, PlanFinding, json_pointer};

/// Reads one JSON value and reports every problem. Returns `None` if the text is not JSON.
pub(super) fn read(text: &str, findings: &mut Vec<PlanFinding>) -> Option<Value> {
    let text = strip_wrapping(text, findings);
    let mut noting = FindingReader { pointer: String::new(), entered: Vec::new(), findings };
    match parse_strict(serde_json::Deserializer::from_str(text), &mut noting) {
        Ok(value) => Some(value),
        Err(error) => {
            findings.push(not_json(text, &error));
            None
        }
    }
}

/// Removes a byte order mark or a code fence around JSON, so that the plan inside is still checked.
fn strip_wrapping<'a>(text: &'a str, findings: &mut Vec<PlanFinding>) -> &'a str {
    let mut inner = text;
    if let Some(rest) = inner.strip_prefix('\u{feff}') {
        findings.push(
            PlanFinding::error(FindingCode::NotJson, "", "the text starts with a byte order mark")
                .hint("save the plan as UTF-8 without a byte order mark"),
        );
        inner = rest;
    }
    if let Some(rest) = inner.trim_start().strip_prefix("```") {
        findings.push(
            PlanFinding::error(FindingCode::NotJson, "", "the plan is inside a code fence")
                .hint("remove the code fence: send the JSON object alone, from `{` to `}`"),
        );
        let body = rest.split_once('\n').map_or("", |(_language, body)| body);
        inner = body.rsplit_once("```").map_or(body, |(body, _after)| body);
    }
    inner
}

fn not_json(text: &str, error: &serde_json::Error) -> PlanFinding {
    let (line, column) = (error.line(), error.column());
    let reason = error.to_string();
    let reason = reason.split(" at line ").next().unwrap_or_default();
    PlanFinding::error(
        FindingCode::NotJson,
        "",
        format!("the text is not JSON: {reason} at line {line} column {column}"),
    )
    .hint(hint(text, error))
}

/// Returns a hint if the text at the error position shows a common mistake.
fn hint(text: &str, error: &serde_json::Error) -> String {
    let line = text.lines().nth(error.line().saturating_sub(1)).unwrap_or_default();
    let at = error.column().saturating_sub(1);
    let rest = line.get(at..).unwrap_or_default();
    let word: String = rest.chars().take_while(char::is_ascii_alphanumeric).collect();
    let reason = error.to_string();
    if text.trim().is_empty() {
        "send a plan: one JSON object with `version`, `goal`, `riskLevel` and `steps`".to_owned()
    } else if error.is_eof() {
        "the plan ends too early; send it whole, with every bracket and quote closed".to_owned()
    } else if reason.starts_with("recursion limit") {
        "nest objects and lists less deeply: 127 levels at most".to_owned()
    } else if reason.starts_with("number out of range") {
        "write the number as text in double quotes, or as one that fits 64 bits".to_owned()
    } else if reason.starts_with("control character") {
        "write a line break inside a string as `\\n` and a tab as `\\t`".to_owned()
    } else if reason.starts_with("trailing comma") {
        "remove the comma before the closing bracket".to_owned()
    } else if reason.starts_with("trailing characters") {
        "send one JSON object and nothing after it".to_owned()
    } else if reason.starts_with("invalid escape") {
        "write a backslash inside a string as `\\\\`".to_owned()
    } else if rest.starts_with('\'') {
        "write keys and strings in double quotes".to_owned()
    } else if rest.starts_with('/') || rest.starts_with('#') {
        "remove the comment: JSON has none".to_owned()
    } else if matches!(word.as_str(), "True" | "False" | "None" | "undefined" | "NaN") {
        format!("`{word}` is not JSON; write `true`, `false` or `null`")
    } else if text.trim_start().starts_with(['{', '[']) {
        "check the text just before that position for a missing comma, quote or bracket".to_owned()
    } else {
        "send the JSON object alone: the first character must be `{`, with no words before it".to_owned()
    }
}

/// Records problems as findings and continues, so that all later findings are about one plan, in which the
/// first of two equal keys counts.
struct FindingReader<'f> {
    pointer: String,
    /// Length of the pointer before each open key or item.
    entered: Vec<usize>,
    findings: &'f mut Vec<PlanFinding>,
}

impl StrictJsonHandler for FindingReader<'_> {
    fn enter_key(&mut self, key: &str) {
        self.entered.push(self.pointer.len());
        json_pointer::push(&mut self.pointer, key);
    }

    fn enter_item(&mut self, index: usize) {
        self.enter_key(&index.to_string());
    }

    fn leave(&mut self) {
        self.pointer.truncate(self.entered.pop().unwrap_or_default());
    }

    fn duplicate_key(&mut self, key: &str) -> Result<(), String> {
        self.findings.push(
            PlanFinding::error(
                FindingCode::DuplicateKey,
                self.pointer.clone(),
                format!("the key `{key}` occurs twice in the same object"),
            )
            .hint("keep one of the two and remove the other"),
        );
        Ok(())
    }

    fn inexact_number(&mut self) {
        self.findings.push(
            PlanFinding::error(
                FindingCode::NumberNotExact,
                self.pointer.clone(),
                "the number does not fit 64 bits, so its last digits would be lost",
            )
            .hint("write it as text in double quotes, or use a smaller number"),
        );
    }
}
