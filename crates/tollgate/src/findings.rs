//! Findings of the checker as a person reads them: errors first, in plan order.

use plan::{CheckedPlan, Finding, Severity};
use serde_json::{Value, json};

use crate::screen::{self, Paint};
use crate::visible::{count, one_line};

/// Errors before warnings; within each the checker's own order, which is the plan's.
pub(crate) fn sorted(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.sort_by_key(|finding| finding.severity);
    findings
}

pub(crate) fn errors(findings: &[Finding]) -> usize {
    findings.iter().filter(|finding| finding.severity == Severity::Error).count()
}

/// One finding on two lines: where, then what and the way out.
pub(crate) fn lines(finding: &Finding, paint: Paint) -> String {
    let severity = match finding.severity {
        Severity::Error => paint.bad("error"),
        Severity::Warning => paint.odd("warning"),
    };
    let step =
        finding.step.as_deref().map(|step| format!(" {}", paint.bold(one_line(step)))).unwrap_or_default();
    let pointer = if finding.pointer.is_empty() { "(plan)".to_owned() } else { one_line(&finding.pointer) };
    let mut text = format!("{severity}{step} {}\n  {}", paint.dim(pointer), one_line(&finding.message));
    if let Some(hint) = &finding.hint {
        text.push_str(&format!("\n  {} {}", paint.dim("hint:"), one_line(hint)));
    }
    text
}

/// Prints all of them to standard output, with a count at the end.
pub(crate) fn show(findings: &[Finding]) {
    for finding in findings {
        screen::say(lines(finding, Paint::stdout()));
    }
    let errors = errors(findings);
    let warnings = findings.len() - errors;
    if errors + warnings > 0 {
        screen::say(format_args!("{}, {}", count(errors as u64, "error"), count(warnings as u64, "warning")));
    }
}

/// The machine form: `{ok, findings, planHash?, order?}`.
pub(crate) fn answer(findings: &[Finding], plan: Option<&CheckedPlan>) -> Value {
    let mut answer = json!({ "ok": plan.is_some(), "findings": findings });
    if let (Some(plan), Some(fields)) = (plan, answer.as_object_mut()) {
        fields.insert("planHash".to_owned(), json!(plan.hash));
        fields.insert("order".to_owned(), json!(order(plan)));
    }
    answer
}

/// The steps in an order in which each comes after all that it waits for; plan order where it is free.
pub(crate) fn order(plan: &CheckedPlan) -> Vec<&str> {
    let mut placed = vec![false; plan.steps.len()];
    let mut order = Vec::with_capacity(plan.steps.len());
    let mut waiting: Vec<usize> = (0..plan.steps.len()).collect();
    // Each round places at least one step, since a checked plan has no cycle.
    while !waiting.is_empty() {
        let before = waiting.len();
        waiting.retain(|&index| {
            let step = &plan.steps[index];
            let ready = step.after.iter().chain(&step.follows).all(|&earlier| placed[earlier]);
            if ready {
                placed[index] = true;
                order.push(step.id.as_str());
            }
            !ready
        });
        if waiting.len() == before {
            break;
        }
    }
    order
}
