//! The words of the one question. What is shown here is what is hashed.

use std::fmt::Write as _;

use envelope::{OnError, Risk, Step, StepId};
use plan::{CheckedPlan, CheckedStep, Question};
use serde_json::Value;

use crate::inputs::visible_text;

/// Long enough for any path and most contents; the rest is counted, never hidden.
const SHOWN_CHARS: usize = 400;

/// Everything a person needs to say yes or no to the whole plan.
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

/// What a yes comes to, in words that are not the plan's: which tools run how often.
pub(crate) fn headline(plan: &CheckedPlan, question: &Question) -> String {
    match question {
        Question::Expansion { step, items, .. } => format!("Go on with step {step} for {items} items"),
        Question::Plan => {
            let mut tools: Vec<(&str, usize)> = Vec::new();
            for name in plan.steps.iter().map(|step| step.decl.name.as_str()) {
                match tools.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, count)) => *count += 1,
                    None => tools.push((name, 1)),
                }
            }
            let named = |(name, count): &(&str, usize)| match count {
                1 => (*name).to_owned(),
                _ => format!("{name} ({count} times)"),
            };
            // What does most harm is read first. Two of the same kind stay in the order of the plan.
            let risk_of = |name: &str| {
                plan.steps
                    .iter()
                    .filter(|step| step.decl.name.as_str() == name)
                    .map(|step| step.decl.risk_level)
                    .max()
            };
            tools.sort_by_key(|(name, _)| std::cmp::Reverse(risk_of(name)));
            let tools: Vec<String> = tools.iter().map(named).collect();
            let each = if plan.steps.iter().any(|step| step.foreach.is_some()) {
                ", some for many items"
            } else {
                ""
            };
            format!("Run a plan of {} with {}{each}", steps(plan.steps.len()), tools.join(", "))
        }
    }
}

fn steps(count: usize) -> String {
    if count == 1 { "1 step".to_owned() } else { format!("{count} steps") }
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

/// Text that others wrote, so that it cannot pass for a line of ours.
fn one_line(text: &str) -> String {
    visible_text(text).replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t")
}

fn line(text: &mut String, line: &str) {
    // Writing to a string cannot fail.
    let _infallible = writeln!(text, "{line}");
}
