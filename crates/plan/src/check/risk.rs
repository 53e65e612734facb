//! Whether the plan is honest about how far it reaches.

use envelope::Risk;

use super::draft::Draft;
use super::place::listed;
use super::world::World;
use crate::{Finding, FindingCode};

pub(super) fn check(draft: &Draft<'_>, world: &World<'_>, findings: &mut Vec<Finding>) {
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
            listed("these steps go further:", above, "its tools go further")
        );
        findings.push(
            Finding::error(FindingCode::RiskTooLow, declared.pointer.clone(), message)
                .hint(format!("write `\"riskLevel\": \"{highest}\"`")),
        );
    } else if highest < declared.value && risks.iter().all(|(_, risk)| risk.is_some()) {
        let message =
            format!("the plan says `{}`, but no step goes further than `{highest}`", declared.value);
        findings.push(
            Finding::warning(FindingCode::RiskTooHigh, declared.pointer.clone(), message).hint(format!(
                "write `\"riskLevel\": \"{highest}\"`, so that the person is asked for no more"
            )),
        );
    }
}
