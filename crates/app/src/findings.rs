//! Rendered findings of the plan checker: errors first, in plan order.

use plan::{CheckedPlan, PlanFinding, Severity};
use serde_json::{Value, json};

use crate::display_text::escape_line;
use crate::text_style::TextStyle;

/// Sorts errors before warnings; within each the checker's order, which is the plan's.
pub fn sort_findings(mut findings: Vec<PlanFinding>) -> Vec<PlanFinding> {
    findings.sort_by_key(|finding| finding.severity);
    findings
}

pub fn count_errors(findings: &[PlanFinding]) -> usize {
    findings.iter().filter(|finding| finding.severity == Severity::Error).count()
}

/// Returns a finding on two lines: its place, then the problem and the fix.
pub fn render_finding(finding: &PlanFinding, style: TextStyle) -> String {
    let severity = match finding.severity {
        Severity::Error => style.bad("error"),
        Severity::Warning => style.odd("warning"),
    };
    let step =
        finding.step.as_deref().map(|step| format!(" {}", style.bold(escape_line(step)))).unwrap_or_default();
    let pointer =
        if finding.pointer.is_empty() { "(plan)".to_owned() } else { escape_line(&finding.pointer) };
    let mut text = format!("{severity}{step} {}\n  {}", style.dim(pointer), escape_line(&finding.message));
    if let Some(hint) = &finding.hint {
        text.push_str(&format!("\n  {} {}", style.dim("hint:"), escape_line(hint)));
    }
    text
}

/// Returns the JSON `{ok, findings, planHash?, order?}`.
pub fn findings_json(findings: &[PlanFinding], plan: Option<&CheckedPlan>) -> Value {
    let mut answer = json!({ "ok": plan.is_some(), "findings": findings });
    if let (Some(plan), Some(fields)) = (plan, answer.as_object_mut()) {
        fields.insert("planHash".to_owned(), json!(plan.hash));
        fields.insert("order".to_owned(), json!(execution_order(plan)));
    }
    answer
}

/// Returns the steps in topological order; in plan order where that leaves a choice.
pub fn execution_order(plan: &CheckedPlan) -> Vec<&str> {
    let mut placed = vec![false; plan.steps.len()];
    let mut order = Vec::with_capacity(plan.steps.len());
    let mut waiting: Vec<usize> = (0..plan.steps.len()).collect();
    // Each round places at least one step, because a checked plan has no cycle.
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
