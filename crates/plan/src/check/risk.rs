//! Checks that the declared risk of a plan covers the risk of its tools.

use envelope::Risk;

use super::draft::PlanDraft;
use super::symbol_table::SymbolTable;
use super::template_context::list_names;
use crate::{FindingCode, PlanFinding};

pub(super) fn check(draft: &PlanDraft<'_>, world: &SymbolTable<'_>, findings: &mut Vec<PlanFinding>) {
    let Some(declared) = &draft.risk else {
        return;
    };
    let risks: Vec<(Option<&str>, Option<Risk>)> = (draft.steps.iter().enumerate())
        .map(|(index, step)| (step.label, world.tool(index).map(|tool| tool.risk_level)))
        .collect();
    let Some(highest) = risks.iter().filter_map(|(_, risk)| *risk).max() else {
        return;
    };
    if highest > declared.value {
        let above = risks
            .iter()
            .filter(|(_, risk)| risk.is_some_and(|risk| risk > declared.value))
            .map(|(label, _)| label.unwrap_or("(a step without id)"));
        let message = format!(
            "the plan says `{}`, but {}",
            declared.value,
            list_names("these steps go further:", above, "its tools go further")
        );
        findings.push(
            PlanFinding::error(FindingCode::RiskTooLow, declared.pointer.clone(), message)
                .hint(format!("write `\"riskLevel\": \"{highest}\"`")),
        );
    } else if highest < declared.value && risks.iter().all(|(_, risk)| risk.is_some()) {
        let message = format!("the plan says `{}`, but no step has a risk above `{highest}`", declared.value);
        findings.push(
            PlanFinding::warning(FindingCode::RiskTooHigh, declared.pointer.clone(), message).hint(format!(
                "write `\"riskLevel\": \"{highest}\"`, so that the user approves only what is needed"
            )),
        );
    }
}
