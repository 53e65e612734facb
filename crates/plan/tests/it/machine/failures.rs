//! Tests of the effects of a final failure on the rest of the plan.

use expect_test::expect;
use plan::SiblingPolicy;
use serde_json::json;

use super::script::check;
use super::world::run_of;

// Conformance: envelope 4.6
//     A skipped call may do without an error and says the reason to the person.
//     In: plan/machine/settle.rs
#[test]
fn skip_skips_what_depends_on_the_step_and_goes_on_with_the_rest() {
    check(
        run_of(json!([
            { "id": "a", "onError": "skip" },
            { "id": "b", "dependsOn": ["a"] },
            { "id": "c", "dependsOn": ["b"], "foreach": { "from": [1], "itemName": "x" } },
            { "id": "d" },
            { "id": "e", "dependsOn": ["d"] },
        ])),
        "
        fail a
        ok d
        ok e
        ",
        &expect![[r#"
              run.started
              step.scheduled a {"calls":1}
              step.scheduled d {"calls":1}
              start a {}
              start d {}
            > fail a
              settled b skipped: step `a` failed
              step.finished b {"status":"skipped"}
              settled c skipped: step `a` failed
              step.finished c {"status":"skipped"}
            > ok d
              step.scheduled e {"calls":1}
              start e {}
            > ok e
              run.finished {"status":"failed","steps":{"ok":2,"failed":1,"skipped":2}}
              finish failed because "finished with failures": a failed (1 calls, 1 failed: it broke), b skipped (0 calls, 0 failed), c skipped (0 calls, 0 failed), d ok (1 calls, 0 failed), e ok (1 calls, 0 failed); outputs {}
        "#]],
    );
}

#[test]
fn stop_skips_what_comes_after_the_step_and_what_comes_after_that_and_lets_the_rest_end() {
    let mut spec = run_of(json!([
        { "id": "a" }, { "id": "b" }, { "id": "c" }, { "id": "d", "dependsOn": ["b"] }, { "id": "e" },
    ]));
    let plan = std::sync::Arc::make_mut(&mut spec.plan);
    plan.steps[2].follows = vec![0];
    plan.steps[4].follows = vec![2];
    spec.limits.max_parallel = 2;
    check(
        spec,
        "
        fail a
        ok b
        ok d
        ",
        &expect![[r#"
              run.started
              step.scheduled a {"calls":1}
              step.scheduled b {"calls":1}
              start a {}
              start b {}
            > fail a
              settled c skipped: step `a` failed
              step.finished c {"status":"skipped"}
              settled e skipped: step `a` failed
              step.finished e {"status":"skipped"}
            > ok b
              step.scheduled d {"calls":1}
              start d {}
            > ok d
              run.finished {"status":"failed","steps":{"ok":2,"failed":1,"skipped":2}}
              finish failed because "step `a` failed: it broke": a failed (1 calls, 1 failed: it broke), b ok (1 calls, 0 failed), c skipped (0 calls, 0 failed), d ok (1 calls, 0 failed), e skipped (0 calls, 0 failed); outputs {}
        "#]],
    );
}

fn a_loop_beside_a_step() -> plan::RunSpec {
    let mut spec = run_of(json!([
        { "id": "a", "foreach": { "from": [1, 2, 3, 4, 5], "itemName": "x", "concurrency": 3 } },
        { "id": "b" },
    ]));
    spec.limits.max_parallel = 4;
    spec
}

#[test]
fn every_item_is_attempted_whatever_happens_to_the_others() {
    check(
        a_loop_beside_a_step(),
        "
        ok a[0]
        fail a[2]
        ok b
        ok a[1]
        fail a[3]
        ok a[4]
        ",
        &expect![[r#"
              run.started
              step.scheduled a {"calls":5}
              step.scheduled b {"calls":1}
              start a[0] {}
              start a[1] {}
              start a[2] {}
              start b {}
            > ok a[0]
              step.progress a {"done":1,"total":5,"failed":0}
              start a[3] {}
            > fail a[2]
              step.progress a {"done":2,"total":5,"failed":1}
              start a[4] {}
            > ok b
            > ok a[1]
              step.progress a {"done":3,"total":5,"failed":1}
            > fail a[3]
              step.progress a {"done":4,"total":5,"failed":2}
            > ok a[4]
              step.progress a {"done":5,"total":5,"failed":2}
              run.finished {"status":"failed","steps":{"ok":1,"failed":1}}
              finish failed because "step `a` failed: it broke": a failed (5 calls, 2 failed: it broke), b ok (1 calls, 0 failed); outputs {}
        "#]],
    );
}

// Conformance: pipeline 2.25
#[test]
fn items_run_one_after_another_and_stop_at_the_first_failure_when_the_policy_cancels_siblings() {
    let mut spec = a_loop_beside_a_step();
    spec.sibling = SiblingPolicy::CancelSiblings;
    check(
        spec,
        "
        ok a[0]
        fail a[1]
        ok b
        ",
        &expect![[r#"
              run.started
              step.scheduled a {"calls":5}
              step.scheduled b {"calls":1}
              start a[0] {}
              start b {}
            > ok a[0]
              step.progress a {"done":1,"total":5,"failed":0}
              start a[1] {}
            > fail a[1]
              step.progress a {"done":2,"total":5,"failed":1}
              step.failed a {"status":"failed","done":2,"total":5}
            > ok b
              run.finished {"status":"failed","steps":{"ok":1,"failed":1}}
              finish failed because "step `a` failed: it broke": a failed (2 calls, 1 failed: it broke), b ok (1 calls, 0 failed); outputs {}
        "#]],
    );
}

#[test]
fn cancelling_dependents_is_left_to_the_scheduler_of_calls() {
    let mut spec = a_loop_beside_a_step();
    spec.sibling = SiblingPolicy::CancelDependents;
    check(
        spec,
        "
        timeout a[1]
        ok a[0]
        ok a[2]
        ok a[3]
        ok a[4]
        ok b
        ",
        &expect![[r#"
              run.started
              step.scheduled a {"calls":5}
              step.scheduled b {"calls":1}
              start a[0] {}
              start a[1] {}
              start a[2] {}
              start b {}
            > timeout a[1]
              step.progress a {"done":1,"total":5,"failed":1}
              start a[3] {}
            > ok a[0]
              step.progress a {"done":2,"total":5,"failed":1}
              start a[4] {}
            > ok a[2]
              step.progress a {"done":3,"total":5,"failed":1}
            > ok a[3]
              step.progress a {"done":4,"total":5,"failed":1}
            > ok a[4]
              step.progress a {"done":5,"total":5,"failed":1}
            > ok b
              run.finished {"status":"failed","steps":{"ok":1,"failed":1}}
              finish failed because "step `a` failed: too slow": a failed (5 calls, 1 failed: too slow), b ok (1 calls, 0 failed); outputs {}
        "#]],
    );
}

#[test]
fn a_loop_that_does_not_come_after_the_failed_step_is_not_cut_short() {
    check(
        run_of(json!([
            { "id": "a", "foreach": { "from": [1, 2, 3], "itemName": "x", "concurrency": 1 } },
            { "id": "b" },
            { "id": "c", "dependsOn": ["a"] },
        ])),
        "
        ok a[0]
        fail b
        ok a[1]
        ok a[2]
        ok c
        ",
        &expect![[r#"
              run.started
              step.scheduled a {"calls":3}
              step.scheduled b {"calls":1}
              start a[0] {}
              start b {}
            > ok a[0]
              step.progress a {"done":1,"total":3,"failed":0}
              start a[1] {}
            > fail b
            > ok a[1]
              step.progress a {"done":2,"total":3,"failed":0}
              start a[2] {}
            > ok a[2]
              step.progress a {"done":3,"total":3,"failed":0}
              step.scheduled c {"calls":1}
              start c {}
            > ok c
              run.finished {"status":"failed","steps":{"ok":2,"failed":1}}
              finish failed because "step `b` failed: it broke": a ok (3 calls, 0 failed), b failed (1 calls, 1 failed: it broke), c ok (1 calls, 0 failed); outputs {}
        "#]],
    );
}

#[test]
fn a_loop_that_stops_on_error_runs_in_order_and_leaves_the_rest_out() {
    check(
        run_of(json!([
            {
                "id": "a", "onError": "skip",
                "foreach": { "from": [1, 2, 3], "itemName": "x", "concurrency": 3, "stopOnError": true },
            },
            { "id": "b", "dependsOn": ["a"] },
            { "id": "c" },
        ])),
        "
        ok a[0]
        fail a[1]
        ok c
        ",
        &expect![[r#"
              run.started
              step.scheduled a {"calls":3}
              step.scheduled c {"calls":1}
              start a[0] {}
              start c {}
            > ok a[0]
              step.progress a {"done":1,"total":3,"failed":0}
              start a[1] {}
            > fail a[1]
              step.progress a {"done":2,"total":3,"failed":1}
              step.failed a {"status":"failed","done":2,"total":3}
              settled b skipped: step `a` failed
              step.finished b {"status":"skipped"}
            > ok c
              run.finished {"status":"failed","steps":{"ok":1,"failed":1,"skipped":1}}
              finish failed because "finished with failures": a failed (2 calls, 1 failed: it broke), b skipped (0 calls, 0 failed), c ok (1 calls, 0 failed); outputs {}
        "#]],
    );
}

#[test]
fn a_command_fails_its_step_by_its_exit_status_if_the_step_says_so() {
    check(
        run_of(json!([
            { "id": "told", "failOnExit": true, "onError": "skip", "foreach": { "from": [0, 1, 2, 3], "itemName": "n" } },
            { "id": "data" },
            { "id": "last", "dependsOn": ["told", "data"] },
        ])),
        r#"
        ok told[0] {"exit_status": 0}
        ok told[1] {"exit_status": 3}
        ok told[2] {"signal": "SIGKILL"}
        ok told[3] {"task_id": "t1"}
        ok data {"exit_status": 3}
        ok last
        "#,
        &expect![[r#"
              run.started
              step.scheduled told {"calls":4}
              step.scheduled data {"calls":1}
              start told[0] {}
              start told[1] {}
              start told[2] {}
              start told[3] {}
            > ok told[0] {"exit_status": 0}
              step.progress told {"done":1,"total":4,"failed":0}
              start data {}
            > ok told[1] {"exit_status": 3}
              step.progress told {"done":2,"total":4,"failed":1}
            > ok told[2] {"signal": "SIGKILL"}
              step.progress told {"done":3,"total":4,"failed":2}
            > ok told[3] {"task_id": "t1"}
              step.progress told {"done":4,"total":4,"failed":2}
            > ok data {"exit_status": 3}
              step.scheduled last {"calls":1}
              start last {}
            > ok last
              run.finished {"status":"failed","steps":{"ok":2,"partial":1}}
              finish failed because "finished with failures": told partial (4 calls, 2 failed: the command exited with 3, and the step has `failOnExit`), data ok (1 calls, 0 failed), last ok (1 calls, 0 failed); outputs {}
        "#]],
    );
}

#[test]
fn a_call_that_could_not_do_everything_makes_its_step_partial_and_the_run_fail() {
    check(
        run_of(json!([{ "id": "a" }, { "id": "b", "args": { "x": "$steps.a.n" } }])),
        r#"
        partly a {"n": 1}
        ok b
        "#,
        &expect![[r#"
              run.started
              step.scheduled a {"calls":1}
              start a {}
            > partly a {"n": 1}
              step.scheduled b {"calls":1}
              start b {"x":1}
            > ok b
              run.finished {"status":"failed","steps":{"ok":1,"partial":1}}
              finish failed because "step `a` is not complete": a partial (1 calls, 0 failed), b ok (1 calls, 0 failed); outputs {}
        "#]],
    );
}
