//! Tests of retries.

use expect_test::expect;
use serde_json::json;

use super::script::check;
use super::world::run_of;

// Conformance: envelope 1.4
//     A call can be tried again, has a time limit, and can be cancelled.
//     In: plan/machine/mod.rs, engine/phases/execute.rs
// Conformance: envelope 3.3
// Conformance: envelope 7.2
//     A retry needs a step that asks for it and an error that says it can help.
//     In: plan/machine/retry.rs
#[test]
fn a_retryable_failure_is_tried_again_after_a_growing_wait() {
    check(
        run_of(json!([
            { "id": "a", "args": { "n": 1 }, "onError": "retry", "retry": { "maxAttempts": 3, "backoffMs": 100 } },
            { "id": "b", "dependsOn": ["a"] },
        ])),
        "
        flaky a
        fire a#2
        timeout a#2
        fire a#3
        ok a#3
        ok b
        ",
        &expect![[r#"
              run.started
              step.scheduled a {"calls":1}
              start a {"n":1}
            > flaky a
              step.progress a {"attempt":1,"of":3,"retry":"waits","afterMs":107}
              timer next attempt after 107 ms
            > fire a#2
              step.progress a {"attempt":2,"of":3,"retry":"due"}
              start a#2 {"n":1}
            > timeout a#2
              step.progress a {"attempt":2,"of":3,"retry":"waits","afterMs":223}
              timer next attempt after 223 ms
            > fire a#3
              step.progress a {"attempt":3,"of":3,"retry":"due"}
              start a#3 {"n":1}
            > ok a#3
              step.scheduled b {"calls":1}
              start b {}
            > ok b
              run.finished {"status":"ok","steps":{"ok":2}}
              finish ok: a ok (3 calls, 0 failed), b ok (1 calls, 0 failed); outputs {}
        "#]],
    );
}

#[test]
fn when_the_attempts_are_used_up_the_run_stops() {
    check(
        run_of(json!([
            { "id": "a", "onError": "retry", "retry": { "maxAttempts": 2, "backoffMs": 0 } },
            { "id": "b", "dependsOn": ["a"] },
        ])),
        "
        flaky a
        fire a#2
        flaky a#2
        ",
        &expect![[r#"
              run.started
              step.scheduled a {"calls":1}
              start a {}
            > flaky a
              step.progress a {"attempt":1,"of":2,"retry":"waits","afterMs":0}
              timer next attempt after 0 ms
            > fire a#2
              step.progress a {"attempt":2,"of":2,"retry":"due"}
              start a#2 {}
            > flaky a#2
              settled b skipped: step `a` failed
              step.finished b {"status":"skipped"}
              run.finished {"status":"failed","steps":{"failed":1,"skipped":1}}
              finish failed because "step `a` failed: not now": a failed (2 calls, 1 failed: not now), b skipped (0 calls, 0 failed); outputs {}
        "#]],
    );
}

// Conformance: envelope 7.3
#[test]
fn the_policy_clamps_attempts_and_waits() {
    let mut spec = run_of(
        json!([{ "id": "a", "onError": "retry", "retry": { "maxAttempts": 10, "backoffMs": 600_000 } }]),
    );
    spec.limits.max_attempts = 2;
    spec.limits.max_backoff_ms = 5;
    check(
        spec,
        "
        flaky a
        fire a#2
        flaky a#2
        ",
        &expect![[r#"
              run.started
              step.scheduled a {"calls":1}
              start a {}
            > flaky a
              step.progress a {"attempt":1,"of":2,"retry":"waits","afterMs":5}
              timer next attempt after 5 ms
            > fire a#2
              step.progress a {"attempt":2,"of":2,"retry":"due"}
              start a#2 {}
            > flaky a#2
              run.finished {"status":"failed","steps":{"failed":1}}
              finish failed because "step `a` failed: not now": a failed (2 calls, 1 failed: not now); outputs {}
        "#]],
    );
}

// Conformance: envelope 1.4
// Conformance: envelope 7.2
#[test]
fn a_failure_that_a_retry_cannot_mend_is_not_tried_again() {
    check(
        run_of(json!([{ "id": "a", "onError": "retry", "retry": { "maxAttempts": 5, "backoffMs": 1 } }])),
        "fail a",
        &expect![[r#"
              run.started
              step.scheduled a {"calls":1}
              start a {}
            > fail a
              run.finished {"status":"failed","steps":{"failed":1}}
              finish failed because "step `a` failed: it broke": a failed (1 calls, 1 failed: it broke); outputs {}
        "#]],
    );
}

// Conformance: envelope 1.4
// Conformance: envelope 7.2
#[test]
fn nothing_is_tried_again_unless_the_step_asks_for_it() {
    check(
        run_of(json!([{ "id": "a", "onError": "skip" }, { "id": "b" }])),
        "
        flaky a
        flaky b
        ",
        &expect![[r#"
              run.started
              step.scheduled a {"calls":1}
              step.scheduled b {"calls":1}
              start a {}
              start b {}
            > flaky a
            > flaky b
              run.finished {"status":"failed","steps":{"failed":2}}
              finish failed because "step `b` failed: not now": a failed (1 calls, 1 failed: not now), b failed (1 calls, 1 failed: not now); outputs {}
        "#]],
    );
}

#[test]
fn an_item_that_waits_keeps_its_place_and_goes_before_new_ones() {
    let mut spec = run_of(json!([{
        "id": "a", "onError": "retry", "retry": { "maxAttempts": 2, "backoffMs": 10 },
        "foreach": { "from": [1, 2, 3, 4], "itemName": "x", "concurrency": 2 },
    }, { "id": "b" }]));
    spec.limits.max_parallel = 2;
    check(
        spec,
        "
        flaky a[0]
        ok a[1]
        fire a[0]#2
        ok b
        ok a[0]#2
        ok a[2]
        ok a[3]
        ",
        &expect![[r#"
              run.started
              step.scheduled a {"calls":4}
              step.scheduled b {"calls":1}
              start a[0] {}
              start a[1] {}
            > flaky a[0]
              step.progress a {"attempt":1,"of":2,"retry":"waits","afterMs":11}
              timer next attempt after 11 ms
              start b {}
            > ok a[1]
              step.progress a {"done":1,"total":4,"failed":0}
              start a[2] {}
            > fire a[0]#2
              step.progress a {"attempt":2,"of":2,"retry":"due"}
            > ok b
              start a[0]#2 {}
            > ok a[0]#2
              step.progress a {"done":2,"total":4,"failed":0}
              start a[3] {}
            > ok a[2]
              step.progress a {"done":3,"total":4,"failed":0}
            > ok a[3]
              step.progress a {"done":4,"total":4,"failed":0}
              run.finished {"status":"ok","steps":{"ok":2}}
              finish ok: a ok (5 calls, 0 failed), b ok (1 calls, 0 failed); outputs {}
        "#]],
    );
}

#[test]
fn a_failure_elsewhere_drops_no_retry() {
    check(
        run_of(json!([{ "id": "a", "onError": "retry" }, { "id": "b" }])),
        "
        flaky a
        fail b
        fire a#2
        ok a#2
        ",
        &expect![[r#"
              run.started
              step.scheduled a {"calls":1}
              step.scheduled b {"calls":1}
              start a {}
              start b {}
            > flaky a
              step.progress a {"attempt":1,"of":3,"retry":"waits","afterMs":107}
              timer next attempt after 107 ms
            > fail b
            > fire a#2
              step.progress a {"attempt":2,"of":3,"retry":"due"}
              start a#2 {}
            > ok a#2
              run.finished {"status":"failed","steps":{"ok":1,"failed":1}}
              finish failed because "step `b` failed: it broke": a ok (2 calls, 0 failed), b failed (1 calls, 1 failed: it broke); outputs {}
        "#]],
    );
}
