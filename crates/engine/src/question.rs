//! The words of the one question. What is shown here is what is hashed.

use std::fmt::Write as _;

use envelope::{OnError, Risk, Step, StepId};
use plan::{CheckedPlan, CheckedStep, Question};
use serde_json::Value;

use crate::forecast::Forecast;
use crate::inputs::visible_text;

/// Long enough for any path and most contents; the rest is counted, never hidden.
const SHOWN_CHARS: usize = 400;
/// More blanks than this in a row are told by their number: they would push what follows out of sight.
const BLANKS: usize = 3;

/// A call that somebody is asked about.
pub(crate) struct CallQuestion<'a> {
    pub(crate) tool: &'a str,
    /// What the tool says it will do; for a command the whole line.
    pub(crate) preview: &'a str,
    pub(crate) why: &'a str,
    /// Made safe to show.
    pub(crate) input: &'a Value,
    pub(crate) forecast: Option<&'a Forecast>,
    /// In what it differs from what was approved before.
    pub(crate) differences: &'a [String],
}

/// The question about one call, whole: what happens in the first line, then the differences, then the details.
pub(crate) fn call_question(asked: &CallQuestion<'_>) -> String {
    let mut text = String::new();
    let preview = one_line(asked.preview);
    match asked.forecast {
        Some(forecast) => line(&mut text, &forecast.headline),
        None => line(&mut text, &preview),
    }
    show_differences(&mut text, asked.differences);
    if let Some(forecast) = asked.forecast {
        if !forecast.text.is_empty() {
            line(&mut text, forecast.text.trim_end());
        }
        line(&mut text, &format!("Call: {preview}"));
        // Two states of a note can look the same where a difference is cut.
        line(&mut text, &format!("Forecast: {}", forecast.fingerprint));
    }
    line(&mut text, &format!("Why you are asked: {}", one_line(asked.why)));
    line(&mut text, &format!("Tool: {}", asked.tool));
    text.push_str(&format!("Input: {}", whole(asked.input)));
    text
}

fn show_differences(text: &mut String, differences: &[String]) {
    if !differences.is_empty() {
        line(text, "This is not what you approved:");
    }
    for difference in differences {
        line(text, &format!("  {difference}"));
    }
}

/// The question about a whole plan: what happens in the first line, then failures and differences, then the plan.
pub(crate) fn forecast_question(details: &str, forecast: &Forecast) -> String {
    let mut text = String::new();
    line(&mut text, &forecast.headline);
    if !forecast.differs.is_empty() {
        line(&mut text, "This is not what was forecast before:");
    }
    for difference in &forecast.differs {
        line(&mut text, &format!("  {difference}"));
    }
    if !forecast.text.is_empty() {
        line(&mut text, forecast.text.trim_end());
    }
    format!("{text}\n{details}Forecast: {}\n", forecast.fingerprint)
}

/// Everything that the plan says of itself.
fn plan_question(plan: &CheckedPlan) -> String {
    let mut text = String::new();
    let whole = &plan.plan;
    if let Some(title) = whole.ui_hints.get("title").and_then(Value::as_str) {
        line(&mut text, &one_line(title));
    }
    line(&mut text, &format!("Goal: {}", one_line(&whole.goal)));
    line(&mut text, &format!("Risk: {}   Plan: {}", whole.risk_level, plan.hash));
    for assumption in &whole.assumptions {
        line(&mut text, &format!("Assumes: {}", one_line(assumption)));
    }
    for request in &whole.context_requests {
        line(&mut text, &format!("Would have liked to know: {}", one_line(&request.kind)));
    }
    if !plan.vars.is_empty() {
        line(&mut text, &format!("Variables: {}", plan.vars.len()));
    }
    for (name, value) in &plan.vars {
        line(&mut text, &format!("       {}: {}", one_line(name), short(value)));
    }
    line(&mut text, &format!("Steps: {}", plan.steps.len()));
    for (number, (step, written)) in plan.steps.iter().zip(&whole.steps).enumerate() {
        show_step(&mut text, number + 1, step, written);
    }
    text
}

