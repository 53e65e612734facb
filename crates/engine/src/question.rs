//! The words of the one question. What is shown here is what is hashed.

use std::fmt::Write as _;

use plan::{CheckedPlan, CheckedStep, Question};
use serde_json::Value;

use crate::inputs::visible_text;

/// Long enough for any path and most contents; the rest is counted, never hidden.
const SHOWN_CHARS: usize = 400;

/// Everything a person needs to say yes or no to the whole plan.
pub(crate) fn plan_question(plan: &CheckedPlan) -> String {
    let mut text = String::new();
    let whole = &plan.plan;
    if let Some(title) = whole.ui_hints.get("title").and_then(Value::as_str) {
        line(&mut text, &visible_text(title));
    }
    line(&mut text, &format!("Goal: {}", visible_text(&whole.goal)));
    line(&mut text, &format!("Risk: {}   Plan: {}", whole.risk_level, plan.hash));
    for assumption in &whole.assumptions {
        line(&mut text, &format!("Assumes: {}", visible_text(assumption)));
    }
    for request in &whole.context_requests {
        line(&mut text, &format!("Would have liked to know: {}", visible_text(&request.kind)));
    }
    line(&mut text, &format!("Steps: {}", plan.steps.len()));
    for (number, (step, written)) in plan.steps.iter().zip(&whole.steps).enumerate() {
        show_step(&mut text, number + 1, step, written);
    }
    text
}

fn show_step(text: &mut String, number: usize, step: &CheckedStep, written: &envelope::Step) {
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
            visible_text(head)
        ),
    );
    for (name, value) in &written.args {
        line(text, &format!("       {}: {}", visible_text(name), short(value)));
    }
}

/// A foreach that grew past what the policy lets pass unasked.
pub(crate) fn expansion_question(plan: &CheckedPlan, question: &Question) -> String {
    match question {
        Question::Plan => plan_question(plan),
        Question::Expansion { step, items, limit } => format!(
            "Step {step} would run for {items} items; more than {limit} need another yes.\nPlan: {}\n",
            plan.hash
        ),
    }
}

/// One value on one line: what is cut is counted.
fn short(value: &Value) -> String {
    let whole = match value {
        Value::String(text) => serde_json::to_string(&visible_text(text)).unwrap_or_default(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            visible_text(&value.to_string())
        }
    };
    match whole.char_indices().nth(SHOWN_CHARS) {
        Some((cut, _)) => format!("{}… ({} more characters)", &whole[..cut], whole[cut..].chars().count()),
        None => whole,
    }
}

fn line(text: &mut String, line: &str) {
    // Writing to a string cannot fail.
    let _infallible = writeln!(text, "{line}");
}
