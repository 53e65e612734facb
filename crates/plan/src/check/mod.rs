//! The checker: from the text of a plan to everything that is wrong with it, or to a plan that can run.
//!
//! It never stops at the first problem, and never guesses in the author's place: a plan with an error does not
//! run, and each finding says what to write instead.

// From text to a draft.
mod json;
mod draft;
mod draft_step;
mod fields;
mod unknown_field;
mod pointer;

// What is known about values before anything runs.
mod shape;
mod follow;
mod fits;

// The plan as a whole.
mod world;
mod steps;
mod order;
mod risk;

// What is written in a template.
mod templates;
mod place;
mod path;
mod typing;
mod looping;
mod literals;
mod spelling;
mod foreign_braces;
mod template_notes;
mod habits;
mod strings;

// A plan that can run.
mod build;

#[cfg(test)]
mod shape_tests;

use std::collections::HashSet;

use envelope::{Catalog, Requirement, ToolDecl};
use serde_json::Value;

use crate::{CheckedPlan, Finding, Severity};
use build::Parts;
use draft::Draft;
use order::Waits;
use world::World;

/// How far a plan may go under the settings in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckLimits {
    /// Attempts of one call, the first included.
    pub max_attempts: u32,
    /// How long one attempt may take.
    pub max_call_timeout_ms: u64,
}

/// All findings, and the plan if none of them is an error.
#[derive(Debug, Clone)]
pub struct Report {
    pub findings: Vec<Finding>,
    pub plan: Option<CheckedPlan>,
}

/// Reads and checks a plan. Pure, and never panics: any text gives a report.
pub fn check(text: &str, catalog: &dyn Catalog, limits: &CheckLimits) -> Report {
    let mut findings = Vec::new();
    let root = json::read(text, &mut findings);
    let plan = root.and_then(|root| check_value(&root, catalog, limits, &mut findings));
    let findings = in_reading_order(findings);
    let plan = plan.filter(|_| !has_errors(&findings));
    Report { findings, plan }
}

fn check_value(
    root: &Value,
    catalog: &dyn Catalog,
    limits: &CheckLimits,
    findings: &mut Vec<Finding>,
) -> Option<CheckedPlan> {
    let draft = draft::read(root, findings);
    name_steps(&draft, findings);
    let world = World::new(&draft, catalog);
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

    let mut waits = Waits::new(edges);
    waits.cycles(&draft.steps, findings);
    // What is active or selected in the host is what the step before left there; no argument says so.
    let uses_host = |decl: &ToolDecl| decl.availability.contains(&Requirement::Host);
    waits.line_up(|step| world.tool(step).is_some_and(uses_host));
    risk::check(&draft, &world, findings);
    if has_errors(findings) {
        return None;
    }
    match build::build(root, Parts { steps: compiled, waits, outputs, read }, &world, limits) {
        Ok(plan) => Some(plan),
        Err(finding) => {
            findings.push(*finding);
            None
        }
    }
}

/// The index of the step that a pointer leads into.
fn step_index(pointer: &str) -> Option<usize> {
    let (_, rest) = pointer.split_once("/steps/")?;
    rest.split('/').next()?.parse().ok()
}

/// Findings about the JSON itself were made before any step had a name.
fn name_steps(draft: &Draft<'_>, findings: &mut [Finding]) {
    for finding in findings.iter_mut().filter(|finding| finding.step.is_none()) {
        let step = step_index(&finding.pointer).and_then(|index| draft.steps.get(index));
        finding.step = step.and_then(|step| step.label).map(str::to_owned);
    }
}

fn has_errors(findings: &[Finding]) -> bool {
    findings.iter().any(|finding| finding.severity == Severity::Error)
}

/// First the plan, then its steps from first to last, then its outputs; nothing twice.
fn in_reading_order(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.sort_by_key(|finding| match step_index(&finding.pointer) {
        Some(step) => (1, step),
        None if finding.pointer.starts_with("/outputs") => (2, 0),
        None => (0, 0),
    });
    let mut seen = HashSet::new();
    findings.retain(|finding| seen.insert((finding.pointer.clone(), finding.code, finding.message.clone())));
    findings
}
