//! Generates random small plans.

use std::sync::Arc;

use plan::{CheckedPlan, RunSpec, SiblingPolicy};
use proptest::prelude::{Just, Strategy, any, prop, prop_oneof};
use serde_json::{Map, Value, json};

use super::world::run_of;

/// A step of a random plan, before it has a position and a name.
#[derive(Debug, Clone)]
struct StepSketch {
    /// Steps of lower rank, at any position in the plan.
    depends_on: Vec<usize>,
    reads: Option<usize>,
    /// Steps that must finish before, although their output is not read.
    follows: Vec<usize>,
    foreach: ForeachSketch,
    concurrency: Option<u32>,
    stop_on_error: bool,
    on_error: &'static str,
    max_attempts: u32,
}

#[derive(Debug, Clone)]
enum ForeachSketch {
    No,
    Literal(usize),
    /// Over the list in the output of an earlier step.
    Over(usize),
}

/// Generates a random plan with random limits. `on_errors` are the policies of its steps.
pub(crate) fn runs(on_errors: &'static [&'static str]) -> impl Strategy<Value = RunSpec> {
    let steps = prop::collection::vec((step(on_errors), any::<u32>()), 1..7);
    let sibling = prop_oneof![
        Just(SiblingPolicy::Ignore),
        Just(SiblingPolicy::CancelSiblings),
        Just(SiblingPolicy::CancelDependents)
    ];
    (steps, 1..5u32, 1..4u32, 2..6u64, any::<bool>(), sibling).prop_map(
        |(steps, max_parallel, max_attempts, max_foreach_items, confirm, sibling)| {
            let follows: Vec<Vec<usize>> = steps.iter().map(|(step, _)| step.follows.clone()).collect();
            let mut spec = run_of(Value::Array(placed(steps)));
            let plan = Arc::make_mut(&mut spec.plan);
            let position = |plan: &CheckedPlan, rank: usize| {
                plan.steps.iter().position(|step| step.id.as_str() == format!("s{rank}")).unwrap()
            };
            for (rank, picks) in follows.iter().enumerate().skip(1) {
                let at = position(plan, rank);
                let mut before: Vec<usize> = picks.iter().map(|pick| position(plan, pick % rank)).collect();
                before.sort_unstable();
                before.dedup();
                before.retain(|step| !plan.steps[at].after.contains(step));
                plan.steps[at].follows = before;
            }
            spec.limits.max_parallel = max_parallel;
            spec.limits.max_attempts = max_attempts;
            spec.limits.max_foreach_items = max_foreach_items;
            spec.confirm = confirm;
            spec.sibling = sibling;
            spec
        },
    )
}

fn step(on_errors: &'static [&'static str]) -> impl Strategy<Value = StepSketch> {
    let foreach = prop_oneof![
        3 => Just(ForeachSketch::No),
        2 => (0..6usize).prop_map(ForeachSketch::Literal),
        1 => any::<usize>().prop_map(ForeachSketch::Over),
    ];
    let depends_on = prop::collection::vec(any::<usize>(), 0..3);
    let reads = prop::option::weighted(0.3, any::<usize>());
    let follows = prop::collection::vec(any::<usize>(), 0..3);
    let concurrency = (prop::option::of(1..4u32), prop::bool::weighted(0.2));
    (depends_on, reads, follows, foreach, concurrency, prop::sample::select(on_errors), 1..4u32).prop_map(
        |(depends_on, reads, follows, foreach, (concurrency, stop_on_error), on_error, max_attempts)| {
            StepSketch {
                depends_on,
                reads,
                follows,
                foreach,
                concurrency,
                stop_on_error,
                on_error,
                max_attempts,
            }
        },
    )
}

/// Names the steps by rank and puts them into an unrelated order.
fn placed(sketches: Vec<(StepSketch, u32)>) -> Vec<Value> {
    let mut steps: Vec<(u32, Value)> =
        sketches.iter().enumerate().map(|(rank, (sketch, place))| (*place, written(rank, sketch))).collect();
    steps.sort_by_key(|(place, _)| *place);
    steps.into_iter().map(|(_, step)| step).collect()
}

fn written(rank: usize, sketch: &StepSketch) -> Value {
    // The first step has no earlier step to depend on.
    let earlier = |pick: usize| (rank > 0).then(|| format!("s{}", pick % rank));
    let mut depends_on: Vec<String> = sketch.depends_on.iter().filter_map(|pick| earlier(*pick)).collect();
    depends_on.sort();
    depends_on.dedup();
    let mut args = Map::new();
    if let Some(step) = sketch.reads.and_then(earlier) {
        // Some outputs have this field and some do not; the output of a foreach never has it.
        args.insert("read".to_owned(), format!("$steps.{step}.maybe").into());
    }
    let from = match sketch.foreach {
        ForeachSketch::No => None,
        ForeachSketch::Literal(items) => Some(json!((0..items).collect::<Vec<_>>())),
        ForeachSketch::Over(pick) => earlier(pick).map(|step| json!(format!("$steps.{step}.items"))),
    };
    let mut step = json!({
        "id": format!("s{rank}"), "dependsOn": depends_on, "onError": sketch.on_error,
        "retry": { "maxAttempts": sketch.max_attempts, "backoffMs": 10 },
    });
    if let Some(from) = from {
        args.insert("item".to_owned(), "$item".into());
        step["foreach"] = json!({ "from": from, "itemName": "item" });
        if let Some(concurrency) = sketch.concurrency {
            step["foreach"]["concurrency"] = concurrency.into();
        }
        if sketch.stop_on_error {
            step["foreach"]["stopOnError"] = true.into();
        }
    }
    step["args"] = Value::Object(args);
    step
}
