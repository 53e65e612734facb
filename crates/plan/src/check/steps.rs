//! Checks each step without its references: id, tool, names and limits.

use std::collections::{HashMap, HashSet};

use envelope::{OnError, ToolCatalog, ToolDecl, nearest_tool};

use super::CheckLimits;
use super::draft::{DraftDefaults, DraftStep, PlanDraft};
use super::object_fields::FindingCollector;
use super::symbol_table::{PlanVariable, SymbolTable, tool_ignoring_case};
use super::template_context::list_names;
use crate::{FindingCode, PlanFinding};

/// Checks every step separately. Returns for each step the steps named by its `dependsOn`.
pub(super) fn check(
    draft: &PlanDraft<'_>,
    world: &SymbolTable<'_>,
    catalog: &dyn ToolCatalog,
    limits: &CheckLimits,
    findings: &mut Vec<PlanFinding>,
) -> Vec<Vec<usize>> {
    let mut captures = HashMap::new();
    let mut edges = Vec::with_capacity(draft.steps.len());
    for (index, step) in draft.steps.iter().enumerate() {
        let mut notes = FindingCollector { findings, step: step.label };
        unique_id(index, step, draft, world, &mut notes);
        tool(step, catalog, &mut notes);
        capture(step, world, &mut captures, &mut notes);
        loop_names(step, &mut notes);
        retry(step, draft, &mut notes);
        fail_on_exit(step, world.tool(index), &mut notes);
        over_limit(&step.on_failure, limits, &mut notes);
        edges.push(depends_on(index, step, world, &mut notes));
    }
    let mut notes = FindingCollector { findings, step: None };
    over_limit(&draft.defaults, limits, &mut notes);
    unused_default_retry(draft, &mut notes);
    edges
}

fn unique_id(
    index: usize,
    step: &DraftStep<'_>,
    draft: &PlanDraft<'_>,
    world: &SymbolTable<'_>,
    notes: &mut FindingCollector<'_>,
) {
    let Some((label, first)) = step.label.and_then(|label| Some((label, *world.steps.get(label)?))) else {
        return;
    };
    if first != index {
        let other = draft.steps.get(first).map(|step| step.pointer.as_str()).unwrap_or_default();
        notes.push(
            PlanFinding::error(
                FindingCode::DuplicateId,
                format!("{}/id", step.pointer),
                format!("the id `{label}` is already taken by the step at {other}"),
            )
            .hint(format!("give this step an id of its own, such as `{label}-{}`", index + 1)),
        );
    }
}

fn tool(step: &DraftStep<'_>, catalog: &dyn ToolCatalog, notes: &mut FindingCollector<'_>) {
    let Some(at) = &step.tool else {
        return;
    };
    if let Some(reason) = catalog.blocked(at.value) {
        notes.push(
            PlanFinding::error(
                FindingCode::BlockedTool,
                at.pointer.clone(),
                format!("`{}` cannot be used in this run: {reason}", at.value),
            )
            .hint("use another tool, or leave the step out"),
        );
    } else if catalog.tool(at.value).is_none() {
        let near = tool_ignoring_case(at.value, catalog).or_else(|| nearest_tool(at.value, catalog.names()));
        let hint = match near {
            Some(name) => format!("did you mean `{name}`?"),
            None => {
                list_names("the tools are", catalog.names().into_iter(), "there are no tools in this run")
            }
        };
        notes.push(
            PlanFinding::error(
                FindingCode::UnknownTool,
                at.pointer.clone(),
                format!("no tool is named `{}`", at.value),
            )
            .hint(hint),
        );
    }
}

fn capture<'a>(
    step: &'a DraftStep<'_>,
    world: &SymbolTable<'_>,
    taken: &mut HashMap<&'a str, &'a DraftStep<'a>>,
    notes: &mut FindingCollector<'_>,
) {
    let Some(at) = &step.capture_as else {
        return;
    };
    let name = at.value.as_str();
    let by = if let Some(PlanVariable::Given(_)) = world.vars.get(name) {
        Some("`vars`".to_owned())
    } else {
        taken.get(name).map(|other| match other.label {
            Some(label) => format!("`captureAs` of the step `{label}`"),
            None => format!("`captureAs` of the step at {}", other.pointer),
        })
    };
    match by {
        Some(by) => notes.push(
            PlanFinding::error(
                FindingCode::DuplicateCapture,
                at.pointer.clone(),
                format!("the variable `{name}` is already set by {by}"),
            )
            .hint(format!("choose another name, such as `{}`", unused_name(name, step))),
        ),
        None => {
            taken.insert(name, step);
        }
    }
}

fn unused_name(name: &str, step: &DraftStep<'_>) -> String {
    match step.label {
        Some(label) if label != name => format!("{label}-{name}"),
        Some(_) | None => format!("{name}-2"),
    }
}

/// Reports `failOnExit` at a tool that reports no exit status.
fn fail_on_exit(step: &DraftStep<'_>, tool: Option<&ToolDecl>, notes: &mut FindingCollector<'_>) {
    let (Some(at), Some(tool)) = (step.fail_on_exit.as_ref().filter(|at| at.value), tool) else {
        return;
    };
    if tool.output_schema.pointer("/properties/exit_status").is_none() {
        let message = format!("`{}` reports no exit status, so `failOnExit` has no effect", tool.name);
        notes.push(
            PlanFinding::warning(FindingCode::NoEffect, at.pointer.clone(), message)
                .hint("leave `failOnExit` out; it is for tools that run a command"),
        );
    }
}

