//! Tests of carried calls: those that the run which is continued has made.

use std::sync::Arc;

use expect_test::expect;
use plan::{CarriedCall, CarriedCalls, RunSpec};
use serde_json::{Value, json};

use super::script::{Player, check};
use super::world::run_of_plan;

fn carrying(spec: RunSpec, calls: &[(&str, Option<u64>, Value)]) -> RunSpec {
    let calls = calls.iter().map(|(step, index, data)| CarriedCall {
        step_id: envelope::StepId::parse(step).unwrap(),
        index: *index,
        data: Some(data.clone()),
        incomplete: None,
    });
    RunSpec { carried: Arc::new(CarriedCalls::new(calls)), ..spec }
}

fn a_loop_after_a_step() -> RunSpec {
    run_of_plan(json!({
        "steps": [
            { "id": "list" },
            { "id": "each", "args": { "n": "$n" }, "foreach": { "from": "$steps.list.all", "itemName": "n" } },
            { "id": "end", "args": { "of": "$steps.each" } },
        ],
    }))
}

#[test]
fn carried_calls_are_not_started_and_their_outputs_are_used() {
    let carried = [
        ("list", None, json!({ "all": ["x", "y", "z"] })),
        ("each", Some(0), json!({ "made": "x" })),
        ("each", Some(2), json!({ "made": "z" })),
    ];
    check(
        carrying(a_loop_after_a_step(), &carried),
        r#"
        ok each[1] {"made": "y"}
        ok end
        "#,
        &expect![[r#"
              run.started
              step.scheduled list {"calls":1}
              step.scheduled each {"calls":3}
              step.progress each {"done":1,"total":3,"failed":0}
              start each[1] {"n":"y"}
              step.progress each {"done":2,"total":3,"failed":0}
            > ok each[1] {"made": "y"}
              step.progress each {"done":3,"total":3,"failed":0}
              step.scheduled end {"calls":1}
              start end {"of":{"items":[{"made":"x"},{"made":"y"},{"made":"z"}],"count":3,"failed":0}}
            > ok end
              run.finished {"status":"ok","steps":{"ok":3}}
              finish ok: list ok (0 calls, 0 failed), each ok (1 calls, 0 failed), end ok (1 calls, 0 failed); outputs {}
        "#]],
    );
}

#[test]
fn a_run_whose_calls_are_all_carried_ends_at_once() {
    let carried = [
        ("list", None, json!({ "all": ["x"] })),
        ("each", Some(0), json!({ "made": "x" })),
        ("end", None, json!({})),
    ];
    let mut player = Player::new(carrying(a_loop_after_a_step(), &carried));
    player.begin();
    // A block of `expect!` would lose the indentation, which every line has.
    let printed = player.into_printed();
    let lines: Vec<&str> = printed.lines().map(str::trim).collect();
    assert_eq!(
        lines,
        [
            "run.started",
            r#"step.scheduled list {"calls":1}"#,
            r#"step.scheduled each {"calls":1}"#,
            r#"step.progress each {"done":1,"total":1,"failed":0}"#,
            r#"step.scheduled end {"calls":1}"#,
            r#"run.finished {"status":"ok","steps":{"ok":3}}"#,
            "finish ok: list ok (0 calls, 0 failed), each ok (0 calls, 0 failed), end ok (0 calls, 0 failed); outputs {}",
        ]
    );
}

#[test]
fn only_the_items_that_are_left_count_for_the_limit_of_a_foreach() {
    let mut spec = a_loop_after_a_step();
    spec.limits.max_foreach_items = 1;
    let carried =
        [("list", None, json!({ "all": ["x", "y", "z"] })), ("each", Some(1), json!({ "made": "y" }))];
    check(
        carrying(spec, &carried),
        "no too many",
        &expect![[r#"
          run.started
          step.scheduled list {"calls":1}
          run.confirmationRequested each {"question":"expansion","items":2,"limit":1}
          ask: each for 2 items, limit 1
        > no too many
          run.cancelled {"reason":"too many","openCalls":0,"declined":true}
          settled each skipped: declined: too many
          step.finished each {"status":"skipped"}
          settled end skipped: declined: too many
          step.finished end {"status":"skipped"}
          run.finished {"status":"declined","steps":{"ok":1,"skipped":2}}
          finish declined because "too many": list ok (0 calls, 0 failed), each skipped (0 calls, 0 failed), end skipped (0 calls, 0 failed); outputs {}
    "#]],
    );
}
