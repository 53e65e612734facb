//! Converts a plan without errors into the form that the machine runs.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use envelope::{ActionPlan, OnError, PlanStep, Retry, ToolDecl, VarName, canonical_hash};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::CheckLimits;
use super::dependency_order::{DependencyGraph, SharedAccess};
use super::symbol_table::SymbolTable;
use super::templates::CompiledStep;
use crate::{CheckedForeach, CheckedPlan, CheckedStep, FindingCode, PlanFinding, Template};

/// Default for a step with `onError: "retry"` and no `retry`.
const DEFAULT_RETRY: Retry = Retry { max_attempts: 3, backoff_ms: 1_000 };

/// The results of the checks that a runnable plan is built from.
pub(super) struct CheckedParts {
    pub(super) steps: Vec<CompiledStep>,
    pub(super) waits: DependencyGraph,
    pub(super) outputs: Template,
    /// Steps whose output is read by another part of the plan.
    pub(super) read: HashSet<usize>,
}

pub(super) fn build(
    root: &Value,
    parts: CheckedParts,
    world: &SymbolTable<'_>,
    limits: &CheckLimits,
) -> Result<CheckedPlan, Box<PlanFinding>> {
    let plan = ActionPlan::deserialize(root).map_err(|error| Box::new(unreadable(&error.to_string())))?;
    let mut tools: HashMap<&str, Arc<ToolDecl>> = HashMap::new();
    let mut steps = Vec::with_capacity(plan.steps.len());
    let turns =
        parts.waits.effect_order(|index| world.tool(index).map_or(SharedAccess::Nothing, SharedAccess::of));
    let compiled = parts.steps.into_iter().zip(parts.waits.0.into_iter().zip(turns));
    for (index, (step, (compiled, (after, follows)))) in plan.steps.iter().zip(compiled).enumerate() {
        let Some(tool) = world.tool(index) else {
            return Err(Box::new(unreadable(&format!("the tool of the step `{}` is unknown", step.id))));
        };
        let decl = Arc::clone(tools.entry(tool.name.as_str()).or_insert_with(|| Arc::new(tool.clone())));
        let keep_output = parts.read.contains(&index);
        steps.push(checked_step(
            step,
            compiled,
            &plan,
            limits,
            ResolvedStep { decl, after, follows, keep_output },
        ));
    }
    Ok(CheckedPlan {
        hash: canonical_hash(root),
        steps,
        outputs: parts.outputs,
        vars: plan.vars.clone(),
        plan: Arc::new(plan),
    })
}

struct ResolvedStep {
    decl: Arc<ToolDecl>,
    after: Vec<usize>,
    follows: Vec<usize>,
    keep_output: bool,
}

fn checked_step(
    step: &PlanStep,
    compiled: CompiledStep,
    plan: &ActionPlan,
    limits: &CheckLimits,
    resolved: ResolvedStep,
) -> CheckedStep {
    let defaults = plan.defaults.as_ref();
    let timeout = step.timeout_ms.or_else(|| defaults?.timeout_ms).unwrap_or(resolved.decl.timeout_ms);
    let foreach = step.foreach.as_ref().zip(compiled.from).map(|(foreach, from)| CheckedForeach {
        from,
        item_name: foreach.item_name.clone(),
        index_name: foreach
            .index_name
            .clone()
            .or_else(|| VarName::parse("index").ok())
            .unwrap_or_else(|| foreach.item_name.clone()),
        concurrency: foreach.concurrency,
        stop_on_error: foreach.stop_on_error.unwrap_or(false),
    });
    CheckedStep {
        id: step.id.clone(),
        args: compiled.args.unwrap_or_else(|| Template::Literal(Value::Object(Map::new()))),
        preview: compiled.preview,
        foreach,
        after: resolved.after,
        follows: resolved.follows,
        keep_output: resolved.keep_output,
        capture_as: step.capture_as.clone(),
        on_error: step.on_error.or_else(|| defaults?.on_error).unwrap_or(OnError::Stop),
        retry: step.retry.or_else(|| defaults?.retry).unwrap_or(DEFAULT_RETRY),
        timeout_ms: timeout.min(limits.max_call_timeout_ms),
        fail_on_exit: step.fail_on_exit.unwrap_or(false),
        tags: step.tags.clone(),
        decl: resolved.decl,
    }
}

/// The lenient reader accepted something that the strict reader refuses. The strict reader decides.
fn unreadable(why: &str) -> PlanFinding {
    PlanFinding::error(FindingCode::BadValue, "", format!("the plan cannot be read: {why}"))
        .hint("compare the plan with the published schema of plans")
}
