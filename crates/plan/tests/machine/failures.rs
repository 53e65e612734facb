//! What a final failure means for the rest of the plan.

use expect_test::expect;
use plan::SiblingPolicy;
use serde_json::json;

use crate::script::check;
use crate::world::run_of;

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
fn stop_starts_nothing_more_and_waits_for_what_is_open() {
    let mut spec = run_of(json!([
        { "id": "a" }, { "id": "b" }, { "id": "c" }, { "id": "d", "dependsOn": ["b"] },
    ]));
    spec.limits.max_parallel = 2;
    check(
        spec,
        "
        fail a
        ok b
        ",
        &expect![[r#"
              run.started
              step.scheduled a {"calls":1}
              step.scheduled b {"calls":1}
              step.scheduled c {"calls":1}
              start a {}
              start b {}
            > fail a
            > ok b
              settled c skipped: step `a` failed
              step.finished c {"status":"skipped"}
              settled d skipped: step `a` failed
              step.finished d {"status":"skipped"}
              run.finished {"status":"failed","steps":{"ok":1,"failed":1,"skipped":2}}
              finish failed because "step `a` failed: it broke": a failed (1 calls, 1 failed: it broke), b ok (1 calls, 0 failed), c skipped (0 calls, 0 failed), d skipped (0 calls, 0 failed); outputs {}
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
fn siblings_of_a_failed_item_end_on_their_own_when_ignored() {
    check(
        a_loop_beside_a_step(),
        "
        ok a[0]
        fail a[2]
        ok b
        ok a[1]
        fail a[3]
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
            > ok b
            > ok a[1]
              step.progress a {"done":3,"total":5,"failed":1}
            > fail a[3]
              step.progress a {"done":4,"total":5,"failed":2}
              step.failed a {"status":"failed","done":4,"total":5}
              run.finished {"status":"failed","steps":{"ok":1,"failed":1}}
              finish failed because "step `a` failed: it broke": a failed (4 calls, 2 failed: it broke), b ok (1 calls, 0 failed); outputs {}
        "#]],
    );
}

#[test]
fn siblings_of_a_failed_item_are_cancelled_when_the_policy_says_so() {
    let mut spec = a_loop_beside_a_step();
    spec.sibling = SiblingPolicy::CancelSiblings;
    check(
        spec,
        "
        fail a[1]
        cancelled a[0]
        cancelled a[2]
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
            > fail a[1]
              step.progress a {"done":1,"total":5,"failed":1}
              cancel a[0] a[2] (siblings)
            > cancelled a[0]
              step.progress a {"done":2,"total":5,"failed":2}
            > cancelled a[2]
              step.progress a {"done":3,"total":5,"failed":3}
            > ok b
              step.failed a {"status":"failed","done":3,"total":5}
              run.finished {"status":"failed","steps":{"ok":1,"failed":1}}
              finish failed because "step `a` failed: it broke": a failed (3 calls, 3 failed: it broke), b ok (1 calls, 0 failed); outputs {}
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
            > ok a[0]
              step.progress a {"done":2,"total":5,"failed":1}
            > ok a[2]
              step.progress a {"done":3,"total":5,"failed":1}
            > ok b
              step.failed a {"status":"failed","done":3,"total":5}
              run.finished {"status":"failed","steps":{"ok":1,"failed":1}}
              finish failed because "step `a` failed: too slow": a failed (3 calls, 1 failed: too slow), b ok (1 calls, 0 failed); outputs {}
        "#]],
    );
}

#[test]
fn a_second_loop_that_a_stop_cuts_short_is_cancelled() {
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
              step.finished a {"status":"cancelled","done":2,"total":3}
              settled c skipped: step `b` failed
              step.finished c {"status":"skipped"}
              run.finished {"status":"failed","steps":{"failed":1,"skipped":1,"cancelled":1}}
              finish failed because "step `b` failed: it broke": a cancelled (2 calls, 0 failed), b failed (1 calls, 1 failed: it broke), c skipped (0 calls, 0 failed); outputs {}
        "#]],
    );
}