fn show_step(text: &mut String, number: usize, step: &CheckedStep, written: &Step) {
    let each = match (&step.foreach, &written.foreach) {
        (Some(checked), Some(foreach)) => {
            format!(" for each {} of {}", checked.item_name, short(&foreach.from))
        }
        _ => String::new(),
    };
    let head = written.preview.as_deref().unwrap_or(&step.decl.summary);
    line(
        text,
        &format!(
            "  {number}. {} [{} {}]{each}: {}",
            step.id,
            step.decl.name,
            step.decl.risk_level,
            one_line(head)
        ),
    );
    for (name, value) in &written.args {
        // What a command runs may stand at its very end, and the yes covers it.
        let shown = if step.decl.risk_level == Risk::Commands { whole(value) } else { short(value) };
        line(text, &format!("       {}: {shown}", one_line(name)));
    }
    for setting in settings(step, written) {
        line(text, &format!("       ({setting})"));
    }
}

/// What a step says about itself beyond its arguments, where that differs from what goes without saying.
fn settings(step: &CheckedStep, written: &Step) -> Vec<String> {
    let mut said = Vec::new();
    if !written.depends_on.is_empty() {
        let ids: Vec<&str> = written.depends_on.iter().map(StepId::as_str).collect();
        said.push(format!("after {}", ids.join(", ")));
    }
    match step.on_error {
        OnError::Stop => {}
        OnError::Skip => said.push("if it fails, the rest goes on".to_owned()),
        OnError::Retry => said.push(format!(
            "if it fails, up to {} attempts, the second after {} ms",
            step.retry.max_attempts, step.retry.backoff_ms
        )),
    }
    if step.timeout_ms != step.decl.timeout_ms {
        said.push(format!("may take {} ms", step.timeout_ms));
    }
    said
}

/// The words for whatever the run asks: the whole plan, or a foreach that grew past what passes unasked.
pub(crate) fn question_text(plan: &CheckedPlan, question: &Question) -> String {
    match question {
        Question::Plan => plan_question(plan),
        Question::Expansion { step, items, limit } => format!(
            "Step {step} would run for {items} items; more than {limit} need another yes.\nPlan: {}\n",
            plan.hash
        ),
    }
}

/// One value on one line.
fn whole(value: &Value) -> String {
    match value {
        Value::String(text) => serde_json::to_string(&visible_text(text)).unwrap_or_default(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            visible_text(&value.to_string())
        }
    }
}

/// The same without the end of a long one: what is cut is counted.
fn short(value: &Value) -> String {
    let whole = whole(value);
    match whole.char_indices().nth(SHOWN_CHARS) {
        Some((cut, _)) => format!("{}… ({} more characters)", &whole[..cut], whole[cut..].chars().count()),
        None => whole,
    }
}

/// Text that others wrote on one line: it can neither begin a line of ours nor push anything out of one.
pub(crate) fn one_line(text: &str) -> String {
    let text = visible_text(text);
    let mut line = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(c) = rest.chars().next() {
        let blanks = rest.len() - rest.trim_start_matches(is_blank).len();
        let count = rest[..blanks].chars().count();
        if count > BLANKS {
            line += &format!(" ({count} blanks) ");
            rest = &rest[blanks..];
            continue;
        }
        match c {
            '\n' => line += "\\n",
            '\r' => line += "\\r",
            '\t' => line += "\\t",
            c => line.push(c),
        }
        rest = &rest[c.len_utf8()..];
    }
    line
}

fn is_blank(c: char) -> bool {
    c.is_whitespace() && !matches!(c, '\n' | '\r' | '\t')
}

fn line(text: &mut String, line: &str) {
    // Writing to a string cannot fail.
    let _infallible = writeln!(text, "{line}");
}