/// Words with a fixed meaning in every template.
pub(super) const RESERVED: [&str; 2] = ["steps", "vars"];

fn loop_names(step: &DraftStep<'_>, notes: &mut FindingCollector<'_>) {
    let Some(foreach) = &step.foreach else {
        return;
    };
    for (at, instead) in [(&foreach.item_name, "item"), (&foreach.index_name, "index")] {
        let Some(at) = at.as_ref().filter(|at| RESERVED.contains(&at.value.as_str())) else {
            continue;
        };
        notes.push(
            PlanFinding::error(
                FindingCode::ShadowedName,
                at.pointer.clone(),
                format!("`{}` already means something in every template", at.value),
            )
            .hint(format!("choose another name, such as `{instead}`")),
        );
    }
    let item = foreach.item_name.as_ref().map(|at| at.value.as_str());
    let index = foreach.index_name.as_ref().map_or("index", |at| at.value.as_str());
    if item == Some(index) {
        let at = foreach.index_name.as_ref().or(foreach.item_name.as_ref());
        let hint = if foreach.index_name.is_some() {
            "leave `indexName` out, or give it another name"
        } else {
            "the position is called `index` unless `indexName` says otherwise; call the item `item`"
        };
        notes.push(
            PlanFinding::error(
                FindingCode::ShadowedName,
                at.map_or_else(|| foreach.pointer.clone(), |at| at.pointer.clone()),
                format!("item and position of the foreach are both called `{index}`"),
            )
            .hint(hint),
        );
    }
}

fn retry(step: &DraftStep<'_>, draft: &PlanDraft<'_>, notes: &mut FindingCollector<'_>) {
    let Some(at) = &step.on_failure.retry else {
        return;
    };
    let effective = step.on_failure.on_error.as_ref().or(draft.defaults.on_error.as_ref());
    if effective.map(|at| at.value) != Some(OnError::Retry) {
        notes.push(
            PlanFinding::warning(
                FindingCode::RetryWithoutOnerror,
                at.pointer.clone(),
                "`retry` has no effect without `\"onError\": \"retry\"`",
            )
            .hint("add `\"onError\": \"retry\"`, or remove `retry`"),
        );
    }
}

fn unused_default_retry(draft: &PlanDraft<'_>, notes: &mut FindingCollector<'_>) {
    let retries = |on_failure: &DraftDefaults| {
        on_failure.on_error.as_ref().is_some_and(|at| at.value == OnError::Retry)
    };
    let used = retries(&draft.defaults) || draft.steps.iter().any(|step| retries(&step.on_failure));
    if let (Some(at), false) = (&draft.defaults.retry, used) {
        notes.push(
            PlanFinding::warning(
                FindingCode::RetryWithoutOnerror,
                at.pointer.clone(),
                "`defaults.retry` has no effect: no step has `\"onError\": \"retry\"`",
            )
            .hint("add `\"onError\": \"retry\"` to `defaults` or to a step, or remove `retry`"),
        );
    }
}

fn over_limit(on_failure: &DraftDefaults, limits: &CheckLimits, notes: &mut FindingCollector<'_>) {
    let mut lowered = |pointer: &str, name: &str, value: u64, limit: u64| {
        if value > limit {
            notes.push(
                PlanFinding::warning(
                    FindingCode::OverLimit,
                    pointer,
                    format!("`{name}` is {value}, but the settings allow {limit}, which is what counts"),
                )
                .hint(format!("write {limit} or less")),
            );
        }
    };
    if let Some(at) = &on_failure.retry {
        let pointer = format!("{}/maxAttempts", at.pointer);
        lowered(&pointer, "maxAttempts", at.value.max_attempts.into(), limits.max_attempts.into());
    }
    if let Some(at) = &on_failure.timeout_ms {
        lowered(&at.pointer, "timeoutMs", at.value, limits.max_call_timeout_ms);
    }
}

fn depends_on(
    index: usize,
    step: &DraftStep<'_>,
    world: &SymbolTable<'_>,
    notes: &mut FindingCollector<'_>,
) -> Vec<usize> {
    let mut before = Vec::new();
    let mut seen = HashSet::new();
    for at in &step.depends_on {
        let problem = |code, message: String| PlanFinding::error(code, at.pointer.clone(), message);
        if !seen.insert(at.value) {
            let message = format!("`{}` occurs twice in `dependsOn`", at.value);
            let finding = PlanFinding::warning(FindingCode::DuplicateDependency, at.pointer.clone(), message);
            notes.push(finding.hint("remove one of the two"));
            continue;
        }
        match world.steps.get(at.value) {
            Some(other) if *other == index => notes.push(
                problem(FindingCode::SelfReference, "a step cannot wait for itself".to_owned())
                    .hint(format!("remove `{}` from its own `dependsOn`", at.value)),
            ),
            Some(other) => before.push(*other),
            None => {
                let bare = at.value.trim_start_matches('$').trim_start_matches("steps.");
                let bare = bare.split(['.', '[']).next().unwrap_or_default();
                let near = world.steps.get_key_value(bare).map(|(id, _)| *id);
                let hint = match near.or_else(|| world.nearest_step(bare)) {
                    Some(id) => format!("did you mean `{id}`? `dependsOn` takes ids, not references"),
                    None => list_names("the steps are", world.steps.keys().copied(), "remove the entry"),
                };
                let message = format!("`dependsOn` names `{}`, which is not a step", at.value);
                notes.push(problem(FindingCode::UnknownStep, message).hint(hint));
            }
        }
    }
    before
}
