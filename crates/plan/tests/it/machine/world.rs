//! Plans for the tests, built from JSON without the checker.

use std::sync::Arc;

use envelope::{
    ActionPlan, Concurrency, Idempotency, LimitsSnapshot, OnError, PlanStep, PolicySnapshot, Retry, Risk,
    RunId, SandboxSnapshot, ToolDecl, ToolName, VarName, canonical_hash,
};
use plan::{
    CheckedForeach, CheckedPlan, CheckedStep, Reference, ReferenceRoot, RunLimits, RunSpec, SiblingPolicy,
    Template, TemplateScope,
};
use serde_json::{Value, json};

pub(crate) const LIMITS: RunLimits =
    RunLimits { max_parallel: 4, max_attempts: 5, max_foreach_items: 1_000, max_backoff_ms: 60_000 };

/// Returns a run of these steps, without confirmation and with four parallel calls.
pub(crate) fn run_of(steps: Value) -> RunSpec {
    run_of_plan(json!({ "steps": steps }))
}

/// Like `run_of`, for a plan with `vars`, `outputs` and so on.
pub(crate) fn run_of_plan(plan: Value) -> RunSpec {
    RunSpec {
        run_id: RunId::parse("run").unwrap(),
        plan: Arc::new(checked(plan)),
        policy: Arc::new(PolicySnapshot {
            confirmations_required: true,
            sandbox: SandboxSnapshot { enabled: true, allowed_roots: vec![], deny_patterns: vec![] },
            limits: LimitsSnapshot {
                max_concurrency: 4,
                max_attempts: None,
                call_timeout_ms: None,
                max_foreach_items: None,
            },
        }),
        limits: LIMITS,
        executor_version: "0".into(),
        registry_version: "0".into(),
        planner_version: None,
        confirm: false,
        sibling: SiblingPolicy::Ignore,
        carried: Arc::default(),
    }
}

fn checked(mut plan: Value) -> CheckedPlan {
    for (name, value) in [("version", json!("1.0")), ("goal", json!("test")), ("riskLevel", json!("writes"))]
    {
        plan[name] = value;
    }
    for step in plan["steps"].as_array_mut().unwrap() {
        let step = step.as_object_mut().unwrap();
        step.entry("tool").or_insert(json!("tool"));
        step.entry("args").or_insert(json!({}));
    }
    let hash = canonical_hash(&plan);
    let plan: ActionPlan = serde_json::from_value(plan).unwrap();
    let mut steps: Vec<CheckedStep> = plan.steps.iter().map(compiled).collect();
    let outputs =
        Template::compile(&Value::Object(plan.outputs.clone()), &TemplateScope::default(), &mut Vec::new());
    let mut read = reads(&outputs, &steps);
    for at in 0..steps.len() {
        let mut after: Vec<usize> =
            plan.steps[at].depends_on.iter().map(|id| position(&steps, id.as_str())).collect();
        let from = steps[at].foreach.as_ref().map(|foreach| reads(&foreach.from, &steps));
        let mentioned = [Some(reads(&steps[at].args, &steps)), from].into_iter().flatten().flatten();
        for step in mentioned {
            read.push(step);
            after.push(step);
        }
        after.sort_unstable();
        after.dedup();
        steps[at].after = after;
    }
    for step in read {
        steps[step].keep_output = true;
    }
    CheckedPlan { hash, steps, outputs, vars: plan.vars.clone(), plan: Arc::new(plan) }
}

fn compiled(step: &PlanStep) -> CheckedStep {
    let index = VarName::parse("index").unwrap();
    let foreach = step.foreach.as_ref().map(|foreach| CheckedForeach {
        from: Template::compile(&foreach.from, &TemplateScope::default(), &mut Vec::new()),
        item_name: foreach.item_name.clone(),
        index_name: foreach.index_name.clone().unwrap_or(index),
        concurrency: foreach.concurrency,
        stop_on_error: foreach.stop_on_error.unwrap_or(false),
    });
    let scope = TemplateScope {
        item_name: foreach.as_ref().map(|foreach| foreach.item_name.as_str()),
        index_name: foreach.as_ref().map(|foreach| foreach.index_name.as_str()),
        ..TemplateScope::default()
    };
    let compile = |value: &Value| Template::compile(value, &scope, &mut Vec::new());
    CheckedStep {
        id: step.id.clone(),
        decl: Arc::new(tool(&step.tool)),
        args: compile(&Value::Object(step.args.clone())),
        preview: step.preview.as_ref().map(|preview| compile(&preview.as_str().into())),
        foreach,
        after: Vec::new(),
        follows: Vec::new(),
        keep_output: false,
        capture_as: step.capture_as.clone(),
        on_error: step.on_error.unwrap_or(OnError::Stop),
        retry: step.retry.unwrap_or(Retry { max_attempts: 3, backoff_ms: 100 }),
        timeout_ms: step.timeout_ms.unwrap_or(1_000),
        fail_on_exit: step.fail_on_exit.unwrap_or(false),
        tags: step.tags.clone(),
    }
}

fn tool(name: &str) -> ToolDecl {
    ToolDecl {
        name: ToolName::parse(name).unwrap(),
        version: "1.0.0".to_owned(),
        summary: "Does something.".to_owned(),
        category: "test".to_owned(),
        family: envelope::ReceiptFamily::External,
        risk_level: Risk::Writes,
        side_effects: vec![],
        availability: vec![],
        concurrency: Concurrency::Parallel,
        idempotency: Idempotency::Idempotent,
        cancellable: true,
        timeout_ms: 1_000,
        input_schema: json!(true),
        output_schema: json!(true),
    }
}

/// Returns the steps whose output a template reads.
fn reads(template: &Template, steps: &[CheckedStep]) -> Vec<usize> {
    let mut read = Vec::new();
    template.references(&mut |_, reference: &Reference, _| match &reference.root {
        ReferenceRoot::Steps(id) => read.push(position(steps, id.as_str())),
        ReferenceRoot::Vars(name) => {
            read.extend(steps.iter().position(|step| step.capture_as.as_ref() == Some(name)));
        }
        ReferenceRoot::Item(_) | ReferenceRoot::Index(_) => {}
    });
    read
}

fn position(steps: &[CheckedStep], id: &str) -> usize {
    steps.iter().position(|step| step.id.as_str() == id).unwrap()
}
