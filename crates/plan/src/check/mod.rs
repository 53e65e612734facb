//! The plan checker: turns the text of a plan into a list of all problems, or into a plan that can run.
//!
//! It reports all problems at once and does not guess: a plan with an error does not run, and each finding
//! says what to write instead.

// From text to a draft.
mod json;
mod draft;
mod draft_step;
mod object_fields;
mod unknown_field;

// Types of values that are known before the run.
mod shape;
mod shape_lookup;
mod type_fit;

// The plan as a whole.
mod symbol_table;
mod steps;
mod dependency_order;
mod risk;

// The content of templates.
mod templates;
mod template_context;
mod reference_path;
mod type_check;
mod foreach_list;
mod literals;
mod spelling;
mod foreign_braces;
mod template_notes;
mod placeholders;

// The runnable plan.
mod build;

#[cfg(test)]
mod shape_tests;

use std::collections::HashSet;

use envelope::{Requirement, ToolCatalog, ToolDecl};
use serde_json::Value;

use crate::{BraceRule, CheckedPlan, PlanFinding, Severity};
use build::CheckedParts;
use dependency_order::DependencyGraph;
use draft::PlanDraft;
use symbol_table::SymbolTable;

/// Limits of the current settings for a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckLimits {
    /// Attempts of one call, including the first.
    pub max_attempts: u32,
    /// Time limit of one attempt.
    pub max_call_timeout_ms: u64,
}

/// All findings, and the plan if none of them is an error.
#[derive(Debug, Clone)]
pub struct CheckReport {
    pub findings: Vec<PlanFinding>,
    pub plan: Option<CheckedPlan>,
}

/// Reads and checks a plan. Pure, and never panics: every text yields a report.
pub fn check(text: &str, catalog: &dyn ToolCatalog, limits: &CheckLimits) -> CheckReport {
    check_recorded(text, catalog, limits, BraceRule::AroundScope)
}

/// Reads and checks the plan of a recorded run, with the rule about braces that applied then.
pub fn check_recorded(
    text: &str,
    catalog: &dyn ToolCatalog,
    limits: &CheckLimits,
    braces: BraceRule,
) -> CheckReport {
    let mut findings = Vec::new();
    let root = json::read(text, &mut findings);
    let plan = root.and_then(|root| check_value(&root, catalog, limits, braces, &mut findings));
    let findings = sort_findings(findings);
    let plan = plan.filter(|_| !has_errors(&findings));
    CheckReport { findings, plan }
}

fn check_value(
    root: &Value,
    catalog: &dyn ToolCatalog,
    limits: &CheckLimits,
    braces: BraceRule,
    findings: &mut Vec<PlanFinding>,
) -> Option<CheckedPlan> {
    let draft = draft::read(root, findings);
    name_steps(&draft, findings);
    let world = SymbolTable::new(&draft, catalog, braces);
    let mut edges = steps::check(&draft, &world, catalog, limits, findings);
    templates::check_vars(&draft, findings);

    let mut compiled = Vec::with_capacity(draft.steps.len());
    let mut read = HashSet::new();
    for (index, step) in draft.steps.iter().enumerate() {
        let templates = templates::check_step(index, step, &world, catalog, findings);
        read.extend(templates.reads.iter().copied());
        if let Some(before) = edges.get_mut(index) {
            before.extend(templates.reads.iter().copied());
        }
        compiled.push(templates);
    }
    let (outputs, reads) = templates::check_outputs(&draft, &world, findings);
    read.extend(reads);

    let mut waits = DependencyGraph::new(edges);
    waits.report_cycles(&draft.steps, findings);
    // The active note or the selection in the host depends on the step before; no argument shows it.
    let uses_host = |decl: &ToolDecl| decl.availability.contains(&Requirement::Host);
    waits.add_shared_dependencies(|step| world.tool(step).is_some_and(uses_host));
    risk::check(&draft, &world, findings);
    if has_errors(findings) {
        return None;
    }
    match build::build(root, CheckedParts { steps: compiled, waits, outputs, read }, &world, limits) {
        Ok(plan) => Some(plan),
        Err(finding) => {
            findings.push(*finding);
            None
        }
    }
}

/// Returns the index of the step that a pointer is in.
fn step_index(pointer: &str) -> Option<usize> {
    let (_, rest) = pointer.split_once("/steps/")?;
    rest.split('/').next()?.parse().ok()
}

/// Adds step names to the findings about the JSON text, which were made before any step was read.
fn name_steps(draft: &PlanDraft<'_>, findings: &mut [PlanFinding]) {
    for finding in findings.iter_mut().filter(|finding| finding.step.is_none()) {
        let step = step_index(&finding.pointer).and_then(|index| draft.steps.get(index));
        finding.step = step.and_then(|step| step.label).map(str::to_owned);
    }
}

fn has_errors(findings: &[PlanFinding]) -> bool {
    findings.iter().any(|finding| finding.severity == Severity::Error)
}

/// Sorts findings: first the plan, then its steps in order, then its outputs. Removes duplicates.
fn sort_findings(mut findings: Vec<PlanFinding>) -> Vec<PlanFinding> {
    findings.sort_by_key(|finding| match step_index(&finding.pointer) {
        Some(step) => (1, step),
        None if finding.pointer.starts_with("/outputs") => (2, 0),
        None => (0, 0),
    });
    let mut seen = HashSet::new();
    findings.retain(|finding| seen.insert((finding.pointer.clone(), finding.code, finding.message.clone())));
    findings
}
