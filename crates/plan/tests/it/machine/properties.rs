//! Tests that no order of results, crashes, cancels and answers loses a step, runs one twice or leaves a run
//! unfinished.

use std::collections::BTreeMap;

use envelope::{CallId, Hash};
use plan::{RunOutcome, RunSpec, StepStatus};
use proptest::prelude::{ProptestConfig, any, prop, prop_assert_eq, proptest};

use super::simulation::Simulation;
use super::sketch::runs;

/// Possible outputs of a step. Lists longer than the limit ask; a missing list fails the step that loops over
/// it.
const DATA: [&str; 4] = [
    "{}",
    r#"{"maybe": 1, "items": [1, 2]}"#,
    r#"{"items": []}"#,
    r#"{"maybe": 2, "items": [1, 2, 3, 4, 5, 6, 7]}"#,
];

/// Performs one possible action from outside, chosen by a number.
fn act(simulation: &mut Simulation, choice: u16) {
    let [what, pick] = choice.to_be_bytes();
    let pick = usize::from(pick);
    match what {
        0..=3 => simulation.cancel(),
        4..=9 if simulation.asked => simulation.answer(false),
        4..=25 => simulation.crash(),
        26..=35 => simulation.stray(),
        36..=90 if !simulation.timers.is_empty() => {
            let at = pick % simulation.timers.len();
            let id = simulation.timers.iter().nth(at).cloned().unwrap();
            simulation.fire(&id);
        }
        91..=110 if simulation.asked => simulation.answer(true),
        _ if !simulation.open.is_empty() => {
            let at = pick % simulation.open.len();
            let id = simulation.open.keys().nth(at).cloned().unwrap();
            let verb = match what {
                0..=150 => "flaky",
                151..=165 => "fail",
                166..=170 => "cancelled",
                171..=180 => "timeout",
                181..=255 => "ok",
            };
            simulation.end_call(&id, verb, DATA[pick / 64]);
        }
        _ => {}
    }
}

fn every_promise_is_kept(spec: RunSpec, choices: &[u16]) {
    let mut simulation = Simulation::begin(spec);
    for choice in choices {
        if simulation.outcome.is_some() {
            break;
        }
        act(&mut simulation, *choice);
    }
    simulation.crash();
    simulation.run_out();
    simulation.stray();
    simulation.crash();
}

/// Runs to the end in an order chosen by `choices`. Each result is a function of its call alone.
fn run_in_some_order(spec: RunSpec, choices: &[u16]) -> (BTreeMap<CallId, Hash>, RunOutcome) {
    let mut simulation = Simulation::begin(spec);
    for choice in choices.iter().copied().chain(std::iter::repeat(0)) {
        if simulation.outcome.is_some() {
            break;
        }
        let choice = usize::from(choice);
        let waiting = simulation.open.len() + simulation.timers.len() + usize::from(simulation.asked);
        let pick = choice % waiting;
        if let Some(id) = simulation.open.keys().nth(pick).cloned() {
            let fate = Hash::of(id.as_str().as_bytes()).as_bytes()[0];
            let verb = if fate < 60 { "fail" } else { "ok" };
            simulation.end_call(&id, verb, DATA[usize::from(fate % 4)]);
        } else if let Some(id) = simulation.timers.iter().nth(pick - simulation.open.len()).cloned() {
            simulation.fire(&id);
        } else {
            simulation.answer(true);
        }
    }
    (simulation.started, simulation.outcome.unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn no_order_of_events_loses_a_step_or_runs_one_twice(
        spec in runs(&["stop", "skip", "retry"]),
        choices in prop::collection::vec(any::<u16>(), 0..80),
    ) {
        every_promise_is_kept(spec, &choices);
    }

    #[test]
    fn long_runs_that_go_on_after_failures_keep_every_promise_too(
        spec in runs(&["skip", "skip", "retry"]),
        choices in prop::collection::vec(0x0400..u16::MAX, 0..200),
    ) {
        every_promise_is_kept(spec, &choices);
    }

    // Conformance: envelope 6.5
    #[test]
    fn neither_the_order_of_results_nor_the_concurrency_changes_a_call_or_a_step(
        spec in runs(&["skip", "stop", "retry"]),
        parallel in 1..9u32,
        one in prop::collection::vec(any::<u16>(), 60),
        other in prop::collection::vec(any::<u16>(), 60),
    ) {
        let (calls, outcome) = run_in_some_order(spec.clone(), &one);
        let mut spec = spec;
        spec.limits.max_parallel = parallel;
        let (other_calls, other_outcome) = run_in_some_order(spec, &other);
        prop_assert_eq!(calls, other_calls);
        let told = |outcome: &RunOutcome| -> Vec<(StepStatus, u64, u64)> {
            outcome.steps.iter().map(|step| (step.status, step.calls, step.failed)).collect()
        };
        prop_assert_eq!(told(&outcome), told(&other_outcome));
        prop_assert_eq!(outcome.reason.is_some(), other_outcome.reason.is_some());
    }
}
